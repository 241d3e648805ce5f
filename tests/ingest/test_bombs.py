"""Compressed files that unpack to far more than their size are refused before they take memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from sleuth.ingest import read
from sleuth.types import Document

KINDS: dict[str, Callable[[bytes], bytes]] = {
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "gz": gzip.compress,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_refused(tmp_path: Path, kind: str) -> None:
    """60 MB of one letter take less than 20 MB to refuse; a file of text is read."""
    bomb, sound = tmp_path / f"bomb.txt.{kind}", tmp_path / f"sound.txt.{kind}"
    bomb.write_bytes(KINDS[kind](b"a" * (60 << 20)))
    sound.write_bytes(KINDS[kind](b"Cats sleep most of the day.\n" * 40))
    tracemalloc.start()
    items = [item for path in (bomb, sound) for item in read([path])]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
    assert sum(isinstance(item, Document) for item in items) == 1
    assert any("unpacks to more than 300 times its size" in str(item) for item in items)
