"""An index whose segments are large enough for lists of clusters (here: from 400 passages)."""

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.dense import lists

PLACES = ("harbour", "market", "station", "bridge", "tower", "garden", "museum", "school")
DEEDS = ("opens", "closes", "burns", "moves", "floods", "shines", "echoes", "shakes", "freezes", "grows")
N = 600


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of 600 passages in one segment with lists, of which a search reads all."""
    monkeypatch.setattr(lists, "LISTED_FROM", 400)
    monkeypatch.setattr(lists, "ROWS_OF_A_LIST", N // 20)
    monkeypatch.setattr(lists, "PROBES", N)
    monkeypatch.setattr(lists, "READ_APART", 0)
    monkeypatch.setattr("sleuth.dense.search.EXACT_BELOW", 0)
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(
            Document(f"The {PLACES[i % 8]} {DEEDS[i % 10]} on day {i}.", {"source": f"{i}.md", "day": i})
            for i in range(N)
        )
        engine.compact()
    return tmp_path / "index"


def test_lists_find_what_exact_search_finds(folder: Path) -> None:
    """Ids and scores are those of an exact search where all lists are read, also after deletions."""
    with Engine.open(folder) as engine:
        for query in ("when does the museum burn", "frozen harbour", "day 77"):
            for condition in (None, "day:<0", "day:7", "day:<6", "day:<60", "day:<300", "day:<600"):
                by_lists, exact = (
                    engine.retrieve(query, 5, legs=["dense"], filter=condition, exact=sure).items
                    for sure in (False, True)
                )
                assert by_lists == exact
        engine.delete(filter="day:<100")
        days = [item.metadata["day"] for item in engine.retrieve("the harbour opens", 20, legs=["dense"])]
        assert min(days) >= 100


def test_an_index_with_lists_is_sound(folder: Path) -> None:
    """A full check of an index with lists finds nothing."""
    with Engine.open(folder) as engine:
        assert [finding.message for finding in engine.check(full=True) if finding.level != "ok"] == []
