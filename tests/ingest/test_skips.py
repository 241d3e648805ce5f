"""An index remembers which files could not be read, and why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.ingest.reports import skips_of
from sleuth.store import KnownFile
from tests.code.conftest import write

BROKEN = b"%PDF-1.4 broken"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Two folders with a broken PDF each, and a table with a row that is too long for the limit."""
    for name in ("a", "b"):
        write(tmp_path / "docs" / name, {"bad.pdf": BROKEN, "good.md": "ocelot"})
    return write(tmp_path / "docs", {"rows.csv": f"text\nshort\n{'long ' * 300}\n"})


def names(engine: Engine) -> list[str]:
    return [skip.path for skip in engine.skips()]


def test_what_was_skipped_is_remembered_until_it_is_read(engine: Engine, docs: Path) -> None:
    """Each run replaces what it looked at: a part of a folder, changed files, or all."""
    assert engine.skips() == []
    report = engine.index([docs], options={"max_row_bytes": 1000})
    assert names(engine) == ["docs/a/bad.pdf", "docs/b/bad.pdf", "docs/rows.csv#2"]
    assert set(engine.skips()) == set(report.skipped)
    engine.index([docs])
    assert names(engine) == ["docs/a/bad.pdf", "docs/b/bad.pdf", "docs/rows.csv#2"]
    (docs / "a" / "bad.pdf").unlink()
    (docs / "b" / "bad.pdf").unlink()
    engine.index([docs / "a"])
    assert names(engine) == ["docs/b/bad.pdf", "docs/rows.csv#2"]
    engine.index([docs], changed=[docs / "b" / "bad.pdf"])
    assert names(engine) == ["docs/rows.csv#2"]
    (docs / "rows.csv").write_text("text\nshort\n")
    engine.index([docs])
    assert engine.skips() == []


def test_what_was_skipped_moves_with_its_folder_and_goes_with_it(engine: Engine, docs: Path) -> None:
    """`move` gives it the new name; a folder that is gone and pruned takes it along."""
    engine.index([docs])
    docs.rename(docs.parent / "papers")
    engine.move(docs, docs.parent / "papers")
    assert names(engine) == ["papers/a/bad.pdf", "papers/b/bad.pdf"]
    shutil.rmtree(docs.parent / "papers" / "a")
    engine.index([docs.parent / "papers"], prune=True)
    assert names(engine) == ["papers/b/bad.pdf"]
    shutil.rmtree(docs.parent / "papers")
    engine.index([docs.parent / "papers"], prune=True)
    assert engine.skips() == []


@pytest.mark.parametrize(
    "note", ["", "[", "7", '[["a", "b"]]', '[["a", "b", "strange"]]', '[["a", "b", ["c"]]]']
)
def test_a_note_that_does_not_read_lists_nothing(note: str) -> None:
    """A note of a later release, or of somebody who tampered with the index, is no failure."""
    assert skips_of(KnownFile("a", skips=note)) == []
