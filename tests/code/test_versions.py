"""Versions of a repository: commits, and worktrees, which are a commit exactly when git calls them clean."""

from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.parsing import limits
from sleuth.code.repository.sources import source_at
from sleuth.code.snapshots.diff import compare
from sleuth.engine import open_code
from sleuth.errors import CodeError, UnknownSnapshotError
from tests.code.conftest import Git, opened, write
from tests.code.projects import SHOP


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
    id = index_path(storage, git.root).repository
    old, new = opened(storage, id, first), opened(storage, id, second)
    changes = compare(old, new)
    assert (changes.added, changes.removed, changes.changed, changes.renamed) == (
        ["a.py", "b.lnk"], ["a.lnk"], [], [],
    )  # fmt: skip
    git.commit({"b.py": "b = 1\n"})
    index_path(storage, git.root, revision="HEAD")
    assert compare(new, opened(storage, id)).changed == []


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


ADD = "git -c protocol.file.allow=always submodule --quiet add $PWD inner; git commit -qm x"
AGAIN = "git add .; git commit -qm x; rm a.py b/c.py; git checkout -q ."
"""Commit, and let a checkout convert what it writes."""
AS_GIT_SAYS = {
    "executable": "chmod +x a.py; git add a.py; git commit -qm x",
    "mode changed": "chmod +x a.py",
    "mode not tracked": "git config core.fileMode false; chmod +x a.py",
    "link": "ln -s a.py l.py; git add .; git commit -qm x",
    "link changed": "ln -s a.py l.py; git add .; git commit -qm x; rm l.py; ln -s d.txt l.py",
    "submodule": ADD,
    "submodule moved": f"{ADD}; cd inner; git commit -q --allow-empty -m z",
    "case-only rename": "git mv a.py A.py; git commit -qm x",
    "case-only rename, staged": "git mv a.py A.py",
    "untracked": "echo 1 > n.py",
    "untracked binary": "printf '\\0\\1' > n.bin",
    "ignored": "echo 'gen.py' > .gitignore; git add .; git commit -qm x; echo 1 > gen.py",
    "intended": "echo 1 > n.py; git add -N n.py",
    "touched": "touch -d 2001-01-01 a.py",
    "large": "head -c 3000000 /dev/zero | tr '\\0' a > big.txt; git add .; git commit -qm x",
    "line ends by attribute": f"echo '*.py text eol=crlf' > .gitattributes; {AGAIN}",
    "line ends by settings": "git config core.autocrlf true; rm a.py; git checkout -q a.py",
    "line ends, one file changed": "git config core.autocrlf true; rm a.py b/c.py; git checkout -q .; echo 1 >> a.py",
    "mixed line ends": f"printf 'a\\r\\nb\\n' > a.py; echo 'b/c.py eol=crlf' > .gitattributes; {AGAIN}",
    "encoding": f"iconv -t UTF-16 d.txt > a.py; echo 'a.py working-tree-encoding=UTF-16' > .gitattributes; {AGAIN}",
    "ident": f"echo '# $Id$' > a.py; echo '*.py ident eol=crlf' > .gitattributes; {AGAIN}",
    "assumed unchanged and so": "git update-index --assume-unchanged a.py",
    "out of sight and there": "git update-index --skip-worktree a.py",
    "committed .sleuthignore": "echo b/ > .sleuthignore; git add .; git commit -qm x",
    "changed .sleuthignore": "echo b/ > .sleuthignore; git add .; git commit -qm x; echo a.py > .sleuthignore",
    "committed .sleuthignore below": f"printf '*\\n' > b/.sleuthignore; echo '* eol=crlf' > .gitattributes; {AGAIN}",
    "settings for a filter without files": "git config filter.f.smudge false; git config filter.f.required true",
}
BY_CONTENT = {
    "sparse checkout": "git sparse-checkout set --no-cone /a.py",
    "assumed unchanged": "git update-index --assume-unchanged a.py; echo 1 >> a.py",
    "out of sight": "git update-index --skip-worktree a.py; echo 1 >> a.py",
    "filter": "git config filter.f.smudge 'tr a-z A-Z'; git config filter.f.clean 'tr A-Z a-z';"
    f"echo '*.py filter=f' > .gitattributes; {AGAIN}",
    "ignored .sleuthignore": "echo .sleuthignore > .git/info/exclude; echo b/ > .sleuthignore",
    "ignored .sleuthignore of a folder without files": "mkdir -p e/f; echo 1 > e/f/g.py; git add .; git commit -qm x;"
    "echo .sleuthignore > .git/info/exclude; echo f > e/.sleuthignore",
    "taken back": "printf 'gen.py\n' > .gitignore; printf '!gen.py\n' > .sleuthignore; git add .; git commit -qm x;"
    "echo 1 > gen.py",
}
"""Clean for git, with other bytes, more or fewer files than in the commit."""


def change(git: Git, script: str) -> tuple[bool, bool]:
    """Run a script in a worktree; return whether git calls it clean, and whether it is named by its commit."""
    git.commit({"a.py": "a = 1\nb = 2\n", "b/c.py": "def c(): pass\n", "d.txt": "text\n"})
    git.script(script)
    listing = source_at(git.root).listing()
    is_commit = listing.version.id == git("rev-parse", "HEAD").strip()
    committed = {file.path: file.hash for file in source_at(git.root, "HEAD").listing().files}
    hashes = {file.path: committed.get(file.path) if file.skip else file.hash for file in listing.files}
    assert not is_commit or hashes == committed
    return not git("status", "--porcelain"), is_commit


@pytest.mark.parametrize("script", AS_GIT_SAYS.values(), ids=AS_GIT_SAYS)
def test_clean_for_git_is_the_commit(git: Git, script: str) -> None:
    """The snapshot has the id of the commit if and only if `git status --porcelain` is empty."""
    is_clean, is_commit = change(git, script)
    assert is_clean == is_commit


@pytest.mark.parametrize("script", BY_CONTENT.values(), ids=BY_CONTENT)
def test_other_bytes_than_those_of_the_commit(git: Git, script: str) -> None:
    """A snapshot of other files or bytes than those of the commit is named by its content."""
    assert change(git, script) == (True, False)


def test_converted_files_have_the_bytes_of_the_commit(git: Git, storage: CodeStorage) -> None:
    """A worktree whose checkout converted line ends is the snapshot of its commit, and nothing is parsed twice."""
    git.commit({"a.py": "def first():\n    return 1\n", ".gitattributes": "* eol=crlf\n"})
    (git.root / "a.py").unlink()
    git("checkout", "-q", ".")
    assert b"\r\n" in (git.root / "a.py").read_bytes()
    of_worktree = index_path(storage, git.root, workers=1)
    of_commit = index_path(storage, git.root, revision="HEAD", workers=1)
    assert (of_worktree.snapshot, of_commit.added) == (of_commit.snapshot, 0)
    (hit,) = CodeRetriever(storage, None).retrieve("first", of_commit.repository, strategy="keyword")
    assert hit.content == "def first():\n    return 1"
    source = source_at(git.root)
    files = [file for file in source.listing().files if not file.skip]
    assert [*source.read(files)] == [*source.read(files)] == [*source_at(git.root, "HEAD").read(files)]


def test_ids_of_sha256(tmp_path: Path) -> None:
    """A clean worktree of a repository with SHA-256 ids is its commit, converted line ends included."""
    assert change(Git(tmp_path / "r", "sha256"), f"echo '* eol=crlf' > .gitattributes; {AGAIN}") == (
        True,
        True,
    )
