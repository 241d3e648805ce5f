"""The leg of learned sparse weights takes part in everything, with a model that the tests write."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.cluster import ShardedEngine
from sleuth.engine import score_hits
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural import OnnxSparseEncoder
from sleuth.plugins.sparse.impacts import levels_of, weight_of
from sleuth.store import text_hash
from sleuth.types import Explanation, Ranking
from tests.code.conftest import write
from tests.commands import sleuth
from tests.plugins.neural import tiny

WORDS = tiny.WORDS[4:]
LEGS = {"legs": "sparse:splade"}
ALONE: dict[str, Any] = {"legs": ["sparse"]}
"""Options of a search by this leg."""


def documents(n: int = 300) -> list[Document]:
    """Return documents of known and unknown words, some of them equal."""
    chance = random.Random(1)
    words = [*WORDS, "river", "stone", "sea"]
    texts = [" ".join(chance.choices(words, k=chance.randint(2, 9))) for _ in range(n // 2)]
    return [Document(text, {"half": i % 2}, id=f"d{i:03}") for i, text in enumerate(texts * 2)]


def fill(engine: Engine) -> Engine:
    """Add in several commits, replace and delete."""
    some = documents()
    for start in (0, 100, 200):
        engine.add(some[start : start + 100])
    engine.add([Document("token token", id="d007")])
    engine.delete(["d010", "d205"])
    return engine


def live() -> dict[str, str]:
    texts = {str(document.id): document.text for document in documents()} | {"d007": "token token"}
    return {id: text for id, text in texts.items() if id not in ("d010", "d205")}


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    return tiny.write_sparse_encoder(tmp_path / "models" / "splade")


@pytest.fixture(params=["one", "shards"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    options: dict[str, Any] = {"create": True, "settings": LEGS, "embedder": ""}
    with (
        Engine.open(tmp_path / "index", **options)
        if request.param == "one"
        else ShardedEngine.open(tmp_path / "index", shards=3, **options)
    ) as engine:
        yield fill(engine)


def scored(ranking: Ranking) -> list[tuple[str, float]]:
    return [(item.id, item.score or 0.0) for item in ranking]


def by_hand(query: str, texts: dict[str, str], model: Path) -> dict[str, float]:
    """Return the score of each document: the sum of products of weights, those of documents in levels."""
    encoder = OnnxSparseEncoder(model)
    weights = encoder.encode_query(query)
    scores = {}
    for id, text in texts.items():
        levels = levels_of(encoder.encode_documents([text])[0])
        if score := sum(weights[token] * weight_of(levels[token]) for token in weights.keys() & levels):
            scores[f"{id}#0"] = score
    return scores


@pytest.mark.parametrize("query", ["token", "bucket", "one another text", " ".join(WORDS), "river"])
def test_scores_are_products_of_weights(engine: Engine, model: Path, query: str) -> None:
    """The ranking is that of the products themselves, ties by id, over one index and over shards."""
    expected = by_hand(query, live(), model)
    ranking = engine.retrieve(query, 400, **ALONE)
    assert {id for id, _ in scored(ranking)} == expected.keys()
    for id, score in scored(ranking):
        assert score == pytest.approx(expected[id], rel=1e-5)
    order = [(-score, id) for id, score in scored(ranking)]
    assert order == sorted(order)
    assert scored(engine.retrieve(query, 7, **ALONE)) == scored(ranking)[:7]


@pytest.mark.parametrize("weight", [0.05, 0.2, 0.7, 1.0, 1.5, 2.2, 2.9, 3.0, 9.0])
def test_a_level_is_the_nearest(weight: float) -> None:
    """A weight has the level whose weight is nearest to it; one nearest to 0 is left out."""
    distances = [abs(weight_of(level) - weight) for level in range(15)]
    level = distances.index(min(distances))
    assert levels_of({"token": weight}) == ({"token": level} if level else {})


def test_it_finds_words_that_the_model_adds(engine: Engine) -> None:
    """A passage about tokens answers "bucket", after those that hold the word."""
    hits = [item.text for item in engine.retrieve("bucket", 400, **ALONE)]
    without = [text for text in hits if "bucket" not in text.split()]
    assert without and all("token" in text.split() for text in without)
    assert hits[-len(without) :] == without


def test_filters_and_syntax(engine: Engine, model: Path) -> None:
    """Filters, scopes and the search syntax limit its hits before they are cut."""
    half = {f"{document.id}#0" for document in documents() if document.metadata["half"]}
    expected = by_hand("token", live(), model).keys() & half - {"d007#0"}
    assert {item.id for item in engine.retrieve("token", 400, **ALONE, filter="half=1")} == expected
    with engine.scoped({"half": 1}) as view:
        assert {item.id for item in view.retrieve("token", 400, **ALONE)} == expected
    hits = engine.retrieve("token -river", 400, **ALONE, syntax=True)
    assert hits and not [item for item in hits if "river" in item.text]


def named(explanation: Explanation | None, name: str) -> list[Explanation]:
    """Return the parts of an explanation that have a name."""
    below = [part for each in (explanation.parts if explanation else ()) for part in named(each, name)]
    return [explanation, *below] if explanation and explanation.name == name else below


def test_explanations_add_up(engine: Engine) -> None:
    """The parts of an explanation sum to its score, alone and in the default fusion."""
    for legs in (["sparse"], None):
        parts = [
            part
            for item in engine.retrieve("token text", 5, legs=legs, explain=True)
            for part in named(item.explanation, "sparse")
            if part.formula.startswith("sum")
        ]
        assert parts
        for part in parts:
            assert sum(each.value for each in part.parts) == pytest.approx(part.value, rel=1e-5)


def test_what_has_nothing_in_common_is_left_out(engine: Engine) -> None:
    """A query of unknown words finds nothing, and `score_hits` is on its scale."""
    assert not engine.retrieve("zzz", **ALONE)
    assert engine.retrieve("bucket", **ALONE, min_score=0.1)
    hits = engine.retrieve("bucket", 400, **ALONE, min_score=0.99)
    assert hits and all("bucket" in item.text.split() for item in hits)
    ranking = engine.retrieve("token text", 5, explain=True)
    assert all(0 < score <= 1 for score in score_hits(engine, "token text", ranking))


def test_merging_and_opening_change_nothing(tmp_path: Path) -> None:
    """Rankings are equal before and after compaction, after opening again, and after rows are made again."""
    queries = ["token", "bucket limiter", " ".join(WORDS)]
    with Engine.open(tmp_path / "i", create=True, settings=LEGS, embedder="") as engine:
        fill(engine)
        before = [scored(engine.retrieve(query, 50, **ALONE)) for query in queries]
        engine.compact()
        assert engine.status()["legs"]["sparse"]["segments"] == 1
        assert [scored(engine.retrieve(query, 50, **ALONE)) for query in queries] == before
        assert not [finding for finding in engine.check(full=True) if finding.level == "error"]
    with Engine.open(tmp_path / "i") as engine:
        assert not engine.repairs
        assert [scored(engine.retrieve(query, 50, **ALONE)) for query in queries] == before


def test_a_model_that_is_away(tmp_path: Path, model: Path) -> None:
    """Without the model words answer, the failure names the command, and weights stay; with it all is as before."""
    with Engine.open(tmp_path / "i", create=True, settings=LEGS, embedder="") as engine:
        fill(engine)
        expected = scored(engine.retrieve("token", **ALONE))
    model.rename(tmp_path / "away")
    with Engine.open(tmp_path / "i") as engine:
        assert not engine.repairs
        ranking = engine.retrieve("token")
        assert len(ranking)
        assert "sleuth index models pull splade" in str(ranking.failures[0].error)
        assert all(score > 0 for score in score_hits(engine, "token", engine.retrieve("token", explain=True)))
        warnings = [finding for finding in engine.check() if finding.level == "warning"]
        assert any("sleuth index models pull splade" in finding.message for finding in warnings)
        engine.add([Document("token", id="new")])
        assert engine.status()["legs"]["sparse"]["uncovered"] == 1
    (tmp_path / "away").rename(model)
    with Engine.open(tmp_path / "i") as engine:
        assert engine.embed() == 1
        engine.delete(["new"])
        assert scored(engine.retrieve("token", **ALONE)) == expected
    with pytest.raises(EmbeddingError, match="sleuth index models pull none"):
        Engine.open(tmp_path / "j", create=True, settings={"legs": "sparse:none"})
    with pytest.raises(ArgumentError, match="as in sparse:MODEL, got 'sparse'"):
        Engine.open(tmp_path / "j", create=True, settings={"legs": "sparse"})
    assert not (tmp_path / "j").exists()


def test_another_model_under_the_same_name(tmp_path: Path, model: Path) -> None:
    """Other weights of the model make the rows again, and a repair says so."""
    with Engine.open(tmp_path / "i", create=True, settings=LEGS, embedder="") as engine:
        fill(engine)
    table = np.full((len(tiny.WORDS), len(tiny.WORDS)), -1, np.float32)
    table[:, tiny.WORDS.index("limiter")] = 4
    (model / "model.onnx").write_bytes(tiny.encoder(table=table))
    with Engine.open(tmp_path / "i") as engine:
        assert {repair.what for repair in engine.repairs} == {"sparse"}
        engine.embed()
        assert len(engine.retrieve("limiter", 400, **ALONE)) == len(live())


def test_texts_are_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was encoded of a text is kept by content, and a kept value that was not written here is made again."""
    texts: list[str] = []
    encode = OnnxSparseEncoder.encode_documents

    def count(self: OnnxSparseEncoder, some: list[str]) -> Any:
        texts.extend(some)
        return encode(self, some)

    monkeypatch.setattr(OnnxSparseEncoder, "encode_documents", count)
    with Engine.open(tmp_path / "i", create=True, settings=LEGS, embedder="") as engine:
        engine.add([Document("token", id="a"), Document("token", id="b"), Document("one", id="c")])
        assert sorted(texts) == ["one", "token"]
        engine.delete(["a", "b"])
        engine.add([Document("token", id="d")])
        assert sorted(texts) == ["one", "token"]


@pytest.mark.parametrize("raw", [b"\xff", b"[]", b'{"token": 99}', b'{"limiter": 1.5}'])
def test_a_kept_value_that_is_none_is_made_again(tmp_path: Path, raw: bytes) -> None:
    """What the cache holds for a text counts only where this leg can have written it."""
    with Engine.open(tmp_path / "i", create=True, settings=LEGS, embedder="") as engine:
        leg: Any = engine.legs["sparse"]
        with engine.store.writer() as writer:
            writer.put_embeddings(leg.model, {text_hash("token"): raw})
        engine.add([Document("token", id="a")])
        assert [item.id for item in engine.retrieve("token", **ALONE)] == ["a#0"]


def test_commands(tmp_path: Path) -> None:
    """`sleuth index --legs sparse:MODEL` makes the leg, `search --leg` asks it, `status` and `doctor` show it."""
    write(tmp_path / "notes", {"a.txt": "token limiter", "b.txt": "one text"})
    outcome = sleuth("index", "notes", "--legs", "sparse:splade", cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    answer = sleuth("search", "bucket", "--leg", "sparse", "--json", cwd=tmp_path)
    assert [item["metadata"]["source"] for item in json.loads(answer.stdout)["items"]] == ["notes/a.txt"]
    assert "sparse" in sleuth("status", cwd=tmp_path).stdout
    assert "sparse" in sleuth("doctor", "--full", "--verbose", cwd=tmp_path).stdout
    assert "splade  sparse encoder" in sleuth("index", "models", cwd=tmp_path).stdout
