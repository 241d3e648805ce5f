"""Imports the documents of another store, with their vectors."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import hypot
from operator import mul
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError, EmbedderMismatchError, StoreError
from sleuth.ingest import AddReport
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.plugins.importers.stored import StoredVector, StoredVectors

SAMPLE = 3
"""Documents that are embedded again, to see whether the embedder is the one that made the vectors."""

AGREEMENT = 0.98
"""Least cosine of a vector with what the embedder makes of the same text."""

_BATCH = 500


@dataclass(slots=True)
class ImportReport(AddReport):
    """The result of an import.

    Attributes:
        stored: documents there, as the other store says; None where it does not say.
        read: documents that were read.
        blank: those without text, which are left out.
    """

    stored: int | None = None
    read: int = 0
    blank: int = 0


def import_vectors(
    engine: Engine,
    source: StoredVectors,
    *,
    re_embed: bool = False,
    progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Add the documents of another store, with their vectors.

    They are read some at a time and committed batch by batch. An import that was broken off goes on when it is run
    again: documents that are there are read and compared, and neither written nor embedded. Each keeps its id and
    metadata. One that is longer than the index's `chunk_size` is cut and embedded again.

    Args:
        engine: opened with the embedder that made the vectors.
        source: what a reader of `sleuth.vector_store` returns: `read_chroma`, `read_faiss`, `read_lancedb`,
            `read_qdrant`, `read_elasticsearch` or `read_vectors`.
        re_embed: leave the vectors behind, and embed with the index's own embedder.
        progress: called after each batch.

    Raises:
        ArgumentError: a document that cannot be read, or an index that keeps no vectors of its embedder.
        EmbedderMismatchError: the index's embedder makes other vectors of the same texts.
        EmbeddingError: the embedder does not answer.
        StoreError: other documents were read than the store says there are; those that were read are added.
    """
    if not re_embed and engine.scope is not None:
        raise ArgumentError(
            "re_embed must be True in an engine with a scope, since vectors are kept for the texts of all, got False"
        )
    rows = iter(source)
    sample = list(islice(rows, SAMPLE))
    keep = None
    if not re_embed and any(row.vector is not None for row in sample):
        keep = _keeper(engine)
        check_vectors(engine.embedder, [row for row in sample if row.document.page_content.strip()])
    totals = ImportReport(stored=source.count)
    remaining_rows = chain(sample, rows)
    while batch := list(islice(remaining_rows, _BATCH)):
        texts = [row for row in batch if row.document.page_content.strip()]
        if keep is not None:
            keep(texts)  # before the documents: the index looks there before it embeds
        report = engine.add(row.document for row in texts)
        for name in ("added", "updated", "unchanged", "seconds"):
            setattr(totals, name, getattr(totals, name) + getattr(report, name))
        totals.version = report.version
        totals.read += len(batch)
        totals.blank += len(batch) - len(texts)
        if progress:
            progress(totals)
    if source.count is not None and totals.read != source.count:
        raise StoreError(
            f"{source.name} must give the {source.count:,} documents that it says it has, got {totals.read:,}; "
            "they are added: if it changed meanwhile, import it again",
            path=str(engine.path),
        )
    return totals


aimport_vectors = async_twin(import_vectors)


def check_vectors(embedder: Any, sample: Sequence[StoredVector]) -> None:
    """Compare vectors with what an embedder makes of the same texts.

    Raises:
        EmbedderMismatchError: they differ; says in what.
    """
    expected = embedder.embed_documents([row.document.page_content for row in sample])
    for row, vector in zip(sample, expected, strict=True):
        own_vector, stored_vector = _floats(vector), _floats(row.vector)
        product = sum(map(mul, own_vector, stored_vector))
        if len(own_vector) != len(stored_vector):
            differ = f"its vectors have length {len(own_vector)}, the collection's {len(stored_vector)}"
        elif (cosine := product / (hypot(*own_vector) * hypot(*stored_vector) or 1.0)) < AGREEMENT:
            differ = (
                f"its vector of document {row.document.id!r} has a cosine of {cosine:.2f} with the one there"
            )
        else:
            continue
        raise EmbedderMismatchError(
            f"embedder must be the one that made the collection's vectors, got {embedder.fingerprint!r}: {differ}"
        )


def _keeper(engine: Engine) -> Callable[[Sequence[StoredVector]], None]:
    """Return what puts vectors where the index looks before it embeds, without those that are there.

    Raises:
        ArgumentError: the index keeps no vectors of its embedder.
    """
    from sleuth.store import text_hash
    from sleuth.vectors import embedded_text

    embedder, cache = engine.embedder, engine.backend.vector_cache
    if embedder is None or cache is None:
        raise ArgumentError(
            "embedder must be the one that made the vectors, such as 'ollama:nomic-embed-text', "
            f"got {engine.settings.embedder!r}; or leave them behind: --re-embed"
        )

    chunker = engine.backend.cutter

    def keep(rows: Sequence[StoredVector]) -> None:
        vectors = {}  # by hash of the text that the index would embed, for documents that it keeps whole
        for row in rows:
            chunks = chunker.split(row.document)
            if len(chunks) == 1 and row.vector is not None:
                (chunk,) = chunks
                heading, title = chunk.fields.get("heading"), str(row.document.metadata.get("title") or "")
                text = embedded_text({"title": title, "heading": heading, "text": chunk.text})
                vectors[text_hash(text)] = array("f", row.vector).tobytes()
        cached_vectors = cache.get(embedder.fingerprint, list(vectors))
        if new_vectors := {name: vector for name, vector in vectors.items() if name not in cached_vectors}:
            cache.put(embedder.fingerprint, new_vectors)

    return keep


def _floats(vector: Iterable[Any] | None) -> list[float]:
    return [] if vector is None else [float(value) for value in vector]
