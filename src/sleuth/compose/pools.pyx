# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compares and unites the pools of several legs: keys and scores, best first, each key once in a pool."""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

cdef enum:
    FIRST = 20
    AMONG = 100


def normalise(const double[::1] scores, str method="minmax", double rank_constant=0):
    """Return what a leg of weight 1 adds to each row of its pool, shape (m,), float64; it adds 0 to all other rows.

    - "minmax": (score - least) / (greatest - least), and 1 if all are equal, so that a hit counts more than a miss;
    - "rrf": 1 / (rank_constant + rank);
    - "max": the score itself.
    """
    cdef Py_ssize_t i, n = scores.shape[0]
    cdef double least, greatest
    values = np.array(scores)
    cdef double[::1] out = values
    if method == "rrf":
        for i in range(n):
            out[i] = 1 / (rank_constant + (i + 1))
    elif method == "minmax" and n:
        least = greatest = scores[0]
        for i in range(n):
            least, greatest = min(least, scores[i]), max(greatest, scores[i])
        for i in range(n):
            out[i] = (scores[i] - least) / (greatest - least) if greatest > least else 1
    return values


def unite(pools, const double[::1] weights, str method, double rank_constant):
    """Return the keys of all pools, each once, shape (n,), int64, and their scores, float64.

    Args:
        pools: of the legs. They are added in this order.
        weights: of the legs.
        method, rank_constant: as `normalise` takes them; of "max", a key has the greatest of its shares, not their sum.
    """
    cdef const int64_t[::1] keys
    cdef const double[::1] shares
    cdef bint is_greatest = method == "max"
    cdef Py_ssize_t n = 0, rows = sum([len(pool.keys) for pool in pools]), leg, i
    cdef size_t mask = 1, slot
    cdef double share
    while mask < 2 * <size_t> rows:
        mask = 2 * mask + 1
    united, scores = np.empty(rows, np.int64), np.empty(rows, np.float64)
    cdef int32_t[::1] places = np.zeros(mask + 1, np.int32)  # of keys by their hash, from 1
    cdef int64_t[::1] key = united
    cdef double[::1] score = scores
    for leg, pool in enumerate(pools):
        keys, shares = pool.keys, normalise(pool.scores.astype(np.float64), method, rank_constant)
        for i in range(keys.shape[0]):
            slot = (<uint64_t> keys[i] * 0x9E3779B97F4A7C15ull >> 32) & mask
            while places[slot] and key[places[slot] - 1] != keys[i]:
                slot = (slot + 1) & mask
            share = weights[leg] * shares[i]
            if not places[slot]:
                key[n], score[n] = keys[i], share
                n += 1
                places[slot] = <int32_t> n
            elif not is_greatest:
                score[places[slot] - 1] += share
            elif share > score[places[slot] - 1]:
                score[places[slot] - 1] = share
    return united[:n], scores[:n]


def best(const double[::1] scores, Py_ssize_t k):
    """Return the places of the best `k` scores and of what ties with the last of them, int64, and whether any tie.

    Best first, equal ones in their order; all where there are fewer.
    """
    cdef Py_ssize_t n = scores.shape[0], count = 0, i
    cdef bint is_tied = False
    places, ranked = np.arange(n), np.empty(n, np.int64)
    cdef int64_t[::1] heaped = places, out = ranked
    if not n:
        return ranked, False
    cdef const double* score = &scores[0]
    cdef int64_t* heap = &heaped[0]
    for i in range(n // 2 - 1, -1, -1):
        sift(score, heap, i, n)
    while n and (count < k or k and score[heap[0]] == score[out[count - 1]]):
        is_tied = is_tied or count and score[heap[0]] == score[out[count - 1]]
        out[count] = heap[0]
        count, n = count + 1, n - 1
        heap[0] = heap[n]
        sift(score, heap, 0, n)
    return ranked[:count], is_tied


cdef void sift(const double* scores, int64_t* heap, Py_ssize_t i, Py_ssize_t n) noexcept:
    """Move place i of a heap of n down to where it belongs; the best one is on top, of equal ones the first."""
    cdef int64_t moved = heap[i]
    cdef Py_ssize_t child = 2 * i + 1
    while child < n:
        if child + 1 < n and comes_before(scores, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(scores, heap[child], moved):
            break
        heap[i], i, child = heap[child], child, 2 * child + 1
    heap[i] = moved


cdef inline bint comes_before(const double* scores, int64_t a, int64_t b) noexcept:
    return scores[a] > scores[b] or scores[a] == scores[b] and a < b


def agreement(one, other):
    """Return the share of the first 20 hits of each pool among the first 100 of the other; 1 if a pool has no hits.

    Hits that tie with the last of these count too, since their order is not settled.

    Args:
        one, other: pools with scores of single precision.
    """
    cdef const int64_t[::1] keys = one.keys, other_keys = other.keys
    cdef const float[::1] scores = one.scores, other_scores = other.scores
    cdef Py_ssize_t head = reach(scores, FIRST), other_head = reach(other_scores, FIRST), count
    if not head or not other_head:
        return 1.0
    count = common(&keys[0], head, &other_keys[0], reach(other_scores, AMONG))
    count += common(&other_keys[0], other_head, &keys[0], reach(scores, AMONG))
    return count / <double> (head + other_head)


cdef Py_ssize_t reach(const float[::1] scores, Py_ssize_t n) noexcept:
    """The number of the first n hits, and of those that tie with the last of them."""
    if scores.shape[0] < n:
        return scores.shape[0]
    while n < scores.shape[0] and scores[n] == scores[n - 1]:
        n += 1
    return n


cdef Py_ssize_t common(const int64_t* keys, Py_ssize_t n, const int64_t* other_keys, Py_ssize_t m) noexcept:
    """How many of the first n keys are among the first m of others."""
    cdef Py_ssize_t count = 0, i, j
    for i in range(n):
        for j in range(m):
            count += keys[i] == other_keys[j]
    return count
