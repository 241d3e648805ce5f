"""The files of databases that are open in this process, beside SQLite."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from sleuth.store.disk.files import open_file
from sleuth.store.record.pages import RecordFile

_FILES: WeakValueDictionary[tuple[int, int], RecordFile] = WeakValueDictionary()
_OPENING = Lock()


def file_of(path: Path) -> RecordFile:
    """Return the file of a database, open once in a process, for as long as a connection to it lives.

    Who closes a file that SQLite has open in the same process releases the locks that SQLite has on it.
    """
    with _OPENING:
        try:
            status = path.stat()
            file = _FILES.get((status.st_dev, status.st_ino))
            if file is None:
                fd = open_file(path, os.O_RDONLY)
                status = os.fstat(fd)
                file = _FILES[status.st_dev, status.st_ino] = RecordFile(fd)
        except OSError:  # SQLite says what is wrong
            return RecordFile(-1)
        return file
