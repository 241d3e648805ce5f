"""Snapshots get the same id however they are made, and never contain the index itself."""

from pathlib import Path

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.code.parsing import limits
from sleuth.code.snapshots.diff import compare
from sleuth.engine import open_code
from sleuth.errors import CodeError, UnknownSnapshotError
from tests.code.conftest import SHOP, Git, write


@pytest.mark.parametrize("folder", [".sleuth", "deep/index"])
def test_the_index_is_no_part_of_what_it_indexes(git: Git, tmp_path: Path, folder: str) -> None:
    """A clean worktree that contains the index has the id of the commit; a plain folder omits the index too."""
    commit = git.commit({**SHOP, "deep/a.py": "a = 1\n"})
    with open_code(git.root / folder, create=True) as storage:
        for _ in range(2):
            report = index_path(storage, git.root)
            assert (report.snapshot, report.files) == (commit, len(SHOP) + 1)
        write(git.root, {"deep/b.py": "b = 1\n"})
        assert index_path(storage, git.root).files == len(SHOP) + 2
    plain = tmp_path / "plain"
    write(plain, dict(SHOP))
    with open_code(plain / folder, create=True) as storage:
        assert {index_path(storage, plain).files for _ in range(2)} == {len(SHOP)}


def test_large_files_of_a_commit_are_listed_and_not_read(storage: CodeStorage, git: Git) -> None:
    """Large files of a commit are skipped as in a worktree, and each run reports them."""
    git.commit({**SHOP, "big.py": "x = 1\n" * (limits.MAX_BYTES // 6 + 1), "edge.py": "#" * limits.MAX_BYTES})
    for revision in ("HEAD", None, "HEAD"):
        skips = dict(index_path(storage, git.root, revision=revision).skipped)
        assert skips == {"big.py": limits.TOO_LARGE, "edge.py": "minified"}


def test_the_newest_snapshots_are_those_that_were_taken_last(storage: CodeStorage, git: Git) -> None:
    """Taking a snapshot again makes it the newest: the current one, and the last that `--prune` removes."""
    first = git.commit(dict(SHOP))
    second = git.commit({"a.py": "a = 1\n"})
    for revision in (first, second, first):
        git("checkout", "-q", revision)
        report = index_path(storage, git.root)
    repository = storage.repository(report.repository)
    assert storage.snapshot(repository).id == first
    assert [info.id for info in storage.snapshots(repository.id)] == [first, second]


def test_a_name_means_the_snapshot_it_was_last_seen_at(storage: CodeStorage, git: Git) -> None:
    """A branch that was reset and a tag that was moved name one snapshot."""
    first = git.commit(dict(SHOP))
    git("tag", "t")
    branch = git("rev-parse", "--abbrev-ref", "HEAD").strip()
    second = git.commit({"a.py": "a = 1\n"})
    git("tag", "-f", "t")
    report = index_path(storage, git.root)
    git("reset", "-q", "--hard", first)
    git("tag", "-f", "t")
    index_path(storage, git.root)
    repository = storage.repository(report.repository)
    assert {storage.snapshot(repository, name).id for name in (branch, "t", first)} == {first}
    assert storage.snapshot(repository, second).names == ()


def test_files_out_of_sight_are_not_the_commit(storage: CodeStorage, git: Git) -> None:
    """A sparse worktree has the id of its content and the name of its branch."""
    commit = git.commit({**SHOP, "lib/a.py": "a = 1\nb = 2\n"})
    git("sparse-checkout", "set", "lib")
    sparse = index_path(storage, git.root)
    assert sparse.snapshot.startswith("content-")
    assert sparse.names
    git("sparse-checkout", "disable")
    assert index_path(storage, git.root).snapshot == commit


def test_links_do_not_differ_by_how_they_were_read(storage: CodeStorage, git: Git) -> None:
    """A link in a worktree equals the same link in a commit."""
    git.root.mkdir(exist_ok=True)
    (git.root / "a.lnk").symlink_to("shop")
    first = git.commit(dict(SHOP))
    index_path(storage, git.root, revision="HEAD")
    (git.root / "a.lnk").unlink()
    (git.root / "b.lnk").symlink_to("lib")
    second = git.commit({"a.py": "a = 1\n"})
    report = index_path(storage, git.root)
    repository = storage.repository(report.repository)
    old, new = (storage.open_snapshot(repository, storage.snapshot(repository, id)) for id in (first, second))
    changes = compare(old, new)
    assert (changes.added, changes.removed, changes.changed, changes.renamed) == (
        ["a.py", "b.lnk"], ["a.lnk"], [], [],
    )  # fmt: skip
    git.commit({"b.py": "b = 1\n"})
    index_path(storage, git.root, revision="HEAD")
    third = storage.open_snapshot(repository, storage.snapshot(repository))
    assert compare(new, third).changed == []


def test_revisions_that_name_no_commit(storage: CodeStorage, git: Git) -> None:
    """Trees, blobs, empty names and odd bytes are refused by name; a search by message finds a commit."""
    commit = git.commit(dict(SHOP))
    for wrong in ("", "HEAD:README.md", "HEAD^{tree}", "HEAD:README.md\0", "\udcff"):
        with pytest.raises(UnknownSnapshotError, match="revision must be a commit, branch or tag"):
            index_path(storage, git.root, revision=wrong)
    message = git("log", "-1", "--format=%s").strip()
    assert index_path(storage, git.root, revision=f":/{message}").snapshot == commit


def test_a_plain_folder_needs_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git a folder is indexed; a repository raises an error with the remedy."""
    write(tmp_path / "folder", dict(SHOP))
    write(tmp_path / "repository", dict(SHOP) | {".git": "gitdir: elsewhere\n"})
    write(tmp_path / "bare", {"HEAD": "ref: refs/heads/main\n", "objects/info/packs": ""})
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with open_code(tmp_path / "index", create=True) as storage:
        assert index_path(storage, tmp_path / "folder", workers=1).files == len(SHOP)
        for name in ("repository", "repository/shop", "bare"):
            with pytest.raises(CodeError, match="in a repository: install git"):
                index_path(storage, tmp_path / name, workers=1)


def test_a_worktree_of_all_kinds_of_files_is_its_commit(storage: CodeStorage, git: Git) -> None:
    """A worktree with executable files, links and submodules is clean whenever `git status` says so."""
    inner = Git(git.root / "inner")
    inner.commit({"lib.py": "lib = 1\n"})
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./inner", "inner")
    write(git.root, {**SHOP, "run.sh": "#!/bin/sh\nexec true\n"})
    (git.root / "run.sh").chmod(0o755)
    (git.root / "a.lnk").symlink_to("shop")
    (git.root / "gone.lnk").symlink_to("nowhere")
    commit = git.commit({})
    assert git("status", "--porcelain") == ""
    assert index_path(storage, git.root).snapshot == commit
    assert index_path(storage, git.root).snapshot == commit
    (git.root / "run.sh").chmod(0o644)
    assert git("status", "--porcelain") == "M run.sh"
    assert index_path(storage, git.root).snapshot != commit
    (git.root / "run.sh").chmod(0o755)
    assert index_path(storage, git.root).snapshot == commit
    inner.commit({"lib.py": "lib = 2\n"})
    assert git("status", "--porcelain") == "M inner"
    assert index_path(storage, git.root).snapshot != commit
