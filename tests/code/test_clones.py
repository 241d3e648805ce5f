"""The index of a commit is pushed to a folder or a file, and pulled into another clone of the repository."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.code.conftest import Git, answer, run

pytest.importorskip("obstore")
FILES: dict[str, str | bytes] = {
    "app/pay.py": "def charge(amount):\n    return audit(amount)\n\n\ndef audit(amount):\n    return amount\n",
    ".gitignore": ".sleuth\n",
}


def clone(origin: Path, target: Path) -> Path:
    subprocess.run(["git", "clone", "-q", str(origin), str(target)], check=True, capture_output=True)
    return target


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with an indexed commit."""
    git = Git(tmp_path / "origin")
    git.commit(dict(FILES))
    run(git.root, "index", "--rev", "HEAD")
    return git.root


@pytest.mark.parametrize("place", ["artifacts", "cache/index.tar", "file://{}/stored"])
def test_a_clone_starts_with_the_index(origin: Path, tmp_path: Path, place: str) -> None:
    """After a pull, a clone answers, and indexing parses only what changed since the commit that was pushed."""
    address = place.format(tmp_path) if "://" in place else str(tmp_path / place)
    assert "2 files" in run(origin, "push", address).stdout

    def stored() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if path.is_file() and origin not in path.parents}

    before = stored()
    assert "2 files" in run(origin, "push", address).stdout
    report = answer(origin, "push", address)
    assert (report["commit"], report["files"]) == (Git(origin)("rev-parse", "HEAD"), 2)
    assert report["bytes"] > 0
    assert stored() == before
    Git(origin).commit({"app/more.py": "def refund(amount):\n    return -amount\n"})
    far = clone(origin, tmp_path / "far")
    assert "1 commit ago" in run(far, "pull", address).stdout
    report = answer(far, "index")
    assert (report["path"], report["added"], report["files"]) == (str(far), 1, 3)
    shutil.rmtree(origin)
    uses = answer(far, "refs", "audit")
    assert [(use["file_path"], use["line"]) for use in uses["references"]] == [("app/pay.py", 2)]
    assert answer(far, "search", "refund")["hits"][0]["file_path"] == "app/more.py"


def test_what_cannot_be_pushed_or_pulled_is_said(origin: Path, tmp_path: Path) -> None:
    """A commit without an index, a folder with one, and a place without the commit are refused with a command."""
    address = str(tmp_path / "artifacts")

    def refusal(folder: Path, *arguments: str) -> str:
        process = run(folder, *arguments)
        assert process.returncode != 0
        return " ".join(process.stderr.split())

    assert "no index of this commit" in refusal(clone(origin, tmp_path / "early"), "pull", address)
    run(origin, "push", address)
    assert "brings it up to date" in refusal(origin, "pull", address)
    Git(origin).commit({"app/more.py": "x = 1\n"})
    assert "is not indexed: `sleuth code index --rev HEAD`" in refusal(origin, "push", address)
    other = tmp_path / "other"
    Git(other).commit({"b.py": "y = 2\n"})
    run(origin, "index", str(other), "--rev", "HEAD")
    run(origin, "index", "--rev", "HEAD")
    assert "must have one repository" in refusal(origin, "push", address)
    for path in (tmp_path / "artifacts").rglob("objects/*/*"):
        path.write_bytes(b"damaged")
    far = clone(origin, tmp_path / "far")
    assert "is damaged" in refusal(far, "pull", address)
    assert not (far / ".sleuth" / "code.db").exists()


def test_a_file_leaves_out_what_is_not_an_index(origin: Path, tmp_path: Path) -> None:
    """Members of a file that lead elsewhere or are no objects are not written."""
    address = tmp_path / "index.tar"
    run(origin, "push", str(address))
    with tarfile.open(address, "a") as packed:
        for name in ("../escaped", "objects/../../escaped", "escaped"):
            member = tarfile.TarInfo(name)
            member.size = 1
            packed.addfile(member, io.BytesIO(b"x"))
    far = clone(origin, tmp_path / "far")
    run(far, "pull", str(address))
    assert not list(tmp_path.rglob("escaped"))


def test_only_the_newest_commits_stay(origin: Path, tmp_path: Path) -> None:
    """With `--keep`, the versions of older commits are deleted."""
    address = tmp_path / "artifacts"
    run(origin, "push", str(address))
    Git(origin).commit({"app/more.py": "x = 1\n"})
    run(origin, "index", "--rev", "HEAD")
    run(origin, "push", "--keep", "1", str(address))
    assert len(list((address / "code" / "manifests").iterdir())) == 1
