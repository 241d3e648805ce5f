"""Compressed files that unpack to far more than their size are refused before they take memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from sleuth.ingest import ReadOptions, Skipped, read
from sleuth.ingest.loaders.registry import MOST_DOCUMENTS, TEXT_PER_BYTE
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


def test_documents_are_bounded_by_the_bytes_of_their_file(tmp_path: Path) -> None:
    """A file has documents and text in proportion to its bytes, whatever its format packs into them."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `cluster`")
    parquet = pytest.importorskip("pyarrow.parquet")
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 700_000, pyarrow.int32()), pyarrow.array(["words of a row"])
    )
    parquet.write_table(pyarrow.table({"a": column}), tmp_path / "a.parquet")
    size = (tmp_path / "a.parquet").stat().st_size
    assert size < 5_000
    (tmp_path / "b.csv").write_text("n" * 900 + "\n" + "x\n" * 400)
    records = list(read([tmp_path], options=ReadOptions(max_unpacked_bytes=100_000)))
    skips = {Path(skip.source).name: skip for skip in records if isinstance(skip, Skipped)}
    assert skips.keys() == {"a.parquet", "b.csv"}
    for name, skip in skips.items():
        assert skip.kind == "limits"
        documents = [d for d in records if isinstance(d, Document) and name in str(d.metadata["path"])]
        bytes_read = (tmp_path / name).stat().st_size
        assert len(documents) <= MOST_DOCUMENTS + bytes_read
        assert sum(len(d.page_content) for d in documents) <= max(100_000, TEXT_PER_BYTE * bytes_read)
