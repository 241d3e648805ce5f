from pathlib import Path

import numpy as np
import pytest

from sleuth.dense import WordLlamaEmbedder, legible, match
from sleuth.engine import Engine
from sleuth.types import Document

SENTENCE = "The measurement of the interferometer was finished before Wednesday"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SENTENCE, SENTENCE),
        (SENTENCE.upper(), SENTENCE.lower()),
        ("DNA of E. coli", "DNA of E. coli"),
        ("ÉTÉ EN ÎLE-DE-FRANCE", "été en île-de-france"),
        ("the interfer-\nometer", "the interferometer"),
        ("the interfer-\r\n   ometer", "the interferometer"),
        ("THE INTERFER-\nOMETER", "the interferometer"),
        ("an Anglo-\nSaxon word", "an Anglo-Saxon word"),
        ("- one\n-\n- two - \nthree", "- one\n-\n- two - \nthree"),
        ("1990-\n1995", "1990-\n1995"),
        ("e\ufb03cient \ufb01ler\u00ad", "efficient filer"),
        ("nai\u0308ve", "naïve"),
        ("", ""),
        ("-\n", "-\n"),
    ],
)
def test_what_is_read(text: str, expected: str) -> None:
    """Shouted texts, words broken at line ends, ligatures and separate accents are read as plain words."""
    assert legible(text).decode() == expected


def test_a_long_shouted_text() -> None:
    """A text longer than the sample is read in small letters where its capitals are over twice its small letters."""
    shouted, said = "MEASUREMENT " * 1_000, "measurement " * 1_000
    assert legible(shouted + said[:4_800]) == (said + said[:4_800]).encode()
    assert legible(shouted + said).decode() == shouted + said


@pytest.mark.parametrize("changed", [SENTENCE.upper(), SENTENCE.replace("ferom", "fe-\nrom").lower()])
def test_vectors_and_tokens(changed: str) -> None:
    """A text that is written illegibly has the vector and the tokens of its legible form, as query and as document."""
    embedder = WordLlamaEmbedder()
    plain, read = embedder.read([SENTENCE.lower()]), embedder.read([changed])
    assert np.array_equal(plain.vectors, read.vectors)
    assert np.array_equal(plain.tokens, read.tokens)
    assert np.array_equal(embedder.embed_query(changed), plain.vectors[0])
    assert match(changed, [SENTENCE.lower()]).tolist() == pytest.approx([1.0])


def test_vectors_of_an_earlier_reading_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index whose vectors were made before texts were read so gets new vectors when it is opened."""
    path = tmp_path / "index"
    with monkeypatch.context() as earlier:
        earlier.setattr(WordLlamaEmbedder, "fingerprint", "wordllama/l2_supercat_256/unit")
        earlier.setattr("sleuth.dense.wordllama.legible", str.encode)
        with Engine.open(path, create=True) as engine:
            engine.add([Document(SENTENCE.upper(), id="a")])
            (before,) = engine.retrieve(SENTENCE.lower(), legs=["dense"])
    with Engine.open(path) as engine:
        assert [repair.what for repair in engine.repairs] == ["dense"]
        (after,) = engine.retrieve(SENTENCE.lower(), legs=["dense"])
    assert before.score is not None
    assert before.score < 0.5
    assert after.score == pytest.approx(1.0, abs=1e-3)
