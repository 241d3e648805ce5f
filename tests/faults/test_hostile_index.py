"""An index among somebody else's files destroys nothing outside of it, whatever command opens it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from sleuth.code.snapshots import shelf
from sleuth.engine import Engine
from sleuth.errors import IndexUnsafeError
from sleuth.store.catalogue import manifest, segments
from sleuth.store.disk.files import CODE, DOCUMENTS
from sleuth.store.store import Store
from sleuth.types import Document
from tests import commands
from tests.code.conftest import write
from tests.store.words import opened, put

COMMANDS = {
    "index": ["index", "guide.md"], "search": ["search", "tokens"], "ask": ["ask", "how many tokens"],
    "show": ["show", "guide"], "status": ["status"], "delete": ["index", "delete", "guide"],
    "doctor": ["doctor"], "repair": ["doctor", "--repair"], "code index": ["code", "index", "."],
    "code search": ["code", "search", "refill"],
}  # fmt: skip
FURTHER = {
    "move": ["index", "move", "guide.md", "new.md"], "summarize": ["index", "summarize", "guide"],
    "publish": ["cluster", "publish", "file:///nowhere/published"],
    "code history": ["code", "history", "limits.py"], "code map": ["code", "map"],
    "code refs": ["code", "refs", "refill"], "code impact": ["code", "impact", "refill"],
    "code snapshots": ["code", "snapshots"],
}  # fmt: skip
"""Commands that open an index in the same way as one of the others."""
PARTS = [
    *(name for names in (DOCUMENTS, CODE) for name in (names.lock, names.queue, names.mark, names.segments)),
    *(
        f"{names.record}{ending}"
        for names in (DOCUMENTS, CODE)
        for ending in ("", "-wal", "-shm", "-journal")
    ),
]
FOLDERS = (DOCUMENTS.segments, CODE.segments)


def sleuth(*arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run a command in the current folder; it leaves no exception but those that it reports."""
    return commands.sleuth(*arguments, cwd=Path.cwd(), **environment)


def told(process: CompletedProcess[str]) -> str:
    """Return all output of a command, without its blanks."""
    return "".join((process.stdout + process.stderr).split())


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a document, a source file, and an index of both whose segments are files."""
    home = tmp_path_factory.mktemp("sound")
    (home / "guide.md").write_text("Tokens are refilled every second.\n")
    (home / "limits.py").write_text("def refill(tokens):\n    return tokens + 1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.delenv("SLEUTH_INDEX", raising=False)
        patch.setattr(manifest, "INLINE_BYTES", 0)
        patch.setattr(shelf, "SMALL", 0)
        with Engine.open(".sleuth", create=True, embedder="") as engine:
            engine.add([Document("Tokens are refilled every second.", id="guide")])
        assert sleuth("code", "index", ".").returncode == 0
    assert list((home / ".sleuth" / "segments").iterdir())
    assert list((home / ".sleuth" / "code").iterdir())
    return home


@pytest.fixture
def home(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder, in which commands run."""
    shutil.copytree(sound, tmp_path / "home", symlinks=True)
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.delenv("SLEUTH_INDEX", raising=False)
    return tmp_path / "home"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return files outside of the index: a folder of them, one named as a segment, and a single one."""
    names = ("letter.txt", "lexical-1-1-0123456789ab.seg", "lexical-1-1-0123456789ab.tmp")
    return write(
        tmp_path / "outside", {"file": "precious", **{f"files/{name}": "precious" for name in names}}
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replace(path: Path, kind: str, outside: Path) -> None:
    """Replace a part of the index by something else."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    is_folder = path.name in FOLDERS
    if kind == "link":
        path.symlink_to(outside / ("files" if is_folder else "file"))
    elif kind == "dangling link":
        path.symlink_to(outside / "new")
    elif kind == "pipe":
        os.mkfifo(path)
    elif is_folder:
        path.write_text("a file")
    else:
        path.mkdir()


@pytest.mark.parametrize("command", COMMANDS | FURTHER)
def test_a_part_that_is_a_link(command: str, home: Path, outside: Path) -> None:
    """Every command refuses an index with a link in it, names the part, and does not touch the link's target."""
    before = contents(outside)
    aside = home / "aside"
    for part in PARTS:
        whole = home / ".sleuth" / part
        if whole.exists():
            whole.rename(aside)
        replace(whole, "link", outside)
        result = sleuth(*(COMMANDS | FURTHER)[command])
        assert result.returncode != 0
        assert f".sleuth/{part}isalink" in told(result)
        whole.unlink()
        if aside.exists():
            aside.rename(whole)
    assert contents(outside) == before


@pytest.mark.parametrize("kind", ["dangling link", "pipe", "other"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_something_else(part: str, kind: str, home: Path, outside: Path) -> None:
    """Dangling links, pipes, and folders in the place of files are refused without waiting for or
    creating anything.
    """
    before = contents(outside)
    replace(home / ".sleuth" / part, kind, outside)
    for command in ("index", "search", "code index", "code search"):
        result = sleuth(*COMMANDS[command])
        assert result.returncode == 3
        assert f".sleuth/{part}is" in told(result)
        assert "nothingwasopened" in told(result)
    assert contents(outside) == before


@pytest.mark.parametrize("part", FOLDERS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_segment_that_is_a_link(command: str, part: str, home: Path, outside: Path) -> None:
    """A link in the place of a segment is not followed, and its target stays."""
    for path in sorted((home / ".sleuth" / part).iterdir()):
        (outside / path.name).write_bytes(path.read_bytes())
        replace(path, "none", outside)
        path.rmdir()
        path.symlink_to(outside / path.name)
    before = contents(outside)
    result = sleuth(*COMMANDS[command])
    assert result.returncode in (0, 1, 3)
    if command in ("search", "code search") and (part == CODE.segments) == command.startswith("code"):
        assert "isalink" in told(result)
    assert contents(outside) == before


@pytest.mark.parametrize("part", FOLDERS)
@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_sleuth_did_not_write(command: str, part: str, home: Path) -> None:
    """Foreign files in the segments folder stay, even with the name or the first bytes of a segment."""
    folder = home / ".sleuth" / part
    (folder / "letter.txt").write_text("precious")
    (folder / "letter.seg").write_bytes(segments.MAGIC + b"precious")
    (folder / "lexical-1-1-0123456789ab.tmp").write_text("precious")
    (folder / "lexical-1-1-0123456789ab.seg").write_text("precious")
    foreign = {
        str(path): path.read_bytes() for path in folder.iterdir() if b"precious" in path.read_bytes()[:64]
    }
    assert len(foreign) == 4
    sleuth(*COMMANDS[command])
    assert foreign.items() <= contents(folder).items()


def test_reading_deletes_nothing(home: Path) -> None:
    """Leftovers of a crash are removed by the next write, not by a search, a status or a check."""
    leftover = home / ".sleuth" / "segments" / "lexical-1-1-0123456789ab.tmp"
    leftover.write_bytes(segments.MAGIC)
    for command in ("search", "ask", "show", "status", "doctor", "code search"):
        sleuth(*COMMANDS[command])
        assert leftover.exists()
    assert sleuth(*COMMANDS["index"]).returncode == 0
    assert not leftover.exists()


def test_mending_while_opening_deletes_nothing(home: Path) -> None:
    """A search rebuilds a missing segment and changes nothing else in the folder."""
    folder = home / ".sleuth" / "segments"
    victim = min(folder.iterdir())
    victim.unlink()
    leftover = folder / "lexical-1-1-0123456789ab.tmp"
    leftover.write_bytes(segments.MAGIC)
    before = contents(folder)
    assert "mended" in told(sleuth(*COMMANDS["search"]))
    assert before.items() <= contents(folder).items()


def test_a_part_of_another_user(home: Path) -> None:
    """A part that belongs to neither this user nor the index's creator is refused."""
    if os.geteuid():
        pytest.skip("giving a file away needs root")
    os.chown(home / ".sleuth" / "version", 4321, -1)
    with pytest.raises(IndexUnsafeError, match="version belongs to user 4321"):
        Store.open(home / ".sleuth")
    os.chown(home / ".sleuth", 4321, -1)
    Store.open(home / ".sleuth").close()


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _commit(*form: str) -> Callable[[Path], None]:
    """Return what commits the index, with git's own index in a form."""

    def commit(home: Path) -> None:
        _git("init", "-q")
        _git("add", "-f", ".sleuth/record.sqlite")
        _git("update-index", *form)

    return commit


def _commit_in_a_worktree(home: Path) -> None:
    """Commit the index in a second worktree, where `.git` is a file."""
    shutil.move(home / ".sleuth", home.parent / "kept")
    _git("init", "-q")
    _git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
    _git("worktree", "add", "-q", str(home.parent / "second"))
    os.chdir(home.parent / "second")
    shutil.move(home.parent / "kept", home.parent / "second" / ".sleuth")
    _git("add", "-f", ".sleuth/record.sqlite")


def _link(home: Path) -> None:
    (home / ".sleuth").rename(home.parent / "elsewhere")
    (home / ".sleuth").symlink_to(home.parent / "elsewhere")


def _give_away(home: Path) -> None:
    if os.geteuid():
        pytest.skip("giving a file away needs root")
    os.chown(home / ".sleuth", 4321, -1)


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        (_commit(), "is tracked by git"), (_commit("--index-version", "4"), "is tracked by git"),
        (_commit("--split-index"), "is tracked by git"), (_commit_in_a_worktree, "is tracked by git"),
        (_link, "is a link"), (_give_away, "belongs to user 4321"),
    ],
    ids=["tracked", "compressed", "split", "worktree", "link", "given away"],
)  # fmt: skip
def test_an_index_that_was_not_named(origin: Callable[[Path], None], reason: str, home: Path) -> None:
    """An index that may be somebody else's is opened only if it is named."""
    origin(home)
    for command in ("index", "search", "doctor", "code search"):
        result = sleuth(*COMMANDS[command])
        assert result.returncode == 3
        assert reason in result.stderr
        assert "--index" in result.stderr
    assert sleuth("search", "tokens", "--index", ".sleuth").returncode == 0
    assert sleuth("search", "tokens", SLEUTH_INDEX=".sleuth").returncode == 0


def test_an_index_of_ones_own_in_a_repository(home: Path) -> None:
    """An index that git does not track opens without being named, whatever else git tracks."""
    _git("init", "-q")
    (home / "more.sleuth").write_text("x")
    _git("add", "guide.md", "more.sleuth")
    assert sleuth(*COMMANDS["search"]).returncode == 0


def test_only_the_owner_reads_an_index(home: Path) -> None:
    """With any umask, folders have mode 0700 and files 0600."""
    shutil.rmtree(home / ".sleuth")
    before = os.umask(0)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(manifest, "INLINE_BYTES", 0)
            sleuth("index", "guide.md", "--embedder", "")
            sleuth("code", "index", ".")
            with opened(home / ".sleuth") as store, store.writer() as writer:
                put(writer, "a", "b")
                modes = {path.name: path.stat().st_mode & 0o777 for path in (home / ".sleuth").rglob("*")}
    finally:
        os.umask(before)
    assert (home / ".sleuth").stat().st_mode & 0o777 == 0o700
    assert {name: mode for name, mode in modes.items() if mode != 0o600} == {"segments": 0o700, "code": 0o700}
    assert {"record.sqlite", "record.sqlite-wal", "record.sqlite-shm", "code.db", "version"} <= modes.keys()
