"""Backends are registered, and chosen by the content of a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.engine import backends
from sleuth.engine.backend import Backend
from sleuth.engine.backends import BackendKind
from sleuth.engine.index import IndexBackend
from sleuth.engine.opening import OpenOptions


def test_a_registered_backend_opens_its_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Engine.open` gives a path that fits a kind to what opens it, with all options; other paths are folders."""
    calls: list[tuple[str, OpenOptions]] = []

    def open_memory(path: str | Path, options: OpenOptions) -> Backend:
        calls.append((str(path), options))
        settings = {"embedder": ""}
        place = tmp_path / str(path).removeprefix("memory:")
        return IndexBackend.open(place, OpenOptions(create=True, settings=settings))

    kind = BackendKind(lambda path: str(path).startswith("memory:"), open_memory)
    kinds = (*backends._kinds(), kind)
    monkeypatch.setattr(backends, "_kinds", lambda: kinds)
    with Engine.open("memory:a", scope="year:2020") as engine:
        assert engine.path == tmp_path / "a"
        assert engine.scope is not None
        engine.add([Document("tide", {"year": 2020}, id="1")])
    ((path, options),) = calls
    assert (path, options) == ("memory:a", OpenOptions())
    with Engine.open(tmp_path / "a") as again:
        assert again.count().documents == 1
    assert len(calls) == 1
