# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which rows may be near a query, and how near are they? See codes.h for the estimate and its source."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef extern from "vectors.h" nogil:
    float widen(uint16_t half)
    void dot_rows(const uint16_t* halves, size_t n, const float* query, const uint32_t* rows, size_t first,
                  size_t m, float* scores)

cdef extern from "codes.h" nogil:
    enum:
        BLOCK
        PLANES

    ctypedef struct Query:
        const uint64_t* planes
        size_t words
        float step
        float low
        float shift

    ctypedef struct Candidate:
        float score
        uint32_t part
        uint32_t row

    ctypedef struct Candidates:
        Candidate* at
        size_t count
        size_t capacity
        size_t depth
        float least

    float encode_row(const uint16_t* row, const float* centre, size_t n, uint64_t* words, size_t stride,
                     float* square_left)
    ctypedef struct Exact:
        const float* query
        float* scores
        size_t k
        size_t count
        float margin

    void keep_best(Candidates* c)
    void scan_part(const Query* q, const uint64_t* codes, const float* factors, const uint16_t* halves,
                   size_t columns, size_t n, const uint64_t* allowed, float base, uint32_t part, Exact* x,
                   Candidates* c)


def dots(const uint16_t[:, ::1] halves, const float[::1] query, const uint32_t[::1] rows=None):
    """The query's product with every row, or with the rows named. Releases the GIL.

    Args:
        halves: vectors, shape (n, dimension), the bits of float16.
        query: shape (dimension,).
        rows: shape (m,), each below n; None for all.

    Returns:
        Shape (m,), float32; the same row gives the same bits on every path and machine.
    """
    cdef size_t m = rows.shape[0] if rows is not None else halves.shape[0]
    cdef const uint32_t* named = NULL
    if query.shape[0] != halves.shape[1]:
        raise ValueError(f"query must have {halves.shape[1]} dimensions, got {query.shape[0]}")
    scores = np.empty(m, np.float32)
    cdef float[::1] out = scores
    if m == 0:
        return scores
    if rows is not None:
        named = &rows[0]
    with nogil:
        dot_rows(&halves[0, 0], halves.shape[1], &query[0], named, 0, m, &out[0])
    return scores


def encode(const uint16_t[:, ::1] halves, const float[::1] centre):
    """Codes and factors of rows. Releases the GIL.

    Args:
        halves: vectors, shape (n, dimension), the bits of float16.
        centre: their mean, shape (dimension,).

    Returns:
        codes, shape (ceil(n / 64), words, 64), uint64: bit i % 64 of word i // 64 is the sign of dimension i; and
        factors, shape (ceil(n / 64) * 64,), float32. Rows beyond n are zero. And the root mean square of what codes
        leave out of a row, per dimension: the error of an estimate for a query of length 1.
    """
    cdef int64_t n = halves.shape[0], dimension = halves.shape[1], i
    cdef int64_t blocks = (n + BLOCK - 1) // BLOCK, words = (dimension + 63) // 64
    if centre.shape[0] != dimension:
        raise ValueError(f"centre must have {dimension} dimensions, got {centre.shape[0]}")
    codes = np.zeros((blocks, words, BLOCK), np.uint64)
    factors = np.zeros(blocks * BLOCK, np.float32)
    cdef uint64_t[:, :, ::1] bits = codes
    cdef float[::1] scale = factors
    cdef float left = 0
    cdef double left_out = 0
    if n == 0 or dimension == 0:
        return codes, factors, 0.0
    with nogil:
        for i in range(n):
            scale[i] = encode_row(
                &halves[i, 0], &centre[0], dimension, &bits[i // BLOCK, 0, i % BLOCK], BLOCK, &left
            )
            left_out += left
    return codes, factors, sqrt(max(left_out, 0.0) / (n * dimension))


def mean(const uint16_t[:, ::1] halves):
    """The mean row, shape (dimension,), float32; zeros where there are no rows."""
    cdef int64_t n = halves.shape[0], dimension = halves.shape[1], i, j
    sums = np.zeros(dimension, np.float64)
    cdef double[::1] total = sums
    with nogil:
        for i in range(n):
            for j in range(dimension):
                total[j] += widen(halves[i, j])
    return (sums / max(n, 1)).astype(np.float32)


def scan(const uint64_t[:, ::1] planes, float step, float low, float shift, list parts, int64_t depth,
         const float[::1] query=None, int64_t k=0, float margin=0):
    """The rows whose estimates are best, over several segments. Releases the GIL while it reads one.

    Args:
        planes: the query's bits, shape (4, words).
        step, low, shift: the query's product with a code is step * (sum over planes b of 2^b * common bits) +
            low * (bits set) + shift.
        parts: for each segment (codes, factors, halves, n, allowed, base): arrays as of `encode` and `dots`, the number
            of rows, a bitmap or None, and what to add to its estimates.
        depth: how many rows at most, 1 or more.
        query, k, margin: where k is above 0, rows whose estimate is below the k-th best exact score by `margin` and
            more are left out; `query` is the vector of shape (dimension,).

    Returns:
        parts, shape (m,), uint32, rows, shape (m,), uint32, and their estimates, float32; in no order.
    """
    cdef Query q
    cdef Candidates found
    cdef const uint64_t[:, :, ::1] codes
    cdef const float[::1] factors
    cdef const uint64_t[::1] allowed
    cdef const uint16_t[:, ::1] halves
    cdef const uint64_t* bitmap
    cdef Exact x
    cdef int64_t n, i, part = 0
    cdef float base
    if planes.shape[0] != PLANES or depth < 1 or (k > 0 and query is None):
        raise ValueError("planes must have 4 rows, depth must be 1 or more, and a k needs a query")
    q = Query(&planes[0, 0], planes.shape[1], step, low, shift)
    found.depth, found.capacity, found.count, found.least = depth, 2 * depth + 4 * BLOCK, 0, -float("inf")
    found.at = <Candidate*> malloc(found.capacity * sizeof(Candidate))
    x.query, x.k, x.count, x.margin = &query[0] if k else NULL, k, 0, margin
    x.scores = <float*> malloc((k + 1) * sizeof(float))
    try:
        if found.at == NULL or x.scores == NULL:
            raise MemoryError
        for codes, factors, halves, n, allowed, base in parts:
            if (codes.shape[1] != planes.shape[1] or codes.shape[0] * BLOCK < n or factors.shape[0] < n
                    or halves.shape[0] < n or (k and halves.shape[1] != query.shape[0])):
                raise ValueError("codes and factors must fit the query and n")
            if allowed is not None and allowed.shape[0] * 64 < n:
                raise ValueError("allowed must hold a bit per row")
            if n:
                bitmap = &allowed[0] if allowed is not None else NULL
                with nogil:
                    scan_part(&q, &codes[0, 0, 0], &factors[0], &halves[0, 0], halves.shape[1], n, bitmap, base,
                              part, &x, &found)
            part += 1
        with nogil:
            if found.count:
                keep_best(&found)
        where = np.empty(found.count, np.uint32)
        rows = np.empty(found.count, np.uint32)
        scores = np.empty(found.count, np.float32)
        for i in range(<int64_t> found.count):
            where[i] = found.at[i].part
            rows[i] = found.at[i].row
            scores[i] = found.at[i].score
    finally:
        free(found.at)
        free(x.scores)
    return where, rows, scores
