"""A searcher answers for its shards of a published version, without Ray."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import Document
from sleuth.cluster import ShardedEngine, publish, shard_of
from sleuth.cluster.shards import decode, encode
from sleuth.filters import as_filter
from sleuth.plugins.ray.searcher import Searcher


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("obstore", reason="obstore is not installed")
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    with ShardedEngine.open(tmp_path / "many", create=True, shards=4, settings={"embedder": ""}) as engine:
        engine.add([Document(f"tide number {i}", id=f"d{i}") for i in range(40)])
    publish(tmp_path / "many", f"file://{tmp_path / 'published'}")
    return f"file://{tmp_path / 'published'}"


def test_a_searcher_fetches_its_own_shards(address: str, tmp_path: Path) -> None:
    """It opens its own shards at each version that it must load, and says which shards it lacks."""
    searcher = Searcher(address, (1, 3))
    request = encode(("counts", {1: (), 3: ()}, None))
    assert decode(searcher.ask(1, request)) == ("absent",)
    kind, (size, limit, _) = decode(searcher.load(1))
    assert (kind, limit) == ("answered", 50_000_000_000)
    assert size == sum(path.stat().st_size for path in (tmp_path / "cache" / "files").iterdir())
    kind, values = decode(searcher.ask(1, request))
    expected = {number: sum(shard_of(f"d{i}", 4) == number for i in range(40)) for number in (1, 3)}
    assert (kind, {number: counts.documents for number, counts in values.items()}) == ("answered", expected)
    views = [path.name for path in (tmp_path / "cache" / "views").glob("*/shard-*")]
    assert sorted(views) == ["shard-00001", "shard-00003"]
    scope = encode(("counts", {1: (), 3: ()}, as_filter("source:d1,d2,d3")))
    _, of_scope = decode(searcher.ask(1, scope))
    inside = {number: sum(shard_of(f"d{i}", 4) == number for i in (1, 2, 3)) for number in (1, 3)}
    assert {number: counts.documents for number, counts in of_scope.items()} == inside
    searcher.drop(1)
    assert decode(searcher.ask(1, request)) == ("absent",)


def test_errors_of_shards_are_values(address: str) -> None:
    """What a shard or the storage refuses comes back as the kind and the message of an error."""
    searcher = Searcher(address, (0,))
    assert decode(searcher.load(9))[:2] == ("refused", "IndexNotFoundError")
    searcher.load(1)
    kind, name, message = decode(searcher.ask(1, encode(("by_id", {0: (7, 3)}, None))))
    assert (kind, name) == ("refused", "ArgumentError")
    assert "after must be" in message
    with pytest.raises(ValueError, match="question must be one of a shard"):
        searcher.ask(1, encode(("_own", {0: ()}, None)))
