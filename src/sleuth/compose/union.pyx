# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Unites the keys of several pools, adds what each pool gives to them, and selects the best.

Every query does this with hundreds of numbers, which takes less time than a call of numpy.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

import numpy as np


def fuse(list pools, list scores, const double[::1] weights, str method, double rank_constant, int64_t k):
    """Return the keys of several pools, each once, and the best of them; see `fuse.FORMULAS`.

    Args:
        pools: for each its keys, each once, shape (m,), int64, best first.
        scores: for each the scores of its keys, shape (m,), float64.
        weights: of each, shape (pools,).
        k: at least 0.

    Returns:
        keys, shape (n,), int64, in order of first appearance; their scores, float64; and `best` of these scores.
    """
    cdef const int64_t[::1] pool
    cdef const double[::1] given
    cdef int64_t total = 0, longest = 0, n = 0, i, j, place
    cdef uint64_t mask, slot
    cdef bint by_max = method == "max", by_count = method == "combmnz"
    if len(scores) != len(pools) or weights.shape[0] != <int64_t> len(pools):
        raise ValueError("pools, scores and weights must be of one length")
    for pool, given in zip(pools, scores):
        if pool.shape[0] != given.shape[0]:
            raise ValueError("a pool must have a score for each key")
        total += pool.shape[0]
        longest = max(longest, pool.shape[0])
    mask = table_mask(total)
    keys, sums = np.empty(total, np.int64), np.empty(total, np.float64)
    cdef int64_t[::1] known = keys
    cdef double[::1] out = sums
    cdef int64_t* slots = <int64_t*> malloc((mask + 1) * sizeof(int64_t))  # places of keys, -1 where free
    cdef double* share = <double*> malloc((longest + 1) * sizeof(double))
    cdef int64_t* times = <int64_t*> malloc((total + 1) * sizeof(int64_t))
    try:
        if slots == NULL or share == NULL or times == NULL:
            raise MemoryError
        memset(slots, 0xFF, (mask + 1) * sizeof(int64_t))
        for j in range(weights.shape[0]):
            pool, given = pools[j], scores[j]
            if not pool.shape[0]:
                continue
            normalise_into(&given[0], pool.shape[0], method, rank_constant, share)
            for i in range(pool.shape[0]):
                slot = slot_of(pool[i], slots, mask, &known[0])
                if slots[slot] < 0:
                    slots[slot] = n
                    known[n], out[n], times[n] = pool[i], -float("inf") if by_max else 0, 0
                    n += 1
                place = slots[slot]
                times[place] += weights[j] > 0
                if by_max:
                    out[place] = max(out[place], weights[j] * share[i])
                else:
                    out[place] += weights[j] * share[i]
        if by_count:
            for i in range(n):
                out[i] *= times[i]
    finally:
        free(slots)
        free(share)
        free(times)
    return keys[:n], sums[:n], *best(out[:n], k)


def overlap(const int64_t[::1] keys, const float[::1] scores, const int64_t[::1] other_keys,
            const float[::1] other_scores, int64_t first, int64_t among):
    """Return which share of the first hits of each of two rankings is among more of the first hits of the other.

    Args:
        keys, scores: of the hits of a ranking, each key once, best first, at least one.
        other_keys, other_scores: of the other ranking.
        first: hits of each, 1 or more, and those that tie with the last of them, whose order is not settled.
        among: hits of the other, likewise.
    """
    if not keys.shape[0] or not other_keys.shape[0]:
        raise ValueError("each ranking must have a hit")
    if scores.shape[0] != keys.shape[0] or other_scores.shape[0] != other_keys.shape[0]:
        raise ValueError("a ranking must have a score for each key")
    cdef int64_t n = with_ties(scores, first), m = with_ties(other_scores, first)
    cdef int64_t both = shared(&keys[0], n, &other_keys[0], with_ties(other_scores, among))
    both += shared(&other_keys[0], m, &keys[0], with_ties(scores, among))
    return <double> both / (n + m)


cdef int64_t with_ties(const float[::1] scores, int64_t n) noexcept:
    """Return how many scores are the first n, or equal to the last of them."""
    if n >= scores.shape[0]:
        return scores.shape[0]
    while n < scores.shape[0] and scores[n] == scores[n - 1]:
        n += 1
    return n


cdef int64_t shared(const int64_t* some, int64_t n, const int64_t* others, int64_t m) except -1:
    """Return how many of n keys are among m others; both of distinct keys."""
    cdef int64_t both = 0, i
    cdef uint64_t mask = table_mask(m)
    cdef int64_t* slots = <int64_t*> malloc((mask + 1) * sizeof(int64_t))
    if slots == NULL:
        raise MemoryError
    memset(slots, 0xFF, (mask + 1) * sizeof(int64_t))
    for i in range(m):
        slots[slot_of(others[i], slots, mask, others)] = i
    for i in range(n):
        both += slots[slot_of(some[i], slots, mask, others)] >= 0
    free(slots)
    return both


cdef uint64_t table_mask(int64_t keys) noexcept nogil:
    """Return the size of a table for so many keys, less 1: a power of 2, half of it free at least."""
    cdef uint64_t size = 64
    while size < 2 * <uint64_t> keys:
        size *= 2
    return size - 1


cdef uint64_t slot_of(int64_t key, const int64_t* slots, uint64_t mask, const int64_t* keys) noexcept nogil:
    """Return the slot of a key: the one that holds its place among `keys`, or the free one (-1) where it belongs."""
    cdef uint64_t slot = <uint64_t> key * <uint64_t> 0x9E3779B97F4A7C15u >> 20 & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = slot + 1 & mask
    return slot


def normalise(const double[::1] scores, str method, double rank_constant):
    """Return what a pool of weight 1 adds to each of its rows; see `fuse.normalise`."""
    made = np.empty(scores.shape[0], np.float64)
    cdef double[::1] out = made
    if scores.shape[0]:
        normalise_into(&scores[0], scores.shape[0], method, rank_constant, &out[0])
    return made


cdef int normalise_into(const double* scores, int64_t n, str method, double rank_constant, double* out) except -1:
    """Normalise n >= 1 scores."""
    cdef double least = scores[0], greatest = scores[0], total = 0, square = 0, scale
    cdef int64_t i
    if method == "rrf":
        for i in range(n):
            out[i] = 1 / (rank_constant + (i + 1))
        return 0
    if method == "max":
        for i in range(n):
            out[i] = scores[i]
        return 0
    for i in range(n):
        least, greatest, total = min(least, scores[i]), max(greatest, scores[i]), total + scores[i]
    scale = greatest - least
    if method == "zscore":
        for i in range(n):
            square += (scores[i] - total / n) ** 2
        scale = sqrt(square / n)
    for i in range(n):
        out[i] = (scores[i] - least) / scale if scale > 0 else 1
    return 0


cdef struct Ranked:
    double score
    int64_t place


cdef int by_rank(const void* a, const void* b) noexcept nogil:
    cdef Ranked x = (<const Ranked*> a)[0], y = (<const Ranked*> b)[0]
    if x.score != y.score:
        return -1 if x.score > y.score else 1
    return -1 if x.place < y.place else 1


def best(const double[::1] scores, int64_t k):
    """Return the places of the best k scores and of all equal to the last, best first, and whether any two tie."""
    cdef int64_t n = scores.shape[0], m = 0, i, at, child
    cdef double least = -float("inf"), moved
    cdef bint tied = False
    cdef int64_t[::1] out
    cdef double* heap = <double*> malloc((min(k, n) + 1) * sizeof(double))
    cdef Ranked* ranked = <Ranked*> malloc((n + 1) * sizeof(Ranked))
    try:
        if heap == NULL or ranked == NULL:
            raise MemoryError
        if 0 < k < n:  # the k best scores so far, the least of them on top
            for i in range(n):
                moved = scores[i]
                if i < k:
                    at = i
                    while at and heap[(at - 1) // 2] > moved:
                        heap[at] = heap[(at - 1) // 2]
                        at = (at - 1) // 2
                    heap[at] = moved
                elif moved > heap[0]:
                    at, child = 0, 1
                    while child < k:
                        child += child + 1 < k and heap[child + 1] < heap[child]
                        if heap[child] >= moved:
                            break
                        heap[at] = heap[child]
                        at, child = child, 2 * child + 1
                    heap[at] = moved
            least = heap[0]
        for i in range(n if k > 0 else 0):
            if scores[i] >= least:
                ranked[m] = Ranked(scores[i], i)
                m += 1
        qsort(ranked, m, sizeof(Ranked), by_rank)
        places = np.empty(m, np.int64)
        out = places
        for i in range(m):
            out[i] = ranked[i].place
            tied = tied or i > 0 and ranked[i].score == ranked[i - 1].score
    finally:
        free(heap)
        free(ranked)
    return places, tied
