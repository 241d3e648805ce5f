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
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.dense.encoding import BLOCK, encode, spread_of
from sleuth.store import IN_MEMORY, Scratch
from sleuth.store.disk.scratch import let_go
from sleuth.vectors import unit

Halves = NDArray[np.float16]
Vectors = NDArray[np.float32]
_Float = TypeVar("_Float", np.float16, np.float32)

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
_ROUNDS = 6
_BATCH = 1 << 14
_GATHERED = 16
"""Rows that are read at a time where they lie apart: the system maps up to 2 MB around each."""
_GROUP_BYTES = 1 << 25
"""Most bytes of a group whose rows are held in single precision."""
_CLUSTERS = 16
"""Clusters whose rows are added up at a time."""
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


def list_rows(vectors: Halves, scratch: Scratch) -> tuple[ClusterLists, float]:
    """Return the lists of vectors of length 1, shape (n, dimension), and the error of estimates by them.

    The error is the root mean square of the difference between a row and its code, per dimension.
    """
    clusters = cluster(vectors, max(1, len(vectors) // ROWS_OF_A_LIST), scratch)
    signs, factors, places = (scratch.growing(kind) for kind in (np.uint8, np.float32, np.uint32))
    middles = scratch.growing(np.float16)
    begins = np.zeros(len(clusters) + 1, np.uint32)
    scales = np.zeros(len(clusters), np.float32)
    left_out, count = 0.0, 0
    for i, members in enumerate(assign(vectors, clusters, scratch)):
        rows_of_list = _gather(vectors, members, np.float16)
        centre = clusters[i]
        if len(members):
            middle = rows_of_list.mean(axis=0, dtype=np.float32)
            centre = unit(middle[None])[0].astype(np.float16)
            scales[i] = middle @ centre.astype(np.float32)
        blocks, factor, residual = codes.encode(
            rows_of_list.view(np.uint16), scales[i] * centre.astype(np.float32)
        )
        left_out += spread_of(residual, rows_of_list.size) ** 2 * len(members)
        count += len(members)
        begins[i + 1] = begins[i] + len(blocks)
        signs.append(blocks.ravel())
        factors.append(factor)
        places.append(np.append(members, np.full(-len(members) % BLOCK, NO_ROW)).astype(np.uint32))
        middles.append(centre)
    centres = middles.array().reshape(clusters.shape)
    signs_by_block = signs.array().reshape(-1, -(-vectors.shape[1] // 8), BLOCK)
    _, centre_codes, centre_factors, _ = encode(centres.view(np.uint16), scratch)
    lists = ClusterLists(
        signs_by_block, factors.array(), places.array(), begins, centres, scales, centre_codes, centre_factors
    )
    return lists, math.sqrt(left_out / count)


def cluster(vectors: Halves, count: int, scratch: Scratch = IN_MEMORY) -> Halves:
    """Return the centres of about `count` clusters of these vectors."""
    random = np.random.default_rng(_SEED)
    groups = round(math.sqrt(count))
    sample = np.sort(random.choice(len(vectors), min(len(vectors), _SAMPLED * groups), replace=False))
    tops = _k_means(_gather(vectors, sample, np.float32), groups, random)
    owners_by_row, centres = scratch.growing(np.uint16), scratch.growing(np.float16)
    for start in range(0, len(vectors), _BATCH):
        owners_by_row.append(_nearest(vectors[start : start + _BATCH], tops))
        let_go(vectors)
    owners = owners_by_row.array()
    for group in range(groups):
        members = _places(owners, group)
        share = round(count * len(members) / len(vectors))
        if len(members):
            rows = _rows_of_group(vectors, members, scratch)
            centres.append(_k_means(rows, max(1, share), random))
    return centres.array().reshape(-1, vectors.shape[1])


def _places(owners: NDArray[np.uint16], group: int) -> NDArray[np.int64]:
    """Return the rows of a group, in order."""
    places = []
    for first in range(0, len(owners), _ROWS):
        places.append(first + np.flatnonzero(owners[first : first + _ROWS] == group))
        let_go(owners)
    return np.concatenate(places)


def _rows_of_group(vectors: Halves, members: NDArray[np.integer[Any]], scratch: Scratch) -> Halves | Vectors:
    """Return a group's rows for k-means, in single precision, which is faster.

    Those of a group above `_GROUP_BYTES` stay in half precision, in scratch space.
    """
    if len(members) * vectors.shape[1] * 4 <= _GROUP_BYTES:
        return _gather(vectors, members, np.float32)
    rows = scratch.growing(np.float16)
    for first in range(0, len(members), _GATHERED):
        rows.append(vectors[members[first : first + _GATHERED]])
        let_go(vectors)
    return rows.array().reshape(-1, vectors.shape[1])


def assign(vectors: Halves, centres: Halves, scratch: Scratch = IN_MEMORY) -> Iterator[NDArray[np.int32]]:
    """Yield the rows of each list: the nearest list of each row has it, and a second one has it of the half of the rows
    that lie farthest from theirs.
    """
    _, signs, factors, _ = encode(centres.view(np.uint16))
    growing = scratch.growing(np.int32), scratch.growing(np.int32), scratch.growing(np.float32)
    for start in range(0, len(vectors), _BATCH):
        batch = np.ascontiguousarray(vectors[start : start + _BATCH]).view(np.uint16)
        owners, nearness = codes.assign(batch, centres.view(np.uint16), signs, factors)
        for target, values in zip(growing, (owners[:, 0], owners[:, 1], nearness), strict=True):
            target.append(values)
        let_go(vectors)
    let_go(centres)
    nearest, second, products = (target.array() for target in growing)
    middle: np.float32 = np.median(  # without a copy of all of them
        [_nth(products, (len(products) - 1) // 2), _nth(products, len(products) // 2)]
    )
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


def _nth(values: NDArray[np.float32], place: int) -> np.float32:
    """Return the value at a place in ascending order: byte by byte of its bits, which are put in order of values."""
    bits = 0
    for shift in (24, 16, 8, 0):
        counts = np.zeros(256, np.int64)
        for first in range(0, len(values), _ROWS):
            piece = values[first : first + _ROWS].view(np.uint32)
            ordered = np.where(piece >> 31, ~piece, piece | np.uint32(1 << 31)) >> shift
            counts += np.bincount(ordered[ordered >> 8 == bits] & 0xFF, minlength=256)
            let_go(values)
        ends = np.cumsum(counts)
        byte = int(np.searchsorted(ends, place, side="right"))
        place -= int(ends[byte] - counts[byte])
        bits = bits << 8 | byte
    value: np.float32 = np.uint32(bits ^ (1 << 31) if bits >> 31 else ~bits & 0xFFFFFFFF).view(np.float32)
    return value


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


def _gather(vectors: Halves, members: NDArray[np.integer[Any]], dtype: type[_Float]) -> NDArray[_Float]:
    """Return rows that lie apart; the memory of the file behind them is let go in between."""
    rows = np.empty((len(members), vectors.shape[1]), dtype)
    for first in range(0, len(members), _GATHERED):
        places = slice(first, first + _GATHERED)
        rows[places] = vectors[members[places]]
        let_go(vectors)
    return rows


def _nearest(rows: Halves | Vectors, centres: Vectors) -> NDArray[np.intp]:
    """Return the nearest centre of each row. The rows of a product do not depend on how many are multiplied at once."""
    nearest = np.empty(len(rows), np.intp)
    step = min(max(_PRODUCTS // len(centres), 256), 1 << 12)
    for start in range(0, len(rows), step):
        batch = rows[start : start + step].astype(np.float32, copy=False)
        nearest[start : start + step] = (batch @ centres.T).argmax(axis=1)
        let_go(rows)
    return nearest


def _k_means(rows: Halves | Vectors, count: int, random: np.random.Generator) -> Vectors:
    """Return at most `count` centres of length 1."""
    centres = rows[random.choice(len(rows), min(count, len(rows)), replace=False)].astype(np.float32)
    for _ in range(_ROUNDS):
        owners = _nearest(rows, centres)
        order = np.argsort(owners, kind="stable")
        begins = np.flatnonzero(np.diff(owners[order], prepend=-1))
        ends = np.append(begins[1:], len(rows))
        centres = centres.copy()
        for first in range(0, len(begins), _CLUSTERS):
            group_begins = begins[first : first + _CLUSTERS]
            its_rows = rows[order[group_begins[0] : ends[first : first + _CLUSTERS][-1]]].astype(
                np.float32, copy=False
            )
            centres[owners[order[group_begins]]] = np.add.reduceat(
                its_rows, group_begins - group_begins[0], axis=0
            )
            let_go(rows)
        centres = unit(centres)
    return centres
