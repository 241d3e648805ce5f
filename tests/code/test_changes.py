"""Indexing is incremental: from what the previous run saw."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.code.repository import git as git_module
from sleuth.code.repository import process
from sleuth.code.repository.listing import Past, Recall
from sleuth.code.repository.sources import DiskSource, source_at
from sleuth.code.snapshots.indexing import past_of
from tests.code.conftest import SHOP, Git, write


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
