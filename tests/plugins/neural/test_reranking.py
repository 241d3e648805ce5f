"""Reranking by models: encoders whose vectors are kept, and cross-encoders, by name."""

import re
import sys
import time
from pathlib import Path

import pytest

from sleuth import Document, Engine, open_sources
from sleuth.engine.embedders import HOW_TO_ADD_LANGUAGES
from sleuth.engine.reranking import EncoderReranker, QueryCache
from sleuth.errors import EmbeddingError
from sleuth.plugins.neural.known import KNOWN
from sleuth.protocols import Reranker
from sleuth.testing.contracts import RerankerContract
from sleuth.types import RetrievedItem
from tests import embedders
from tests.plugins.neural import tiny
from tests.retrievers import Fixed, ids

TEXTS = {"one": "a text of one", "two": "a text of two two", "three": "a text a text c d e"}


class Letters(embedders.Letters):
    """An embedder that counts the texts that it embeds, and may be slow."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.texts: list[str] = []
        self.seconds = seconds

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        time.sleep(self.seconds)
        return super().embed_documents(texts)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what other tests keep in memory."""
    QueryCache._memory.clear()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tiny encoder and a tiny cross-encoder."""
    folder = tmp_path / "models"
    monkeypatch.setenv("SLEUTH_MODELS", str(folder))
    tiny.write_encoder(folder / "encoder")
    tiny.write_cross_encoder(folder / "cross")
    return folder


@pytest.fixture(name="engine")
def filled_engine(hybrid: Engine) -> Engine:
    """An index of the texts."""
    hybrid.add([Document(text, id=name) for name, text in TEXTS.items()])
    return hybrid


def items(*scores: float | None) -> list[RetrievedItem]:
    return [
        RetrievedItem(id=letter, text=letter * 3, score=score)
        for letter, score in zip("abcdefgh", scores, strict=False)
    ]


def reranker_of(engine: Engine, embedder: Letters) -> EncoderReranker:
    """Return a reranker whose vectors are kept in the index."""
    return EncoderReranker(embedder, QueryCache(engine.store, lambda rows: rows.texts["text"]))


class TestEncoder(RerankerContract):
    def make(self) -> Reranker:
        return EncoderReranker(Letters())


def test_similarity_is_fused_with_the_ranking() -> None:
    """Both are shares between their least and greatest; passages beyond the first keep their order behind them."""
    reranked = EncoderReranker(Letters(), first=3).rerank("cb", items(9.0, 6.0, 5.0, 4.0, 1.0))
    assert ids(reranked) == ["b", "c", "a", "d", "e"]
    expected = [(0.25 + 2) / 3, 2 / 3, 1 / 3, -0.25 / 3, -1 / 3]
    assert [item.score or 0.0 for item in reranked] == pytest.approx(expected)
    explanation = reranked[0].explanation
    assert explanation is not None
    assert explanation.facts == {"cosine": pytest.approx(0.5**0.5), "weight": 2.0}
    assert ids(EncoderReranker(Letters(), weight=0).rerank("cb", items(3.0, 2.0, 1.0))) == ["a", "b", "c"]


def test_passages_without_scores_count_by_place() -> None:
    """A ranking without scores, or with equal ones, is reranked, too; of one passage the score is 0."""
    assert ids(EncoderReranker(Letters()).rerank("c", items(None, None, None))) == ["c", "a", "b"]
    assert ids(EncoderReranker(Letters()).rerank("c", items(1.0, 1.0, 1.0))) == ["c", "a", "b"]
    assert [item.score for item in EncoderReranker(Letters()).rerank("c", items(5.0))] == [0.0]


def test_vectors_are_kept_in_the_index(engine: Engine) -> None:
    """A second query embeds no passage again, in this process and in the next; a changed text is embedded."""
    embedder = Letters()
    version = engine.status()["version"]
    reranker = reranker_of(engine, embedder)
    assert ids(engine.retrieve("two text", rerank=reranker))[0] == "two#0"
    assert sorted(embedder.texts) == sorted(TEXTS.values())
    engine.retrieve("a text", rerank=reranker)
    QueryCache._memory.clear()
    engine.retrieve("a text", rerank=reranker)
    assert len(embedder.texts) == 3
    assert engine.status()["version"] == version
    engine.add([Document("another text of one", id="one")])
    engine.retrieve("a text", rerank=reranker)
    assert embedder.texts[3:] == ["another text of one"]


def test_a_search_does_not_wait_for_a_writer(engine: Engine) -> None:
    """While another writes, vectors are kept in memory alone."""
    embedder = Letters()
    reranker = reranker_of(engine, embedder)
    with engine.store.writer():
        for _ in range(2):
            assert len(engine.retrieve("a text", rerank=reranker)) == 3
    assert len(embedder.texts) == 3
    with engine.store.reader() as snapshot:
        assert snapshot.count_embeddings(Letters.fingerprint) == 0


def test_vectors_of_texts_that_are_gone_are_forgotten(
    hybrid: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where most of many vectors are of texts that are gone, these are forgotten."""
    monkeypatch.setattr("sleuth.engine.embedders.SPARE_VECTORS", 2)
    reranker = reranker_of(hybrid, Letters())
    for n in range(8):
        hybrid.add([Document(f"text of version {n}", id="x")])
        hybrid.retrieve("text", rerank=reranker)
    with hybrid.store.reader() as snapshot:
        assert 1 <= snapshot.count_embeddings(Letters.fingerprint) <= 5


def test_a_deadline_says_how_many_were_reranked(engine: Engine) -> None:
    """As many of the best as fit are compared; the others follow in their order, and a note says so."""
    engine.add([Document(f"text {'abcdefghij'[n]}", id=str(n)) for n in range(10)])
    plain = engine.retrieve("text")
    ranking = engine.retrieve("text", rerank=EncoderReranker(Letters(0.2)), deadline=0.3)
    said = "passages were reranked before the deadline; the others follow, without scores"
    assert said in ranking.notes[0]
    compared = [item for item in ranking if item.score is not None]
    assert 0 < len(compared) < 10
    assert ids(ranking[len(compared) :]) == ids(plain[len(compared) :])
    assert not engine.retrieve("text", rerank=EncoderReranker(Letters(0.2))).notes


def test_models_by_name(engine: Engine, models: Path) -> None:
    """An encoder and a cross-encoder are named alike; an unknown name is refused with the command that gets it."""
    for name in ("encoder", "cross"):
        ranking = engine.retrieve("a text", rerank=name, explain=True)
        assert len(ranking) == 3
        assert {item.explanation.name for item in ranking if item.explanation} == {"rerank"}
    assert ids(engine.retrieve("c d", rerank="cross"))[0] == "three#0"
    with engine.store.reader() as snapshot:
        ((fingerprint, _), *_) = QueryCache._memory._values
        assert fingerprint.startswith("onnx/encoder/")
        assert snapshot.count_embeddings(fingerprint) == 3
    missing = r"the model 'none' is not in .*: sleuth index models pull none"
    with pytest.raises(EmbeddingError, match=missing):
        engine.retrieve("a text", rerank="none")


def test_several_sources(engine: Engine, models: Path) -> None:
    """Items of all sources are reranked together."""
    with open_sources(engine.path, extra={"own": Fixed(*items(2.0, 1.0))}) as sources:
        ranking = sources.retrieve("c d", rerank="cross")
        assert ids(ranking)[0] == "three#0"
        assert len(ranking) >= 3
        assert sources.retrieve("a text", rerank="encoder")[0].score is not None


def test_over_shards(tmp_path: Path, models: Path) -> None:
    """Passages of all shards are reranked; their vectors are kept in memory."""
    from sleuth.cluster import ShardedEngine

    with ShardedEngine.open(tmp_path / "s", create=True, shards=2) as engine:
        engine.add([Document(text, id=name) for name, text in TEXTS.items()])
        assert len(engine.retrieve("a text", rerank="encoder")) == 3
        assert len(QueryCache._memory) == 3


def test_a_known_encoder_that_is_installed_reranks_by_default(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches use it unless they name a reranker, legs or a fusion; `status` names it."""
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document(text, id=name) for name, text in TEXTS.items()])
        assert engine.status()["reranker"] == ""
        plain = engine.retrieve("a text", rerank="", explain=True)
        assert [item.score for item in plain] == [item.score for item in engine.retrieve("a text")]
    tiny.write_encoder(models / "all-MiniLM-L6-v2")
    with Engine.open(tmp_path / "i") as engine:
        assert engine.status()["reranker"] == "all-MiniLM-L6-v2"
        ranking = engine.retrieve("a text", explain=True)
        assert [item.explanation.name for item in ranking if item.explanation] == ["rerank"] * 3
        assert ids(ranking) == ids(engine.retrieve("a text", rerank="all-MiniLM-L6-v2"))
        assert ids(engine.retrieve("a text", 1)) == ids(ranking[:1])
        for options in ({"rerank": ""}, {"legs": ["lexical"]}, {"fusion": "rrf"}):
            answer = engine.retrieve("a text", explain=True, **options)
            assert "rerank" not in [item.explanation.name for item in answer if item.explanation]
    with Engine.open(tmp_path / "j", create=True, embedder="onnx:encoder") as engine:
        assert engine.status()["reranker"] == ""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with Engine.open(tmp_path / "i") as engine:
        assert engine.status()["reranker"] == ""
        assert len(engine.retrieve("a text")) == 3


def test_a_default_reranker_that_fails_is_a_note(engine: Engine, models: Path) -> None:
    """A damaged model does not end searches that do not name it."""
    tiny.write_encoder(models / "all-MiniLM-L6-v2")
    (models / "all-MiniLM-L6-v2" / "model.onnx").write_bytes(b"damaged")
    ranking = engine.retrieve("a text")
    assert len(ranking) == 3
    assert ranking.notes[0].startswith("not reranked: the model in")
    with pytest.raises(EmbeddingError, match="the model in"):
        engine.retrieve("a text", rerank="all-MiniLM-L6-v2")


def test_an_english_model_is_no_default_for_other_languages(tmp_path: Path, models: Path) -> None:
    """By default it reranks neither for a query in another language nor passages in one; if named, it does.

    Where the vectors are those of the default embedder, a note names a multilingual model, unless one reranks.
    """
    tiny.write_encoder(models / "all-MiniLM-L6-v2")
    german = (
        "Die Tokens werden jede Sekunde aufgefüllt, und der Eimer ist dann wieder voll. Das ist die Regel."
    )

    def name_of(query: str, rerank: str | None = None) -> str:
        explanation = engine.retrieve(query, 1, explain=True, rerank=rerank)[0].explanation
        return "" if explanation is None else explanation.name

    assert {"multilingual-e5-small"} == KNOWN.keys() & set(re.findall(r"[\w.-]+", HOW_TO_ADD_LANGUAGES))
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document(text, id=name) for name, text in TEXTS.items()])
        assert name_of("what is a text about") == "rerank"
        assert not engine.retrieve("what is a text about").notes
        assert engine.retrieve("Wie stellt man die Text Uhr ein?").notes == (HOW_TO_ADD_LANGUAGES,)
        assert not engine.retrieve("Wie stellt man die Text Uhr ein?", legs=["lexical"]).notes
        assert name_of("Wie stellt man die Text Uhr ein?") != "rerank"
        assert name_of("Wie stellt man die Text Uhr ein?", "all-MiniLM-L6-v2") == "rerank"
    with Engine.open(tmp_path / "j", create=True) as engine:
        engine.add([Document(german, id="a")])
        assert name_of("tokens") != "rerank"
        assert engine.retrieve("tokens").notes == (HOW_TO_ADD_LANGUAGES,)
    tiny.write_encoder(models / "multilingual-e5-small")
    (models / "all-MiniLM-L6-v2").rename(models / "other")
    with Engine.open(tmp_path / "j") as engine:
        assert name_of("tokens") == "rerank"
        assert not engine.retrieve("tokens").notes
