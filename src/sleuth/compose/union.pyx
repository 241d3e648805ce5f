# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which keys do several pools hold, what does each pool add to them, and which are the best?

Small work on hundreds of numbers, done with every query: a call of numpy costs more than any of it.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

import numpy as np


def union(list pools):
    """All keys, each once, in order of first appearance; and per pool the places of its keys among them.

    Args:
        pools: arrays of shape (m,), int64.

    Returns:
        keys, shape (n,), int64, and a list of arrays of shape (m,), int64.
    """
    cdef const int64_t[::1] pool
    cdef int64_t[::1] place
    cdef int64_t total = 0, n = 0, i, slot
    cdef uint64_t mask = 64
    cdef int64_t* slots  # places of keys, -1 where empty
    for pool in pools:
        total += pool.shape[0]
    while mask < 2 * <uint64_t> total:
        mask *= 2
    slots = <int64_t*> malloc(mask * sizeof(int64_t))
    if slots == NULL:
        raise MemoryError
    memset(slots, 0xFF, mask * sizeof(int64_t))
    mask -= 1
    keys = np.empty(total, np.int64)
    cdef int64_t[::1] known = keys
    places = []
    for pool in pools:
        made = np.empty(pool.shape[0], np.int64)
        place = made
        for i in range(pool.shape[0]):
            slot = <int64_t> ((<uint64_t> pool[i] * <uint64_t> 0x9E3779B97F4A7C15u >> 20) & mask)
            while slots[slot] >= 0 and known[slots[slot]] != pool[i]:
                slot = (slot + 1) & <int64_t> mask
            if slots[slot] < 0:
                slots[slot] = n
                known[n] = pool[i]
                n += 1
            place[i] = slots[slot]
        places.append(made)
    free(slots)
    return keys[:n], places


def normalise(const double[::1] scores, str method, double rank_constant):
    """What a pool of weight 1 adds to each of its rows; see `fuse.normalise`."""
    cdef int64_t n = scores.shape[0], i
    cdef double least, greatest, total = 0, square = 0, scale
    made = np.empty(n, np.float64)
    cdef double[::1] out = made
    if n == 0:
        return made
    if method == "rrf":
        for i in range(n):
            out[i] = 1 / (rank_constant + (i + 1))
        return made
    if method == "max":
        out[:] = scores
        return made
    least = greatest = scores[0]
    for i in range(n):
        least, greatest, total = min(least, scores[i]), max(greatest, scores[i]), total + scores[i]
    scale = greatest - least
    if method == "zscore":
        for i in range(n):
            square += (scores[i] - total / n) ** 2
        scale = sqrt(square / n)
    for i in range(n):
        out[i] = (scores[i] - least) / scale if scale > 0 else 1
    return made


def combine(list shares, list places, int64_t n, str method):
    """Scores of n keys, from what each pool adds for its own, at these places; see `fuse.FORMULAS`."""
    cdef const double[::1] share
    cdef const int64_t[::1] place
    cdef int64_t i
    cdef bint greatest = method == "max"
    scores = np.full(n, -np.inf if greatest else 0.0)
    found = np.zeros(n if method == "combmnz" else 0)
    cdef double[::1] out = scores, times = found
    for share, place in zip(shares, places):
        if share.shape[0] != place.shape[0]:
            raise ValueError("shares and places must be of one length")
        for i in range(place.shape[0]):
            if greatest:
                out[place[i]] = max(out[place[i]], share[i])
            else:
                out[place[i]] += share[i]
            if times.shape[0]:
                times[place[i]] += 1
    return scores * found if len(found) else scores


cdef struct Ranked:
    double score
    int64_t place


cdef int by_rank(const void* a, const void* b) noexcept nogil:
    cdef Ranked x = (<const Ranked*> a)[0], y = (<const Ranked*> b)[0]
    if x.score != y.score:
        return -1 if x.score > y.score else 1
    return -1 if x.place < y.place else 1


def best(const double[::1] scores, int64_t k):
    """Places of the best k scores and of all that equal the last of them, best first, and whether any two of them tie."""
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
