"""Reads rows out of the pages of a SQLite file, without the pages that lead to them.

SQLite finds a row through the first page of the file, the root of its table and pages between; where one of them is
lost, so is everything below it. Rows themselves lie on leaf pages that say what they are. Freed pages are filled with
zeros (`PRAGMA secure_delete`), so that nothing deleted is found. What is read here is not trusted: rows are proven by
their checksums afterwards. The format is that of https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import Any, Final, NamedTuple

_TABLE_LEAF: Final = 0x0D
_INDEX: Final = {0x02: 12, 0x0A: 8}
"""Pages whose cells are entries of an index, and the bytes before their list of cells."""
_FIRST: Final = 100
"""Bytes of the header of the file, which the first page begins with."""
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer, by the number that stands for its type."""
_LOG_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_BAD: Final = (IndexError, ValueError, struct.error)

Values = list[Any]


class PageRow(NamedTuple):
    """A row of some table, or an entry of some index.

    Attributes:
        key: of the row; None for an entry of an index.
        values: as they are stored; that of a key is None.
    """

    key: int | None
    values: Values


def rows_of(file: bytes | mmap, page_size: int) -> Iterator[PageRow]:
    """Yield the rows on all pages that can be taken apart.

    Args:
        page_size: bytes.
    """
    for start in range(0, len(file), page_size):
        page = bytes(file[start : start + page_size])
        begin = 0 if start else _FIRST
        kind = page[begin] if begin < len(page) else 0
        if kind == _TABLE_LEAF:
            before = 8
        elif kind in _INDEX:
            before = _INDEX[kind]
        else:
            continue
        yield from _cells(_Pages(file, page_size), page, begin, before, kind)


def apply_log(file: bytearray, log: bytes) -> None:
    """Write the pages of a log (`-wal`) over those of its file, as far as they are committed."""
    if len(log) < _LOG_HEADER:
        return
    page_size, salts = int.from_bytes(log[8:12], "big"), log[16:24]
    if page_size < 512:
        return
    pending: dict[int, bytes] = {}
    for start in range(_LOG_HEADER, len(log) - page_size - _FRAME_HEADER + 1, page_size + _FRAME_HEADER):
        number, pages = struct.unpack_from(">II", log, start)
        if log[start + 8 : start + 16] != salts or not number:
            return
        pending[number] = log[start + _FRAME_HEADER : start + _FRAME_HEADER + page_size]
        if pages:  # the last frame of a commit
            for page, content in pending.items():
                begin = (page - 1) * page_size
                if page <= pages:
                    file.extend(bytes(max(0, begin - len(file))))
                    file[begin : begin + page_size] = content
            del file[pages * page_size :]
            pending = {}


class _Pages(NamedTuple):
    file: bytes | mmap
    size: int

    def overflow(self, page: int, left: int) -> Iterator[bytes]:
        """Yield what a row holds beyond its own page."""
        while left > 0:
            start = (page - 1) * self.size
            if start < self.size or start >= len(self.file):
                raise ValueError("a row goes on beyond the file")
            part = bytes(self.file[start + 4 : start + min(self.size, 4 + left)])
            if not part:
                raise ValueError("a row goes on beyond the file")
            yield part
            left -= len(part)
            page = int.from_bytes(self.file[start : start + 4], "big")


def _cells(pages: _Pages, page: bytes, begin: int, before: int, kind: int) -> Iterator[PageRow]:
    count = int.from_bytes(page[begin + 3 : begin + 5], "big")
    first = begin + before
    for at in range(first, min(first + 2 * count, len(page) - 1), 2):
        pointer = int.from_bytes(page[at : at + 2], "big")
        try:
            yield _cell(pages, page, pointer, kind)
        except _BAD:
            continue


def _cell(pages: _Pages, page: bytes, at: int, kind: int) -> PageRow:
    if kind == 0x02:
        at += 4  # the page below it
    size, at = _varint(page, at)
    if size > len(pages.file):
        raise ValueError("a row is larger than the file")
    key = None
    most = pages.size - 35
    if kind == _TABLE_LEAF:
        key, at = _varint(page, at)
    else:
        most = (pages.size - 12) * 64 // 255 - 23
    local = size
    if size > most:
        least = (pages.size - 12) * 32 // 255 - 23
        local = least + (size - least) % (pages.size - 4)
        local = local if local <= most else least
    content = page[at : at + local]
    if local < size:
        overflow = int.from_bytes(page[at + local : at + local + 4], "big")
        content += b"".join(pages.overflow(overflow, size - local))
    if len(content) != size:
        raise ValueError("a row is cut off")
    return PageRow(key, _values(content))


def _values(record: bytes) -> Values:
    end, at = _varint(record, 0)
    types = []
    while at < end:
        type, at = _varint(record, at)
        types.append(type)
    values: Values = []
    at = end
    for type in types:
        value, size = _value(record, at, type)
        values.append(value)
        at += size
    if at > len(record):
        raise ValueError("a value is cut off")
    return values


def _value(record: bytes, at: int, type: int) -> tuple[Any, int]:
    """Return a value and how many bytes it takes."""
    if type == 0:
        return None, 0
    if type in _INTEGERS:
        size = _INTEGERS[type]
        return int.from_bytes(record[at : at + size], "big", signed=True), size
    if type == 7:
        return struct.unpack_from(">d", record, at)[0], 8
    if type in (8, 9):
        return type - 8, 0
    if type < 12:
        raise ValueError("no value has this type")
    size = (type - 12) // 2
    content = record[at : at + size]
    return (content.decode() if type % 2 else content), size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    value = 0
    for place in range(at, at + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >= 1 << 63 else value, at + 9
