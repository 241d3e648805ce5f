"""The weight of vectors in an index: measured for an embedder, or estimated from known items."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sleuth import Document, Engine
from sleuth.engine.weights import CODE, PROSE, known_items, material_of, sample

WORDS = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in ("m", "n", "r", "st", "x")]


class Bags:
    """An embedder that knows words: sums of vectors of their own."""

    fingerprint = "bags"

    def __init__(self) -> None:
        self.calls = 0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        words = text.lower().replace(".", " ").split() or [""]
        seeds = [zlib.crc32(word.encode()) for word in words]
        vectors = np.stack([np.random.default_rng(seed).standard_normal(512) for seed in seeds])
        total: NDArray[np.float32] = vectors.sum(axis=0).astype(np.float32)
        return total

    def embed_documents(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.calls += 1
        return [self.embed_query(text) for text in texts]


class Noise(Bags):
    """An embedder that knows nothing: each text has a vector of its own."""

    fingerprint = "noise"

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.random.default_rng(zlib.crc32(text.encode())).standard_normal(64).astype(np.float32)


class Measured(Noise):
    """An embedder whose weight was measured."""

    fingerprint = "measured"
    weight = 1.25


def documents(n: int = 120) -> list[Document]:
    """Return documents of four sentences, each about six words of its own that come again and again."""
    chance = random.Random(1)
    texts = []
    for _ in range(n):
        own = chance.sample(WORDS, 6)
        sentences = [" ".join([*chance.sample(own, 3), *chance.sample(WORDS, 4)]) for _ in range(4)]
        texts.append(". ".join(sentences) + ".")
    return [Document(text, id=f"d{place:03}") for place, text in enumerate(texts)]


def dense_weight(engine: Engine) -> float:
    return float(engine.status()["legs"]["dense"]["weight"])


def test_the_weight_fits_the_embedder(tmp_path: Path) -> None:
    """Vectors that find passages as words do weigh more than .4; those that find none have no weight at all."""
    with Engine.open(tmp_path / "bags", create=True, embedder=Bags()) as engine:
        engine.add(documents())
        assert 0.4 < dense_weight(engine) <= 2
    with Engine.open(tmp_path / "noise", create=True, embedder=Noise()) as engine:
        engine.add(documents())
        assert dense_weight(engine) == 0
        query = documents()[7].text[:40]
        words = engine.retrieve(query, 5, legs=["lexical"])
        assert [item.id for item in engine.retrieve(query, 5)] == [item.id for item in words]


def test_the_estimate_is_kept(tmp_path: Path) -> None:
    """It is made once, when an index first gets vectors, and another embedder gets another one."""
    embedder = Bags()
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        engine.add(documents())
        weight, calls = dense_weight(engine), embedder.calls
    with Engine.open(tmp_path / "i", embedder=embedder) as engine:
        assert dense_weight(engine) == weight
        engine.add([Document("something else", id="new")])
        assert embedder.calls == calls + 1
        item = engine.retrieve(documents()[3].text[:40], 1, explain=True)[0]
        assert item.explanation is not None
        facts = {part.name: part.facts for part in item.explanation.parts}
        trust, knowledge = (float(facts["dense"][name]) for name in ("trust", "knowledge"))
        assert float(facts["dense"]["weight"]) == pytest.approx(weight * trust * knowledge)
    with Engine.open(tmp_path / "i", embedder=Noise(), re_embed=True) as engine:
        engine.embed()
        assert dense_weight(engine) == 0


def test_a_measured_weight_is_used_as_it_is(tmp_path: Path) -> None:
    """An embedder that says its weight costs no estimate, and a fusion that names weights overrides every default."""
    embedder = Measured()
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        engine.add(documents())
        assert dense_weight(engine) == 1.25
        with engine.store.reader() as snapshot:
            assert "weight of dense" not in snapshot.notes()
        fusion = "minmax(lexical=1,dense=0)"
        query = documents()[7].text[:40]
        words = [item.id for item in engine.retrieve(query, 3, legs=["lexical"])]
        assert [item.id for item in engine.retrieve(query, 3, fusion=fusion)] == words


@pytest.mark.parametrize("texts", [["one word"] * 3, ["too short"] * 200, ["a"] * 30])
def test_too_few_known_items(tmp_path: Path, texts: list[str]) -> None:
    """Where passages are few or short, the weight is the default, and is estimated when there are more."""
    with Engine.open(tmp_path / "i", create=True, embedder=Noise()) as engine:
        engine.add([Document(text, id=f"x{place}") for place, text in enumerate(texts)])
        assert dense_weight(engine) == 0.4
        engine.add(documents())
        assert dense_weight(engine) == 0


WRONG = '{"model": "bags", "weight": "x", "words": 1, "meaning": 1, "items": 60}'


@pytest.mark.parametrize("note", ["{", "[]", '{"weight": 9}', WRONG])
def test_a_damaged_estimate_is_made_again(tmp_path: Path, note: str) -> None:
    """A note that is no estimate counts as none."""
    with Engine.open(tmp_path / "i", create=True, embedder=Bags()) as engine:
        engine.add(documents())
        weight = dense_weight(engine)
        with engine.store.writer() as writer:
            writer.note("weight of dense", note)
    with Engine.open(tmp_path / "i", embedder=Bags()) as engine:
        assert dense_weight(engine) == 0.4
        engine.embed()
        assert dense_weight(engine) == weight
        with engine.store.reader() as snapshot:
            assert json.loads(snapshot.notes()["weight of dense"])["model"] == "bags"


def test_over_shards(tmp_path: Path) -> None:
    """The first shard's estimate holds for all."""
    from sleuth.cluster import ShardedEngine

    for _ in range(2):
        with ShardedEngine.open(tmp_path / "s", create=True, shards=2, embedder=Noise()) as engine:
            engine.add(documents(240))
            assert dense_weight(engine) == 0


def test_documents_of_many_passages(tmp_path: Path) -> None:
    """Passages are sampled one by one, also from the middle of documents, with their titles."""
    texts = [f"# Section {place}\n\n{document.text}" for place, document in enumerate(documents(2_400))]
    settings = {"chunk_size": 40, "chunk_overlap": 0}
    with Engine.open(tmp_path / "i", create=True, embedder=Noise(), settings=settings) as engine:
        pages = ["\n\n".join(texts[start : start + 300]) for start in range(0, len(texts), 300)]
        engine.add([Document(page, {"title": "A title"}, id=str(n)) for n, page in enumerate(pages)])
        assert engine.status()["passages"] > 2_000
        assert dense_weight(engine) == 0
        with engine.store.reader() as snapshot:
            rows = sample(snapshot, "dense")
    assert len(rows) == 1_000
    assert set(rows.texts["title"]) == {"A title"}


def test_copies_do_not_raise_a_weight(tmp_path: Path) -> None:
    """Where words find few known items, as among copies, vectors that find as many get no more than the default."""
    with Engine.open(tmp_path / "i", create=True, embedder=Bags()) as engine:
        engine.add(
            [Document(document.text, id=f"{document.id}-{n}") for document in documents(40) for n in range(9)]
        )
        with engine.store.reader() as snapshot:
            estimate = json.loads(snapshot.notes()["weight of dense"])
        assert estimate["words"] < 0.2
        assert dense_weight(engine) == estimate["weight"] <= 0.4


def code(n: int = 120) -> list[Document]:
    """Return lines of code, each about seven words of its own."""
    chance = random.Random(1)
    texts = []
    for _ in range(n):
        one, two, three, *rest = chance.sample(WORDS, 7)
        texts.append(f"{one} = {two} ( {three} , {' , '.join(rest * 2)} ) + [ {two} + {one} ]")
    return [Document(text, id=f"c{place:03}") for place, text in enumerate(texts)]


def test_symbols_mark_code(tmp_path: Path) -> None:
    """Most passages decide; over code the same vectors weigh more, and those that find nothing still weigh nothing."""
    prose = [document.text for document in documents()]
    lines = [document.text for document in code()]
    assert material_of(prose) is material_of([*prose, *lines[:100]]) is PROSE
    guides = (Path(__file__).parents[2] / "docs" / "how-to").glob("*.md")
    assert material_of([guide.read_text("utf8") for guide in guides]) is PROSE
    assert material_of(lines) is material_of([*prose[:100], *lines]) is CODE
    with Engine.open(tmp_path / "bags", create=True, embedder=Bags()) as engine:
        engine.add(code())
        with engine.store.reader() as snapshot:
            estimate = json.loads(snapshot.notes()["weight of dense"])
        ratio = estimate["meaning"] / estimate["words"]
        as_prose, as_code = (np.interp(ratio, kind.ratios, kind.weights) for kind in (PROSE, CODE))
        assert dense_weight(engine) == pytest.approx(as_code, abs=0.006)
        assert as_code > as_prose
    with Engine.open(tmp_path / "noise", create=True, embedder=Noise()) as engine:
        engine.add(code())
        assert dense_weight(engine) == 0


@pytest.mark.parametrize(
    ("query", "share"), [("get_item", 0.4), ("os.path main()", 0.4), ("how does get_item work", 1.25)]
)
def test_names_of_code_are_looked_up_by_their_letters(tmp_path: Path, query: str, share: float) -> None:
    """Vectors weigh no more than the default for a query of names alone, whatever their own weight is."""
    with Engine.open(tmp_path / "i", create=True, embedder=Measured()) as engine:
        engine.add([Document(text) for text in ("get_item is here", "os.path and main()", "it works")])
        item = engine.retrieve(query, 1, explain=True)[0]
        assert item.explanation is not None
        facts = next(part.facts for part in item.explanation.parts if part.name == "dense")
        assert float(facts["weight"]) == pytest.approx(share * float(facts["trust"]))


def test_known_items() -> None:
    """A sentence, or some words of a text without several, is taken out; texts that are too short give none."""
    one = "This sentence is about tokens here. And another one is about many buckets."
    row = " ".join(WORDS[:20])
    items = known_items([one, row, "short. short."])
    assert {item.row for item in items} == {0, 1}
    for item in items:
        text = [one, row][item.row]
        assert item.query in text
        assert item.query not in item.rest
        assert sorted(f"{item.query} {item.rest}".split()) == sorted(text.split())
    assert known_items([one, row]) == known_items([one, row])
    assert len(known_items([one] * 500)) == 60
