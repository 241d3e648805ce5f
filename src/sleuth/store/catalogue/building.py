"""Turns rows into segments while the record takes them in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.segments import Encoded, Opened
from sleuth.store.disk.files import opened_folder
from sleuth.store.disk.scratch import pieces
from sleuth.store.legs.leg import Leg, RowKeys, SegmentData, SegmentKind
from sleuth.store.passages.kind import OFFSETS, PASSAGES, RECORDS
from sleuth.store.passages.records import encode
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.layout import Connection, DocumentRow
from sleuth.store.record.scan import documents_of, rows_of

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

INLINE_BYTES = 1 << 16
"""Segments up to this size live in the record: no file, no further sync."""
_WORTH_A_THREAD = 256


class Built:
    """A segment that no committed manifest names yet. The lock of its file tells sweepers that it is no orphan.

    Attributes:
        encoded: without its parts where they are in a file, else in one part.
        held: whether it is in a file; a small one goes into the record.
        opened: the same for readers in this process, which then need not wait for that; None until `open`.
    """

    def __init__(self, folder: Path, encoded: Encoded, most_inline: int | None = None) -> None:
        """Write a segment to where it will live.

        A file is synced; the folder is synced by the caller, once for several files.

        Args:
            most_inline: bytes of the largest one that goes into the record; `INLINE_BYTES` if None.

        Raises:
            StoreError: it could not be written; nothing is left of it.
        """
        self._fd = -1
        self.opened: Opened | None = None
        self.held = encoded.size > (INLINE_BYTES if most_inline is None else most_inline)
        self.path = folder / f"{encoded.name}{segment_files.SUFFIX}"
        if not self.held:
            self.encoded = encoded._replace(parts=(b"".join(encoded.parts),))
            return
        self.encoded = encoded._replace(parts=())  # it may wait long for its commit
        temporary = self.path.with_suffix(segment_files.TEMPORARY)
        try:
            with opened_folder(folder) as within:
                try:
                    self._fd = segment_files.create_locked(temporary, within)
                    with os.fdopen(self._fd, "wb", closefd=False) as file:
                        for part in encoded.parts:
                            file.writelines(pieces(memoryview(part)))
                    os.fsync(self._fd)
                    within.rename(temporary.name, self.path.name)
                except BaseException:
                    self.release()
                    with suppress(OSError):
                        within.remove(temporary.name)
                    raise
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", path=str(self.path)) from error

    def open(self, kind: SegmentKind) -> None:
        """Open it for readers in this process. A small one needs no validation: nobody else had its arrays."""
        encoded = self.encoded
        name, checksum, most_rows = encoded.name, encoded.checksum, lambda: encoded.rows
        if not self.held:
            (content,) = encoded.parts
            self.opened = segments.decode(name, bytes(content), checksum, most_rows=most_rows)
            return
        with suppress(IndexDamagedError, OSError):  # of crafted inputs, or no descriptor: a reader notes it
            opened = segment_files.read(self.path.parent, name, encoded.size, checksum, most_rows=most_rows)
            segments.validate(opened, kind)
            self.opened = opened

    def publish(self, connection: Connection) -> None:
        """Name it in the manifest, in the open transaction."""
        segment, content = self.encoded, next(iter(self.encoded.parts), None)
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (segment.name, segment.leg, segment.fingerprint, segment.first, segment.last, segment.rows, segment.size,
             segment.checksum, content),
        )  # fmt: skip

    def release(self) -> None:
        """Give the file up: a manifest names it now, or it may be swept."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1  # first, so that an interruption makes nobody close it twice
            os.close(fd)

    def discard(self) -> None:
        """Remove the file: nothing will name it."""
        if self.held:
            segment_files.remove(self.path.parent, self.path.stem)
            self.release()


def write(  # noqa: PLR0917 - what a segment consists of
    kind: SegmentKind, data: SegmentData, keys: RowKeys, tie_ranks: NDArray[np.uint32] | None, first: int, last: int,
    folder: Path,
) -> Built:  # fmt: skip
    """Return a segment of these arrays, which answers for the keys `first` to `last`; it is open."""
    segment = Built(folder, segments.encode(kind.name, kind.fingerprint, first, last, keys, tie_ranks, data))
    if segment.held:
        del data
        platform.trim()
    segment.open(kind)
    return segment


class Flight:
    """A batch that is being indexed: another thread builds its segments, while the writer goes on.

    Few rows are left to `land`, in the caller's thread: another one would cost more than it saves.

    Attributes:
        built: a segment of the passages and one for every leg.
        documents: what the record gets.
    """

    def __init__(  # noqa: PLR0917 - the inputs and settings of a segment
        self, batch: DocumentBatch, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path,
        pool: Callable[[], ThreadPoolExecutor],
    ) -> None:  # fmt: skip
        """Begin to index a batch.

        Args:
            first, last: the keys that it answers for.
            salt: of the index.
            pool: of a thread for this and one for each leg.
        """
        self.batch = batch
        self.built: list[Built] = []
        self.documents: list[DocumentRow] = []
        # A bound method in its place would keep the batch until a garbage collection.
        self._place = (first, last, legs, salt, folder)
        self._pool = pool() if len(batch.texts) >= _WORTH_A_THREAD else None
        self._future = self._pool.submit(self._prepare, *self._place) if self._pool else None

    def _prepare(self, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path) -> None:
        try:
            batch = self.batch
            keys = batch.keys(first)
            if batch.texts:
                offsets, records = encode(batch, keys.documents, salt)
                data = SegmentData({OFFSETS: offsets}, unsealed={RECORDS: [records]})
                self.built.append(write(PASSAGES, data, keys.chunks, None, first, last, folder))
                del data, offsets, records
                rows = rows_of(batch, keys)

                def build(leg: Leg) -> Built:
                    return write(leg, leg.build(rows), rows.keys, rows.tie_ranks, first, last, folder)

                if self._pool is None:
                    self.built.extend(map(build, legs))
                else:  # one leg counts words while another reads the same texts for vectors
                    futures = [self._pool.submit(build, leg) for leg in legs]
                    self.built += [future.result() for future in futures if not future.exception()]
                    for future in futures:
                        future.result()
            self.documents = documents_of(batch, keys.documents.tolist(), salt)
        except BaseException:
            for segment in self.built:
                segment.discard()
            raise

    def wait(self) -> None:
        """Wait until it can land at once. An interruption leaves it as it is."""
        if self._future:
            self._future.exception()

    def land(self) -> None:
        """Have its segments complete.

        Raises:
            Exception: what a leg raised; nothing is left on disk then.
        """
        if self._future:
            self._future.result()
        else:
            self._prepare(*self._place)

    def discard(self) -> None:
        """Remove the files that were written for it."""
        if self._future and not self._future.cancel():
            with suppress(Exception):  # the waiter gets the exception; ignore it here
                self._future.result()
                for segment in self.built:
                    segment.discard()
