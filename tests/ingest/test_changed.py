"""An index with a list of changed files reads only these, by the rules of the whole folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import ArgumentError, Engine
from tests.code.conftest import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ("a.md", "b.md", "deep/c.md", "deep/d.md", "out/e.md", "notes.txt")
    files = {name: f"Contents of {name}." for name in names}
    return write(tmp_path / "docs", {**files, ".gitignore": "out/\n"})


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    with Engine.open(folder.parent / ".sleuth", create=True, embedder="") as engine:
        engine.index([folder], options={"exclude": ["*.txt"]})
        yield engine


def sources(engine: Engine) -> list[str]:
    return sorted(str(document.metadata["source"]) for document in engine.documents())


def test_only_what_changed_is_looked_at(engine: Engine, folder: Path) -> None:
    """Other files are not even counted as unchanged; one that changed is read, and one that is gone is pruned."""
    (folder / "a.md").write_text("New contents.")
    (folder / "b.md").write_text("New contents that nobody is told of.")
    (folder / "deep/c.md").unlink()
    report = engine.index([folder], prune=True, changed=[folder / "a.md", folder / "deep/c.md"])
    assert (report.updated, report.unchanged, report.pruned) == (1, 0, 1)
    assert sources(engine) == ["docs/a.md", "docs/b.md", "docs/deep/d.md"]
    assert engine.index([folder], prune=True, changed=[]).unchanged == 0
    with pytest.raises(ArgumentError, match="changed must be a list of files"):
        engine.index([folder], changed=str(folder))
    assert engine.index([folder]).updated == 1


def test_rules_hold_for_what_changed(engine: Engine, folder: Path) -> None:
    """Ignored, excluded and hidden files stay out when they change; so do files beside the folder."""
    paths = [folder / name for name in ("out/e.md", "notes.txt", ".hidden.md", "../beside.md")]
    for path in paths:
        path.write_text("Changed.")
    report = engine.index([folder], prune=True, changed=paths)
    assert (report.added, report.updated) == (0, 0)
    (folder / ".gitignore").write_text("")
    report = engine.index([folder], prune=True, changed=[folder / ".gitignore"])
    assert report.added == 1
    assert "docs/out/e.md" in sources(engine)


def test_a_folder_that_moved(engine: Engine, folder: Path) -> None:
    """A folder stands for all below it, where it was and where it is."""
    (folder / "deep").rename(folder / "else")
    report = engine.index([folder], prune=True, changed=[folder / "deep", folder / "else"])
    assert (report.added, report.pruned, report.unchanged) == (2, 2, 0)
    assert sources(engine) == ["docs/a.md", "docs/b.md", "docs/else/c.md", "docs/else/d.md"]


def test_by_way_of_a_link(engine: Engine, folder: Path) -> None:
    """A watcher names real paths where the folder was named by a link."""
    link = folder.parent / "link"
    link.symlink_to(folder, target_is_directory=True)
    engine.index([link])
    (folder / "a.md").write_text("New contents.")
    (folder / "b.md").unlink()
    report = engine.index([link], prune=True, changed=[folder / "a.md", folder / "b.md"])
    assert (report.updated, report.pruned, report.unchanged) == (1, 1, 0)
    assert "link/a.md" in sources(engine)
    assert "link/b.md" not in sources(engine)
