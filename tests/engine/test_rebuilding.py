"""An index of another format is made again in its place, with all that it holds."""

import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sleuth import CodeRetriever, Document, Engine, index_path, open_code
from sleuth.engine.rebuilding import rebuilt
from sleuth.errors import (
    FormatVersionError,
    IndexDamagedError,
    IndexLockedError,
    IndexUnsafeError,
    StoreError,
)
from sleuth.store.store import Store
from tests.code.conftest import write
from tests.commands import sleuth


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """An index of two files, one of them gone, and a document of a program, in a format that is not known."""
    files = {"a.md": "# Otters\n\nAn otter swims.\n", "gone.md": "# Weasels\n\nA weasel runs.\n"}
    folder = write(tmp_path / "docs", files)
    index = tmp_path / "index"
    with Engine.open(index, create=True, settings={"chunk_size": 64}) as engine:
        engine.index([folder], options={"include": ["*.md"]})
        engine.add([Document("A badger digs.", {"year": 2020}, id="api")])
    (folder / "gone.md").unlink()
    change(index, "PRAGMA user_version = 77")
    return index


def change(index: Path, *statements: str, record: str = "record.sqlite") -> None:
    connection = sqlite3.connect(index / record)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def contents(index: Path) -> dict[str, Any]:
    with Engine.open(index) as engine:
        names = [document.id for document in engine.documents()]
        passages = {
            id: [(each.id, each.text, dict(each.metadata)) for each in engine.get(id)] for id in names
        }
        roots = [(root.name, root.options) for root in engine.roots()]
        return {"passages": passages, "roots": roots, "settings": engine.settings}


def files(index: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in index.rglob("*")
        if path.is_file() and "lock" not in path.name
    }


def test_the_command_that_the_error_names_rebuilds_the_index(older: Path) -> None:
    """Documents, metadata, settings and remembered folders are those of before, and files are read again."""
    with pytest.raises(FormatVersionError) as caught:
        Engine.open(older)
    command = re.findall("`(sleuth .+?)`", str(caught.value))[0]
    (older.parent / "docs" / "a.md").write_text("# Otters\n\nAn otter dives.\n")
    arguments = [sys.executable, "-m", *shlex.split(command)]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "1 file is gone" in result.stderr
    change(older, "PRAGMA user_version = 77")
    with rebuilt(older):
        pass
    after = contents(older)
    assert after["settings"].chunk_size == 64
    assert [name for name, _ in after["roots"]] == ["docs"]
    assert list(after["roots"][0][1].include) == ["*.md"]
    texts = {id: passages[0][1] for id, passages in after["passages"].items()}
    assert {"api", "docs/a.md", "docs/gone.md"} == texts.keys()
    assert ("dives" in texts["docs/a.md"], "runs" in texts["docs/gone.md"]) == (True, True)
    assert after["passages"]["api"][0][2]["year"] == 2020
    assert [path.name for path in older.iterdir() if path.name.startswith("rebuild-")] == []
    with Engine.open(older) as engine:
        assert (engine.repairs, engine.retrieve("badger")[0].document_id) == ((), "api")


def test_the_command_rebuilds_every_shard(tmp_path: Path) -> None:
    """The command that the error of one shard names leaves each document in its own shard."""
    folder = write(tmp_path / "docs", {f"{n}.md": f"Otter {n}." for n in range(9)})
    index = tmp_path / "deep" / "index"
    assert sleuth("index", str(folder), "--shards", "3", "--index", str(index), cwd=tmp_path).returncode == 0
    before = contents(index)
    for shard in index.glob("shard-*"):
        change(shard, "PRAGMA user_version = 77")
    assert sleuth("index", "--rebuild", "--index", f"{index}/shard-00000", cwd=tmp_path).returncode == 0
    assert contents(index) == before
    with Engine.open(index) as engine:
        assert {finding.level for finding in engine.check()} == {"ok"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_breaks_off_leaves_the_old_index(older: Path, error: type[BaseException]) -> None:
    """No byte of it is changed before the new one is complete, and nothing is left beside it."""
    before = files(older)
    with pytest.raises(error), rebuilt(older) as engine:
        engine.index([older.parent / "docs"])
        raise error
    assert files(older) == before


def test_nobody_writes_while_an_index_is_made_again(older: Path) -> None:
    """A second rebuild waits for the first and then gives up; an index that is open elsewhere is refused."""
    with rebuilt(older), pytest.raises(IndexLockedError), rebuilt(older, timeout=0.0):
        pass
    with Engine.open(older), pytest.raises(StoreError, match="another program has the index"), rebuilt(older):
        pass


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("ALTER TABLE documents RENAME COLUMN title TO packed", IndexDamagedError),
        ("UPDATE segments SET inline = zeroblob(bytes) WHERE leg = 'passages'", IndexDamagedError),
        ("CREATE VIEW extra AS SELECT 1", IndexUnsafeError),
        ("CREATE TRIGGER extra AFTER INSERT ON meta BEGIN SELECT 1; END", IndexUnsafeError),
    ],
)
def test_texts_that_cannot_be_read_stay(older: Path, statement: str, error: type[StoreError]) -> None:
    """Tables of another form, changed rows and what may run are refused, and the old index stays."""
    change(older, statement)
    before = files(older)
    with pytest.raises(error, match="index the"), rebuilt(older):
        pass
    assert files(older) == before


def test_a_crash_while_the_new_index_arrives_loses_nothing(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the record is replaced the old one opens as before, and a second rebuild succeeds."""
    replace = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if path.name == "record.sqlite":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(StoreError, match="No space left"), rebuilt(older):
            pass
    with pytest.raises(FormatVersionError):
        Store.open(older)
    with rebuilt(older):
        pass
    assert contents(older)["passages"].keys() == {"api", "docs/a.md", "docs/gone.md"}


def test_an_index_of_code_is_made_again_from_its_repositories(tmp_path: Path) -> None:
    """The command that the error names indexes each of them; where one is gone, the old index stays."""
    index = tmp_path / "index"
    with open_code(index, create=True) as storage:
        for name in ("one", "two"):
            index_path(storage, write(tmp_path / name, {"bucket.py": f"def refill_{name}(): ...\n"}))
    (tmp_path / "two").rename(tmp_path / "away")
    change(index, "PRAGMA user_version = 77", record="code.db")
    before = files(index)
    with pytest.raises(FormatVersionError) as caught:
        open_code(index)
    command = [sys.executable, "-m", *shlex.split(re.findall("`(sleuth .+?)`", str(caught.value))[0])]
    refusal = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refusal.returncode, f"would lose {tmp_path / 'two'}" in refusal.stderr) == (2, True)
    assert files(index) == before
    (tmp_path / "away").rename(tmp_path / "two")
    subprocess.run(command, capture_output=True, check=True)
    with open_code(index) as storage:
        names = [Path(repository.path).name for repository in storage.repositories()]
        hits = CodeRetriever(storage, None).retrieve("refill_two", str(tmp_path / "two"), strategy="keyword")
    assert (names, [hit.file_path for hit in hits]) == (["one", "two"], ["bucket.py"])


def test_only_an_index_is_made_again(tmp_path: Path) -> None:
    """The error for a folder without an index has the command that makes one."""
    for words in (("index",), ("code", "index")):
        message = sleuth(*words, "--rebuild", cwd=tmp_path).stderr
        assert f"`sleuth {' '.join(words)} PATH` makes one" in message
