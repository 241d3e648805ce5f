"""Encoders and cross-encoders in ONNX, with models that the tests write."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.compose import CrossEncoderReranker
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural import OnnxCrossEncoder, OnnxEmbedder
from sleuth.protocols import Embedder, Reranker
from sleuth.testing.contracts import EmbedderContract, RerankerContract
from tests.commands import python
from tests.plugins.neural import tiny

TEXTS = ["a", "a b c", "one text another text", "b", "c d e a b c d e", "a b"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_cross_encoder(tmp_path_factory.mktemp("models") / "cross")


class TestEncoder(EmbedderContract):
    texts = ("one text", "another text", "one text", "ünïcödé a", "a\nb")

    @pytest.fixture(autouse=True)
    def model(self, encoder: Path) -> None:
        self.folder = encoder

    def make(self) -> Embedder:
        return OnnxEmbedder(self.folder)


class TestCrossEncoder(RerankerContract):
    @pytest.fixture(autouse=True)
    def model(self, cross_encoder: Path) -> None:
        self.folder = cross_encoder

    def make(self) -> Reranker:
        return CrossEncoderReranker(OnnxCrossEncoder(self.folder))


def token_vectors(words: str) -> np.ndarray:
    """Return the vectors of words in the table of the tiny encoder, framed as its tokenizer frames them."""
    table = np.random.default_rng(5).standard_normal((len(tiny.WORDS), 8)).astype(np.float32)
    return table[[2, *(tiny.WORDS.index(word) for word in words.split()), 3]]


def test_pooling(tmp_path: Path) -> None:
    """A vector is the mean over the tokens of a text, without padding, or its first token's; it has length 1."""
    mean = OnnxEmbedder(tiny.write_encoder(tmp_path / "mean"))
    modes = {"1_Pooling___config": {"pooling_mode_cls_token": True}}
    cls = OnnxEmbedder(tiny.write_encoder(tmp_path / "cls", **modes))
    for text, own, first in zip(TEXTS, mean.embed_documents(TEXTS), cls.embed_documents(TEXTS), strict=True):
        expected = token_vectors(text).mean(axis=0)
        assert np.allclose(own, expected / np.linalg.norm(expected), atol=1e-5)
        assert np.allclose(first, token_vectors("")[0] / np.linalg.norm(token_vectors("")[0]), atol=1e-5)
    with pytest.raises(EmbeddingError, match=r"must say how token vectors become one, in 1_Pooling/config"):
        OnnxEmbedder(tiny.write(tmp_path / "none", tiny.encoder())).embed_query("a")


def test_prefixes_and_length(tmp_path: Path) -> None:
    """Queries and passages get their prefixes, long texts are cut, and each changes the fingerprint."""
    plain = OnnxEmbedder(tiny.write_encoder(tmp_path / "m"))
    prompts = {"prompts": {"query": "c ", "document": "d "}}
    other = tiny.write_encoder(tmp_path / "n" / "m", config_sentence_transformers=prompts)
    framed = OnnxEmbedder(other)
    assert np.allclose(framed.embed_query("a"), plain.embed_query("c a"))
    assert np.allclose(framed.embed_documents(["a"]), plain.embed_documents(["d a"]))
    assert plain.fingerprint != framed.fingerprint
    short = OnnxEmbedder(tiny.write_encoder(tmp_path / "o" / "m", sentence_bert_config={"max_seq_length": 3}))
    assert np.allclose(short.embed_query("a b c d"), plain.embed_query("a"))
    assert short.fingerprint != plain.fingerprint


def test_the_fingerprint_follows_the_weights(tmp_path: Path) -> None:
    """Other weights under the same name have another fingerprint; the same ones elsewhere have the same."""
    one = OnnxEmbedder(tiny.write_encoder(tmp_path / "x" / "m"))
    same = OnnxEmbedder(tiny.write_encoder(tmp_path / "y" / "m"))
    other = tiny.write_encoder(tmp_path / "z" / "m")
    (other / "model.onnx").write_bytes(tiny.encoder(dimension=4))
    assert one.fingerprint == same.fingerprint != OnnxEmbedder(other).fingerprint


def test_cross_encoder_scores(cross_encoder: Path) -> None:
    """Scores are between 0 and 1, in the order of the pairs, and those of one pair do not depend on others."""
    model = OnnxCrossEncoder(cross_encoder)
    pairs = [("a b", text) for text in TEXTS]
    scores = model.predict(pairs)
    common = np.array([text.split().count("a") + text.split().count("b") for text in TEXTS])
    assert np.allclose(scores, 1 / (1 + np.exp(2.0 - common)), atol=1e-5)
    assert np.allclose(scores, [model.predict([pair])[0] for pair in pairs])
    assert len(model.predict([])) == 0


def test_models_of_another_kind_or_damaged(encoder: Path, cross_encoder: Path, tmp_path: Path) -> None:
    """A model of the other kind, and one that does not load, are refused by name."""
    with pytest.raises(ArgumentError, match="of the kind 'encoder', got the cross-encoder 'cross'"):
        OnnxEmbedder(cross_encoder)
    with pytest.raises(ArgumentError, match="of the kind 'cross-encoder', got the encoder 'tiny'"):
        OnnxCrossEncoder(encoder)
    folder = tiny.write_encoder(tmp_path / "m")
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbeddingError, match=r"the model in .* failed: "):
        OnnxEmbedder(folder).embed_query("a")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingError, match=r"the tokenizer in .* failed: "):
        OnnxEmbedder(folder).embed_query("a")


def test_nothing_is_sent(encoder: Path, tmp_path: Path) -> None:
    """ONNX Runtime gives this device no number and keeps no events to send; the environment is as before."""
    program = (
        "import os, sys; from sleuth.plugins.neural import OnnxEmbedder; before = dict(os.environ)\n"
        "OnnxEmbedder(sys.argv[1]).embed_query('a'); assert os.environ == before"
    )
    here = str(tmp_path)
    result = python(program, encoder, HOME=here, TMPDIR=here, XDG_CACHE_HOME=here)
    assert (result.returncode, list(tmp_path.iterdir())) == (0, []), result.stderr


def test_threads(encoder: Path) -> None:
    """Many threads at once get what one gets."""
    embedder = OnnxEmbedder(encoder, threads=1)
    expected = embedder.embed_documents(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: embedder.embed_documents(TEXTS), range(16)))
        queries = list(pool.map(embedder.embed_query, TEXTS * 4))
    assert all(np.array_equal(expected, vectors) for vectors in results)
    assert np.allclose(queries, np.tile(expected, (4, 1)), atol=1e-6)


def test_an_index_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index names an installed model; without it, words answer, the failure names the command, vectors stay."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    folder = tiny.write_encoder(tmp_path / "models" / "tiny")
    path, document = tmp_path / "i", Document("tokens refilled", id="x")
    with Engine.open(path, create=True, embedder="onnx:tiny") as engine:
        engine.add([document, Document("a b c", id="y")])
        fingerprint = engine.status()["legs"]["dense"]["fingerprint"]
        assert engine.retrieve("b", legs=["dense"])[0].id == "y#0"
    folder.rename(tmp_path / "gone")
    with Engine.open(path) as engine:
        assert "sleuth index models pull tiny" in engine.status()["words_only"]
        ranking = engine.retrieve("tokens")
        assert [item.id for item in ranking] == ["x#0"]
        assert "sleuth index models pull tiny" in str(ranking.failures[0].error)
        engine.add([Document("d e", id="z")])
        assert engine.status()["legs"]["dense"]["fingerprint"] == fingerprint
        assert engine.status()["legs"]["dense"]["passages"] == 2
    (tmp_path / "gone").rename(folder)
    with Engine.open(path) as engine:
        assert engine.embed() == 1
        assert [item.id for item in engine.retrieve("d e", 1, legs=["dense"])] == ["z#0"]
    with pytest.raises(EmbeddingError, match="sleuth index models pull none"):
        Engine.open(tmp_path / "j", create=True, embedder="onnx:none")
    assert not (tmp_path / "j").exists()


def test_gibberish_has_no_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that falls into single letters finds nothing, unless a passage holds its word; other scripts are read."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = ["[UNK]", "tokens", "refilled", "bucket", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tiny.write_encoder(tmp_path / "models" / "m")
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    (folder / "model.onnx").write_bytes(tiny.encoder(words=len(words)))
    embedder = OnnxEmbedder("m")
    assert embedder.has_meaning("tokens refilled")
    assert embedder.has_meaning("refilled xq")
    assert embedder.has_meaning("漢字")
    assert embedder.has_meaning("x y z")
    assert not embedder.has_meaning("xkcdqwz blorf")
    with Engine.open(tmp_path / "i", create=True, embedder="onnx:m") as engine:
        engine.add([Document("tokens refilled", id="a"), Document("the code is xkcdqwz", id="b")])
        assert len(engine.retrieve("qwzxkv blorf")) == 0
        assert engine.retrieve("xkcdqwz")[0].id == "b#0"
