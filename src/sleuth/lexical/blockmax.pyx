# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which k rows of one segment score best? The method is told in blockmax.h."""

import threading

import numpy as np
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from sleuth.lexical.postings cimport FieldPostings, Postings

from sleuth.lexical.scoring import bm25_idf, tfidf_idf

cnp.import_array()

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


cdef class Found:
    """One term of one field over all segments.

    Attributes:
        df: how many live rows hold it.
        bm25, tfidf: its idf, as it enters the score.
        numbers: its number in each segment, -1 where it has none.
    """

    cdef readonly uint64_t df
    cdef readonly double bm25, tfidf
    cdef readonly list numbers
    cdef list located


cdef class FieldIndex:
    """One field over all segments: finds terms, and remembers those it found.

    Args:
        postings: of each segment.
        lives: bitmap of the live rows of each segment, or None for all.
        n: live rows that have the field.
        c0, c1: rows of length L score tf / (tf + c0 + c1 L).
        drifts: per segment, how much greater an impact can be than when it was built.
        room: how many terms are remembered; then it starts anew.
    """

    cdef list postings, lives, drifts
    cdef uint64_t n, room
    cdef double c0, c1
    cdef dict known

    def __init__(self, list postings, list lives, uint64_t n, double c0, double c1, list drifts, uint64_t room=1 << 16):
        self.postings, self.lives, self.drifts = postings, lives, drifts
        self.n, self.room, self.c0, self.c1 = n, room, c0, c1
        self.known = {}

    cpdef Found find(self, str token):
        """The term, found in every segment that holds it."""
        cdef object held = self.known.get(token)
        if held is not None:
            return <Found>held
        cdef Found found = Found.__new__(Found)
        cdef FieldPostings field
        cdef Located located
        cdef int64_t number
        cdef Py_ssize_t i
        found.numbers, found.located = [], []
        for i in range(len(self.postings)):
            field = self.postings[i]
            number = field.find(token)
            found.numbers.append(number)
            if number < 0:
                found.located.append(None)
                continue
            located = Located(field, <uint32_t>number, self.c0, self.c1, self.drifts[i])
            found.located.append(located)
            live = self.lives[i]
            found.df += located.term.postings.df if live is None else field.df(<uint32_t>number, live)
        if found.df:
            found.bm25 = bm25_idf(found.df, self.n)
            found.tfidf = tfidf_idf(found.df, self.n) ** 2
        if <uint64_t>len(self.known) >= self.room:
            self.known = {}
        self.known[token] = found
        return found

    def weigh(self, str name, times_of, double factor, bint classic, list out):
        """Adds (minus weight, field, token, times, found) for each token that some live row holds."""
        cdef Found found
        cdef double times
        for token, given in times_of.items():
            found = self.find(token)
            times = given
            if found.df and factor:
                out.append((-factor * times * (found.tfidf if classic else found.bm25), name, token, times, found))


cdef int _terms(Scratch scratch, list terms, int segment, Search* s) except -1:
    """What the kernel takes, for the terms that the segment holds. `terms` as `FieldIndex.weigh` gives them."""
    cdef Term* out = <Term*>scratch.area(0, (len(terms) + 1) * sizeof(Term))
    cdef Located located
    cdef tuple item
    cdef double weight
    cdef int n = 0
    for item in terms:
        held = (<Found>item[4]).located[segment]
        if held is None:
            continue
        located = held
        weight = -<double>item[0]
        out[n] = located.term
        out[n].weight = <float>weight
        out[n].unit = <float>(weight * located.drift * 1.00001 / 255)
        n += 1
    s.terms = out
    s.n_terms = n
    return n


def search(
    list terms not None,
    int segment,
    const int64_t[::1] keys,
    uint64_t k,
    mask,
    ties,
    double threshold=0,
    bint tfidf=False,
    str path="auto",
):
    """The best k rows of a segment.

    Args:
        terms: as `FieldIndex.weigh` gives them, in the order in which they are added.
        segment: which of the segments that the terms were found in.
        keys: of its rows, shape (n,).
        k: how many; more than n gives all.
        mask: bitmap of the rows that may answer, or None.
        ties: shape (n,), uint32: of equal scores the lesser wins; None for the ordinal.
        threshold: scores below it are of no interest.
        tfidf: weigh by sqrt(tf / length) in place of BM25's saturation.
        path: "auto", or one of "blocks", "all" and "few".

    Returns:
        (keys, scores, segments): int64, float32 and int32, best first.
    """
    cdef Scratch scratch = _scratch()
    cdef Search s
    cdef const uint64_t[::1] mask_view
    cdef const uint32_t[::1] ties_view
    cdef uint64_t n = keys.shape[0], rows = keys.shape[0], i
    cdef int64_t word
    k = min(k, n)
    if k == 0 or _terms(scratch, terms, segment, &s) == 0:
        return _new(0, cnp.NPY_INT64), _new(0, cnp.NPY_FLOAT32), _new(0, cnp.NPY_INT32)
    s.tfidf = tfidf
    s.n = <uint32_t>n
    s.mask = NULL
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
    found_keys, scores, segments = _new(s.top.n, cnp.NPY_INT64), _new(s.top.n, cnp.NPY_FLOAT32), _new(s.top.n, cnp.NPY_INT32)
    cdef int64_t* key_at = <int64_t*>cnp.PyArray_DATA(found_keys)
    cdef float* score_at = <float*>cnp.PyArray_DATA(scores)
    cdef int32_t* segment_at = <int32_t*>cnp.PyArray_DATA(segments)
    for i in range(s.top.n):
        key_at[i] = keys[s.top.hits[i].doc]
        score_at[i] = s.top.hits[i].score
        segment_at[i] = segment
    return found_keys, scores, segments


cdef cnp.ndarray _new(cnp.npy_intp n, int kind):
    return cnp.PyArray_EMPTY(1, &n, kind, 0)


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


def score(list terms not None, int segment, const uint32_t[::1] ordinals, bint tfidf=False):
    """Scores of the given rows, float32, 0 where no term matches. `terms` and `segment` as in `search`."""
    cdef Search s
    cdef int64_t i
    out_array = np.zeros(ordinals.shape[0], np.float32)
    cdef float[::1] out = out_array
    if _terms(_scratch(), terms, segment, &s):
        with nogil:
            for i in range(ordinals.shape[0]):
                out[i] = score_one(s.terms, s.n_terms, tfidf, ordinals[i])
    return out_array
