# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Selects the best k rows of an index. blockmax.h describes the method."""

import threading

import numpy as np
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from sleuth.lexical.postings cimport FieldPostings, Postings

from sleuth.lexical.scoring import bm25_idf, tfidf_idf

cnp.import_array()

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)

cdef extern from "blockmax.h" nogil:
    ctypedef struct Term:
        Postings postings
        const uint32_t* lengths
        float weight, c0, c1, unit
        uint32_t* firsts
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
        int n_terms, tfidf
        uint32_t n, part
        const uint64_t* mask
        Top top
        Path path
    ctypedef struct Areas:
        float *scores
        float *bounds
        float *columns
        uint32_t *found
        uint32_t *ordered
        uint32_t *firsts
        uint64_t *held
    int PRUNED_TERMS, COLUMN, SET_WORDS
    uint64_t room_of(uint32_t n)
    uint64_t groups_of(uint32_t n)
    uint64_t regions_of(uint32_t n)
    uint64_t search_parts(Search*, int, uint64_t, Hit*, Hit**, Hit*, const Areas*)
    float score_one(const Term*, int, int, uint32_t)
    int popcount "__builtin_popcountll"(uint64_t)

# Rows are looked up one by one where fewer than one in so many may answer.
cdef uint64_t SPARSE = 64

MOST_PRUNED = PRUNED_TERMS
"""Terms of a query that "blocks" can take; of more, every row that holds one is scored."""

cdef dict PATHS = {"few": FEW, "all": ALL, "blocks": BLOCKS}

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
    AREAS


cdef class Scratch:
    """Buffers of one thread, kept between queries."""

    cdef void* areas[AREAS]
    cdef uint64_t sizes[AREAS]

    def __cinit__(self):
        memset(self.areas, 0, sizeof(self.areas))
        memset(self.sizes, 0, sizeof(self.sizes))

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


_threads = threading.local()


cdef Scratch _scratch():
    try:
        return _threads.scratch
    except AttributeError:
        _threads.scratch = Scratch()
        return _threads.scratch


cdef class Located:
    """A term of one segment, ready to be searched.

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
    """One field over all segments: finds terms and remembers them.

    Args:
        postings: of each segment.
        lives: bitmap of the live rows of each segment, or None for all.
        n: live rows that have the field.
        c0, c1: rows of length L score tf / (tf + c0 + c1 L).
        drifts: per segment, how much greater an impact can be than when it was built.
        room: how many terms are remembered; then it starts anew.
        frequencies: live rows that hold each term, where these segments are a part of a larger corpus; None to count them.
    """

    cdef list postings, lives, drifts
    cdef uint64_t n, room
    cdef double c0, c1
    cdef dict known
    cdef object frequencies

    def __init__(self, list postings, list lives, uint64_t n, double c0, double c1, list drifts, uint64_t room=1 << 16,
                 object frequencies=None):
        self.postings, self.lives, self.drifts, self.frequencies = postings, lives, drifts, frequencies
        self.n, self.room, self.c0, self.c1 = n, room, c0, c1
        self.known = {}

    cpdef bint holds(self, str token) except -1:
        """Return whether some live row holds a term. Most words are in few of the fields of an index of many languages."""
        cdef FieldPostings field
        if self.frequencies is not None:
            return self.find(token).df > 0
        for field in self.postings:
            if field.find(token) >= 0:
                return self.find(token).df > 0
        return False

    cpdef Found find(self, str token):
        """Return the term, looked up in every segment that holds it."""
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
        if self.frequencies is not None:
            found.df = self.frequencies[token]
        if found.df:
            found.bm25 = bm25_idf(found.df, self.n)
            found.tfidf = tfidf_idf(found.df, self.n) ** 2
        if <uint64_t>len(self.known) >= self.room:
            self.known = {}
        self.known[token] = found
        return found


def terms_of_word(str word not None, list rules not None):
    """Return (field, token) for each field that holds the token of a word, in a third less time than Python.

    Args:
        word: of ASCII letters and digits, in small letters.
        rules: for each field (field, (stop words, stem, fold), holds): `str` stems a word that is its own stem; `holds` says
            whether the field has a token.
    """
    cdef list terms = []
    cdef tuple rule, of_words
    cdef str token
    for each in rules:
        rule = <tuple>each  # named tuples, which Cython would unpack by iteration
        of_words = <tuple>rule[1]
        token = word if of_words[1] is str else of_words[1](word)
        if not PyUnicode_IS_ASCII(token):
            token = of_words[2](token)
        if rule[2](token) and word not in of_words[0]:
            terms.append((rule[0], token))
    return terms


def weigh(times_of not None, dict indexes not None, factors=None, bint classic=False):
    """Return (minus weight, field, token, times, found) for each term that some live row holds, heaviest first.

    Args:
        times_of: how often each term comes, by field and token.
        indexes: a `FieldIndex` by field.
        factors: what the terms of a field count, by field; 1 where None.
        classic: weigh by TF-IDF in place of BM25.
    """
    cdef Found found
    cdef double times, factor = 1
    cdef list out = []
    for (name, token), given in times_of.items():
        found = (<FieldIndex?>indexes[name]).find(token)
        times = given
        if factors is not None:
            factor = factors[name]
        if found.df and factor:
            out.append((-factor * times * (found.tfidf if classic else found.bm25), name, token, times, found))
    out.sort()
    return out


cdef int _terms(Term* out, list terms, Py_ssize_t segment) except -1:
    """Fill the kernel's arguments for the terms of a segment; returns how many. `terms` as from `weigh`."""
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
    return n


def search(
    list terms not None,
    list segments not None,
    uint64_t k,
    list masks not None,
    bint tfidf=False,
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
        tfidf: weigh by sqrt(tf / length) in place of BM25's saturation.
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
        _read_part(&parts[p], out, terms, <tuple>segments[p], masks, k, tfidf, path)
        out += parts[p].n_terms
        most = max(most, parts[p].top.k)
        whole += parts[p].top.k
    _reserve(scratch, parts, n_parts, &areas)
    hits = <Hit*>scratch.area(HITS, most * sizeof(Hit))
    best, other = <Hit*>scratch.area(BEST, whole * sizeof(Hit)), <Hit*>scratch.area(OTHER, whole * sizeof(Hit))
    with nogil:
        n = search_parts(parts, n_parts, k, hits, &best, other, &areas)
    return _found(segments, best, n)


cdef int _read_part(Search* s, Term* out, list terms, tuple segment, list masks, uint64_t k, bint tfidf, str path) except -1:
    """Return the kernel's view of one segment, with its terms at `out`."""
    cdef const int64_t[::1] keys = segment[1]
    cdef const uint32_t[::1] ties
    cdef const uint64_t[::1] mask
    cdef uint64_t n = keys.shape[0], rows = n
    cdef int64_t word
    s.part = segment[0]
    s.n, s.tfidf = <uint32_t>n, tfidf
    s.terms = out
    s.n_terms = _terms(out, terms, s.part) if n and k else 0
    s.top.n, s.top.k, s.top.ties, s.mask = 0, 0, NULL, NULL
    if not s.n_terms:
        return 0
    s.top.k = min(k, n)
    if masks[s.part] is not None:
        mask = masks[s.part]
        s.mask = &mask[0]
        rows = 0
        for word in range(mask.shape[0]):
            rows += popcount(mask[word])
    if segment[2] is not None:
        ties = segment[2]
        s.top.ties = &ties[0]
    if path != "auto":
        s.path = PATHS[path]
    elif rows * SPARSE < n:
        s.path = FEW
    else:
        s.path = ALL if tfidf or s.n_terms > PRUNED_TERMS or s.top.k * 8 > n else BLOCKS
    return 0


cdef int _reserve(Scratch scratch, const Search* parts, Py_ssize_t n_parts, Areas* areas) except -1:
    """Make room for what any of the segments needs."""
    cdef uint64_t rows = 0, room = 0, firsts = 0, regions = 0, lists
    cdef Py_ssize_t p
    cdef int j
    for p in range(n_parts):
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


def score(list terms not None, int segment, const uint32_t[::1] ordinals, bint tfidf=False):
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
                out[i] = score_one(held, n, tfidf, ordinals[i])
    return out_array
