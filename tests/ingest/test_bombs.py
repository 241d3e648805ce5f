"""Compressed files that unpack to far more than their size are refused before they take memory."""

from pathlib import Path

import pytest

from sleuth.ingest import ReadOptions, Skipped, read
from sleuth.ingest.loaders.registry import MOST_DOCUMENTS, TEXT_PER_BYTE
from sleuth.types import Document


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
