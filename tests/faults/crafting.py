"""Makes segments that no leg wrote, with valid checksums."""

import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.store import SegmentData
from sleuth.store.catalogue import segments

Array = NDArray[Any]
DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">u4", "S3", "?", "M8[s]")
ODD: tuple[Any, ...] = (
    None, True, "x", "", [], {}, [0, 0], -1, 0, 1, 2, 63, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1 << 64, 10**30, 0.5,
    -1e308, 1e308, float("nan"), float("inf"),
)  # fmt: skip


def _value(array: Array, rng: random.Random) -> Any:
    """Return a value of the array's type, often an extreme one."""
    if array.dtype.kind == "f":
        return rng.choice([0, -1, 1, np.nan, np.inf, -np.inf, 1e-38, np.finfo(array.dtype).max])
    bits = np.iinfo(array.dtype)
    near = int(array[rng.randrange(len(array))]) + rng.choice([-1, 1, 2, 16, 64]) if array.ndim == 1 else 0
    edges = [bits.min, bits.max, 0, 1, len(array), near, bits.max - 1, rng.randint(bits.min, bits.max)]
    return min(max(rng.choice(edges), bits.min), bits.max)


def _set(array: Array, rng: random.Random) -> Array:
    mutant = array.copy()
    for _ in range(rng.choice([1, 1, 2, 10])):
        mutant.reshape(-1)[rng.randrange(mutant.size)] = _value(array, rng)
    return mutant


def _fill(array: Array, rng: random.Random) -> Array:
    mutant = array.copy()
    start = rng.randrange(mutant.size)
    mutant.reshape(-1)[start : start + rng.choice([2, 16, 1000])] = _value(array, rng)
    return mutant


def _swap(array: Array, rng: random.Random) -> Array:
    mutant = array.copy()
    flat, i, j = mutant.reshape(-1), rng.randrange(array.size), rng.randrange(array.size)
    flat[i], flat[j] = flat[j].copy(), flat[i].copy()
    return mutant


def _flip(array: Array, rng: random.Random) -> Array:
    raw = bytearray(array.tobytes())
    for _ in range(rng.choice([1, 3, 30])):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)


ARRAYS: tuple[Callable[[Array, random.Random], Array], ...] = (
    _set, _set, _set, _fill, _swap, _flip, _flip,
    lambda array, rng: np.roll(array, rng.randrange(1, 9)), lambda array, rng: array[::-1].copy(),
    lambda array, rng: array[: rng.randrange(len(array))],
    lambda array, rng: np.concatenate([array, array[: rng.randrange(1, 9)]]),
    lambda array, rng: array[:0], lambda array, rng: np.zeros(array.shape, rng.choice(DTYPES)),
    lambda array, rng: np.frombuffer(array.tobytes(), np.uint8),
    lambda array, rng: array.reshape(*array.shape, 1),
)  # fmt: skip


def _change_facts(facts: Any, rng: random.Random) -> Any:
    """Return the facts with one value changed at any depth."""
    if isinstance(facts, dict) and facts and rng.random() < 0.9:
        key = rng.choice(sorted(facts))
        if rng.random() < 0.1:
            return {name: value for name, value in facts.items() if name != key}
        return {**facts, key: _change_facts(facts[key], rng)}
    if isinstance(facts, list) and facts and rng.random() < 0.9:
        at = rng.randrange(len(facts))
        return [*facts[:at], _change_facts(facts[at], rng), *facts[at + 1 :]]
    if isinstance(facts, int) and rng.random() < 0.5:
        return facts + rng.choice([-64, -8, -1, 1, 2, 8, 100])
    return rng.choice(ODD)


def craft(data: SegmentData, rng: random.Random) -> SegmentData:
    """Return the arrays and facts of a segment with one to three of them changed."""
    arrays, facts = dict(data.arrays), dict(data.meta)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice(sorted(arrays))
        kind = rng.random()
        if kind < 0.1:
            facts = _change_facts(facts, rng)
            facts = facts if isinstance(facts, dict) else {}
        elif kind < 0.12:
            del arrays[name]
            if not arrays:
                break
        elif kind < 0.15:
            arrays[name] = arrays[rng.choice(sorted(arrays))]
        elif arrays[name].size and arrays[name].dtype.kind in "uif" and arrays[name].ndim:
            mutant = rng.choice(ARRAYS)(arrays[name], rng)
            arrays[name] = np.ascontiguousarray(mutant).reshape(mutant.shape)
    return SegmentData(arrays, facts)


def craft_keys(keys: NDArray[np.int64], rng: random.Random) -> NDArray[np.int64]:
    """Return the keys of a segment with some of them changed."""
    mutant = np.ascontiguousarray(rng.choice(ARRAYS[:9])(keys, rng))
    return mutant.astype(np.int64, copy=False)


def craft_header(segment: segments.Encoded, rng: random.Random) -> segments.Encoded:
    """Return the segment with one change in its header and a valid checksum."""
    content = b"".join(segment.parts)
    length = struct.unpack_from("<I", content, 12)[0]
    start = -(-(24 + length) // 64) * 64
    header = _change_facts(json.loads(content[24 : 24 + length]), rng)
    if isinstance(header, dict) and rng.random() < 0.9:
        header["name"] = segment.name
    text = json.dumps(header).encode()
    checksum = zlib.crc32(text)
    prelude = segments.PRELUDE.pack(segments.MAGIC, segments.CONTAINER, len(text), checksum, 0)
    padding = b"\0" * (-(24 + len(text)) % 64)
    crafted = prelude + text + padding + content[start:]
    return segment._replace(parts=(crafted,), checksum=checksum, size=len(crafted))
