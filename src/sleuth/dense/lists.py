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
from sleuth.dense.encoding import BLOCK, encode, spread_of, unpacked
from sleuth.store import IN_MEMORY, Scratch
from sleuth.store.disk.scratch import let_go
from sleuth.vectors import unit

Rows = NDArray[np.uint8]
"""Vectors as of `codes.pack`."""
Vectors = NDArray[np.float32]

LISTED_FROM = 1 << 21
"""Rows from which a segment has lists (docs/decisions/lists-of-clusters.md has the measurements)."""
ROWS_OF_A_LIST = 150
"""Rows for each list; a list holds half as many again, as half of the rows are in two."""
PROBES = 1_400
"""Lists that a search reads. As many hold the same share of the best rows, of 2,000,000 rows and of 5,000,000."""
MOST_MEASURED = 1 << 15
"""Lists for which that was measured. Of four times as many, a search reads twice as many."""
SPREAD_OF_MATCHING = 0.3
"""Where a filter matches a share of the rows, the inverse of the share to this power times as many lists are read.
The best rows that match lie farther from the query, in more lists (docs/decisions/lists-of-clusters.md)."""
READ_APART = 4
"""What reading a list costs, in lists of rows that a scan reads: it holds half as many rows again, in short runs."""
NO_ROW = np.uint32(0xFFFFFFFF)
"""Stands for a row where a list does not fill its last block."""

PREFIX = "list_"
"""Of the names of their arrays in a segment."""

_SEED = 3
_SAMPLED = 80
"""Rows of the sample for each group."""
_PRODUCTS_SAMPLED = 1 << 13
"""Rows whose products stand for those of all: their middle parts the rows into halves, give or take .5 %."""
_ROUNDS = 6
_BATCH = 1 << 12
_GATHERED = 16
"""Rows that are read at a time where they lie apart: the system maps up to 2 MB around each."""
_PRODUCTS = 1 << 20
"""Products that are made at a time."""
_ROWS = 1 << 18
"""Rows that are put into lists at a time."""


class ClusterLists(NamedTuple):
    """The lists of a segment, as `codes.scan` takes them.

    Attributes:
        codes, factors: of the rows of a list around its centre, as of `codes.encode`; each list begins a block.
        rows: shape (blocks * 64,), uint32: the row of the segment at each place, or `NO_ROW`.
        begins: shape (lists + 1,), uint32: the first block of each list.
        centres: as of `codes.pack`, one for each list.
        scales: shape (lists,), float32: the length at which a centre is in the middle of the rows of its list.
        centre_codes, centre_factors: of the centres around their mean, as of `codes.encode`.
    """

    codes: NDArray[np.uint8]
    factors: NDArray[np.float32]
    rows: NDArray[np.uint32]
    begins: NDArray[np.uint32]
    centres: Rows
    scales: NDArray[np.float32]
    centre_codes: NDArray[np.uint8]
    centre_factors: NDArray[np.float32]

    def probes(self, matching: int, rows: int) -> int:
        """Return how many lists a search reads; 0 where reading all codes takes no longer.

        Args:
            matching: rows of the segment that may answer, 1 or more.
            rows: all of its rows.
        """
        count = len(self.centres)
        probes = math.ceil(
            PROBES * math.sqrt(max(1, count / MOST_MEASURED)) * (rows / matching) ** SPREAD_OF_MATCHING
        )
        return probes if READ_APART * probes < count else 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a segment that hold the lists, by name."""
        return {f"{PREFIX}{name}": array for name, array in self._asdict().items()}


def lists_in(arrays: Mapping[str, NDArray[Any]]) -> ClusterLists | None:
    """Return the lists of a segment with these arrays, or None."""
    if f"{PREFIX}rows" not in arrays:
        return None
    return ClusterLists(*(arrays[f"{PREFIX}{name}"] for name in ClusterLists._fields))


def list_rows(vectors: Rows, dimension: int, scratch: Scratch) -> tuple[ClusterLists, float]:
    """Return the lists of vectors, and the error of estimates by them.

    The error is the root mean square of the difference between a row and its code, per dimension.
    """
    clusters = cluster(vectors, dimension, max(1, len(vectors) // ROWS_OF_A_LIST), scratch)
    signs, factors, places = (scratch.growing(kind) for kind in (np.uint8, np.float32, np.uint32))
    middles = scratch.growing(np.uint8)
    begins = np.zeros(len(clusters) + 1, np.uint32)
    scales = np.zeros(len(clusters), np.float32)
    left_out, count = 0.0, 0
    for i, members in enumerate(assign(vectors, clusters, dimension, scratch)):
        its_vectors = codes.unpack(_gather(vectors, members), dimension)
        centre = codes.pack(its_vectors.mean(axis=0)[None]) if len(members) else clusters[i : i + 1]
        direction = codes.unpack(centre, dimension)[0]
        scales[i] = its_vectors.sum(axis=0) @ direction / max(1, len(members))
        blocks, factor, residual = codes.encode(its_vectors, scales[i] * direction)
        left_out += spread_of(residual, len(members) * dimension) ** 2 * len(members)
        count += len(members)
        begins[i + 1] = begins[i] + len(blocks)
        signs.append(blocks.ravel())
        factors.append(factor)
        places.append(np.append(members, np.full(-len(members) % BLOCK, NO_ROW)).astype(np.uint32))
        middles.append(centre)
    centres = middles.array().reshape(clusters.shape)
    signs_by_block = signs.array().reshape(-1, -(-dimension // 8), BLOCK)
    _, centre_codes, centre_factors, _ = encode(centres, dimension, scratch)
    lists = ClusterLists(
        signs_by_block, factors.array(), places.array(), begins, centres, scales, centre_codes, centre_factors
    )
    return lists, math.sqrt(left_out / count)


def cluster(vectors: Rows, dimension: int, count: int, scratch: Scratch = IN_MEMORY) -> Rows:
    """Return the centres of about `count` clusters of these vectors."""
    random = np.random.default_rng(_SEED)
    groups = round(math.sqrt(count))
    sample = np.sort(random.choice(len(vectors), min(len(vectors), _SAMPLED * groups), replace=False))
    tops = _k_means(_gather(vectors, sample), dimension, groups, random)
    owners_by_row, centres = scratch.growing(np.uint16), scratch.growing(np.uint8)
    for start in range(0, len(vectors), _BATCH):
        owners_by_row.append(_nearest(vectors[start : start + _BATCH], tops))
        let_go(vectors)
    owners = owners_by_row.array()
    for group in range(groups):
        members = _places(owners, group)
        share = round(count * len(members) / len(vectors))
        if len(members):
            rows = _gather(vectors, members, scratch)
            centres.append(codes.pack(_k_means(rows, dimension, max(1, share), random)))
    return centres.array().reshape(-1, vectors.shape[1])


def _places(owners: NDArray[np.uint16], group: int) -> NDArray[np.int64]:
    """Return the rows of a group, in order."""
    places = []
    for first in range(0, len(owners), _ROWS):
        places.append(first + np.flatnonzero(owners[first : first + _ROWS] == group))
        let_go(owners)
    return np.concatenate(places)


def assign(
    vectors: Rows, centres: Rows, dimension: int, scratch: Scratch = IN_MEMORY
) -> Iterator[NDArray[np.int32]]:
    """Yield the rows of each list: the nearest list of each row has it, and a second one has it of the half of the rows
    that lie farthest from theirs.
    """
    _, signs, factors, _ = encode(centres, dimension)
    growing = scratch.growing(np.int32), scratch.growing(np.int32), scratch.growing(np.float32)
    for batch in unpacked(vectors, dimension, _BATCH):
        owners, nearness = codes.assign(batch, centres, signs, factors)
        for target, values in zip(growing, (owners[:, 0], owners[:, 1], nearness), strict=True):
            target.append(values)
    let_go(centres)
    nearest, second, products = (target.array() for target in growing)
    middle: np.float32 = np.median(products[:: 1 + len(products) // _PRODUCTS_SAMPLED])
    sizes = np.zeros(len(centres), np.int64)
    for first in range(0, len(vectors), _ROWS):
        rows = slice(first, first + _ROWS)
        for owners in (nearest[rows], second[rows][products[rows] < middle]):
            sizes += np.bincount(owners, minlength=len(centres))
        for array in (nearest, second, products):
            let_go(array)
    ends = np.cumsum(sizes)
    first = 0
    while first < len(centres):
        stop = max(first + 1, int(np.searchsorted(ends, ends[first] + _ROWS)))
        yield from _members(nearest, second, products, middle, range(first, min(stop, len(centres))))
        first = stop


def _members(
    nearest: NDArray[np.int32],
    second: NDArray[np.int32],
    products: NDArray[np.float32],
    middle: np.float32,
    lists: range,
) -> Iterator[NDArray[np.int32]]:
    """Yield the rows of some lists: those that are nearest to it, and then those that are second, each in order."""
    rows, owners = [], []
    for choice in (nearest, second):
        for start in range(0, len(choice), _ROWS):
            span = slice(start, start + _ROWS)
            is_listed = (choice[span] >= lists.start) & (choice[span] < lists.stop)
            if choice is second:
                is_listed &= products[span] < middle
            places = np.flatnonzero(is_listed)
            rows.append((start + places).astype(np.int32))
            owners.append(choice[span][places])
            let_go(choice)
            let_go(products)
    all_owners = np.concatenate(owners)
    order = np.argsort(all_owners, kind="stable")
    ends = np.cumsum(np.bincount(all_owners - lists.start, minlength=len(lists)))
    yield from np.split(np.concatenate(rows)[order], ends[:-1])


def _gather(vectors: Rows, members: NDArray[np.integer[Any]], scratch: Scratch = IN_MEMORY) -> Rows:
    """Return rows that lie apart; the memory of the file behind them is let go in between."""
    rows = scratch.growing(np.uint8)
    for first in range(0, len(members), _GATHERED):
        rows.append(vectors[members[first : first + _GATHERED]])
        let_go(vectors)
    return rows.array().reshape(-1, vectors.shape[1])


def _nearest(rows: Rows, centres: Vectors) -> NDArray[np.intp]:
    """Return the nearest centre of each row. The rows of a product do not depend on how many are multiplied at once."""
    nearest = np.empty(len(rows), np.intp)
    step = min(max(_PRODUCTS // len(centres), 256), 1 << 12)
    for i, batch in enumerate(unpacked(rows, centres.shape[1], step)):
        nearest[i * step : i * step + len(batch)] = (batch @ centres.T).argmax(axis=1)
    return nearest


def _k_means(rows: Rows, dimension: int, count: int, random: np.random.Generator) -> Vectors:
    """Return at most `count` centres of length 1."""
    centres = codes.unpack(rows[random.choice(len(rows), min(count, len(rows)), replace=False)], dimension)
    for _ in range(_ROUNDS):
        owners = _nearest(rows, centres)
        order = np.argsort(owners, kind="stable")
        begins = np.flatnonzero(np.diff(owners[order], prepend=-1))
        ends = np.append(begins[1:], len(rows))
        centres = centres.copy()
        for begin, end in zip(begins, ends, strict=True):
            members = order[begin:end]
            centres[owners[members[0]]] = codes.unpack(rows[members], dimension).sum(axis=0)
            let_go(rows)
        centres = unit(centres)
    return centres
