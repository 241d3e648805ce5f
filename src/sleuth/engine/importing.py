"""Imports the contents of another store, with its vectors."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import hypot
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError, EmbedderMismatchError
from sleuth.ingest import AddReport, open_chunker
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from pathlib import Path

    from sleuth.engine.engine import Engine
    from sleuth.vector_store import StoredVector

SAMPLE = 3
"""Documents that are embedded again, to see whether the embedder is the one that made the vectors."""

AGREEMENT = 0.98
"""Least cosine of a vector with what the embedder makes of the same text."""

_BATCH = 500


def import_chroma(
    engine: Engine, path: str | Path, collection: str | None = None, *, re_embed: bool = False
) -> AddReport:
    """Add all documents of a Chroma collection, with their vectors.

    Each keeps its id and metadata. One that is longer than the index's `chunk_size` is cut and embedded again.

    Args:
        engine: opened with the embedder that made the vectors.
        path: the folder of the Chroma.
        collection: its name; may be left out where there is one.
        re_embed: leave the vectors behind, and embed with the index's own embedder.

    Raises:
        ArgumentError: no such Chroma or collection, or an index whose embedder cannot take vectors from elsewhere.
        EmbedderMismatchError: the index's embedder makes other vectors of the same texts.
        EmbeddingError: the embedder does not answer.
    """
    from sleuth.vector_store import read_chroma

    return _import(engine, read_chroma(path, collection), re_embed=re_embed)


aimport_chroma = async_twin(import_chroma)


def import_vectors(
    engine: Engine,
    path: str | Path,
    vectors: str | Path | None = None,
    *,
    text_field: str = "text",
    id_field: str = "id",
    vector_field: str = "vector",
    re_embed: bool = False,
) -> AddReport:
    """Add the rows of a Parquet or JSON lines file, with their vectors, which are never all in memory.

    Fields that are neither text, id nor vector are metadata.

    Args:
        engine: opened with the embedder that made the vectors.
        path: of the rows: `.parquet` or `.jsonl`.
        vectors: a numpy file (`.npy`), shape (rows, dimension), in the order of the rows; None where the rows have a
            field with their vectors.
        text_field, id_field, vector_field: names of fields; rows without an id are named by a hash of their content.
        re_embed: leave the vectors behind, and embed with the index's own embedder.

    Raises:
        ArgumentError: a file of another kind, a row without text or vector, or another number of vectors than rows.
        EmbedderMismatchError: the index's embedder makes other vectors of the same texts.
        EmbeddingError: the embedder does not answer.
        MissingPackageError: pyarrow, which reads Parquet, is not installed.
    """
    from sleuth.vector_store import read_vectors

    rows = read_vectors(path, vectors, text_field=text_field, id_field=id_field, vector_field=vector_field)
    return _import(engine, rows, re_embed=re_embed)


aimport_vectors = async_twin(import_vectors)


def _import(engine: Engine, rows: Iterator[StoredVector], *, re_embed: bool) -> AddReport:
    """Add documents with their vectors, some at a time."""
    if re_embed:
        return engine.add(row.document for row in rows)
    if engine.scope is not None:
        raise ArgumentError(
            "re_embed must be True in an engine with a scope, since vectors are kept for the texts of all, got False"
        )
    if engine.embedder is None or engine.backend.vector_cache is None:
        raise ArgumentError(
            "embedder must be the one that made the vectors, such as 'ollama:nomic-embed-text', "
            f"got {engine.settings.embedder!r}; or leave them behind: --re-embed"
        )
    sample = list(islice(rows, SAMPLE))
    check_vectors(engine.embedder, sample)
    total = AddReport()
    waiting = chain(sample, rows)
    while batch := list(islice(waiting, _BATCH)):
        # Before the documents: the index looks here before it embeds, and a writer cannot wait for another.
        engine.backend.vector_cache.put(engine.embedder.fingerprint, _vectors(engine, batch))
        total = _sum(total, engine.add(row.document for row in batch))
    return total


def check_vectors(embedder: Any, sample: Sequence[StoredVector]) -> None:
    """Compare vectors with what an embedder makes of the same texts.

    Raises:
        EmbedderMismatchError: they differ; says in what.
    """
    expected = embedder.embed_documents([row.document.page_content for row in sample])
    for row, vector in zip(sample, expected, strict=True):
        found = [float(x) for x in vector]
        if len(found) != len(row.vector):
            differ = f"its vectors have length {len(found)}, the collection's {len(row.vector)}"
        elif (cosine := _cosine(found, row.vector)) < AGREEMENT:
            differ = (
                f"its vector of document {row.document.id!r} has a cosine of {cosine:.2f} with the one there"
            )
        else:
            continue
        raise EmbedderMismatchError(
            f"embedder must be the one that made the collection's vectors, got {embedder.fingerprint!r}: {differ}"
        )


def _vectors(engine: Engine, rows: Sequence[StoredVector]) -> dict[str, bytes]:
    """Vectors by hash of the text that the index would embed, for documents that it keeps whole."""
    from sleuth.store import text_hash
    from sleuth.text import embedded_text

    chunker = open_chunker(engine.settings, engine.backend.chunker)
    vectors = {}
    for row in rows:
        chunks = chunker.split(row.document)
        if len(chunks) == 1:
            (chunk,) = chunks
            heading, title = chunk.fields.get("heading"), str(row.document.metadata.get("title") or "")
            text = embedded_text({"title": title, "heading": heading, "text": chunk.text})
            vectors[text_hash(text)] = array("f", row.vector).tobytes()
    return vectors


def _sum(a: AddReport, b: AddReport) -> AddReport:
    return AddReport(
        a.added + b.added, a.updated + b.updated, a.unchanged + b.unchanged, a.seconds + b.seconds, b.version
    )


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norm = hypot(*a) * hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0
