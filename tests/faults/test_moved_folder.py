"""An index whose folder is moved or removed while it is open answers, or raises a typed error."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, CodeStorage, current_snapshot, index_path
from sleuth.code.snapshots import health
from sleuth.engine import open_code
from sleuth.errors import StoreError
from sleuth.store import Store
from tests.store.words import SumsLeg, put

DOCUMENTS: dict[str, Callable[[Engine], Any]] = {
    "retrieve": lambda engine: engine.retrieve("words"),
    "status": lambda engine: engine.status(),
    "count": lambda engine: engine.count(),
    "facets": lambda engine: engine.facets("k"),
    "check": lambda engine: engine.check(full=True),
    "repair": lambda engine: engine.repair(),
    "add": lambda engine: engine.add([Document("more", id="b")]),
    "delete": lambda engine: engine.delete(["a"]),
    "compact": lambda engine: engine.compact(),
}
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
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", DOCUMENTS)
def test_documents(tmp_path: Path, call: str, way: str) -> None:
    """No call on documents raises anything but an error of the store."""
    engine = Engine.open(tmp_path / "index", create=True, embedder="")
    engine.add([Document("some words", {"k": 1}, id="a")])
    WAYS[way](tmp_path / "index")
    try:
        DOCUMENTS[call](engine)
    except StoreError as error:
        assert error.path == str(tmp_path / "index")
    engine.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CODE)
def test_code(tmp_path: Path, call: str, way: str) -> None:
    """No call on code raises anything but an error of the store."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("def refill(bucket):\n    return bucket\n")
    storage = open_code(tmp_path / "index", create=True)
    index_path(storage, tmp_path / "root")
    WAYS[way](tmp_path / "index")
    try:
        CODE[call](storage)
    except StoreError as error:
        assert error.path == str(tmp_path / "index")
    storage.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_further_reader(tmp_path: Path, way: str) -> None:
    """Many readers at once open further connections, which is a typed error where the folder is gone."""
    store = Store.open(tmp_path / "index", create=True)
    store.attach([SumsLeg()])
    with store.writer() as writer:
        put(writer, "a", "text")
    WAYS[way](tmp_path / "index")
    with pytest.raises(StoreError), ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(store.reader())
    store.close()
