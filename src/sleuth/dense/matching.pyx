# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""How well do rows match a query, token by token? See matching.h for how the tokens of a row are kept."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

cdef extern from "matching.h" nogil:
    ctypedef struct Match:
        const uint16_t* table
        const float* queries
        const uint16_t* asked
        size_t m
        size_t columns
        size_t tokens

    float widen(uint16_t half)
    int64_t unpack_ids(const uint8_t* packed, size_t size, uint32_t most, uint16_t* ids)
    int match_some(const Match* x, const uint16_t* ids, const size_t* starts, size_t rows, size_t first, size_t count,
                   float* best)

cdef enum:
    BLOCK = 64

cdef struct Set:
    bint known
    const uint8_t* at
    size_t size


cdef int by_id(const void* a, const void* b) noexcept nogil:
    return (<const int32_t*> a)[0] - (<const int32_t*> b)[0]


def distinct(int32_t[::1] ids, const uint16_t[:, ::1] table):
    """The distinct tokens of a query, ascending.

    Args:
        ids: shape (n,), each below the length of the table; sorted in place.
        table: a vector per token, shape (size, dimension), the bits of float16.

    Returns:
        tokens, shape (m,), uint16; how often each comes, float64; the lengths of their vectors, float64; and the vectors
        scaled to length 1, shape (m, dimension), float32, zeros where they are.
    """
    cdef int64_t n = ids.shape[0], dimension = table.shape[1], m = 0, i, j
    cdef double square
    tokens, times, lengths = np.empty(n, np.uint16), np.empty(n, np.float64), np.empty(n, np.float64)
    directions = np.empty((n, dimension), np.float32)
    cdef uint16_t[::1] token = tokens
    cdef double[::1] count = times, length = lengths
    cdef float[:, ::1] rows = directions
    if n:
        qsort(&ids[0], n, sizeof(int32_t), by_id)
    for i in range(n):
        if m and token[m - 1] == ids[i]:
            count[m - 1] += 1
            continue
        token[m], count[m], square = <uint16_t> ids[i], 1, 0
        for j in range(dimension):
            rows[m, j] = widen(table[ids[i], j])
            square += <double> rows[m, j] * rows[m, j]
        length[m] = sqrt(square)
        if square > 0:
            for j in range(dimension):
                rows[m, j] = <float> (rows[m, j] / length[m])
        m += 1
    return tokens[:m], times[:m], lengths[:m], directions[:m]


def match(const uint16_t[::1] asked, const float[:, ::1] directions, const double[::1] weights,
          const uint16_t[:, ::1] table, list parts, const int64_t[::1] keys):
    """The weighted mean, over a query's tokens, of the greatest cosine to a token of each row. Releases the GIL.

    Args:
        asked: distinct tokens, shape (m,).
        directions: their vectors of length 1, shape (m, dimension).
        weights: shape (m,), 0 and more.
        table: a vector per token, shape (size, dimension), the bits of float16.
        parts: for each segment its keys, ascending, shape (rows,), int64; the sets of tokens of its rows, one after the
            other, uint8; the bytes of each, shape (rows,), uint16; and where every 64th begins, uint64.
        keys: of the rows wanted, shape (n,).

    Returns:
        Shape (n,), float64: 0 for a row without tokens, or where nothing weighs; None where a key is in no segment.
    """
    cdef size_t n = keys.shape[0], m = directions.shape[0], first, total = 0, i, j
    cdef double weight = 0, value
    cdef float* best = NULL
    cdef int64_t count
    cdef Match x
    cdef Set* sets
    cdef size_t* starts
    cdef uint16_t* ids = NULL
    cdef bint done = True
    if (table.shape[1] != directions.shape[1] or asked.shape[0] != <int64_t> m or weights.shape[0] != <int64_t> m
            or table.shape[0] > 1 << 16):
        raise ValueError("directions must fit the tokens and the table")
    values = np.zeros(n, np.float64)
    cdef double[::1] out = values
    for j in range(m):
        weight += weights[j]
    if n == 0 or not weight > 0:
        return values
    x = Match(&table[0, 0], &directions[0, 0], &asked[0], m, table.shape[1], table.shape[0])
    sets = <Set*> malloc(n * sizeof(Set))
    starts = <size_t*> malloc((n + 1) * sizeof(size_t))
    try:
        if sets == NULL or starts == NULL:
            raise MemoryError
        if not locate(parts, keys, sets):
            return None
        for i in range(n):
            total += sets[i].size
        ids = <uint16_t*> malloc((total + 1) * sizeof(uint16_t))
        best = <float*> malloc(n * m * sizeof(float))
        if ids == NULL or best == NULL:
            raise MemoryError
        with nogil:
            starts[0] = 0
            for i in range(n):
                count = unpack_ids(sets[i].at, sets[i].size, <uint32_t> x.tokens, ids + starts[i])
                if count < 0:
                    break
                starts[i + 1] = starts[i] + count
            else:
                count = 0
                for first in range(0, m, 64):
                    done = done and match_some(&x, ids, starts, n, first, min(m - first, 64), best)
                for i in range(n):
                    if not done or starts[i] == starts[i + 1]:
                        continue
                    value = 0
                    for j in range(m):
                        value += best[i * m + j] * weights[j]
                    out[i] = value / weight
        if count < 0:
            raise ValueError("tokens of a row must be below the length of the table")
        if not done:
            raise MemoryError
    finally:
        free(sets)
        free(starts)
        free(ids)
        free(best)
    return values


cdef bint locate(list parts, const int64_t[::1] keys, Set* sets) except -1:
    """Where the tokens of each row are; False where a key is in no segment."""
    cdef const int64_t[::1] held
    cdef const uint8_t[::1] tokens
    cdef const uint16_t[::1] sizes
    cdef const uint64_t[::1] begins
    cdef int64_t i, j, row, n
    cdef size_t left = keys.shape[0], begin
    for i in range(keys.shape[0]):
        sets[i].known = False
    for held, tokens, sizes, begins in parts:
        n = held.shape[0]
        if sizes.shape[0] != n or begins.shape[0] * BLOCK < n:
            raise ValueError("sizes and begins must fit the rows of a segment")
        for i in range(keys.shape[0]):
            if sets[i].known:
                continue
            row = place_of(keys[i], &held[0], n) if n else -1
            if row < 0:
                continue
            begin = begins[row // BLOCK]
            for j in range(row // BLOCK * BLOCK, row):
                begin += sizes[j]
            if begin + sizes[row] > <size_t> tokens.shape[0]:
                raise ValueError("tokens of a row must lie within its segment")
            sets[i] = Set(True, &tokens[0] + begin, sizes[row])
            left -= 1
    return left == 0


cdef int64_t place_of(int64_t key, const int64_t* held, int64_t n) noexcept nogil:
    """Where a key is among n ascending ones; -1 where it is not."""
    cdef int64_t low = 0, high = n - 1, middle
    if key < held[0] or key > held[high]:
        return -1
    if key - held[0] <= high and held[key - held[0]] == key:  # no key is left out before it
        return key - held[0]
    while low < high:
        middle = (low + high) // 2
        if held[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if held[low] == key else -1
