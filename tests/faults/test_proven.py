"""Once a damaged segment was proven to be damaged, an index that stays open answers as before the damage."""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, SleuthError
from sleuth.cluster import ShardedEngine
from sleuth.store.catalogue import building, segments, watch
from tests.faults.trial import finish
from tests.surfaces.http.conftest import serving

DOCUMENTS = [
    Document(f"word{i % 7} word{i % 11} common", {"year": 1900 + i, "kind": "ab"[i % 2]}, id=f"d{i}")
    for i in range(120)
]
LEGS = ("lexical", "columns")


def answers(engine: Engine) -> list[Any]:
    """Return rankings and counts, which read every leg."""
    rankings = [engine.retrieve(query, 50) for query in ("word1 word2", "word3", "common word10")]
    rankings += [engine.retrieve("common", 120, filter=text) for text in ("year<1950", "kind:a")]
    rankings += [engine.scoped("kind:a").retrieve("word3", 50)]
    hits = [[(item.id, item.score) for item in ranking] for ranking in rankings]
    return [hits, engine.count("kind:a"), engine.facets(["kind"]), engine.count("year>=1990")]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "INLINE_BYTES", 0)
    monkeypatch.setattr(watch, "RATE", 1 << 40)
    monkeypatch.setattr(watch, "SHARE", 1e9)


def damaged(sound: Path, leg: str, place: Path) -> Iterator[Path]:
    """Yield copies of an index with a few other bytes in a segment of a leg."""
    for seed in range(120):
        rng = random.Random(seed)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(sound, place)
        file = rng.choice(sorted(place.glob(f"**/{leg}-*")))
        data = bytearray(file.read_bytes())
        (header,) = struct.unpack_from("<I", data, 12)
        for _ in range(4):
            data[rng.randrange(segments.PRELUDE.size + header, len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        yield place


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("shards", [1, 3])
def test_answers_after_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leg: str, shards: int
) -> None:
    """Answers that damage changed in silence are those of before once it is proven, with the searchers of before."""

    def opened(path: Path, **options: Any) -> Engine:
        if shards == 1:
            return Engine.open(path, embedder="", **options)
        return ShardedEngine.open(path, embedder="", **options)

    sound = tmp_path / "sound"
    with opened(sound, create=True, **({"shards": shards} if shards > 1 else {})) as engine:
        engine.add(DOCUMENTS)
        expected = answers(engine)
    silent = 0
    for path in damaged(sound, leg, tmp_path / "damaged"):
        monkeypatch.setattr(watch, "PATIENCE", 1e9)
        try:
            with opened(path) as engine:
                indexes = getattr(engine.store, "indexes", [engine.backend])
                if engine.repairs or answers(engine) == expected:
                    continue
                silent += 1
                for index in indexes:
                    index.store._watch._due = 0.0
                engine.retrieve("word1", 3)  # begins the proof
                for index in indexes:
                    finish(index.store._watch)
                assert answers(engine) == expected
        except SleuthError:
            continue
        if silent == 3:
            break
    assert silent == 3


def test_answers_of_a_server_after_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that a server kept before the proof is not given after it."""
    monkeypatch.setattr(watch, "PATIENCE", 1e9)
    sound = tmp_path / "sound"
    with Engine.open(sound, create=True, embedder="") as engine:
        engine.add(DOCUMENTS)

    body = {"query": "common", "k": 100, "filter": "year<1950"}
    with serving(sound) as server:
        expected = server.client.post("/v1/search", json=body).json()["items"]
    for path in damaged(sound, "columns", tmp_path / "damaged"):
        with serving(path) as server:
            before = server.client.post("/v1/search", json=body)
            if before.status_code != 200 or before.json()["items"] == expected:
                continue
            assert server.client.post("/v1/search", json=body).json() == before.json()
            server.engine.store._watch._due = 0.0
            server.client.post("/v1/search", json={"query": "word1"})
            finish(server.engine.store._watch)
            assert server.client.post("/v1/search", json=body).json()["items"] == expected
            return
    pytest.fail("no damage changed an answer")
