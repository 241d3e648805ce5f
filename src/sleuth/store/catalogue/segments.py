"""The format of a segment file: named arrays with checksums.

One container for every leg:

    offset 0   8 bytes  magic
           8   u32      version of the container
          12   u32      length of the header
          16   u32      CRC-32 of the header
          20   u32      0
          24            header: JSON, UTF-8
         ...            arrays, each at a multiple of 64 bytes, native layout, CRC-32 of each in the header

The header names the segment, so that two files that changed places are noticed. CRC-32 is zlib's: it runs at about
4 GB/s where it is made of carry-less multiplications and 1 GB/s elsewhere, a small part of the time to write a file.
A small segment is kept whole in the record instead of a file of its own: a commit of one document then costs one sync.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.disk.scratch import bytes_of, let_go, pieces
from sleuth.store.legs.leg import RowKeys, SegmentData, SegmentKind, key_array

MAGIC = b"SLEUTH\x00\x01"
CONTAINER = 1
PRELUDE = struct.Struct("<8sIIII")
ALIGNMENT = 64
_KEYS, _TIES = "$keys", "$ties"
_NAME = re.compile(r"\w+-\d+-\d+-[0-9a-f]{12}")
is_name: Callable[[str], object] = _NAME.fullmatch
"""Whether `new_name` gives such names; others may lead out of the folder."""
_MALFORMED = (AttributeError, KeyError, OverflowError, RecursionError, SyntaxError, TypeError, ValueError)
"""What reading a header raises that is no header."""


class Encoded(NamedTuple):
    """A segment as bytes, before it is in a file or in the record.

    Attributes:
        first, last: the range of keys that it answers for, inclusive; every row in it is here or deleted.
        rows: how many rows it holds.
        size: bytes of all parts together.
        checksum: CRC-32 of the header, which holds those of the arrays.
    """

    name: str
    leg: str
    fingerprint: str
    first: int
    last: int
    rows: int
    size: int
    checksum: int
    parts: tuple[bytes | memoryview, ...]


class Opened(NamedTuple):
    """A segment as it was written, without the deletions since.

    Attributes:
        key_list: of its rows.
        stored: all arrays, keys and tie ranks as they are packed included.
        checksums: CRC-32 of each of them; None of one whose rows have their own.
        padding: the bytes between them, which are 0.
        file: the mapped file; None where the bytes are in the record.
        inode: its device and its number there.
    """

    name: str
    key_list: RowKeys
    tie_ranks: NDArray[np.uint32] | None
    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]
    stored: Mapping[str, NDArray[Any]]
    checksums: Mapping[str, int | None]
    padding: tuple[bytes, ...]
    file: mmap.mmap | None = None
    inode: tuple[int, int] | None = None

    @property
    def keys(self) -> NDArray[np.int64]:
        """Keys of its rows, shape (n,), ascending."""
        return key_array(self.key_list)

    @property
    def is_cut_off(self) -> bool:
        """Whether its file is shorter than what is mapped: reading beyond its end kills the process."""
        return self.file is not None and self.file.size() < len(self.file)


def new_name(leg: str, first: int, last: int) -> str:
    """Return an unused name: a rebuilt segment never replaces bytes that a reader may have mapped."""
    safe = re.sub(r"\W", "_", leg)
    return f"{safe}-{first}-{last}-{os.urandom(6).hex()}"


def encode(  # noqa: PLR0917 - the header, in order
    leg: str,
    fingerprint: str,
    first: int,
    last: int,
    keys: RowKeys,
    tie_ranks: NDArray[np.uint32] | None,
    data: SegmentData,
) -> Encoded:
    """Return the bytes of a segment, which covers the keys from `first` to `last`.

    Args:
        keys: of its rows.
    """
    name = new_name(leg, first, last)
    contents = {**{key: (array,) for key, array in _stored(keys, tie_ranks, data).items()}, **data.unsealed}
    described: list[dict[str, Any]] = []
    body: list[bytes | memoryview] = []
    size = 0  # of the arrays, each at a multiple of the alignment from the header's aligned end on
    for array_name, content in contents.items():
        dtype, shape, checksum = content[0].dtype, list(content[0].shape), None
        if dtype.hasobject or dtype.fields:
            raise TypeError(f"array {array_name!r} must have a dtype without objects and fields, got {dtype}")
        parts = list(map(bytes_of, content))
        if array_name in data.unsealed:
            shape = [sum(map(len, content))]
        else:
            checksum = _checksum(parts[0])
        gap = bytes(-size % ALIGNMENT)
        body += [gap, *parts]
        size += len(gap)
        described.append(
            {"name": array_name, "dtype": dtype.str, "shape": shape, "crc": checksum, "offset": size}
        )
        size += sum(map(len, parts))
    head = {
        "name": name,
        "leg": leg,
        "fingerprint": fingerprint,
        "range": [first, last],
        "rows": len(keys),
        "start": int(keys[0]) if len(keys) else first,  # the key that the packed keys count from
        "meta": dict(data.meta),
        "arrays": described,
        "size": size,
    }
    header = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    crc = zlib.crc32(header)
    prelude = PRELUDE.pack(MAGIC, CONTAINER, len(header), crc, 0)
    gap = bytes(-(PRELUDE.size + len(header)) % ALIGNMENT if described else 0)
    size += PRELUDE.size + len(header) + len(gap)
    return Encoded(name, leg, fingerprint, first, last, len(keys), size, crc, (prelude, header, gap, *body))


def decode(
    name: str, buffer: bytes | mmap.mmap, checksum: int, *, most_rows: Callable[[], int] = int
) -> Opened:
    """Return a segment's arrays as read-only views of its bytes. Verifies the header, not the arrays (see `verify`).

    A file can come from anybody, with checksums that fit: what the header says is checked before it sizes anything.

    Args:
        most_rows: a segment without an array of keys may claim as many rows as it has bytes, or as this returns.

    Raises:
        IndexDamagedError: the bytes are not those that were written under this name, or no writer wrote them.
    """
    header = _header(name, buffer, checksum)
    stored: dict[str, NDArray[Any]] = {}
    checksums: dict[str, int | None] = {}
    # The bytes outside arrays: the last word of the prelude, and what aligns.
    *_, length, _, _ = PRELUDE.unpack_from(buffer)
    padding, end = [bytes(buffer[PRELUDE.size - 4 : PRELUDE.size])], PRELUDE.size + length
    base = end + -end % ALIGNMENT
    try:
        for entry in header["arrays"]:
            key, dtype = str(entry["name"]), np.dtype(str(entry["dtype"]))
            shape = tuple(map(int, entry["shape"]))
            offset, size = base + int(entry["offset"]), math.prod(shape)
            # Where a writer would have placed it, behind the one before it.
            if dtype.hasobject or offset != end + -end % ALIGNMENT or min(shape, default=0) < 0:
                raise ValueError(f"array {key!r} is not where it should be")
            padding.append(bytes(buffer[end:offset]))
            end = offset + size * dtype.itemsize
            if size and end > len(buffer):
                raise ValueError(f"array {key!r} reaches beyond its end")
            view = np.frombuffer(buffer, dtype, size, offset) if size else np.zeros(0, dtype)
            stored[key] = view.reshape(shape)
            checksums[key] = None if entry["crc"] is None else int(entry["crc"])
        most_keys = len(buffer) if header["rows"] <= len(buffer) else most_rows()
        keys = _unpack_keys(header["start"], header["rows"], stored.get(_KEYS), most_keys)
        ties = stored.get(_TIES)
        if ties is not None and (ties.dtype != np.uint32 or ties.shape != (len(keys),)):
            raise ValueError(f"{ties.dtype} tie ranks, shape {ties.shape}, of {len(keys)} rows")
        if not isinstance(header["meta"], dict):
            raise TypeError("its facts have no names")
    except _MALFORMED as error:
        raise IndexDamagedError(f"segment {name}: its header describes no segment ({error})") from error
    arrays = dict(stored)
    arrays.pop(_KEYS, None)
    arrays.pop(_TIES, None)
    file = buffer if isinstance(buffer, mmap.mmap) else None
    return Opened(name, keys, ties, arrays, header["meta"], stored, checksums, tuple(padding), file)


def validate(segment: Opened, kind: SegmentKind, *, full: bool = False) -> None:
    """Refuse arrays that no segment of this kind has; see `SegmentKind.validate`. Then give the mapped pages back.

    Raises:
        IndexDamagedError: says what is wrong.
    """
    try:
        kind.validate(SegmentData(segment.arrays, segment.meta), len(segment.key_list), full=full)
    except ValueError as error:
        raise IndexDamagedError(f"segment {segment.name}: {error}") from error
    if segment.file is not None:
        let_go(segment.file)


def verify(segment: Opened) -> str:
    """Read all of a segment that has a checksum; return what is not as it was written, "" where all is."""

    def look() -> None:
        if segment.is_cut_off:  # to read on would end the process
            raise EOFError

    try:
        look()
        wrong = [
            name.removeprefix("$")
            for name, array in segment.stored.items()
            if segment.checksums[name] is not None
            and _checksum(bytes_of(array), look) != segment.checksums[name]
        ]
    except EOFError:
        return f"segment {segment.name} was cut off"
    wrong += ["padding"] if any(any(gap) for gap in segment.padding) else []
    return f"segment {segment.name}: {', '.join(wrong)} not as written" if wrong else ""


def _checksum(data: memoryview, look: Callable[[], object] | None = None) -> int:
    """Return the CRC-32 of an array's bytes; `look` is called after each piece."""
    checksum = 0
    for piece in pieces(data) if len(data) > mmap.PAGESIZE else (data,):  # less is not worth letting go
        checksum = zlib.crc32(piece, checksum)
        if look:
            look()
    return checksum


def _stored(
    keys: RowKeys, tie_ranks: NDArray[np.uint32] | None, data: SegmentData
) -> dict[str, NDArray[Any]]:
    """Return the arrays that a segment keeps: those of its leg after keys and tie ranks."""
    packed_keys = {}
    if len(keys) and int(keys[-1]) - int(keys[0]) != len(keys) - 1:  # keys without gaps need no array
        distance = np.asarray(keys) - keys[0]
        packed_keys[_KEYS] = distance.astype(np.uint32) if distance[-1] < 2**32 else distance
    return {**packed_keys, **({} if tie_ranks is None else {_TIES: tie_ranks}), **data.arrays}


def _unpack_keys(start: int, rows: int, array: NDArray[Any] | None, most_rows: int) -> RowKeys:
    """Return the keys; raises ValueError where they cannot be."""
    if not 0 <= rows <= most_rows or not 0 <= start < 1 << 62:
        raise ValueError(f"{rows} rows from key {start} on")
    if array is None:
        return range(start, start + rows)
    if array.dtype not in (np.uint32, np.int64) or array.shape != (rows,) or not rows:
        raise ValueError(f"keys of {array.dtype} and shape {array.shape} for {rows} rows")
    if array[0] or array[-1] >= 1 << 62 or not np.all(array[1:] > array[:-1]):
        raise ValueError("keys are not in order")
    keys = array + np.int64(start)
    keys.flags.writeable = False
    return keys


def _header(name: str, buffer: bytes | mmap.mmap, checksum: int) -> dict[str, Any]:
    """Return the header, verified."""
    if len(buffer) < PRELUDE.size:
        raise IndexDamagedError(f"segment {name}: too short for a segment")
    magic, version, length, crc, _ = PRELUDE.unpack_from(buffer)
    header = bytes(buffer[PRELUDE.size : PRELUDE.size + length])
    if magic != MAGIC or version != CONTAINER or crc != checksum or zlib.crc32(header) != checksum:
        raise IndexDamagedError(f"segment {name}: its header is not as it was written")
    base = PRELUDE.size + length + -(PRELUDE.size + length) % ALIGNMENT
    try:
        head: dict[str, Any] = json.loads(header)
        is_whole = head["name"] == name and (not head["arrays"] or base + head["size"] == len(buffer))
    except _MALFORMED as error:
        raise IndexDamagedError(f"segment {name}: its header is no description of a segment") from error
    if not is_whole:
        raise IndexDamagedError(f"segment {name}: these are the bytes of another segment, or not all of them")
    return head
