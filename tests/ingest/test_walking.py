"""Walking folders: which files are listed, in which order, and the reasons for skipped ones."""

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sleuth.ingest import DiskFolders, FileEntry, ReadOptions, Skipped
from sleuth.ingest.reports import SkipKind
from tests.code.conftest import write


def make(root: Path, *names: str) -> None:
    write(root, {name: name for name in names})


def paths(root: Path | Sequence[Path], options: ReadOptions | None = None) -> list[str]:
    roots = [root] if isinstance(root, Path) else root
    entries = [
        entry for entry in DiskFolders(roots, options or ReadOptions()).list() if isinstance(entry, FileEntry)
    ]
    return [entry.source.removeprefix(f"{roots[0]}/") for entry in entries]


def skipped(root: Path, options: ReadOptions | None = None) -> dict[str, tuple[SkipKind, str]]:
    records = (
        entry for entry in DiskFolders([root], options or ReadOptions()).list() if isinstance(entry, Skipped)
    )
    return {entry.path.removeprefix(f"{root}/"): (entry.kind, entry.reason) for entry in records}


def test_order_and_fields(tmp_path: Path) -> None:
    """Folders and files are listed in order of name, with size and time."""
    make(tmp_path, "b.md", "a/z.md", "a/B.md", "c/d/e.md", "a.md")
    os.utime(tmp_path / "b.md", ns=(5, 1_700_000_000_123_456_789))
    entries = [entry for entry in DiskFolders([tmp_path]).list() if isinstance(entry, FileEntry)]
    sources = [entry.source.removeprefix(f"{tmp_path}/") for entry in entries]
    assert sources == ["a/B.md", "a/z.md", "a.md", "b.md", "c/d/e.md"]
    path = str(tmp_path / "b.md")
    assert entries[3] == FileEntry(path, path, 4, 1_700_000_000_123_456_789, "1700000000123456789")


def test_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Overlapping roots list a file once; one path is a list of one; sources are absolute, also for a relative root."""
    make(tmp_path, "a/b.md", "a/c.md")
    assert paths([tmp_path, tmp_path / "a", tmp_path / "a" / "b.md"]) == ["a/b.md", "a/c.md"]
    monkeypatch.chdir(tmp_path / "a")
    for roots in (str(tmp_path), ["../a"]):
        sources = [entry.source for entry in DiskFolders(roots).list()]
        assert sources == [str(tmp_path / "a" / "b.md"), str(tmp_path / "a" / "c.md")]


def test_hidden_and_version_control(tmp_path: Path) -> None:
    """Hidden names are listed on request or if they are named as a root, folders of version control never."""
    make(tmp_path, ".env", ".github/x.md", ".git/config", "CVS/x", ".hg/y", "a.md")
    assert paths(tmp_path) == ["a.md"]
    assert paths(tmp_path, ReadOptions(hidden=True)) == [".env", ".github/x.md", "a.md"]
    assert paths(tmp_path / ".env") == [str(tmp_path / ".env")]


def test_include_and_exclude(tmp_path: Path) -> None:
    """Globs without a slash match names anywhere, others match paths from the root."""
    make(tmp_path, "a.md", "a.txt", "docs/b.md", "docs/old/c.md", "old/d.md")
    assert paths(tmp_path, ReadOptions(include=["*.md"])) == [
        "a.md", "docs/b.md", "docs/old/c.md", "old/d.md",
    ]  # fmt: skip
    assert paths(tmp_path, ReadOptions(include=["*.md"], exclude=["old/"])) == ["a.md", "docs/b.md"]
    assert paths(tmp_path, ReadOptions(exclude=["/old", "*.txt"])) == ["a.md", "docs/b.md", "docs/old/c.md"]
    assert paths(tmp_path, ReadOptions(include=["/docs/*.md"])) == ["docs/b.md"]
    assert paths(tmp_path, ReadOptions(include=["docs"])) == ["docs/b.md", "docs/old/c.md"]


def test_ignore_files(tmp_path: Path) -> None:
    """.gitignore and .sleuthignore apply below their folder; the nearest one wins, and both can re-include."""
    make(tmp_path, "a.log", "keep.log", "build/x.md", "docs/b.log", "docs/c.tmp", "docs/d.md", "drafts/e.md")
    rules = {".gitignore": "*.log\n!keep.log\nbuild/\n*.tmp\n", "docs/.gitignore": "!*.tmp\n"}
    write(tmp_path, {**rules, ".sleuthignore": "/drafts\n"})
    assert paths(tmp_path) == ["docs/c.tmp", "docs/d.md", "keep.log"]
    assert paths(tmp_path, ReadOptions(gitignore=False)) == [
        "a.log", "build/x.md", "docs/b.log", "docs/c.tmp", "docs/d.md", "keep.log",
    ]  # fmt: skip


def test_rules_above_the_root(tmp_path: Path) -> None:
    """Inside a repository the rules of the folders above apply, outside of one they do not."""
    make(tmp_path, "repo/docs/deep/a.md", "repo/docs/deep/b.tmp")
    (tmp_path / ".gitignore").write_text("*.md\n")
    (tmp_path / "repo" / ".gitignore").write_text("*.tmp\n")
    assert paths(tmp_path / "repo" / "docs") == ["deep/a.md", "deep/b.tmp"]
    (tmp_path / "repo" / ".git").mkdir()
    assert paths(tmp_path / "repo" / "docs") == ["deep/a.md"]
    (tmp_path / "link").symlink_to(tmp_path / "repo" / "docs")
    assert paths(tmp_path / "link") == ["deep/a.md"]


def test_ignore_files_that_are_no_text(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 and invalid patterns exclude nothing else."""
    make(tmp_path, "a.md", "b.log")
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe\n*.log\n!\n[\n\\\n")
    assert paths(tmp_path) == ["a.md"]


def test_links(tmp_path: Path) -> None:
    """Links are skipped, each with its reason; a root that is a link is followed."""
    make(tmp_path, "root/a.md", "root/sub/b.md", "outside/c.md", "root-2/d.md")
    root = tmp_path / "root"
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out-file.md").symlink_to("../outside/c.md")
    (root / "sibling").symlink_to(tmp_path / "root-2")
    (root / "up").symlink_to("..")
    (root / "self").symlink_to(root)
    (root / "in.md").symlink_to("sub/b.md")
    (root / "nothing").symlink_to("nowhere")
    (root / "loop-1").symlink_to("loop-2")
    (root / "loop-2").symlink_to("loop-1")
    assert paths(root) == ["a.md", "sub/b.md"]
    skips = skipped(root)
    assert {kind for kind, _ in skips.values()} == {"link"}
    for name in ("out", "out-file.md", "sibling", "up"):
        assert skips[name][1].startswith("a link out of the folder")
    for name in ("self", "in.md"):
        assert skips[name][1].endswith("found under its own name")
    assert skips["nothing"][1] == "a link to nothing"
    assert skips["loop-1"][1] == skips["loop-2"][1] == "a link in a loop"
    (tmp_path / "alias").symlink_to(root)
    assert paths(tmp_path / "alias") == ["a.md", "sub/b.md"]


def test_special_files(tmp_path: Path) -> None:
    """Pipes, sockets and devices are reported and never opened."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket")[:100])
        assert skipped(tmp_path) == {
            "pipe": ("special", "not a file: a pipe"),
            "socket": ("special", "not a file: a socket"),
        }
    assert [entry.reason for entry in DiskFolders(["/dev/null"]).list() if isinstance(entry, Skipped)] == [
        "not a file: a character device"
    ]


def test_oversized(tmp_path: Path) -> None:
    """Files over the limit are skipped with both sizes; row files have no limit."""
    write(tmp_path, {"a.md": "x" * 1001, "b.md": "x" * 1000, "c.csv": "x" * 1001})
    options = ReadOptions(max_bytes=1000)
    assert paths(tmp_path, options) == ["b.md", "c.csv"]
    assert skipped(tmp_path, options) == {"a.md": ("oversized", "1,001 bytes, over the limit of 1,000")}


def test_roots_that_are_not_there(tmp_path: Path) -> None:
    """A root that does not exist, or has an invalid name, gives a record."""
    entries = list(DiskFolders([tmp_path / "none", "a\0b"]).list())
    assert [entry.kind for entry in entries if isinstance(entry, Skipped)] == ["vanished", "unreadable"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    """A folder without permission is skipped, and the rest is listed."""
    make(tmp_path, "a/x.md", "b.md")
    (tmp_path / "a").chmod(0)
    assert paths(tmp_path) == ["b.md"]
    assert skipped(tmp_path)["a"] == ("permission", "no permission to read it")
    (tmp_path / "a").chmod(0o700)


def test_deep_folders(tmp_path: Path) -> None:
    """Folders nested more deeply than Python's stack are walked."""
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(1100):
            os.mkdir("d", dir_fd=here)
            there = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = there
    finally:
        os.close(here)
    make(tmp_path / "d" / "d", "a.md")
    try:
        assert paths(tmp_path) == ["d/d/a.md"]
    finally:  # pytest itself could not
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
