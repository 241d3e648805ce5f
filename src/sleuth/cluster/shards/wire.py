"""Turns values into bytes on their way between processes: plain values, arrays, and the kinds that shards exchange.

No pickle: what is decoded is one of the kinds below, or an error.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from sleuth import filters
from sleuth.cluster.shards.shard import Ask
from sleuth.cluster.storage.manifest import PublishedFile, PublishedPart, PublishedPatch
from sleuth.engine.queries import QueryCondition
from sleuth.engine.search import PoolRequest
from sleuth.engine.selection import Count, Facet, MetadataKey
from sleuth.ingest import FileEntry
from sleuth.store import Corpus, Counts, Finding, Hits, KnownFile
from sleuth.store.record.values import Row
from sleuth.types import Chunk, Explanation, StoredDocument

_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        *(Ask, PoolRequest, QueryCondition, Corpus),
        *(filters.And, filters.Or, filters.Not, filters.Compare),
        *(Hits, Row, KnownFile, StoredDocument, Chunk, Explanation, Counts, Finding),
        *(Count, Facet, MetadataKey),
        *(PublishedPart, PublishedFile, PublishedPatch, FileEntry),
    )
}
_UINT64: Final = struct.Struct("<Q")
Buffers: TypeAlias = "list[bytes | memoryview]"

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def encode(value: Any) -> bytes:
    """Return a value as bytes that `decode` reads.

    These are, in this order: the size of the JSON, the number of buffers, the size of each buffer (all as uint64), the
    JSON, the buffers.

    Raises:
        TypeError: the value, or one inside it, is neither plain, a container, an array nor of one of `_KINDS`.
    """
    buffers: Buffers = []
    head = json.dumps(_pack(value, buffers), separators=(",", ":")).encode()
    sizes = np.array([len(buffer) for buffer in buffers], "<u8").tobytes()
    return b"".join((_UINT64.pack(len(head)), _UINT64.pack(len(buffers)), sizes, head, *buffers))


def decode(data: bytes) -> Any:
    """Return the value that `encode` was given: mappings as dicts, arrays read-only.

    Raises:
        ValueError, TypeError, KeyError: the bytes are not of `encode`.
    """
    (head_size,), (count,) = _UINT64.unpack_from(data), _UINT64.unpack_from(data, _UINT64.size)
    start = 2 * _UINT64.size
    sizes = np.frombuffer(data, "<u8", count, start).tolist()
    start += _UINT64.size * count
    head = json.loads(data[start : start + head_size])
    start += head_size
    buffers: Buffers = []
    for size in sizes:
        buffers.append(memoryview(data)[start : start + size])
        start += size
    if start != len(data):
        raise ValueError(f"data must have {start} bytes, got {len(data)}")
    return _unpack(head, buffers)


def _pack(value: Any, buffers: Buffers) -> Any:
    """Return a value as JSON: plain ones as they are, others as an object of one member that names the kind."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_pack(item, buffers) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if _KINDS.get(kind.__name__) is kind:
        names = [field.name for field in fields(value)] if is_dataclass(value) else kind._fields
        return {kind.__name__: [_pack(getattr(value, name), buffers) for name in names]}
    for name, (base, pack) in _PACKED.items():
        if isinstance(value, base):
            return {name: pack(value, buffers)}
    raise TypeError(f"value must be of a kind that shards exchange, got {kind.__name__}")


def _pack_items(value: Iterable[Any], buffers: Buffers) -> list[Any]:
    return [_pack(item, buffers) for item in value]


def _pack_bytes(value: bytes, buffers: Buffers) -> int:
    buffers.append(value)
    return len(buffers) - 1


_PACKED: Final[Mapping[str, tuple[type[Any], Callable[[Any, Buffers], Any]]]] = {
    "tuple": (tuple, _pack_items),
    "dict": (Mapping, lambda value, buffers: _pack_items(value.items(), buffers)),
    "set": (frozenset, lambda value, buffers: _pack_items(sorted(value), buffers)),
    "bytes": (bytes, _pack_bytes),
    "array": (
        np.ndarray,
        lambda value, buffers: [_pack_bytes(value.tobytes(), buffers), value.dtype.str, value.shape],
    ),
}


def _unpack(value: Any, buffers: Buffers) -> Any:
    if isinstance(value, list):
        return [_unpack(item, buffers) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "bytes":
        return bytes(buffers[content])
    if kind == "array":
        number, dtype, shape = content
        return np.frombuffer(buffers[number], np.dtype(dtype)).reshape(shape)
    items = [_unpack(item, buffers) for item in content]
    return _BUILT[kind](items) if kind in _BUILT else _KINDS[kind](*items)


_BUILT: Final[Mapping[str, Callable[[Any], Any]]] = {"tuple": tuple, "dict": dict, "set": frozenset}
