"""Lists the rows of a large segment by clusters, so that a search reads a part of the codes.

Clusters are those of spherical k-means in two steps: the rows are divided into about as many groups as each group has
centres. A row is listed under its nearest centre. The half of the rows that lie farthest from theirs is listed a second
time, under a centre that is near but lies little in the direction that the first leaves out (SOAR: Sun, Simcha, Dopson,
Guo and Kumar, NeurIPS 2023), so that a query from the far side of the first finds it under the second. Then
the middle of all rows of a list becomes its centre.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.dense.encoding import BLOCK, encode, spread_of
from sleuth.store import Scratch, let_go
from sleuth.vectors import unit

Halves = NDArray[np.float16]
Vectors = NDArray[np.float32]

LISTED_FROM = 1 << 21
"""Rows from which a segment has lists (docs/decisions/lists-of-clusters.md has the measurements)."""
ROWS_OF_A_LIST = 150
"""Rows for each list; a list holds half as many again, as half of the rows are in two."""
PROBES = 1_400
"""Lists that a search reads. As many hold the same share of the best rows, of 2,000,000 rows and of 5,000,000."""
MOST_MEASURED = 1 << 15
"""Lists for which that was measured. Of four times as many, a search reads twice as many."""
NO_ROW = np.uint32(0xFFFFFFFF)
"""Stands for a row where a list does not fill its last block."""

PREFIX = "list_"
"""Of the names of their arrays in a segment."""

_SEED = 3
_SAMPLED = 80
"""Rows of the sample for each group."""
_ROUNDS = 6
_BATCH = 1 << 16
_GATHERED = 512
"""Rows that are read at a time where they lie apart: the system maps 64 kB around each."""


class ClusterLists(NamedTuple):
    """The lists of a segment, as `codes.scan` takes them.

    Attributes:
        codes, factors: of the rows of a list around its centre, as of `codes.encode`; each list begins a block.
        rows: shape (blocks * 64,), uint32: the row of the segment at each place, or `NO_ROW`.
        begins: shape (lists + 1,), uint32: the first block of each list.
        centres: shape (lists, dimension), float16, of length 1.
        scales: shape (lists,), float32: the length at which a centre is in the middle of the rows of its list.
        centre_codes, centre_factors: of the centres around their mean, as of `codes.encode`.
    """

    codes: NDArray[np.uint8]
    factors: NDArray[np.float32]
    rows: NDArray[np.uint32]
    begins: NDArray[np.uint32]
    centres: Halves
    scales: NDArray[np.float32]
    centre_codes: NDArray[np.uint8]
    centre_factors: NDArray[np.float32]

    @property
    def probes(self) -> int:
        """How many lists a search reads."""
        count = len(self.centres)
        return min(count, math.ceil(PROBES * math.sqrt(max(1, count / MOST_MEASURED))))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a segment that hold the lists, by name."""
        return {f"{PREFIX}{name}": array for name, array in self._asdict().items()}


def lists_in(arrays: Mapping[str, NDArray[Any]]) -> ClusterLists | None:
    """Return the lists of a segment with these arrays, or None."""
    if f"{PREFIX}rows" not in arrays:
        return None
    return ClusterLists(*(arrays[f"{PREFIX}{name}"] for name in ClusterLists._fields))


def list_rows(vectors: Halves, scratch: Scratch) -> tuple[ClusterLists, float]:
    """Return the lists of vectors of length 1, shape (n, dimension), and the error of estimates by them.

    The error is the root mean square of the difference between a row and its code, per dimension.
    """
    centres = cluster(vectors, max(1, len(vectors) // ROWS_OF_A_LIST)).astype(np.float16)
    rows, owners = assign(vectors, centres)
    order = rows[np.argsort(owners, kind="stable")]
    ends = np.cumsum(np.bincount(owners, minlength=len(centres)))
    signs, factors, places = (scratch.growing(kind) for kind in (np.uint8, np.float32, np.uint32))
    begins = np.zeros(len(centres) + 1, np.uint32)
    scales = np.zeros(len(centres), np.float32)
    left_out = 0.0
    for i, members in enumerate(np.split(order, ends[:-1])):
        rows_of_list = _gather(vectors, members)
        if len(members):
            middle = rows_of_list.mean(axis=0, dtype=np.float32)
            centres[i] = unit(middle[None])[0]
            scales[i] = middle @ centres[i].astype(np.float32)
        blocks, factor, residual = codes.encode(
            rows_of_list.view(np.uint16), scales[i] * centres[i].astype(np.float32)
        )
        left_out += spread_of(residual, rows_of_list.size) ** 2 * len(members)
        begins[i + 1] = begins[i] + len(blocks)
        signs.append(blocks.ravel())
        factors.append(factor)
        places.append(np.append(members, np.full(-len(members) % BLOCK, NO_ROW)).astype(np.uint32))
    signs_by_block = signs.array().reshape(-1, -(-vectors.shape[1] // 8), BLOCK)
    _, centre_codes, centre_factors, _ = encode(centres.view(np.uint16))
    lists = ClusterLists(
        signs_by_block, factors.array(), places.array(), begins, centres, scales, centre_codes, centre_factors
    )
    return lists, math.sqrt(left_out / len(order))


def cluster(vectors: Halves, count: int) -> Vectors:
    """Return about `count` clusters of these vectors."""
    random = np.random.default_rng(_SEED)
    groups = round(math.sqrt(count))
    sample = np.sort(random.choice(len(vectors), min(len(vectors), _SAMPLED * groups), replace=False))
    tops = _k_means(_gather(vectors, sample).astype(np.float32), groups, random)
    owners = np.concatenate([_nearest(batch, tops) for batch in _batches(vectors)])
    parts = []
    for group in range(groups):
        members = np.flatnonzero(owners == group)
        share = round(count * len(members) / len(vectors))
        if len(members):
            parts.append(_k_means(_gather(vectors, members).astype(np.float32), max(1, share), random))
    return np.concatenate(parts)


def assign(vectors: Halves, centres: Halves) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return rows and their lists, shape (m,) each: the nearest list of each row, and a second one for the half of the
    rows that lie farthest from theirs.
    """
    _, signs, factors, _ = encode(centres.view(np.uint16))
    owners, products = np.empty((len(vectors), 2), np.int32), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _BATCH):
        batch = np.ascontiguousarray(vectors[start : start + _BATCH]).view(np.uint16)
        end = start + len(batch)
        owners[start:end], products[start:end] = codes.assign(batch, centres.view(np.uint16), signs, factors)
        let_go(vectors)
    far = np.flatnonzero(products < np.median(products)).astype(np.int32)
    rows = np.concatenate([np.arange(len(vectors), dtype=np.int32), far])
    return rows, np.concatenate([owners[:, 0], owners[far, 1]])


def _gather(vectors: Halves, members: NDArray[np.integer[Any]]) -> Halves:
    """Return rows that lie apart; the memory of the file behind them is let go in between."""
    rows = np.empty((len(members), vectors.shape[1]), np.float16)
    for first in range(0, len(members), _GATHERED):
        places = slice(first, first + _GATHERED)
        rows[places] = vectors[members[places]]
        let_go(vectors)
    return rows


def _batches(vectors: Halves) -> Iterator[Vectors]:
    for i in range(0, len(vectors), _BATCH):
        yield vectors[i : i + _BATCH].astype(np.float32)
        let_go(vectors)


def _nearest(rows: Vectors, centres: Vectors) -> NDArray[np.intp]:
    """Return the nearest centre of each row."""
    return np.asarray((rows @ centres.T).argmax(axis=1))


def _k_means(rows: Vectors, count: int, random: np.random.Generator) -> Vectors:
    """Return at most `count` centres of length 1."""
    centres = rows[random.choice(len(rows), min(count, len(rows)), replace=False)]
    for _ in range(_ROUNDS):
        owners = _nearest(rows, centres)
        order = np.argsort(owners, kind="stable")
        begins = np.flatnonzero(np.diff(owners[order], prepend=-1))
        centres = centres.copy()
        centres[owners[order][begins]] = np.add.reduceat(rows[order], begins, axis=0)
        centres = unit(centres)
    return centres
