from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.dense.late import match
from sleuth.dense.wordllama import WordLlamaEmbedder, legible
from sleuth.engine import Engine
from sleuth.types import Document
from tests.examples import examples

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\u0131")
"""All but the dotless i, whose capital is I."""
SENTENCE = "The measurement of the interferometer was finished before Wednesday"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SENTENCE, SENTENCE.lower()), ("DNA of E. coli", "dna of e. coli"),
        ("ÉTÉ EN ÎLE-DE-FRANCE", "été en île-de-france"), ("Straße", "strasse"),
        ("the interfer-\nometer", "the interferometer"), ("the interfer-\r\n   ometer", "the interferometer"),
        ("the interfer\u2010\nomètre", "the interferomètre"), ("an Anglo-\nSaxon word", "an anglosaxon word"),
        ("- one\n-\n- two - \nthree", "- one\n-\n- two - \nthree"), ("1990-\n1995", "1990-\n1995"),
        ("e\ufb03cient \ufb01ler\u00ad", "efficient filer"), ("nai\u0308ve", "naïve"), ("", ""),
        ("-\n", "-\n"),
    ],
)  # fmt: skip
def test_what_is_read(text: str, expected: str) -> None:
    """Texts are read in small letters; broken words, ligatures and separate accents are read as plain words."""
    assert legible(text).decode() == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.text(CHARACTERS | st.sampled_from("aAzZéÉßΣς\u0345\ufb01-\u2010\n "), max_size=40))
def test_case_is_not_read(text: str) -> None:
    """A text is read the same in capitals, in small letters, and in either where it had the other."""
    assert legible(text.upper()) == legible(text.lower()) == legible(text.swapcase()) == legible(text)


@pytest.mark.parametrize(
    "change", [str.upper, str.lower, str.title, lambda text: text.replace("ferom", "fe-\nrom")]
)
def test_vectors_and_tokens(change: Callable[[str], str]) -> None:
    """A text in another case, or broken at a line end, has the vector and the tokens of the text as it is."""
    mutation, embedder = change(SENTENCE), WordLlamaEmbedder()
    assert mutation != SENTENCE
    plain, encoding = embedder.read([SENTENCE]), embedder.read([mutation])
    assert np.array_equal(plain.vectors, encoding.vectors)
    assert np.array_equal(plain.tokens, encoding.tokens)
    assert np.array_equal(embedder.embed_query(mutation), plain.vectors[0])
    assert np.array_equal(embedder.salience([mutation]), embedder.salience([SENTENCE]))
    assert match(mutation, [SENTENCE]).tolist() == pytest.approx([1.0])
    others = ["An Interferometer", "nothing of it"]
    assert match(mutation, list(map(str.upper, others))).tolist() == match(SENTENCE, others).tolist()


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
def test_rankings_do_not_depend_on_case(tmp_path: Path, change: Callable[[str], str]) -> None:
    """The default ranking has the same hits and scores if documents or queries are in another case."""
    texts = {
        "paris": "The Paris Agreement limits global warming. NASA measures it.",
        "rome": "The Treaty of Rome founded the European Economic Community.",
        "berlin": "German scientists in Berlin measure the warming of the Baltic Sea.",
        "dogs": "Dogs of Saint Bernard are large.",
    }
    queries = ["Which German treaty limits warming?", "NASA in Europe", "paris agreement", "Animals"]

    def rankings(
        name: str, of_texts: Callable[[str], str], of_queries: Callable[[str], str]
    ) -> list[list[tuple[str, float | None]]]:
        with Engine.open(tmp_path / name, create=True) as engine:
            engine.add([Document(of_texts(text), id=id) for id, text in texts.items()])
            return [[(hit.id, hit.score) for hit in engine.retrieve(of_queries(query))] for query in queries]

    as_they_are = rankings("plain", str, str)
    assert all(len(ranking) > 1 for ranking in as_they_are)
    assert rankings("documents", change, str) == as_they_are
    assert rankings("queries", str, change) == as_they_are


def test_vectors_of_an_earlier_reading_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index whose vectors were made before texts were read so gets new vectors when it is opened."""
    path = tmp_path / "index"
    with monkeypatch.context() as earlier:
        earlier.setattr(WordLlamaEmbedder, "fingerprint", "wordllama/l2_supercat_256/unit/legible")
        earlier.setattr("sleuth.dense.wordllama.legible_or_plain", str.encode)
        with Engine.open(path, create=True) as engine:
            engine.add([Document(SENTENCE.upper(), id="a")])
            (before,) = engine.retrieve(SENTENCE.lower(), legs=["dense"])
    with Engine.open(path) as engine:
        assert [repair.what for repair in engine.repairs] == ["dense"]
        (after,) = engine.retrieve(SENTENCE.lower(), legs=["dense"])
    assert before.score is not None
    assert before.score < 0.5
    assert after.score == pytest.approx(1.0, abs=1e-3)
