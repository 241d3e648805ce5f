"""An index whose folder is moved or removed while it is open answers, or raises a typed error."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.snapshots import health
from sleuth.code.snapshots.refreshing import current_snapshot
from sleuth.engine import open_code
from sleuth.errors import StoreError
from sleuth.store.store import Store
from sleuth.surfaces.http import ServerSettings, create_app
from tests.code.conftest import write
from tests.store.words import SumsLeg, add

DOCUMENTS: dict[str, Callable[[Engine], Any]] = {
    "retrieve": lambda engine: engine.retrieve("words"), "get": lambda engine: engine.get("a"),
    "status": lambda engine: engine.status(), "count": lambda engine: engine.count(),
    "facets": lambda engine: engine.facets("k"), "check": lambda engine: engine.check(full=True),
    "repair": lambda engine: engine.repair(),
    "add": lambda engine: engine.add([Document("more", id="b")]),
    "delete": lambda engine: engine.delete(["a"]), "compact": lambda engine: engine.compact(),
}  # fmt: skip
CODE: dict[str, Callable[[CodeStorage], Any]] = {
    "search": lambda storage: CodeRetriever(storage, None).retrieve(
        "refill", storage.repositories()[0].id, strategy="keyword"
    ),
    "current": lambda storage: current_snapshot(storage, storage.repositories()[0]),
    "status": health.status,
    "check": lambda storage: health.check(storage, full=True),
    "repair": health.repair,
}
WAYS: dict[str, Callable[[Path], Any]] = {
    "moved": lambda path: shutil.move(path, path.with_name("elsewhere")),
    "removed": lambda path: shutil.rmtree(path, ignore_errors=True),  # a merge may be writing
    "replaced by a file": lambda path: shutil.copy(
        __file__, shutil.move(path, path.with_name("elsewhere")) and path
    ),
    "out of reach": lambda path: path.chmod(0),
}


@contextmanager
def as_another_user(path: Path) -> Iterator[None]:
    """Be a user of few rights for a block, who owns a folder and what is in it; root could read anything."""
    if os.geteuid():
        yield
        return
    for part in (path, *path.rglob("*")):
        os.chown(part, 54321, -1)
    os.seteuid(54321)
    try:
        yield
    finally:
        os.seteuid(0)


def _try(call: Callable[[], Any], path: Path) -> None:
    """Call what may raise an error of the store, and nothing else."""
    with as_another_user(path) if path.is_dir() else nullcontext():
        try:
            call()
        except StoreError as error:
            assert error.path == str(path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", DOCUMENTS)
def test_documents(engine: Engine, call: str, way: str) -> None:
    """No call on documents raises anything but an error of the store."""
    engine.add([Document("some words", {"k": 1}, id="a")])
    DOCUMENTS[call](engine)  # what it imports, another user may not read
    WAYS[way](engine.path)
    _try(lambda: DOCUMENTS[call](engine), engine.path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CODE)
def test_code(tmp_path: Path, call: str, way: str) -> None:
    """No call on code raises anything but an error of the store."""
    storage = open_code(tmp_path / "index", create=True)
    index_path(storage, write(tmp_path / "root", {"a.py": "def refill(bucket):\n    return bucket\n"}))
    CODE[call](storage)  # what it imports, another user may not read
    WAYS[way](tmp_path / "index")
    _try(lambda: CODE[call](storage), tmp_path / "index")
    storage.close()


@pytest.mark.parametrize("open_index", [Engine.open, open_code])
def test_a_file_in_its_place(tmp_path: Path, open_index: Callable[..., Any]) -> None:
    """Opening an index where a file lies says what is there, and changes nothing."""
    (tmp_path / "index").write_text("notes")
    for create in (False, True):
        with pytest.raises(StoreError, match="must be the folder of an index, and is a file"):
            open_index(tmp_path / "index", create=create)
    assert (tmp_path / "index").read_text() == "notes"


def test_a_server_whose_index_is_away(engine: Engine) -> None:
    """A request to an index that is out of reach is answered with 503: another moment may succeed."""
    with TestClient(create_app(engine, ServerSettings()), "http://localhost") as client:
        engine.path.rename(engine.path.with_name("other"))
        engine.path.write_text("notes")
        answer = client.post("/v1/documents", json={"documents": [{"text": "some words"}]})
    assert (answer.status_code, answer.json()["code"]) == (503, "StoreError")


@pytest.mark.parametrize("way", WAYS)
def test_a_further_reader(tmp_path: Path, way: str) -> None:
    """Many readers at once open further connections, which is a typed error where the folder is gone."""
    store = Store.open(tmp_path / "index", create=True)
    store.attach([SumsLeg()])
    add(store, "a", "text")
    WAYS[way](tmp_path / "index")
    user = as_another_user(tmp_path / "index") if way == "out of reach" else nullcontext()
    with user, pytest.raises(StoreError), ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(store.reader())
    store.close()
