"""A leg without search whose arrays show whether every row is in its place."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sleuth.store import (
    IN_MEMORY,
    DocumentBatch,
    IndexSnapshot,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    Writer,
    array_of,
    text_hash,
    unpack,
)
from sleuth.store.store import Store
from sleuth.types import Chunk


class SumsLeg:
    """Stores a checksum of the texts and metadata of each row."""

    def __init__(self, name: str = "sums", fingerprint: str = "sums/1") -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.built = 0

    def build(self, rows: Rows) -> SegmentData:
        self.built += len(rows)
        sums = [
            row_sum({name: column[i] for name, column in rows.texts.items()}, rows.metadata[i])
            for i in range(len(rows))
        ]
        return SegmentData({"sums": np.array(sums, np.uint32)}, {"rows": len(rows)})

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        sums = np.concatenate([live(view, view.arrays["sums"]) for view in segments])
        return SegmentData({"sums": sums}, {"rows": len(sums)})

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        array_of(data.arrays, "sums", np.uint32, (n,))


def live(view: SegmentView, column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values of live rows."""
    return column if view.live is None else column[unpack(view.live, len(view))]


def row_sum(texts: Mapping[str, str], metadata: Mapping[str, Any]) -> int:
    """Return a checksum of everything that a leg gets of a row."""
    return zlib.crc32(
        repr((sorted((k, v) for k, v in texts.items() if v), sorted(metadata.items(), key=str))).encode()
    )


def contents(snapshot: IndexSnapshot, leg: str = "sums") -> dict[str, str]:
    """Return text by chunk id as the leg covers it; assert that leg and record agree on rows and order."""
    texts: dict[str, str] = {}
    for view in snapshot.segments(leg):
        keys, sums = live(view, view.keys).tolist(), live(view, view.arrays["sums"]).tolist()
        order = snapshot.order(keys)
        ranks = list(range(len(keys))) if view.tie_ranks is None else live(view, view.tie_ranks).tolist()
        assert [i for _, i in sorted(zip(ranks, range(len(keys)), strict=True))] == sorted(
            range(len(keys)), key=order.__getitem__
        )
        for row, value in zip(snapshot.rows(keys), sums, strict=True):
            assert row.id not in texts, f"{row.id} is covered twice"
            title = {"title": row.metadata["title"]} if "title" in row.metadata else {}
            assert value == row_sum({"text": row.text, **title, **row.fields}, row.metadata)
            texts[row.id] = row.text
    counts = snapshot.counts()
    assert len(texts) == counts.chunks
    assert len({name.rpartition("#")[0] for name in texts}) <= counts.documents
    return texts


def put(writer: Writer, name: str, *texts: str, **more: Any) -> bool:
    """Put a document with these chunks."""
    chunks, at = [], 0
    for text in texts:
        chunks.append(Chunk(text, at, at + len(text), 1, 1 + text.count("\n")))
        at += len(text)
    return put_one(writer, name, text_hash(repr(texts)), chunks, **more)


def put_one(writer: Writer, id: str, content_hash: str, chunks: Sequence[Chunk], **facts: Any) -> bool:
    """Add or replace one document, and return whether anything changed."""
    batch = DocumentBatch()
    batch.add(id, content_hash, chunks, **facts)
    return writer.put_batch(batch) == 1


def put_passages(
    writer: Writer, ids: Sequence[str], texts: Sequence[str], hashes: Sequence[str], **columns: Sequence[Any]
) -> int:
    """Add or replace documents whose one chunk is a text, and return how many changed; of equal ids the last stands."""
    rows = list(dict(zip(ids, range(len(ids)), strict=True)).values())
    bare: dict[str, Sequence[Any]] = {
        "metadata": [None] * len(ids),
        "sources": [None] * len(ids),
        "titles": [""] * len(ids),
    }
    distinct = {name: [column[row] for row in rows] for name, column in (bare | columns).items()}
    batch = DocumentBatch()
    batch.add_passages(
        [ids[row] for row in rows], [hashes[row] for row in rows], [texts[row] for row in rows], **distinct
    )
    return writer.put_batch(batch)


def add(store: Store, name: str, *texts: str, **more: Any) -> None:
    """Commit a document with these chunks."""
    with store.writer() as writer:
        put(writer, name, *texts, **more)


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Open an index with the one leg."""
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        yield store


def read(store: Store) -> dict[str, str]:
    """Return what `contents` returns for the newest version."""
    with store.reader() as snapshot:
        return contents(snapshot)


def faults(store: Store, *, full: bool = True) -> list[str]:
    """Return the faults that a check reports."""
    return [f"{f.level} {f.subject}: {f.message}" for f in store.check(full=full) if f.level != "ok"]
