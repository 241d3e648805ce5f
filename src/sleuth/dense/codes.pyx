# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which rows may be near a query, and how near are they? See codes.h for the estimate and its source."""

from libc.math cimport fabs, isfinite, rint, sqrt
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

    ctypedef struct Part:
        const uint64_t* codes
        const float* factors
        const uint16_t* halves
        const uint64_t* allowed
        const uint32_t* ties
        size_t n
        size_t members
        float base

    size_t members(const uint64_t* bitmap, size_t words)
    void keep_best(Candidates* c)
    void scan_part(const Query* q, const Part* part, uint32_t number, size_t columns, Exact* x, Candidates* c)
    void take_part(const Part* part, uint32_t number, Candidates* c)
    void score_candidates(const Part* parts, const float* query, size_t columns, Candidates* c)
    void sort_best(const Part* parts, Candidates* c, size_t k)


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


def unit(const float[::1] vector):
    """The vector scaled to length 1, shape (dimension,), zeros where it is zero; None where it is not finite."""
    cdef int64_t n = vector.shape[0], i
    cdef double square = 0, value
    scaled = np.empty(n, np.float32)
    cdef float[::1] out = scaled
    for i in range(n):
        value = vector[i]
        square += value * value
    if not isfinite(square):
        return None
    square = sqrt(square) if square > 0 else 1
    for i in range(n):
        out[i] = <float> (vector[i] / square)
    return scaled


def planes(const float[::1] vector, double spread, int levels):
    """A query in levels, as `scan` takes it.

    Args:
        vector: shape (dimension,).
        spread: standard deviations on either side of 0 that the levels span.
        levels: of the highest, at most 15.

    Returns:
        bits, shape (4, words), uint64; the width of a level, and the value of level 0; the sum of the levels' values; and
        the length of the difference between them and the query.
    """
    cdef int64_t n = vector.shape[0], i, level
    cdef int plane
    cdef double total = 0, squares = 0, greatest = 0, bound, width, cut, left = 0
    bits = np.zeros((PLANES, (n + 63) // 64), np.uint64)
    cdef uint64_t[:, ::1] out = bits
    for i in range(n):
        total += vector[i]
        greatest = max(greatest, fabs(vector[i]))
    for i in range(n):
        squares += (vector[i] - total / n) ** 2
    bound = spread * sqrt(squares / n)
    if not bound > 0:
        bound = greatest
    width, total = 2 * bound / levels, 0
    for i in range(n):
        level = <int64_t> rint((vector[i] + bound) / width)
        level = min(max(level, 0), levels)
        for plane in range(PLANES):
            out[plane, i // 64] |= <uint64_t> (level >> plane & 1) << (i % 64)
        cut = level * width - bound
        total += cut
        left += (vector[i] - cut) ** 2
    return bits, width, -bound, total, sqrt(left)


cdef size_t read_parts(list given, Part* parts, const float[::1] query, size_t words) except? 0:
    """Where the arrays of each segment lie, which `given` keeps alive; rows that may answer."""
    cdef const uint64_t[:, :, ::1] codes
    cdef const float[::1] factors
    cdef const uint16_t[:, ::1] halves
    cdef const float[::1] centre
    cdef const uint64_t[::1] allowed
    cdef const uint32_t[::1] ties
    cdef int64_t n, i, number
    cdef size_t total = 0
    cdef float base
    for number, (codes, factors, halves, centre, ties, n, allowed) in enumerate(given):
        if (<size_t> codes.shape[1] != words or codes.shape[0] * BLOCK < n or factors.shape[0] < n
                or halves.shape[0] < n or halves.shape[1] != query.shape[0]
                or centre.shape[0] != query.shape[0]):
            raise ValueError("codes, factors, centre and vectors must fit the query and n")
        if allowed is not None and allowed.shape[0] * 64 < n or ties is not None and ties.shape[0] < n:
            raise ValueError("allowed must hold a bit per row, ties a number")
        base = 0
        for i in range(query.shape[0]):
            base += query[i] * centre[i]
        parts[number].n, parts[number].members, parts[number].base = n, n, base
        parts[number].allowed = parts[number].ties = NULL
        if n == 0:
            continue
        parts[number].codes, parts[number].factors = &codes[0, 0, 0], &factors[0]
        parts[number].halves = &halves[0, 0]
        if ties is not None:
            parts[number].ties = &ties[0]
        if allowed is not None:
            parts[number].allowed = &allowed[0]
            parts[number].members = members(&allowed[0], (n + 63) // 64)
        total += parts[number].members
    return total


def scan(const uint64_t[:, ::1] planes, float step, float low, float shift, list parts, const float[::1] query,
         size_t k, size_t depth, float margin=-1, size_t few=0, bint exact=True):
    """The best rows of several segments: the best by estimate, scored exactly. Releases the GIL.

    Args:
        planes: the query's bits, shape (4, words).
        step, low, shift: the query's product with a code is step * (sum over planes b of 2^b * common bits) +
            low * (bits set) + shift.
        parts: for each segment (codes, factors, halves, centre, ties, n, allowed): arrays as of `encode` and `dots`,
            tie ranks or None, the number of rows, a bitmap or None.
        query: the vector, shape (dimension,).
        k: rows wanted, 1 or more.
        depth: how many rows to score exactly, at most.
        margin: where 0 or more, rows whose estimate is below the k-th best exact score by it are left out as well.
        few: where no more rows than this may answer, all are scored.
        exact: whether scores are exact; otherwise they are estimates.

    Returns:
        parts, shape (m,), uint32, rows, shape (m,), uint32, and scores, float32: the best k and what ties with the last
        of them, best first, ties by segment and tie rank.
    """
    cdef Query q
    cdef Candidates found
    cdef Exact x
    cdef size_t n = len(parts), total = 0
    cdef uint32_t number
    cdef int64_t i
    cdef Part* places
    if planes.shape[0] != PLANES or depth < 1 or k < 1 or query.shape[0] > 64 * planes.shape[1]:
        raise ValueError("planes must have 4 rows of a bit per dimension, k and depth must be 1 or more")
    q = Query(&planes[0, 0], planes.shape[1], step, low, shift)
    x.query, x.k, x.count, x.margin, x.scores = &query[0], k if margin >= 0 else 0, 0, margin, NULL
    found.at, found.count, found.depth, found.least = NULL, 0, max(k, depth), -float("inf")
    places = <Part*> malloc((n + 1) * sizeof(Part))
    try:
        if places == NULL:
            raise MemoryError
        total = read_parts(parts, places, query, planes.shape[1])
        x.k = min(x.k, total)
        found.capacity = total if total <= few else min(total, 2 * found.depth) + 4 * BLOCK
        found.at = <Candidate*> malloc((found.capacity + 1) * sizeof(Candidate))
        x.scores = <float*> malloc((x.k + 1) * sizeof(float))
        if found.at == NULL or x.scores == NULL:
            raise MemoryError
        with nogil:
            for number in range(<uint32_t> n):
                if places[number].members and total <= few:
                    take_part(&places[number], number, &found)
                elif places[number].members:
                    scan_part(&q, &places[number], number, query.shape[0], &x, &found)
            if total > few and found.count:
                keep_best(&found)
            if exact:
                score_candidates(places, &query[0], query.shape[0], &found)
            sort_best(places, &found, k)
        where = np.empty(found.count, np.uint32)
        rows = np.empty(found.count, np.uint32)
        scores = np.empty(found.count, np.float32)
        for i in range(<int64_t> found.count):
            where[i] = found.at[i].part
            rows[i] = found.at[i].row
            scores[i] = found.at[i].score
    finally:
        free(places)
        free(found.at)
        free(x.scores)
    return where, rows, scores
