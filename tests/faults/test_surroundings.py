"""Too little memory, a clock that goes back, and a folder that is moved: nothing is lost and no answer is mixed."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.engine import open_code
from sleuth.errors import StoreError
from sleuth.extensions import own_extensions
from tests.commands import sleuth, sleuth_process

SETPRIV = shutil.which("setpriv")
MEGABYTES = range(110, 400, 30)
"""The least leave hardly enough memory for the interpreter, the greatest enough for everything."""


class Opened(NamedTuple):
    """An open index.

    Attributes:
        ask: what it answers, in order.
        write: adds something to it.
        close: closes it.
    """

    ask: Callable[[], list[str]]
    write: Callable[[], object]
    close: Callable[[], object]


Kind = Callable[[Path, str], Callable[[], Opened]]
"""Makes an index that has a text; returns what opens it."""


def documents(path: Path, text: str) -> Callable[[], Opened]:
    """Make an index of one document; return what opens it."""
    with Engine.open(path, create=True, embedder="") as engine:
        engine.add([Document(f"{text} basket", id="a")])

    def opened() -> Opened:
        engine = Engine.open(path, embedder="")
        return Opened(
            lambda: [item.text for item in engine.retrieve("basket")],
            lambda: engine.add([Document("another basket", id="b")]),
            engine.close,
        )

    return opened


def code(path: Path, text: str) -> Callable[[], Opened]:
    """Make an index of one file of code; return what opens it."""
    root = path.with_name(f"{path.name} code")
    root.mkdir()
    (root / "a.py").write_text(f"def {text}_basket():\n    return 1\n")
    with open_code(path, create=True) as storage:
        index_path(storage, root, workers=1)

    def ask(storage: CodeStorage) -> list[str]:
        (repository,) = storage.repositories()
        hits = CodeRetriever(storage, None).retrieve("basket", repository.id, strategy="keyword")
        return [hit.content for hit in hits]

    root = root.absolute()

    def write(storage: CodeStorage) -> object:
        (root / "a.py").write_text("def another_basket():\n    return 1\n")
        return index_path(storage, root, workers=1)

    def opened() -> Opened:
        storage = open_code(path)
        return Opened(lambda: ask(storage), lambda: write(storage), storage.close)

    return opened


@pytest.mark.parametrize("kind", [documents, code])
@pytest.mark.parametrize("with_query", [False, True], ids=["just opened", "asked before"])
@pytest.mark.parametrize("then", ["moved", "removed"])
def test_a_folder_that_is_gone_is_read_on(tmp_path: Path, kind: Kind, with_query: bool, then: str) -> None:
    """An open index whose folder is moved or removed answers as before and refuses to write."""
    index = kind(tmp_path / "index", "one")()
    whole = index.ask() if with_query else None
    if then == "moved":
        (tmp_path / "index").rename(tmp_path / "elsewhere")
    else:
        shutil.rmtree(tmp_path / "index")
    answers = index.ask()
    assert answers == whole or (whole is None and "one" in answers[0])
    with pytest.raises(StoreError, match="cannot write into"):
        index.write()
    index.close()
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("kind", [documents, code])
@pytest.mark.parametrize("with_query", [False, True], ids=["just opened", "asked before"])
def test_another_index_in_its_place_is_refused(tmp_path: Path, kind: Kind, with_query: bool) -> None:
    """An open index neither reads nor writes where another one has taken its place, and changes neither."""
    one, other = kind(tmp_path / "index", "one"), kind(tmp_path / "other", "two")
    index = one()
    if with_query:
        index.ask()
    (tmp_path / "index").rename(tmp_path / "elsewhere")
    (tmp_path / "other").rename(tmp_path / "index")
    for use in (index.ask, index.write, index.ask):
        with pytest.raises(StoreError, match="was replaced by another index while it was open: close it and"):
            use()
    index.close()
    for place, text in (("index", "two"), ("elsewhere", "one")):
        (tmp_path / place).rename(tmp_path / "other" if text == "two" else tmp_path / "index")
        (answer,) = (opened := (other if text == "two" else one)()).ask()
        assert text in answer
        opened.close()


@pytest.mark.parametrize(
    ("verb", "source"),
    [(("index", "docs"), "docs"), (("code", "index", "src"), "code")],
    ids=["documents", "code"],
)
def test_too_little_memory(tmp_path: Path, verb: tuple[str, ...], source: str) -> None:
    """A command without enough memory says so and loses nothing; with more, it completes."""
    for folder, text in (("docs", "A basket holds {}.\n\n"), ("src", "def basket_{}():\n    return 1\n\n")):
        (tmp_path / folder).mkdir()
        for n in range(40):
            lines = "".join(text.format(n * 100 + i) for i in range(100))
            (tmp_path / folder / f"{n}.{'md' if folder == 'docs' else 'py'}").write_text(lines)
    failures = []
    for size in MEGABYTES:
        result = sleuth_process(*verb, cwd=tmp_path, limit=f"ulimit -v {size << 10}")
        if result.returncode == 0:
            break
        assert result.returncode > 0, result.stderr
        failures.append(result.stderr)
    assert any(text.startswith("sleuth: not enough memory for this command; ") for text in failures), failures
    assert sleuth(*verb, cwd=tmp_path).returncode == 0
    healthy = sleuth("doctor", "--full", cwd=tmp_path)
    assert healthy.returncode == 0, healthy.stdout
    assert "basket" in sleuth("search", "--in", source, "basket", cwd=tmp_path).stdout


def test_a_clock_that_goes_back(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is older than before is read again, and what was added last wins."""
    file = tmp_path / "a.md"
    file.write_text("One basket.")
    engine.index([file])
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400)
    file.write_text("Two basket.")
    os.utime(file, (now - 86_400, now - 86_400))
    engine.index([file])
    assert [item.text for item in engine.retrieve("basket")] == ["Two basket."]
    version = engine.status()["version"]
    engine.index([file])
    assert engine.status()["version"] == version


@pytest.mark.parametrize("kind", [documents, code])
def test_another_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    """An index that was opened by a relative path is read, by many at once, and written from any folder."""
    monkeypatch.chdir(tmp_path)
    index = kind(Path("index"), "one")()
    monkeypatch.chdir("/")
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: index.ask(), range(64)))
    assert all("one" in first for first, *_ in answers)
    index.write()
    index.close()


@pytest.mark.skipif(not SETPRIV or bool(os.geteuid()), reason="only root can become another user, by setpriv")
@pytest.mark.parametrize("home", ["out of reach", "unknown"])
def test_a_home_out_of_reach(home: str) -> None:
    """Commands of a user who may not enter HOME, or who has none, work as without files of the user."""
    with tempfile.TemporaryDirectory() as folder:  # others may not look into the folders of pytest
        place, closed = Path(folder, "place"), Path(folder, "closed")
        place.mkdir()
        closed.mkdir(0o700)
        Path(folder).chmod(0o755)
        place.chmod(0o777)
        (place / "a.md").write_text("One basket.")
        environment = {"HOME": str(closed)} if home == "out of reach" else {}
        unset = () if environment else ("env", "-u", "HOME")
        # A plugin, whose folder is below HOME.
        models = ("index", "models") if own_extensions("commands") else ("doctor", "config")
        user = (*unset, str(SETPRIV), "--reuid=54321", "--regid=54321", "--clear-groups")
        for arguments in (("index", "."), ("search", "basket"), models):
            result = subprocess.run(
                [*user, sys.executable, "-m", "sleuth", *arguments], cwd=place, env={**os.environ, **environment},
                capture_output=True, text=True, check=False, timeout=300,
            )  # fmt: skip
            if any(reason in result.stderr for reason in ("No module named", "execute", "shared libraries")):
                pytest.skip("another user cannot read this installation")
            assert result.returncode == 0, result.stderr
