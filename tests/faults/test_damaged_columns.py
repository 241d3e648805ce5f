"""Damaged metadata gives typed errors in its first reader: filters, facets, counts, keys and merges."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import building

READERS: dict[str, Callable[[Engine], Any]] = {
    "facets": lambda engine: [engine.facets(key) for key in ("colour", "sizes", "share", "mixed")],
    "keys": lambda engine: engine.metadata_keys(),
    "count": lambda engine: engine.count("colour:red*"),
    "filter": lambda engine: engine.retrieve("word", filter="mixed:3 OR colour:éc*"),
    "syntax": lambda engine: engine.retrieve("colour:red", syntax=True),
    "merge": lambda engine: engine.compact(),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index with metadata of every kind, in a file."""
    path = tmp_path_factory.mktemp("original") / "index"
    with pytest.MonkeyPatch.context() as patch, Engine.open(path, create=True, embedder="") as engine:
        patch.setattr(building, "INLINE_BYTES", 0)
        engine.add(
            Document(
                f"word {i}",
                id=str(i),
                metadata={
                    "colour": f"{['red', 'écru', 'blue'][i % 3]} {i % 97}",
                    "sizes": [i % 5, f"size {i % 7}"],
                    "share": i / 7,
                    "mixed": i if i % 2 else f"é{i}",
                },
            )
            for i in range(300)
        )
        engine.compact()
    return path


@pytest.mark.parametrize("reader", READERS)
def test_damaged_columns_give_typed_errors(original: Path, tmp_path: Path, reader: str) -> None:
    """Whatever bytes of the columns change, a read answers or says which metadata is damaged and how to mend it."""
    refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        path = Path(shutil.copytree(original, tmp_path / str(seed)))
        (file,) = (path / "segments").glob("columns-*")
        content = bytearray(file.read_bytes())
        start = content.index(b"columns") + 200
        for _ in range(rng.choice((1, 8, 64))):
            content[rng.randrange(start, len(content))] = rng.randrange(256)
        file.write_bytes(content)
        try:
            with Engine.open(path) as engine:
                READERS[reader](engine)
        except IndexDamagedError as error:
            refused += 1
            assert "sleuth doctor --repair" in str(error)
        shutil.rmtree(path)
    assert refused or reader in {"keys", "merge"}
