import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.dense.wordllama import (
    TOKENS,
    VOCABULARY,
    WEIGHTS,
    CodeEmbedder,
    WordLlamaEmbedder,
    is_gibberish,
    legible,
    read_table,
    read_vocabulary,
)
from sleuth.dense.wordpieces import Vocabulary
from sleuth.errors import LoadError
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract
from tests.commands import python
from tests.examples import examples

tokenizers = pytest.importorskip("tokenizers", reason="the oracle comes with wordllama")
wordllama_folder = Path(pytest.importorskip("safetensors").__file__).parent.parent / "wordllama"
CONTROL = ("<s>", "</s>", "<unk>")
HOME = Path(__file__).parents[2]
TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(" \u2581abcdeinort-=._~\n\t", max_size=120),
    st.lists(
        st.sampled_from(["the", "  ", " ", "naïve", "漢字", "😀", "don't", "x86_64", "----", "\u2581"])
    ).map("".join),
).filter(lambda text: not any(token in text for token in CONTROL))


@pytest.fixture(scope="module")
def oracle() -> Callable[[str], list[int]]:
    """Return what gives the tokens of a text as Hugging Face tokenizers do."""
    tokenizer = tokenizers.Tokenizer.from_file(str(wordllama_folder / VOCABULARY))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(read_vocabulary(wordllama_folder / VOCABULARY))


@settings(max_examples=examples(100), deadline=None)
@given(text=TEXTS)
def test_tokens_are_those_of_tokenizers(
    text: str, oracle: Callable[[str], list[int]], vocabulary: Vocabulary
) -> None:
    """The tokens of any text equal those of Hugging Face tokenizers."""
    assert vocabulary.encode(text.encode()).tolist() == oracle(text)


def test_tokens_of_pages_code_long_words_and_the_vocabulary(
    oracle: Callable[[str], list[int]], vocabulary: Vocabulary
) -> None:
    """Pages and code with their indents, digits and ends of lines, a text without spaces, which is one word of any
    length, and every token of the vocabulary have the tokens of Hugging Face tokenizers.
    """
    pages = (HOME / "docs" / "start.md", HOME / "docs" / "measured" / "speed.md", Path(__file__))
    texts = [re.sub("|".join(CONTROL), "", path.read_text("utf8")) for path in pages]
    texts.append("".join(chr(97 + (n * n) % 26) for n in range(20_000)) + "a" * 20_000)
    texts += [token.decode() for token in read_vocabulary(wordllama_folder / VOCABULARY)[3:]]
    assert [text for text in texts if vocabulary.encode(text.encode()).tolist() != oracle(text)] == []


def test_vectors_are_those_of_wordllama() -> None:
    """The vectors equal the normalised vectors that WordLlama has for a text as it is read."""
    texts = [
        "The quick brown Fox", "x", "naïve   漢字 text\nwith lines", "def f(x): return x ** 2", "word " * 300,
    ]  # fmt: skip
    script = (
        "import json, sys, wordllama; from pathlib import Path;"
        "model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True);"
        "print(json.dumps(model.embed(json.loads(sys.argv[1]), norm=True).tolist()))"
    )  # in a process of its own: importing it configures the root logger
    result = python(script, json.dumps([legible(text).decode() for text in texts]))
    expected = np.array(json.loads(result.stdout), np.float32)
    assert np.allclose(WordLlamaEmbedder().embed_documents(texts), expected, atol=1e-6)


def test_salience_of_words() -> None:
    """Function words say least, frames of questions little, and words of a subject much; no word says nothing."""
    the, kind, king, unknown, nothing = WordLlamaEmbedder().salience(["the", "kind", "king", "zxqvbl", ""])
    assert nothing == 0 < the < kind < min(king, unknown)
    assert WordLlamaEmbedder().salience([]).shape == (0,)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_queries_equal_documents(texts: list[str]) -> None:
    """Equal texts have bit-identical vectors, alone or in a batch; all are finite, of length 1 or 0."""
    embedder = WordLlamaEmbedder()
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (len(texts), 256)
    for text, vector in zip(texts, vectors, strict=True):
        assert embedder.embed_query(text).tolist() == vector.tolist()
    lengths = np.linalg.norm(vectors, axis=1)
    assert all(
        np.isclose(length, 1, atol=1e-5) or (length == 0 and not text)
        for length, text in zip(lengths, texts, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("MAX_SIZE", "max_size"),
        ("v2Api", "v2 api"),
    ],
)
def test_names_in_code_are_divided(name: str, parts: str) -> None:
    """The embedder of code reads the parts of a name that begin with capitals, as document and as query."""
    code, plain = CodeEmbedder(), WordLlamaEmbedder().embed_query(parts)
    assert code.embed_query(name).tolist() == plain.tolist()
    assert code.embed_documents([name])[0].tolist() == plain.tolist()
    assert np.array_equal(code.read([name]).tokens, WordLlamaEmbedder().read([parts]).tokens)
    assert code.fingerprint != WordLlamaEmbedder.fingerprint


def test_lone_surrogates() -> None:
    """A text with a lone surrogate is embedded."""
    assert np.isfinite(WordLlamaEmbedder().embed_query("\ud800 text")).all()


def test_wordllama_is_not_imported() -> None:
    """Embedding imports neither wordllama nor tokenizers, and does not change logging."""
    script = (
        "import logging, sys; from sleuth.dense.wordllama import WordLlamaEmbedder;"
        "WordLlamaEmbedder().embed_query('x');"
        "assert not {'wordllama', 'tokenizers', 'requests'} & set(sys.modules); assert not logging.root.handlers"
    )
    assert python(script).returncode == 0


@pytest.mark.parametrize(
    "text", ["", '{"vocab": {"a": 0}}', '{"vocab": {"a": 1}, "merges": []}', '{"vocab": no, "merges": []}']
)
def test_damaged_vocabulary(tmp_path: Path, text: str) -> None:
    """A file without a vocabulary in order of id raises an error with its name."""
    path = tmp_path / "v.json"
    path.write_text(text)
    with pytest.raises(LoadError, match=r"v\.json: .*vocabulary"):
        read_vocabulary(path)


def test_damaged_table(tmp_path: Path) -> None:
    """A truncated table, or one of another type, raises an error with its name."""
    path = tmp_path / "t.safetensors"
    path.write_bytes((1 << 40).to_bytes(8, "little"))
    with pytest.raises(LoadError, match="its header is longer than the file"):
        read_table(path)
    header = json.dumps(
        {"embedding.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}
    ).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(LoadError, match="its vectors are F32, not F16"):
        read_table(path)


def test_the_vocabulary_has_the_size_that_checks_assume() -> None:
    """Segments are checked against it where the package is missing, too."""
    assert len(read_table(wordllama_folder / WEIGHTS)) == TOKENS
    assert len(read_vocabulary(wordllama_folder / VOCABULARY)) == TOKENS


@pytest.mark.parametrize(
    ("judge", "text", "expected"),
    [
        *((WordLlamaEmbedder.has_meaning, text, True) for text in (
            "where is the index stored", "a b c", "今日は天気", "", "puppies", "lecithin and quercitin",
        )),
        *((WordLlamaEmbedder.has_meaning, text, False) for text in (
            "xkqzv jfwpq", "puppies xkqzv", "erty 123456", "วันนี้อากาศเป็นอย่างไร",
        )),
        *((WordLlamaEmbedder.is_mistyped, word, True) for word in ("negotiatinng", "scounting")),
        *((WordLlamaEmbedder.is_mistyped, word, False) for word in (
            "negotiating", "photosynthesis", "Beyonce", "cat", "", "กขค",
        )),
        *((WordLlamaEmbedder.knows, word, True) for word in ("async", "party", "malaria")),
        *((WordLlamaEmbedder.knows, word, False) for word in ("heuated", "stuctural")),
    ],
)  # fmt: skip
def test_words_are_judged_by_their_pieces(
    judge: Callable[[WordLlamaEmbedder, str], bool], text: str, expected: bool
) -> None:
    """Pieces of one or two letters hold most letters of gibberish; a word of many pieces is mistyped if one other
    letter makes it a word of few; a known word is whole or in two pieces.
    """
    assert judge(WordLlamaEmbedder(), text) is expected


def test_random_letters_are_gibberish() -> None:
    """Of words of random letters, and of runs of neighbouring keys, at most one in twenty reads like words."""
    chance = random.Random(7)
    letters = [
        " ".join("".join(chance.choices(ascii_lowercase, k=chance.randint(4, 10))) for _ in range(2))
        for _ in range(400)
    ]
    rows = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    keys = [f"{row[i : i + 5]} {row[-4:]}" for row in rows for i in range(3)]
    embedder = WordLlamaEmbedder()
    assert sum(map(embedder.has_meaning, letters)) <= len(letters) / 20
    assert not any(map(embedder.has_meaning, keys))
    assert is_gibberish("xkqzv jfwpq")
    assert not is_gibberish("วันนี้อากาศเป็นอย่างไร")  # others may know what this embedder does not


class TestWordLlama(EmbedderContract):
    def make(self) -> Embedder:
        return WordLlamaEmbedder()


class TestCode(EmbedderContract):
    def make(self) -> Embedder:
        return CodeEmbedder()
