# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which k rows of one segment score best? The method is told in blockmax.h."""

import threading

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from sleuth.lexical.postings cimport FieldPostings, Postings

cdef extern from "blockmax.h" nogil:
    ctypedef struct Term:
        Postings postings
        const uint32_t* lengths
        float weight, c0, c1, unit
        uint32_t* firsts
    ctypedef struct Hit:
        float score
        uint32_t tie, doc
    ctypedef struct Top:
        Hit* hits
        uint64_t n, k
        const uint32_t* ties
        float threshold
    ctypedef struct Search:
        const Term* terms
        int n_terms, tfidf
        uint32_t n
        const uint64_t* mask
        Top top
        float* bounds
    int PRUNED_TERMS
    void search_all(Search*, float*)
    void search_few(Search*)
    void search_blocks(Search*, uint64_t, float*, uint32_t*, uint32_t*)
    void settle(Top*)
    float score_one(const Term*, int, int, uint32_t)
    int popcount "__builtin_popcountll"(uint64_t)

cdef int FEW = 64
"""Rows are looked up one by one where fewer than one in so many may answer."""


cdef class Scratch:
    """Buffers of one thread, kept between queries."""

    cdef void* areas[7]
    cdef uint64_t sizes[7]

    def __cinit__(self):
        memset(self.areas, 0, sizeof(self.areas))
        memset(self.sizes, 0, sizeof(self.sizes))

    def __dealloc__(self):
        cdef int i
        for i in range(7):
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


_threads = threading.local()


cdef Scratch _scratch():
    try:
        return _threads.scratch
    except AttributeError:
        _threads.scratch = Scratch()
        return _threads.scratch


cdef class Located:
    """A term of one segment, found and ready to be searched.

    Args:
        field: its postings.
        number: its number there.
        c0, c1: rows of length L score tf / (tf + c0 + c1 L).
        drift: how much greater an impact can be than when the segment was built, 1 and more.
    """

    cdef Term term
    cdef FieldPostings field
    cdef double drift

    def __cinit__(self, FieldPostings field not None, uint32_t number, double c0, double c1, double drift):
        self.field = field
        self.drift = drift
        memset(&self.term, 0, sizeof(Term))
        field.locate(number, &self.term.postings)
        self.term.lengths = field.lengths
        self.term.c0 = <float>c0
        self.term.c1 = <float>c1


cdef Term* _terms(Scratch scratch, list terms) except NULL:
    """Each of `terms` is (weight, Located)."""
    cdef int64_t i, n = len(terms)
    cdef Term* out = <Term*>scratch.area(0, (n + 1) * sizeof(Term))
    cdef Located located
    cdef tuple item
    cdef double weight
    for i in range(n):
        item = terms[i]
        weight = item[0]
        located = item[1]
        out[i] = located.term
        out[i].weight = <float>weight
        out[i].unit = <float>(weight * located.drift * 1.00001 / 255)
    return out


def search(list terms not None, uint64_t n, uint64_t k, mask, ties, double threshold=0, bint tfidf=False, str path="auto"):
    """The best k rows of a segment.

    Args:
        terms: (weight, Located) in the order in which they are added.
        n: rows of the segment.
        k: at most n.
        mask: bitmap of the rows that may answer, or None.
        ties: shape (n,), uint32: of equal scores the lesser wins; None for the ordinal.
        threshold: scores below it are of no interest.
        tfidf: weigh by sqrt(tf / length) in place of BM25's saturation.
        path: "auto", or one of "blocks", "all" and "few".

    Returns:
        (ordinals, scores): uint32 and float32, best first.
    """
    cdef Scratch scratch = _scratch()
    cdef Search s
    cdef const uint64_t[::1] mask_view
    cdef const uint32_t[::1] ties_view
    cdef uint64_t rows, i
    cdef int64_t word
    if not terms or k == 0 or n == 0:
        return np.empty(0, np.uint32), np.empty(0, np.float32)
    k = min(k, n)
    s.terms = _terms(scratch, terms)
    s.n_terms = len(terms)
    s.tfidf = tfidf
    s.n = <uint32_t>n
    s.mask = NULL
    rows = n
    if mask is not None:
        mask_view = mask
        s.mask = &mask_view[0]
        rows = 0
        for word in range(mask_view.shape[0]):
            rows += popcount(mask_view[word])
    s.top.ties = NULL
    if ties is not None:
        ties_view = ties
        s.top.ties = &ties_view[0]
    s.top.hits = <Hit*>scratch.area(1, k * sizeof(Hit))
    s.top.k, s.top.n = k, 0
    s.top.threshold = <float>threshold
    if path == "auto":
        path = _path(s.n_terms, n, k, rows, tfidf)
    if path == "few":
        with nogil:
            search_few(&s)
    elif path == "all":
        _run_all(scratch, &s)
    else:
        _run_blocks(scratch, &s)
    with nogil:
        settle(&s.top)
    ordinals_array, scores_array = np.empty(s.top.n, np.uint32), np.empty(s.top.n, np.float32)
    cdef uint32_t[::1] ordinals = ordinals_array
    cdef float[::1] scores = scores_array
    for i in range(s.top.n):
        ordinals[i] = s.top.hits[i].doc
        scores[i] = s.top.hits[i].score
    return ordinals_array, scores_array


cdef str _path(int n_terms, uint64_t n, uint64_t k, uint64_t rows, bint tfidf):
    if rows * FEW < n:
        return "few"
    return "all" if tfidf or n_terms > PRUNED_TERMS or k * 8 > n else "blocks"


cdef int _run_all(Scratch scratch, Search* s) except -1:
    cdef float* scores = <float*>scratch.area(2, s.n * sizeof(float))
    with nogil:
        memset(scores, 0, s.n * sizeof(float))
        search_all(s, scores)
    return 0


cdef int _run_blocks(Scratch scratch, Search* s) except -1:
    cdef uint64_t room = (s.n + 4095) // 4096 * 256, groups = (s.n + 63) // 64, lists = 0
    cdef float* columns
    cdef uint32_t* found
    cdef uint32_t* ordered
    cdef uint32_t* firsts
    cdef Term* terms = <Term*>s.terms
    cdef int j
    for j in range(s.n_terms):
        lists += terms[j].postings.entries != NULL
    s.bounds = <float*>scratch.area(2, room * sizeof(float))
    columns = <float*>scratch.area(3, room // 16 * sizeof(float))
    found = <uint32_t*>scratch.area(4, room * sizeof(uint32_t))
    ordered = <uint32_t*>scratch.area(5, room * sizeof(uint32_t))
    firsts = <uint32_t*>scratch.area(6, lists * groups * sizeof(uint32_t))
    with nogil:
        for j in range(s.n_terms):
            if terms[j].postings.entries != NULL:
                terms[j].firsts = firsts
                firsts += groups
        search_blocks(s, room, columns, found, ordered)
    return 0


def score(list terms not None, const uint32_t[::1] ordinals, bint tfidf=False):
    """Scores of the given rows, float32, 0 where no term matches. `terms` as in `search`."""
    cdef Scratch scratch = _scratch()
    cdef Term* found = _terms(scratch, terms)
    cdef int n_terms = len(terms)
    cdef int64_t i
    out_array = np.empty(ordinals.shape[0], np.float32)
    cdef float[::1] out = out_array
    with nogil:
        for i in range(ordinals.shape[0]):
            out[i] = score_one(found, n_terms, tfidf, ordinals[i])
    return out_array
