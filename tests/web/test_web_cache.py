"""WebCache: ages, pruning, and many writers."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sleuth.errors import ArgumentError
from sleuth.web.cache import WebCache
from sleuth.web.service import Hit

HITS = [Hit("https://a.org/ü", "Title", "text “quoted”", "a.org", 0.5, "2024-05-01")]


def request(number: int) -> dict[str, Any]:
    return {"query": f"query {number}", "api_k": 3}


def test_round_trip(tmp_path: Path) -> None:
    """A stored response is returned for the same request only; empty responses are not stored."""
    cache = WebCache(tmp_path / "deep" / "folder")
    cache.put(request(1), HITS)
    entry = cache.get(request(1))
    assert entry is not None
    assert (list(entry.hits), entry.fresh) == (HITS, True)
    assert cache.get(request(2)) is None
    cache.put(request(2), [])
    assert cache.get(request(2)) is None


def test_an_entry_answers_its_own_request_only(tmp_path: Path) -> None:
    """An entry under the name of another request, as in a copied folder, counts as missing."""
    cache = WebCache(tmp_path)
    cache.put(request(1), HITS)
    [one] = tmp_path.glob("*.json")
    cache.put(request(2), HITS)
    [other] = set(tmp_path.glob("*.json")) - {one}
    other.write_bytes(one.read_bytes())
    assert cache.get(request(1)) is not None
    assert cache.get(request(2)) is None


@pytest.mark.parametrize(
    ("age", "expected"), [(0, "fresh"), (90, "fresh"), (150, "stale"), (900, "stale"), (1100, None)]
)
def test_ages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, expected: str | None) -> None:
    """An entry is fresh until `max_age`, stale until `max_stale`, then gone; a clock that goes back makes nothing
    older.
    """
    now = [1000.0]
    monkeypatch.setattr("sleuth.web.cache.time", lambda: now[0])
    cache = WebCache(tmp_path, max_age=100, max_stale=1000)
    cache.put(request(1), HITS)
    now[0] += age
    entry = cache.get(request(1))
    assert (entry and ("fresh" if entry.fresh else "stale")) == expected
    now[0] = 0.0
    entry = cache.get(request(1))
    assert entry is not None and entry.fresh


def test_prune_and_clear(tmp_path: Path) -> None:
    """Pruning deletes the oldest entries above `max_entries` and expired ones; clearing deletes all."""
    cache = WebCache(tmp_path, max_entries=3, max_stale=30 * 86_400)
    for number in range(6):
        cache.put(request(number), HITS)
        path = cache._path(request(number))
        moment = path.stat().st_mtime - 1000 * (6 - number)
        os.utime(path, (moment, moment))
    ancient = cache._path(request(5))
    os.utime(ancient, (1, 1))
    cache.prune()
    assert [number for number in range(6) if cache.get(request(number))] == [2, 3, 4]
    cache.clear()
    assert list(tmp_path.iterdir()) == []
    WebCache(tmp_path / "none").clear()


def test_writers_at_once(tmp_path: Path) -> None:
    """Concurrent threads never read a partial entry, and leave no temporary file."""
    cache = WebCache(tmp_path)

    def work(number: int) -> bool:
        cache.put(request(number % 5), HITS)
        entry = cache.get(request(number % 5))
        return entry is not None and list(entry.hits) == HITS

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}


@pytest.mark.parametrize("bad", [{"max_age": -1}, {"max_stale": float("nan")}, {"max_entries": 0}])
def test_settings(tmp_path: Path, bad: dict[str, Any]) -> None:
    """A setting out of range raises an error that names it."""
    with pytest.raises(ArgumentError, match=next(iter(bad))):
        WebCache(tmp_path, **bad)
