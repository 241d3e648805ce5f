"""Indexing is incremental: from the previous run, and from the names of changed files."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.code.repository import git as git_module
from sleuth.code.repository import process
from sleuth.code.repository.listing import Listed
from sleuth.code.repository.past import Past, Recall
from sleuth.code.repository.sources import DiskSource, source_at
from sleuth.code.snapshots.indexing import past_of
from sleuth.engine import open_code
from tests.code.conftest import SHOP, Git, write


def listed(root: Path, storage: CodeStorage, paths: list[Path] | None) -> tuple[bool, str, list[Listed]]:
    """Return whether `changed` was enough for a listing, its snapshot and its files, which equal those of a full
    listing.
    """
    source = source_at(root)
    assert isinstance(source, DiskSource)
    repository = storage.repository(str(root))
    past = past_of(storage, repository.id, source)
    short = None if paths is None else source.listing_after(paths, past)
    whole = source_at(root).listing()
    assert short is None or (short.version, short.files) == (whole.version, whole.files)
    return short is not None, whole.version.id, whole.files


def test_only_what_changed_is_looked_at(storage: CodeStorage, git: Git) -> None:
    """With the names of changed files, a run finds edits, new, ignored, deleted and restored files."""
    git.commit({**SHOP, ".gitignore": "*.log\n"})
    clean = index_path(storage, git.root).snapshot
    steps: list[tuple[dict[str, str | bytes], list[str], list[str]]] = [
        ({"shop/models.py": "a = 1\n"}, [], ["shop/models.py"]),
        ({"shop/new.py": "b = 1\n", "out.log": "x"}, [], ["shop/new.py", "out.log"]),
        ({}, ["shop/new.py", "shop/latest.py"], ["shop/new.py", "shop/latest.py"]),
        ({"shop/models.py": "a = 2\n"}, [], ["shop/models.py", "shop/never.py"]),
    ]
    for files, deletions, names in steps:
        write(git.root, files)
        for name in deletions:
            (git.root / name).unlink()
        paths = [git.root / name for name in names]
        short, id, _ = listed(git.root, storage, paths)
        assert short
        assert index_path(storage, git.root, changed=paths).snapshot == id != clean
    back = {name: SHOP[name] for name in ("shop/models.py", "shop/latest.py")}
    write(git.root, dict(back))
    assert index_path(storage, git.root, changed=[git.root / name for name in back]).snapshot == clean


def test_a_commit_is_listed_from_the_one_before(git: Git) -> None:
    """The difference from the last listed commit gives the files of a full listing, even if that commit is gone."""
    git.commit({**SHOP, "lib/a.py": "a = 1\n"})
    recall = Recall()
    steps: list[tuple[dict[str, str | bytes], list[str]]] = [
        ({"shop/models.py": "a = 1\n"}, []),
        ({"lib": "now a file\n", 'tab\tand "quote".py': "b = 1\n"}, ["lib/a.py"]),
        ({"lib/a.py": "a folder again\n"}, ["lib"]),
        ({}, ["shop/payment.py"]),
    ]
    for files, deletions in steps:
        for name in deletions:
            (git.root / name).unlink()
            if name == "lib/a.py":
                (git.root / "lib").rmdir()
        git.commit(files)
        whole = source_at(git.root, "HEAD").listing()
        assert source_at(git.root, "HEAD").listing(Past(recall)) == whole
        assert recall.commit == whole.version.id
    recall.commit = "0" * 40
    assert source_at(git.root, "HEAD").listing(Past(recall)) == source_at(git.root, "HEAD").listing()


def test_a_plain_folder_too(storage: CodeStorage, tmp_path: Path) -> None:
    """A folder outside git is also listed from changed names; hidden, skipped and ignored files stay out."""
    root = tmp_path / "plain"
    write(root, {**SHOP, ".gitignore": "build/\n*.log\n"})
    index_path(storage, root)
    names = [
        "a.py",
        "x.log",
        "build/a.py",
        ".hidden/a.py",
        "node_modules/a.js",
        "shop/.secret.py",
        "shop/b.py",
    ]
    for name in names:
        write(root, {name: "x = 1\n"})
    paths = [root / name for name in (*names, "shop/latest.py", "../outside.py")]
    (root / "shop/latest.py").unlink()
    short, id, files = listed(root, storage, paths)
    assert short
    assert {"a.py", "shop/b.py"} <= {file.path for file in files}
    assert index_path(storage, root, changed=paths).snapshot == id


def test_a_file_that_was_written_just_now_is_read_again(storage: CodeStorage, tmp_path: Path) -> None:
    """Two edits within one tick of the clock have one time: only a file that was old by then is not read again."""
    root, hour = tmp_path / "plain", 3600 * 10**9
    times = {"old.py": time.time_ns() - hour, "young.py": time.time_ns() + hour}

    def write_all(content: str) -> None:
        write(root, dict.fromkeys(times, content))
        for name, ns in times.items():
            os.utime(root / name, ns=(ns, ns))

    def hashes() -> dict[str, str]:
        source = source_at(root)
        assert isinstance(source, DiskSource)
        past = past_of(storage, storage.repository(str(root)).id, source)
        return {file.path: file.hash for file in source.listing(past).files}

    write_all("a = 1\n")
    index_path(storage, root)
    before = hashes()
    write_all("a = 2\n")
    after = hashes()
    assert {name for name in times if before[name] != after[name]} == {"young.py"}


def test_some_changes_need_a_full_listing(storage: CodeStorage, git: Git, tmp_path: Path) -> None:
    """Ignore rules, moved folders, another branch, a new git index and a new process cause a full listing."""
    git.commit({**SHOP, "notes.log": "x\n"})
    git("branch", "other")
    index_path(storage, git.root)
    edited = git.root / "shop/models.py"

    def changes(*names: str) -> bool:
        """Return whether changed names were enough after an edit; the run indexes every change in any case."""
        edited.write_text(f"n = {time.time_ns()}\n")
        paths = [edited, *(git.root / name for name in names)]
        short, id, _ = listed(git.root, storage, paths)
        assert index_path(storage, git.root, changed=paths).snapshot == id
        return short

    assert changes()
    write(git.root, {".gitignore": "src/\n"})
    assert not changes(".gitignore")
    (git.root / "server").rename(git.root / "servers")
    assert not changes("server", "servers")
    assert not changes("servers")
    (git.root / "servers").rename(git.root / "server")
    assert not changes("servers/main.go", "server")
    git("add", "shop/models.py")
    assert not changes()
    git("commit", "-q", "-m", "more")
    assert not changes()
    git("checkout", "-q", "-f", "other")
    assert not changes()
    write(git.root, {"inner/a.py": "a = 1\n"})
    git("init", "-q", "inner")
    assert not changes("inner/a.py")
    with open_code(storage.path) as fresh:
        index_path(fresh, git.root, changed=[])
        assert listed(git.root, fresh, [])[0]


def test_git_is_read_again_only_when_it_wrote(
    storage: CodeStorage, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two runs without a commit, git's index is not listed again, and changes are still found."""
    git.commit(dict(SHOP))
    index_path(storage, git.root)
    calls: list[tuple[str, ...]] = []
    start = process.start

    def counted(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        calls.append(arguments)
        return start(folder, *arguments, stdin=stdin)

    monkeypatch.setattr(git_module, "start", counted)
    write(git.root, {"shop/models.py": "a = 1\n"})
    assert index_path(storage, git.root).added == 1
    assert not [a for a in calls if "-s" in a]
    git.commit({"shop/models.py": "a = 2\n"})
    calls.clear()
    assert index_path(storage, git.root).added == 1
    assert [a for a in calls if "-s" in a]
