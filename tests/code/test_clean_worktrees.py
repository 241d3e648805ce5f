"""A worktree is named by its commit exactly when git calls it clean and its files are those of the commit."""

from __future__ import annotations

import subprocess

import pytest

from sleuth.code.repository import source_at
from tests.code.conftest import Git

ADD = "git -c protocol.file.allow=always submodule --quiet add $PWD inner; git commit -qm x"
CRLF = (
    "echo '*.py text eol=crlf' > .gitattributes; git add .; git commit -qm x; rm a.py; git checkout -q a.py"
)
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
}
BY_CONTENT = {
    "line ends of a checkout": CRLF,
    "sparse checkout": "git sparse-checkout set --no-cone /a.py",
    "assumed unchanged": "git update-index --assume-unchanged a.py; echo 1 >> a.py",
}
"""Clean for git, with other bytes or fewer files on disk than in the commit."""


def change(git: Git, script: str) -> tuple[bool, bool]:
    """Run a script in a worktree; return whether git calls it clean, and whether it is named by its commit."""
    git.commit({"a.py": "a = 1\nb = 2\n", "b/c.py": "def c(): pass\n", "d.txt": "text\n"})
    who = (
        "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b; set -e; "
    )
    subprocess.run(["bash", "-c", who + script], cwd=git.root, check=True, capture_output=True)
    version = source_at(git.root).listing().version
    return not git("status", "--porcelain"), version.id == git("rev-parse", "HEAD").strip()


@pytest.mark.parametrize("script", AS_GIT_SAYS.values(), ids=AS_GIT_SAYS)
def test_clean_for_git_is_the_commit(git: Git, script: str) -> None:
    """The snapshot has the id of the commit if and only if `git status --porcelain` is empty."""
    is_clean, is_commit = change(git, script)
    assert is_clean == is_commit


@pytest.mark.parametrize("script", BY_CONTENT.values(), ids=BY_CONTENT)
def test_other_bytes_than_those_of_the_commit(git: Git, script: str) -> None:
    """A snapshot holds the bytes on disk, so one of converted or missing files is named by its content."""
    assert change(git, script) == (True, False)
