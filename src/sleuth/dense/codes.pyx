# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Finds rows near a query: estimates from codes, then exact scores. See codes.h for the estimate and its source."""

from libc.float cimport FLT_MAX
from libc.math cimport isfinite, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from sleuth.errors import ArgumentError

cdef extern from "rows.h" nogil:
    ctypedef struct Question:
        const int16_t* numbers

    size_t width_of(size_t n)
    size_t row_bytes(size_t n)
    void pack_row(const float* values, size_t n, uint8_t* row)
    void unpack_row(const uint8_t* row, size_t n, float* out)
    Question question_of(const float* vector, size_t n, int16_t* numbers)
    void dot_rows(const uint8_t* rows, const Question* q, const uint32_t* ids, size_t first, size_t m, float* scores)

cdef extern from "codes.h" nogil:
    enum:
        BLOCK
        NIBBLE

    ctypedef void* Estimate
    ctypedef struct Query:
        const uint8_t* table
        size_t bytes
        float step
        float shift
        Estimate estimate

    ctypedef struct Steps:
        double step
        double least

    Steps fill_table(const float* vector, size_t n, uint8_t* table)
    double error_of(double spread, const Steps* steps, size_t n)
    float encode_row(const float* vector, const float* centre, size_t n, uint8_t* code, float* square_left)
    Estimate best_estimate(int width)

cdef extern from "candidates.h" nogil:
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

    void keep_best(Candidates* c)

cdef extern from "scan.h" nogil:
    ctypedef struct Exact:
        const Question* query
        float* scores
        size_t k
        size_t count
        float margin

    ctypedef struct Part:
        const uint8_t* codes
        const float* factors
        const uint8_t* rows
        const uint64_t* allowed
        const uint32_t* ties
        const int64_t* keys
        size_t n
        size_t members
        float base

    size_t members(const uint64_t* bitmap, size_t words)
    void set_margin(Exact* x, Candidates* c, float margin)
    void scan_part(const Query* q, const Part* part, uint32_t number, Exact* x, Candidates* c)
    void take_part(const Part* part, uint32_t number, Candidates* c)
    void score_candidates(const Part* parts, const Question* query, Candidates* c)
    void sort_best(const Part* parts, Candidates* c, size_t k)

cdef extern from "lists.h" nogil:
    enum:
        ASSIGNED

    ctypedef struct Lists:
        const uint8_t* codes
        const float* factors
        const uint32_t* rows
        const uint32_t* begins
        const uint8_t* centres
        const uint8_t* centre_codes
        const float* centre_factors
        const float* scales
        size_t count

    ctypedef struct Run:
        uint32_t block
        uint32_t end
        float base

    ctypedef struct Bits:
        uint64_t* at
        size_t words

    Bits take_bits(size_t words)
    void leave_bits(Bits bits)
    size_t nearest_lists(const Query* q, const Lists* lists, const Question* query, size_t columns, size_t probes,
                         Candidates* c, float* products, uint64_t* chosen, Run* runs)
    void scan_runs(const Query* q, const Part* part, const Lists* lists, const Run* runs, size_t n, uint64_t* seen,
                   uint32_t number, Exact* x, Candidates* c)
    void nearest_centres(const Query* q, const uint8_t* codes, const float* factors, size_t n, Candidates* c)
    float nearest_and_apart(const uint8_t* centres, size_t columns, const Question* row, float* first, int16_t* numbers,
                            Candidates* c, int32_t* owners)


def bytes_of_row(int64_t dimension):
    """Return how many bytes a row of so many dimensions takes."""
    return row_bytes(dimension)


cdef int check_width(const uint8_t[:, ::1] rows, size_t dimension) except -1:
    if <size_t> rows.shape[1] != row_bytes(dimension):
        raise ValueError(f"rows of {dimension} dimensions must have {row_bytes(dimension)} bytes, got {rows.shape[1]}")
    return 0


def pack(const float[:, ::1] vectors):
    """Return the rows of vectors, shape (n, `bytes_of_row(dimension)`), uint8. Releases the GIL.

    Args:
        vectors: finite, shape (n, dimension). Their directions are kept in 12 bits for each dimension, their lengths are
            not; zeros stay zeros.
    """
    cdef int64_t n = vectors.shape[0], dimension = vectors.shape[1], i
    packed = np.empty((n, row_bytes(dimension)), np.uint8)
    cdef uint8_t[:, ::1] out = packed
    if n and dimension:
        with nogil:
            for i in range(n):
                pack_row(&vectors[i, 0], dimension, &out[i, 0])
    return packed


def unpack(const uint8_t[:, ::1] rows, int64_t dimension):
    """Return the vectors of rows as of `pack`, of length 1 or zero, shape (n, dimension), float32. Releases the GIL."""
    cdef int64_t n = rows.shape[0], i
    check_width(rows, dimension)
    vectors = np.empty((n, dimension), np.float32)
    cdef float[:, ::1] out = vectors
    if n and dimension:
        with nogil:
            for i in range(n):
                unpack_row(&rows[i, 0], dimension, &out[i, 0])
    return vectors


def dots(const uint8_t[:, ::1] rows, const float[::1] query, const uint32_t[::1] ordinals=None):
    """Return the query's product with every row, or with some. Releases the GIL.

    Args:
        rows: as of `pack`, n of them.
        query: shape (dimension,).
        ordinals: of rows, shape (m,), each below n; None for all.

    Returns:
        Shape (m,), float32; the same row gives the same bits on every path and machine.
    """
    cdef size_t m = ordinals.shape[0] if ordinals is not None else rows.shape[0]
    cdef const uint32_t* some = NULL
    check_width(rows, query.shape[0])
    scores = np.empty(m, np.float32)
    cdef float[::1] out = scores
    if m == 0 or query.shape[0] == 0:
        scores[:] = 0
        return scores
    cdef int16_t[::1] numbers = np.empty(width_of(query.shape[0]), np.int16)
    cdef Question question = question_of(&query[0], query.shape[0], &numbers[0])
    if ordinals is not None:
        some = &ordinals[0]
    with nogil:
        dot_rows(&rows[0, 0], &question, some, 0, m, &out[0])
    return scores


def direction(const float[::1] vector):
    """Return the vector of a query scaled to length 1, zeros as they are, float32."""
    cdef Py_ssize_t n = vector.shape[0], i
    cdef double square = 0, length
    scaled = np.zeros(n, np.float32)
    cdef float[::1] out = scaled
    for i in range(n):
        square += <double> vector[i] * vector[i]
    if not isfinite(square):
        raise ArgumentError("query must be finite, got a vector that is not")
    length = sqrt(square)
    if length > 0:
        for i in range(n):
            out[i] = <float> (vector[i] / length)
    return scaled


def encode(const float[:, ::1] vectors, const float[::1] centre, double left_out=0):
    """Return codes and factors of vectors. Releases the GIL.

    Args:
        vectors: shape (n, dimension).
        centre: their mean, shape (dimension,).
        left_out: the sum so far of what codes leave out of vectors.

    Returns:
        codes, shape (ceil(n / 64), bytes, 64), uint8: bit i % 8 of byte i // 8 is the sign of dimension i; and factors,
        shape (ceil(n / 64) * 64,), float32. Rows beyond n are zero. And the sum with these rows: the squares of the parts
        of vectors that their codes leave out.
    """
    cdef int64_t n = vectors.shape[0], dimension = vectors.shape[1], i
    cdef int64_t blocks = (n + BLOCK - 1) // BLOCK, size = (dimension + 7) // 8
    if centre.shape[0] != dimension:
        raise ValueError(f"centre must have {dimension} dimensions, got {centre.shape[0]}")
    codes = np.zeros((blocks, size, BLOCK), np.uint8)
    factors = np.zeros(blocks * BLOCK, np.float32)
    cdef uint8_t[:, :, ::1] bits = codes
    cdef float[::1] scale = factors
    cdef float left = 0
    if n == 0 or dimension == 0:
        return codes, factors, left_out
    with nogil:
        for i in range(n):
            scale[i] = encode_row(&vectors[i, 0], &centre[0], dimension, &bits[i // BLOCK, 0, i % BLOCK], &left)
            left_out += left
    return codes, factors, left_out


cdef size_t read_parts(list given, Part* parts, const float[::1] query, size_t size) except? 0:
    """Pointers to the arrays of each segment, which `given` keeps alive, and to the rows that may answer."""
    cdef const uint8_t[:, :, ::1] codes
    cdef const float[::1] factors
    cdef const uint8_t[:, ::1] rows
    cdef const float[::1] centre
    cdef const uint64_t[::1] allowed
    cdef const uint32_t[::1] ties
    cdef const int64_t[::1] keys
    cdef int64_t n, i, number
    cdef size_t total = 0
    cdef float base
    for number, (codes, factors, rows, centre, ties, keys, allowed) in enumerate(given):
        n = keys.shape[0]
        if (<size_t> codes.shape[1] != size or codes.shape[0] * BLOCK < n or factors.shape[0] < n
                or rows.shape[0] < n or <size_t> rows.shape[1] != row_bytes(query.shape[0])
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
        parts[number].rows, parts[number].keys = &rows[0, 0], &keys[0]
        if ties is not None:
            parts[number].ties = &ties[0]
        if allowed is not None:
            parts[number].allowed = &allowed[0]
            parts[number].members = members(&allowed[0], (n + 63) // 64)
        total += parts[number].members
    return total


cdef int read_lists(given, Lists* lists, size_t bytes, size_t columns) except -1:
    """Pointers to the arrays of the lists of a segment."""
    cdef const uint8_t[:, :, ::1] codes = given.codes, centre_codes = given.centre_codes
    cdef const float[::1] factors = given.factors, centre_factors = given.centre_factors, scales = given.scales
    cdef const uint32_t[::1] rows = given.rows, begins = given.begins
    cdef const uint8_t[:, ::1] centres = given.centres
    cdef size_t blocks = codes.shape[0]
    cdef int64_t places = blocks * BLOCK, count = centres.shape[0]
    if (<size_t> codes.shape[1] != bytes or <size_t> centre_codes.shape[1] != bytes
            or <size_t> centres.shape[1] != row_bytes(columns) or blocks == 0 or count == 0 or factors.shape[0] < places or rows.shape[0] < places or scales.shape[0] < count
            or begins.shape[0] <= count or centre_codes.shape[0] * BLOCK < count or centre_factors.shape[0] < count):
        raise ValueError("lists must fit the query and each other")
    lists.codes, lists.factors, lists.rows = &codes[0, 0, 0], &factors[0], &rows[0]
    lists.begins, lists.scales, lists.count = &begins[0], &scales[0], count
    lists.centres, lists.centre_codes = &centres[0, 0], &centre_codes[0, 0, 0]
    lists.centre_factors = &centre_factors[0]
    return 0


cdef int scan_lists(const Query* q, given, size_t probes, const Part* part, size_t columns, uint32_t number,
                    Exact* x, Candidates* c) except -1:
    """Add the rows of one segment that may answer and are in the lists that promise most. Releases the GIL."""
    cdef Lists lists
    cdef size_t count
    read_lists(given, &lists, q.bytes, columns)
    probes = min(lists.count, probes)
    cdef Candidates near
    cdef Run* runs = <Run*> malloc((probes + 1) * sizeof(Run))
    cdef float* products = <float*> malloc(lists.count * sizeof(float))
    cdef uint64_t* chosen = <uint64_t*> calloc((lists.count + 63) // 64, sizeof(uint64_t))
    cdef Bits seen = take_bits((part.n + 63) // 64)
    near.count, near.least, near.depth, near.capacity = 0, -FLT_MAX, 2 * probes, 4 * probes + 4 * BLOCK
    near.at = <Candidate*> malloc(near.capacity * sizeof(Candidate))
    try:
        if near.at == NULL or products == NULL or chosen == NULL or runs == NULL or seen.at == NULL:
            raise MemoryError
        with nogil:
            count = nearest_lists(q, &lists, x.query, columns, probes, &near, products, chosen, runs)
            scan_runs(q, part, &lists, runs, count, seen.at, number, x, c)
    finally:
        free(near.at)
        free(products)
        free(chosen)
        free(runs)
        leave_bits(seen)
    return 0


def assign(const float[:, ::1] vectors, const uint8_t[:, ::1] centres, const uint8_t[:, :, ::1] codes,
           const float[::1] factors, int width=512):
    """Return two lists for each vector: its nearest centre, and one near it but apart. Releases the GIL.

    Args:
        vectors: of length 1, shape (n, dimension).
        centres: of lists, as of `pack`.
        codes, factors: of the centres around their mean, as of `encode`.

    Returns:
        The lists, shape (n, 2), int32; and the products of vectors with their nearest centres, shape (n,), float32.
    """
    cdef int64_t n = vectors.shape[0], dimension = vectors.shape[1], i
    cdef size_t count = centres.shape[0]
    cdef Query q
    cdef Steps found
    cdef Candidates near
    owners, products = np.zeros((n, 2), np.int32), np.zeros(n, np.float32)
    table = np.zeros((2 * ((dimension + 7) // 8), NIBBLE), np.uint8)
    cdef int32_t[:, ::1] out = owners
    cdef float[::1] first = np.empty(dimension, np.float32), nearness = products
    cdef int16_t[:, ::1] numbers = np.empty((2, width_of(dimension)), np.int16)
    cdef Question question
    cdef uint8_t[:, ::1] entries = table
    check_width(centres, dimension)
    if (<int64_t> count < 1 or codes.shape[1] * 8 < dimension
            or codes.shape[0] * BLOCK < <int64_t> count or factors.shape[0] < <int64_t> count):
        raise ValueError("centres, codes and factors must fit the rows")
    if n == 0:
        return owners, products
    q.table, q.bytes, q.estimate = &entries[0, 0], codes.shape[1], best_estimate(width)
    near.depth, near.capacity = ASSIGNED, 2 * ASSIGNED + 4 * BLOCK
    near.at = <Candidate*> malloc(near.capacity * sizeof(Candidate))
    if near.at == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            question = question_of(&vectors[i, 0], dimension, &numbers[0, 0])
            found = fill_table(&vectors[i, 0], dimension, &entries[0, 0])
            q.step, q.shift = found.step, found.least
            near.count, near.least = 0, -FLT_MAX
            nearest_centres(&q, &codes[0, 0, 0], &factors[0], count, &near)
            nearness[i] = nearest_and_apart(&centres[0, 0], dimension, &question, &first[0], &numbers[1, 0], &near,
                                            &out[i, 0])
    free(near.at)
    return owners, products


def scan(list parts, const float[::1] query, size_t k, size_t depth, double certainty=-1, double spread=0, size_t few=0,
         bint exact=True, int width=512, lists=None, double list_spread=0):
    """Return the best rows of several segments: the best by estimate, scored exactly. Releases the GIL.

    Args:
        parts: for each segment (codes, factors, rows, centre, ties, keys, allowed): arrays as of `encode` and `pack`,
            tie ranks or None, the keys of the rows, a bitmap or None.
        query: the vector, shape (dimension,).
        k: rows wanted, 1 or more.
        depth: how many rows to score exactly, at most.
        certainty: where 0 or more, rows whose estimate is so many standard errors below the k-th best exact score are
            left out as well.
        spread: standard error of an estimate by a row's code, for a query of length 1.
        few: where no more rows than this may answer, all are scored.
        exact: whether scores are exact; otherwise they are estimates.
        width: bits of the widest registers to use, where the machine has them.
        lists: for each segment its `lists.ClusterLists`, which says how many of them are read, or None.
        list_spread: the same for rows of lists.

    Returns:
        parts, shape (m,), int32, keys, shape (m,), int64, and scores, float32: the best k and what ties with the last
        of them, best first, ties by segment and tie rank; and whether rows of different segments tie.

    Raises:
        ValueError: an array does not fit the others.
    """
    cdef Query q
    cdef Candidates found
    cdef Exact x
    cdef size_t n = len(parts), total = 0
    cdef uint32_t number
    cdef size_t probes
    cdef int64_t i
    cdef Part* places
    cdef int32_t[::1] owner
    cdef int64_t[::1] key
    cdef float[::1] score
    cdef bint tied = False
    if depth < 1 or k < 1 or query.shape[0] < 1:
        raise ValueError("k, depth and dimensions must be 1 or more")
    cdef uint8_t[:, ::1] table = np.empty(((query.shape[0] + 7) // 8 * 2, NIBBLE), np.uint8)
    cdef Steps steps = fill_table(&query[0], query.shape[0], &table[0, 0])
    cdef float margin = <float> (certainty * error_of(spread, &steps, query.shape[0]))
    cdef float list_margin = <float> (certainty * error_of(list_spread, &steps, query.shape[0]))
    q.table, q.bytes, q.step, q.shift = &table[0, 0], table.shape[0] // 2, steps.step, steps.least
    q.estimate = best_estimate(width)
    cdef int16_t[::1] numbers = np.empty(width_of(query.shape[0]), np.int16)
    cdef Question question = question_of(&query[0], query.shape[0], &numbers[0])
    x.query, x.k, x.count, x.margin, x.scores = &question, k if certainty >= 0 else 0, 0, margin, NULL
    found.at, found.count, found.depth, found.least = NULL, 0, max(k, depth), -float("inf")
    places = <Part*> malloc((n + 1) * sizeof(Part))
    try:
        if places == NULL:
            raise MemoryError
        total = read_parts(parts, places, query, q.bytes)
        x.k = min(x.k, total)
        found.capacity = total if total <= few else min(total, 2 * found.depth) + 4 * BLOCK
        found.at = <Candidate*> malloc((found.capacity + 1) * sizeof(Candidate))
        x.scores = <float*> malloc((x.k + 1) * sizeof(float))
        if found.at == NULL or x.scores == NULL:
            raise MemoryError
        for number in range(<uint32_t> n):
            nearest = lists[number] if lists is not None and total > few and places[number].members else None
            probes = 0 if nearest is None else nearest.probes(places[number].members, places[number].n)
            if probes:
                set_margin(&x, &found, list_margin)
                scan_lists(&q, nearest, probes, &places[number], query.shape[0], number, &x, &found)
                set_margin(&x, &found, margin)
                continue
            with nogil:
                if places[number].members and total <= few:
                    take_part(&places[number], number, &found)
                elif places[number].members:
                    scan_part(&q, &places[number], number, &x, &found)
        with nogil:
            if total > few and found.count:
                keep_best(&found)
            if exact:
                score_candidates(places, &question, &found)
            sort_best(places, &found, k)
        where = np.empty(found.count, np.int32)
        keys = np.empty(found.count, np.int64)
        scores = np.empty(found.count, np.float32)
        owner, key, score = where, keys, scores
        for i in range(<int64_t> found.count):
            owner[i] = found.at[i].part
            key[i] = places[found.at[i].part].keys[found.at[i].row]
            score[i] = found.at[i].score
            tied = tied or i > 0 and score[i] == score[i - 1] and owner[i] != owner[i - 1]
    finally:
        free(places)
        free(found.at)
        free(x.scores)
    return where, keys, scores, tied
