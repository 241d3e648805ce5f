"""A worktree is named by its commit exactly when git calls it clean and its files are those of the commit."""

import subprocess
from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.repository.sources import source_at
from tests.code.conftest import Git

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
    who = (
        "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b; set -e; "
    )
    subprocess.run(["bash", "-c", who + script], cwd=git.root, check=True, capture_output=True)
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
    (tmp_path / "r").mkdir()
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path / "r"], check=True)
    assert change(Git(tmp_path / "r"), f"echo '* eol=crlf' > .gitattributes; {AGAIN}") == (True, True)
