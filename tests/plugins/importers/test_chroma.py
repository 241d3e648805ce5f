"""Reading a Chroma with its vectors."""

from pathlib import Path

import pytest

from sleuth.errors import ArgumentError
from sleuth.plugins.importers import read_chroma
from tests.vector_store.conftest import DOCUMENTS, Words, chroma_store, langchain_chroma
from tests.vector_store.test_chroma import folder

pytestmark = pytest.mark.usefixtures("langchain_chroma")
__all__ = ["folder", "langchain_chroma"]


def test_reading_with_vectors(folder: Path) -> None:
    """Every document is read with its metadata and its stored vector."""
    rows = {row.document.id: row for row in read_chroma(folder)}
    assert set(rows) == {document.id for document in DOCUMENTS}
    for document in DOCUMENTS:
        row = rows[document.id]
        assert row.document == document
        assert row.vector == pytest.approx(Words().embed_query(document.page_content), abs=1e-6)


def test_reading_names_what_there_is(folder: Path, tmp_path: Path) -> None:
    """A path without a Chroma, and an unknown collection, raise errors with the known names."""
    with pytest.raises(ArgumentError, match=r"collection must be among those of .* \(docs\), got 'other'"):
        list(read_chroma(folder, "other"))
    with pytest.raises(ArgumentError, match=r"path must be the folder of a Chroma"):
        list(read_chroma(tmp_path / "nowhere"))
    chroma_store(tmp_path, Words(), "one")
    chroma_store(tmp_path, Words(), "two")
    with pytest.raises(ArgumentError, match=r"\(one, two\), got None"):
        list(read_chroma(tmp_path))
