"""Backends are registered, and chosen by the content of a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.engine import Backend, BackendKind, IndexBackend, OpenOptions, backends, register_backend


def test_a_registered_backend_opens_its_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Engine.open` gives a path that fits a kind to what opens it, with all options; other paths are folders."""
    calls: list[tuple[str, OpenOptions]] = []

    def open_memory(path: str | Path, options: OpenOptions) -> Backend:
        calls.append((str(path), options))
        settings = {"embedder": ""}
        place = tmp_path / str(path).removeprefix("memory:")
        return IndexBackend.open(place, OpenOptions(create=True, settings=settings))

    assert backends.opener_of(tmp_path) is None  # those of other rooms are registered now
    monkeypatch.setattr(backends, "_KINDS", list(backends._KINDS))
    register_backend(BackendKind(lambda path: str(path).startswith("memory:"), open_memory))
    with Engine.open("memory:a", scope="year:2020") as engine:
        assert engine.path == tmp_path / "a"
        assert engine.scope is not None
        engine.add([Document("tide", {"year": 2020}, id="1")])
    ((path, options),) = calls
    assert (path, options) == ("memory:a", OpenOptions())
    with Engine.open(tmp_path / "a") as again:
        assert again.count().documents == 1
    assert len(calls) == 1
