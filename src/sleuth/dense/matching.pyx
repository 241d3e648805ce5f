# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Matches rows with a query, token by token. See matching.h for how the tokens of a row are stored."""

from libc.math cimport fabs, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

cdef extern from "matching.h" nogil:
    ctypedef struct Match:
        const uint16_t* table
        float* lengths
        const float* queries
        const uint16_t* asked
        size_t m
        size_t columns
        size_t tokens

    float widen(uint16_t half)
    void fetch_line "FETCH"(const void* at)
    int64_t unpack_ids(const uint8_t* packed, size_t size, uint32_t most, uint16_t* ids)
    int match_some(const Match* x, const uint16_t* ids, const size_t* starts, size_t rows, size_t first, size_t count,
                   float* best)

cdef enum:
    BLOCK = 64

cdef enum:  # what comes of it, beside 0
    NO_MEMORY = 1
    NO_ROW
    NO_SET
    NO_TOKEN

cdef struct Segment:  # the sets of its rows
    const int64_t* keys
    int64_t n
    const uint8_t* tokens
    size_t size
    const uint16_t* sizes
    const uint64_t* begins

cdef struct Set:  # the tokens of a row
    const Segment* segment
    int64_t row
    const uint8_t* at
    size_t size


def match(int32_t[::1] ids, const uint16_t[:, ::1] table, float[::1] lengths, double rarity, list parts,
          const int64_t[::1] keys):
    """Return the weighted mean, over a query's tokens, of the greatest cosine to a token of each row. Releases the GIL.

    Args:
        ids: the query's tokens, shape (m,), sorted in place; each distinct one weighs the length of its vector to the
            power of `rarity`, times the root of how often it comes.
        table: a vector per token, shape (size, dimension), the bits of float16.
        lengths: of these vectors, shape (size,); those that are 0 are computed and written where they are needed.
        parts: for each segment its keys, ascending, shape (rows,), int64; the sets of tokens of its rows, one after the
            other, uint8; the bytes of each, shape (rows,), uint16; and where every 64th begins, uint64.
        keys: of the rows wanted, shape (n,).

    Returns:
        Shape (n,), float64: 0 for a row without tokens, or where nothing weighs; None where a key is in no segment.
    """
    cdef size_t n = keys.shape[0], m = ids.shape[0], n_parts = len(parts)
    cdef Match x = Match(NULL, NULL, NULL, NULL, 0, table.shape[1], table.shape[0])
    cdef Segment* segments
    cdef int problem
    values = np.zeros(n, np.float64)
    cdef double[::1] out = values
    if n == 0 or m == 0:
        return values
    if not 0 < table.shape[0] < 1 << 16:
        raise ValueError(f"table must have 1 to 65,535 vectors, got {table.shape[0]}")
    if lengths.shape[0] != table.shape[0]:
        raise ValueError("lengths must be as many as vectors")
    x.table, x.lengths = &table[0, 0], &lengths[0]
    segments = <Segment*> malloc((n_parts + 1) * sizeof(Segment))
    if segments == NULL:
        raise MemoryError
    try:
        read_parts(parts, segments)
        with nogil:
            problem = match_all(&x, &ids[0], m, rarity, segments, n_parts, &keys[0], n, &out[0])
    finally:
        free(segments)
    if problem == NO_ROW:
        return None
    if problem == NO_MEMORY:
        raise MemoryError
    if problem == NO_SET:
        raise ValueError("tokens of a row must lie within its segment")
    if problem == NO_TOKEN:
        raise ValueError("tokens must be below the length of the table")
    return values


def lift(const double[::1] scores, const double[::1] matches, double weight):
    """Return scores, shape (n,), of which the first m gain by their matches, shape (m,): `weight` of the best at most."""
    cdef Py_ssize_t i, n = matches.shape[0]
    cdef double least = 0, greatest = 0, most = 0
    if n > scores.shape[0]:
        raise ValueError("matches must be as many as scores at most")
    lifted = np.array(scores)
    cdef double[::1] out = lifted
    if n:
        least = greatest = matches[0]
    for i in range(n):
        least, greatest, most = min(least, matches[i]), max(greatest, matches[i]), max(most, fabs(scores[i]))
    most *= weight
    for i in range(n):
        if greatest > least:
            out[i] += most * (matches[i] - least) / (greatest - least)
    return lifted


def are_sets(const uint8_t[::1] tokens, const uint16_t[::1] sizes, uint32_t most):
    """Return whether consecutive sets of tokens, of these sizes, hold only ids below `most`."""
    cdef uint16_t[65535] ids
    cdef int64_t row, at = 0
    cdef bint holds = True
    with nogil:
        for row in range(sizes.shape[0]):
            if at + sizes[row] > tokens.shape[0] or unpack_ids(&tokens[0] + at, sizes[row], most, ids) < 0:
                holds = False
                break
            at += sizes[row]
    return holds


cdef int read_parts(list parts, Segment* segments) except -1:
    """Pointers to the arrays of each segment, which `parts` keeps alive."""
    cdef const int64_t[::1] keys
    cdef const uint8_t[::1] tokens
    cdef const uint16_t[::1] sizes
    cdef const uint64_t[::1] begins
    cdef Py_ssize_t i
    for i, (keys, tokens, sizes, begins) in enumerate(parts):
        if sizes.shape[0] != keys.shape[0] or begins.shape[0] * BLOCK < keys.shape[0]:
            raise ValueError("sizes and begins must fit the rows of a segment")
        segments[i] = Segment(NULL, keys.shape[0], NULL, tokens.shape[0], NULL, NULL)
        if keys.shape[0]:
            segments[i].keys, segments[i].sizes, segments[i].begins = &keys[0], &sizes[0], &begins[0]
        if tokens.shape[0]:
            segments[i].tokens = &tokens[0]
    return 0


cdef int match_all(Match* x, int32_t* ids, size_t m, double rarity, const Segment* segments, size_t n_segments,
                   const int64_t* keys, size_t n, double* out) noexcept nogil:
    """Run `match` on plain pointers; 0, or a code of the error."""
    cdef double weight = 0, value
    cdef size_t first, total = 0, i, j
    cdef int64_t count
    cdef int problem = 0
    cdef uint16_t* asked = <uint16_t*> malloc(m * sizeof(uint16_t))
    cdef float* directions = <float*> malloc(m * x.columns * sizeof(float) + 1)
    cdef double* weights = <double*> malloc(m * sizeof(double))
    cdef Set* sets = <Set*> malloc(n * sizeof(Set))
    cdef size_t* starts = <size_t*> malloc((n + 1) * sizeof(size_t))
    cdef uint16_t* held = NULL
    cdef float* best = NULL
    if asked == NULL or directions == NULL or weights == NULL or sets == NULL or starts == NULL:
        problem = NO_MEMORY
    if not problem:
        qsort(ids, m, sizeof(int32_t), by_id)
        if ids[0] < 0 or <size_t> ids[m - 1] >= x.tokens:
            problem = NO_TOKEN
    if not problem:
        x.m = distinct(x, ids, m, rarity, asked, directions, weights)
        x.asked, x.queries = asked, directions
        problem = locate(segments, n_segments, keys, n, sets)
    if not problem:
        for j in range(x.m):
            weight += weights[j]
        for i in range(n):
            total += sets[i].size
        held = <uint16_t*> malloc((total + 1) * sizeof(uint16_t))
        best = <float*> malloc(n * x.m * sizeof(float))
        if held == NULL or best == NULL:
            problem = NO_MEMORY
    if not problem and weight > 0:
        starts[0] = 0
        for i in range(n):
            count = unpack_ids(sets[i].at, sets[i].size, <uint32_t> x.tokens, held + starts[i])
            if count < 0:
                problem = NO_TOKEN
                break
            starts[i + 1] = starts[i] + count
        first = 0
        while not problem and first < x.m:
            if not match_some(x, held, starts, n, first, min(x.m - first, 64), best):
                problem = NO_MEMORY
            first += 64
        for i in range(0 if problem else n):
            if starts[i] == starts[i + 1]:
                continue
            value = 0
            for j in range(x.m):
                value += best[i * x.m + j] * weights[j]
            out[i] = value / weight
    free(asked)
    free(directions)
    free(weights)
    free(sets)
    free(starts)
    free(held)
    free(best)
    return problem


cdef int by_id(const void* a, const void* b) noexcept nogil:
    return (<const int32_t*> a)[0] - (<const int32_t*> b)[0]


cdef size_t distinct(const Match* x, const int32_t* ids, size_t n, double rarity, uint16_t* tokens, float* directions,
                     double* weights) noexcept nogil:
    """The distinct ones of n ascending tokens, their vectors scaled to length 1, zeros where they are, and what they weigh;
    how many."""
    cdef size_t m = 0, times = 1, i, j
    cdef double square, length
    cdef float* row
    for i in range(n):
        if m and tokens[m - 1] == ids[i]:
            times += 1
            weights[m - 1] = pow(length, rarity) * sqrt(<double> times)
            continue
        times = 1
        row, square = directions + m * x.columns, 0
        for j in range(x.columns):
            row[j] = widen(x.table[ids[i] * x.columns + j])
            square += <double> row[j] * row[j]
        length = sqrt(square)
        if square > 0:
            for j in range(x.columns):
                row[j] = <float> (row[j] / length)
        tokens[m], weights[m] = <uint16_t> ids[i], pow(length, rarity)
        m += 1
    return m


cdef int locate(const Segment* segments, size_t n_segments, const int64_t* keys, size_t n, Set* sets) noexcept nogil:
    """Find the tokens of each row; 0, or a code of the error. The next reads of all rows are prefetched together."""
    cdef size_t i, part, begin
    cdef int64_t row, j
    cdef const Segment* s
    for i in range(n):
        row = -1
        for part in range(n_segments):
            s = &segments[part]
            row = place_of(keys[i], s.keys, s.n) if s.n else -1
            if row >= 0:
                break
        if row < 0:
            return NO_ROW
        sets[i] = Set(s, row, NULL, 0)
        fetch_line(&s.begins[row // BLOCK])
        fetch_line(&s.sizes[row // BLOCK * BLOCK])
        fetch_line(&s.sizes[row])
    for i in range(n):
        s, row = sets[i].segment, sets[i].row
        begin = s.begins[row // BLOCK]
        if begin > s.size:
            return NO_SET
        for j in range(row // BLOCK * BLOCK, row):
            begin += s.sizes[j]
        if begin + s.sizes[row] > s.size:
            return NO_SET
        sets[i].at, sets[i].size = s.tokens + begin, s.sizes[row]
        fetch_line(sets[i].at)
        fetch_line(sets[i].at + sets[i].size)
    return 0


cdef int64_t place_of(int64_t key, const int64_t* held, int64_t n) noexcept nogil:
    """Return the place of a key among n ascending ones, or -1."""
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
