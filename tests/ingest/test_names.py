"""File names in an index are relative to its base folder, whichever path leads to a file."""

import os
from pathlib import Path

import pytest

from sleuth.ingest import FileNames


def test_names_below_and_beside_the_base(tmp_path: Path) -> None:
    """A file below the base has a relative name, any other an absolute one; both lead back to the file."""
    names = FileNames.beside(tmp_path / "home" / ".sleuth")
    inside, outside = str(tmp_path / "home" / "docs" / "a.md"), str(tmp_path / "homely" / "a.md")
    assert names.name_of(inside) == "docs/a.md"
    assert names.name_of(outside) == outside
    assert names.name_of(tmp_path / "home") == ""
    for path in (inside, outside, str(tmp_path / "home")):
        assert names.path_of(names.name_of(path)) == path


def test_names_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is resolved from the working folder."""
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    names = FileNames.beside("../.sleuth")
    assert [names.name_of(path) for path in ("a.md", "../README.md", "./x/../a.md", ".")] == [
        "docs/a.md", "README.md", "docs/a.md", "docs",
    ]  # fmt: skip


def test_links_to_the_base(tmp_path: Path) -> None:
    """A file has one name through any link to the base; a link that is named itself keeps its name."""
    (tmp_path / "real" / "docs").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "alias").symlink_to("docs")
    for base in ("real", "link"):
        names = FileNames.beside(tmp_path / base / ".sleuth")
        for way in ("real", "link"):
            assert names.name_of(tmp_path / way / "docs" / "a.md") == "docs/a.md"
            assert names.name_of(tmp_path / way / "alias") == "alias"
            assert names.name_of(tmp_path / way) == ""


def test_an_index_in_the_root_folder() -> None:
    """Names are absolute if the base would be the root of the file system."""
    names = FileNames.beside("/index")
    assert names.name_of("/docs/a.md") == "/docs/a.md"
    assert names.path_of("docs/a.md") == "docs/a.md"


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A byte that is not UTF-8 is escaped in names, in the base and below it."""
    base = tmp_path / os.fsdecode(b"r\xff")
    names = FileNames.beside(base / "index")
    assert names.name_of(base / os.fsdecode(b"\xe9.txt")) == "\\xe9.txt"
    assert names.path_of("a.txt") == f"{tmp_path}/r\\xff/a.txt"
