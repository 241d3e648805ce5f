"""Checks that file versions read from the database can be such as a run writes, before anything is sized by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.labels import CATEGORIES
from sleuth.code.snapshots.record import FileRow, damaged
from sleuth.store.record.layout import Connection

_CHUNKS_PER_BYTE = 16
"""A database holds fewer chunks for each of its bytes: their texts are compressed, but not to nothing."""
_LAST_KEY = 1 << 62


def check_files(connection: Connection, rows: Sequence[FileRow]) -> None:
    """Refuse file versions, in order of key, with values that no run writes.

    Raises:
        IndexDamagedError: says what is wrong.
    """
    if not rows:
        return
    columns = FileRow(*zip(*rows, strict=True))  # type: ignore[arg-type] # a column for each field
    try:
        for texts in (columns.path, columns.hash, columns.language, columns.encoding, columns.skip):
            "".join(texts)  # raises TypeError where one is no text
        sizes = np.array([columns.lines, columns.size], np.int64)
        keys, firsts, counts = np.array([columns.key, columns.first_chunk, columns.chunks], np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(f"the list of files ({error})") from error
    if not set(CATEGORIES).issuperset(columns.category) or sizes.min() < 0:
        raise damaged("the list of files")
    check_ranges(connection, keys, firsts, counts)


def check_ranges(
    connection: Connection, keys: NDArray[np.int64], firsts: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Refuse chunks of file versions that overlap, or are more than a database of this size can hold.

    Args:
        keys: ascending.
        firsts, counts: the first chunk of each, and how many it has.

    Raises:
        IndexDamagedError: they do.
    """
    pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    most = _CHUNKS_PER_BYTE * connection.execute(pages).fetchone()[0]
    if not len(keys):
        return
    within = keys[0] >= 0 and min(firsts.min(), counts.min()) >= 0 and max(keys[-1], firsts.max()) < _LAST_KEY
    if not within or counts.max() > most or int(counts.sum()) > most:
        raise damaged("the list of files")
    if np.any(firsts[:-1] + counts[:-1] > firsts[1:]):
        raise damaged("the list of files (chunks of two overlap)")
