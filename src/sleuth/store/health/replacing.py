"""Makes a database of an index folder again, in the place of one that this version does not open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from sleuth.errors import IndexDamagedError, IndexNotFoundError, StoreError
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.segment_files import SUFFIX, sync_folder
from sleuth.store.catalogue.views import passages_of
from sleuth.store.disk.files import DOCUMENTS, Names, failing_disk, make_folder
from sleuth.store.health.opening import create
from sleuth.store.record import layout as record
from sleuth.store.record.scan import batches_between
from sleuth.store.writing.transaction import BATCH_BYTES
from sleuth.store.writing.writer import Writer

_PREFIX = "rebuild-"
"""Begins the name of the folder within an index folder where its successor is made."""


@contextmanager
def successor(folder: Path, names: Names, *, timeout: float = 10.0) -> Iterator[Path]:
    """Provide a folder for a new database, which takes the place of the one in `folder` after the block.

    Until then the old one stays as it is, also where the block raises or the process dies; nobody writes into it.

    Args:
        names: which database.
        timeout: seconds to wait for its writer.

    Raises:
        IndexNotFoundError: no database is there.
        IndexLockedError: somebody writes into it.
        StoreError: another program has it open.
    """
    if not (folder / names.record).is_file():
        command = "index" if names is DOCUMENTS else "code index"
        raise IndexNotFoundError(f"no index at {folder}: `sleuth {command} PATH` makes one", path=str(folder))
    lock = WriterLock(folder / names.lock)
    lock.acquire(timeout)
    try:
        _settle(folder / names.record)
        with failing_disk(folder):
            for leftover in folder.glob(f"{_PREFIX}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            beside = Path(mkdtemp(prefix=_PREFIX, dir=folder))
        try:
            yield beside
            for place in (beside, folder):
                _settle(place / names.record)
            with failing_disk(folder):
                # The record comes last: its arrival is the change. The next writer sweeps old segments.
                make_folder(folder / names.segments)
                for segment in (beside / names.segments).glob(f"*{SUFFIX}"):
                    segment.rename(folder / names.segments / segment.name)
                sync_folder(folder / names.segments)
                (folder / names.mark).unlink(missing_ok=True)  # it names the salt of the old record
                (beside / names.record).replace(folder / names.record)
                sync_folder(folder)
                with suppress(FileNotFoundError):
                    (beside / names.mark).replace(folder / names.mark)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    finally:
        lock.release()


def _settle(file: Path) -> None:
    """Copy the log of a database into it, and remove the log, which must not be taken for that of the next one.

    Raises:
        StoreError: another program has the database open.
    """
    folder = file.parent
    with record.translated(folder), closing(record.connect(file, write=True)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if file.with_name(f"{file.name}-wal").exists():  # who closes a database last removes its log
        raise StoreError(
            f"another program has the index {folder} open: close it and try again", path=str(folder)
        )


@contextmanager
def rebuilding(path: str | os.PathLike[str], *, timeout: float = 10.0) -> Iterator[Path]:
    """Provide the folder of a new, empty index with the settings of the one at `path`, as `successor` does.

    Raises:
        IndexDamagedError: the tables cannot be read: they are damaged, or differ too much from those of this format.
    """
    folder = schema.folder_at(path)
    with successor(folder, DOCUMENTS, timeout=timeout) as beside:
        with reading(folder, DOCUMENTS) as connection:
            settings = record.read_settings(connection)
        create(beside, settings)
        yield beside


def take_over(path: str | os.PathLike[str], writer: Writer) -> None:
    """Copy documents with their texts, files and vectors from the index at `path` into that of a writer.

    No file has a version then, so that the next run over them reads those that are still there.

    Raises:
        IndexDamagedError: as `rebuilding`.
    """
    folder = schema.folder_at(path)
    with reading(folder, DOCUMENTS) as connection:
        passages = passages_of(folder / DOCUMENTS.segments, connection)
        connection.let_go()  # nobody else writes, and what is held is not closed
        for batch, _ in batches_between(connection, passages, 1, 1 << 62, BATCH_BYTES):
            writer.put_batch(batch)
            writer.commit()
        rows = connection.execute(f"SELECT {record.FILE_COLUMNS} FROM files")
        for row in record.sound_files(rows, connection.salt):
            writer.note_file(row.name, **row._replace(version=None).facts)
        for model, fingerprint in connection.execute("SELECT model, fingerprint FROM models").fetchall():
            vectors = connection.execute("SELECT hash, vector FROM embeddings WHERE model = ?", (model,))
            while rows_of_model := vectors.fetchmany(record.MANY):
                by_hash = {digest.hex(): vector for digest, vector in rows_of_model}
                writer.put_embeddings(fingerprint, by_hash)


@contextmanager
def reading(folder: Path, names: Names) -> Iterator[record.Connection]:
    """Provide a connection to a database of any format, for the length of a block.

    Raises:
        IndexDamagedError: its tables cannot be read.
        IndexUnsafeError: it holds more than tables.
    """
    try:
        with (
            record.translated(folder),
            closing(record.connect(folder / names.record, write=True)) as connection,
        ):
            schema.refuse_programs(connection, folder / names.record)
            yield connection
    except IndexDamagedError as error:
        raise IndexDamagedError(
            f"what {folder / names.record} holds cannot be taken over ({error}): "
            "index the files again into another folder, with --index FOLDER",
            path=str(folder),
        ) from error
