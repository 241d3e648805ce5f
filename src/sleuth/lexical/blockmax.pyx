# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Selects the best k rows of an index. blockmax.h describes the method."""

import threading

import numpy as np
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sleuth.lexical.terms cimport Found, Term

cnp.import_array()

cdef extern from "blockmax.h" nogil:
    ctypedef struct Hit:
        float score
        uint32_t tie, doc, part
    ctypedef struct Top:
        uint64_t n, k
        const uint32_t* ties
    ctypedef enum Path:
        FEW
        ALL
        BLOCKS
    ctypedef struct Search:
        const Term* terms
        const Term* sparse
        int n_terms, n_sparse
        uint32_t n, part
        const uint64_t* mask
        uint64_t room
        Top top
        Path path
    ctypedef struct Sum:
        pass
    ctypedef struct Areas:
        float *scores
        float *bounds
        float *columns
        uint32_t *found
        uint32_t *ordered
        uint32_t *firsts
        uint64_t *held
        Sum *sums
    int PRUNED_TERMS, COLUMN, SET_WORDS
    uint64_t room_of(uint32_t n)
    uint64_t groups_of(uint32_t n)
    uint64_t regions_of(uint32_t n)
    uint64_t search_parts(Search*, int, uint64_t, Hit*, Hit**, Hit*, const Areas*)
    float score_one(const Term*, int, uint32_t)
    uint64_t count_rows(const uint64_t*, uint64_t)

# Rows are looked up one by one where fewer than one in so many may answer, and where that is less work than visiting
# blocks: bounds of all blocks take as long as looking up a row in 1000, and the blocks of a hit as long as 16 rows.
cdef uint64_t FEW_ROWS = 64, FEW_BLOCKS = 1000, FEW_VISITS = 16
# Terms of sparse fields are apart where they have at most one posting for so many rows.
cdef uint64_t APART = 16

MOST_PRUNED = PRUNED_TERMS
"""Terms of a query that "blocks" can take; of more, every row that holds one is scored."""

cdef dict PATHS = {"few": FEW, "all": ALL, "blocks": BLOCKS}

cdef enum Which:
    EVERY
    OF_SPARSE_FIELDS
    OTHERS

cdef enum:
    PARTS
    TERMS
    HITS
    BEST
    OTHER
    SCORES
    COLUMNS
    FOUND
    ORDERED
    FIRSTS
    HELD
    SUMS
    AREAS


cdef class Scratch:
    """Buffers of one thread, kept between queries."""

    cdef void* areas[AREAS]
    cdef uint64_t sizes[AREAS]

    def __dealloc__(self):
        cdef int i
        for i in range(AREAS):
            free(self.areas[i])

    cdef void* area(self, int i, uint64_t size) except NULL:
        cdef uint64_t room = size + 64
        if self.sizes[i] < room:
            free(self.areas[i])
            self.sizes[i] = 0
            self.areas[i] = malloc(room)
            if self.areas[i] == NULL:
                raise MemoryError
            self.sizes[i] = room
        return self.areas[i]

    cdef void give_back(self) noexcept:
        """Free room for more than a megabyte of hits, which few searches fill, as one that counts all rows."""
        cdef int i
        for i in range(HITS, OTHER + 1):
            if self.sizes[i] > 1 << 20:
                free(self.areas[i])
                self.areas[i], self.sizes[i] = NULL, 0


_threads = threading.local()


cdef Scratch _scratch():
    try:
        return _threads.scratch
    except AttributeError:
        _threads.scratch = Scratch()
        return _threads.scratch


cdef int _terms(Term* out, list terms, Py_ssize_t segment, Which which=EVERY) except -1:
    """Fill the kernel's arguments for terms of a segment; returns how many. `terms` as from `weigh`."""
    cdef const Term* term
    cdef tuple item
    cdef double weight
    cdef int n = 0
    for item in terms:
        term = (<Found>item[4]).terms + segment
        if not term.postings.df or which == (OTHERS if term.is_sparse else OF_SPARSE_FIELDS):
            continue
        weight = -<double>item[0]
        out[n] = term[0]
        out[n].weight = <float>weight
        out[n].unit = <float>(weight * term.unit)
        n += 1
    return n


def search(
    list terms not None,
    list segments not None,
    uint64_t k,
    list masks not None,
    str path="auto",
):
    """Return the best k rows of all segments. Releases the GIL.

    Args:
        terms: as `weigh` gives them, in the order in which they are added.
        segments: of each that is searched, best the largest first: its number among those that the terms were found in;
            the keys of its rows, shape (n,), int64; and by what they tie, shape (n,), uint32, the lesser wins; None
            for their order.
        k: how many, 1 or more; more than there are gives all.
        masks: by number of segment, a bitmap of the rows that may answer, or None.
        path: "auto", or one of "blocks", "all" and "few", which needs a mask.

    Returns:
        segments, shape (m,), int32, keys, int64, and scores, float32: the best k and what ties with the last of them,
        best first, ties by segment and tie rank; and whether rows of different segments tie.
    """
    cdef Scratch scratch = _scratch()
    cdef Py_ssize_t n_parts = len(segments), p
    cdef Search* parts = <Search*>scratch.area(PARTS, n_parts * sizeof(Search))
    cdef Term* out = <Term*>scratch.area(TERMS, n_parts * len(terms) * sizeof(Term))
    cdef Hit* hits
    cdef Hit* best
    cdef Hit* other
    cdef Areas areas
    cdef uint64_t n, most = 0, whole = 0
    for p in range(n_parts):
        _read_part(&parts[p], out, terms, <tuple>segments[p], masks, k, path)
        out += parts[p].n_terms + parts[p].n_sparse
        most = max(most, parts[p].top.k)
        whole += parts[p].top.k
    _reserve(scratch, parts, n_parts, &areas)
    hits = <Hit*>scratch.area(HITS, most * sizeof(Hit))
    best, other = <Hit*>scratch.area(BEST, whole * sizeof(Hit)), <Hit*>scratch.area(OTHER, whole * sizeof(Hit))
    with nogil:
        n = search_parts(parts, n_parts, k, hits, &best, other, &areas)
    found = _found(segments, best, n)
    scratch.give_back()
    return found


cdef int _read_part(Search* s, Term* out, list terms, tuple segment, list masks, uint64_t k, str path) except -1:
    """Return the kernel's view of one segment, with its terms at `out`."""
    cdef const int64_t[::1] keys = segment[1]
    cdef const uint32_t[::1] ties
    cdef const uint64_t[::1] mask
    cdef uint64_t n = keys.shape[0], rows = n
    s.part = segment[0]
    s.n = <uint32_t>n
    s.terms = s.sparse = out
    s.n_terms = _terms(out, terms, s.part) if n and k else 0
    s.top.n, s.top.k, s.top.ties, s.mask, s.n_sparse, s.room = 0, 0, NULL, NULL, 0, 0
    if not s.n_terms:
        return 0
    s.top.k = min(k, n)
    if masks[s.part] is not None:
        mask = masks[s.part]
        s.mask = &mask[0]
        rows = count_rows(s.mask, mask.shape[0])
    if segment[2] is not None:
        ties = segment[2]
        s.top.ties = &ties[0]
    if path != "auto":
        s.path = PATHS[path]
    elif rows * FEW_ROWS < n and rows < n // FEW_BLOCKS + FEW_VISITS * s.top.k:
        s.path = FEW
    else:
        s.path = ALL if s.top.k * 8 > n else BLOCKS
    if s.path == BLOCKS:
        _set_apart(s, out, terms)
        if s.n_terms > PRUNED_TERMS:
            s.path = ALL
    return 0


cdef int _set_apart(Search* s, Term* out, list terms) except -1:
    """Put the terms of sparse fields behind the others, unless they have many postings."""
    cdef uint64_t postings = 0
    cdef int j
    for j in range(s.n_terms):
        if out[j].is_sparse:
            postings += out[j].postings.df
    if not 0 < postings * APART <= s.n:
        return 0
    s.n_terms = _terms(out, terms, s.part, OTHERS)
    s.sparse = out + s.n_terms
    s.n_sparse = _terms(out + s.n_terms, terms, s.part, OF_SPARSE_FIELDS)
    s.room = 2
    while s.room < 2 * postings:
        s.room *= 2
    return 0


cdef int _reserve(Scratch scratch, const Search* parts, Py_ssize_t n_parts, Areas* areas) except -1:
    """Make room for what any of the segments needs."""
    cdef uint64_t rows = 0, room = 0, firsts = 0, regions = 0, sums = 0, lists
    cdef Py_ssize_t p
    cdef int j
    for p in range(n_parts):
        sums = max(sums, parts[p].room)
        if parts[p].n_terms and parts[p].path == ALL:
            rows = max(rows, parts[p].n)
        elif parts[p].n_terms and parts[p].path == BLOCKS:
            room = max(room, room_of(parts[p].n))
            regions = max(regions, regions_of(parts[p].n))
            lists = 0
            for j in range(parts[p].n_terms):
                lists += parts[p].terms[j].postings.entries != NULL
            firsts = max(firsts, lists * groups_of(parts[p].n))
    areas.scores = areas.bounds = <float*>scratch.area(SCORES, max(rows, room) * sizeof(float))
    areas.columns = <float*>scratch.area(COLUMNS, room // COLUMN * sizeof(float))
    areas.found = <uint32_t*>scratch.area(FOUND, room * sizeof(uint32_t))
    areas.ordered = <uint32_t*>scratch.area(ORDERED, room * sizeof(uint32_t))
    areas.firsts = <uint32_t*>scratch.area(FIRSTS, firsts * sizeof(uint32_t))
    areas.held = <uint64_t*>scratch.area(HELD, regions * SET_WORDS * sizeof(uint64_t))
    areas.sums = <Sum*>scratch.area(SUMS, sums * sizeof(Sum))
    return 0


cdef tuple _found(list segments, const Hit* best, uint64_t n):
    """Return hits as arrays."""
    cdef const int64_t* keys = NULL
    cdef const int64_t[::1] view
    cdef Py_ssize_t p
    cdef uint64_t i
    cdef bint tied = False
    owners, found, scores = _new(n, cnp.NPY_INT32), _new(n, cnp.NPY_INT64), _new(n, cnp.NPY_FLOAT32)
    cdef int32_t* owner_at = <int32_t*>cnp.PyArray_DATA(owners)
    cdef int64_t* key_at = <int64_t*>cnp.PyArray_DATA(found)
    cdef float* score_at = <float*>cnp.PyArray_DATA(scores)
    for p in range(len(segments)):
        view = segments[p][1]
        if view.shape[0] == 0:
            continue
        keys = &view[0]
        part = <uint32_t>segments[p][0]
        for i in range(n):
            if best[i].part == part:
                key_at[i] = keys[best[i].doc]
    for i in range(n):
        owner_at[i], score_at[i] = best[i].part, best[i].score
        tied = tied or i > 0 and best[i].score == best[i - 1].score and best[i].part != best[i - 1].part
    return owners, found, scores, tied


cdef cnp.ndarray _new(cnp.npy_intp n, int kind):
    return cnp.PyArray_EMPTY(1, &n, kind, 0)


def score(list terms not None, int segment, const uint32_t[::1] ordinals):
    """Return scores of the given rows, float32, 0 where no term matches. `terms` and `segment` as in `search`."""
    cdef int64_t i
    cdef Scratch scratch = _scratch()
    cdef Term* held = <Term*>scratch.area(TERMS, len(terms) * sizeof(Term))
    cdef int n = _terms(held, terms, segment)
    out_array = np.zeros(ordinals.shape[0], np.float32)
    cdef float[::1] out = out_array
    if n:
        with nogil:
            for i in range(ordinals.shape[0]):
                out[i] = score_one(held, n, ordinals[i])
    return out_array
