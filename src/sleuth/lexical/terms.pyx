# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the terms that the words of a query stand for, and weighs them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from sleuth.lexical.postings cimport FieldPostings

from sleuth.lexical.scoring import bm25_idf

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)


cdef class Found:
    """One term of one field over all segments. Equal to others of the same field and token.

    Attributes:
        field, token: which term it is.
        df: how many live rows hold it.
        bm25: its idf.
        terms: of each segment, ready to be searched but for the weight; with df 0 where a segment has none.
    """

    def __cinit__(self, str field not None, str token not None, list postings not None):
        self.field, self.token, self.postings = field, token, postings
        self.terms = <Term*>calloc(len(postings) + 1, sizeof(Term))
        if self.terms == NULL:
            raise MemoryError
        self.hashed = hash((field, token))

    def __dealloc__(self):
        free(self.terms)

    def __hash__(self):
        return self.hashed

    def __eq__(self, other):
        return isinstance(other, Found) and self.field == (<Found>other).field and self.token == (<Found>other).token

    @property
    def numbers(self):
        """Its number in each segment, or -1."""
        cdef Py_ssize_t i
        return [self.terms[i].postings.number if self.terms[i].postings.df else -1 for i in range(len(self.postings))]


cdef class FieldIndex:
    """One field over all segments: finds terms and remembers them.

    Args:
        name: of the field.
        postings: of each segment.
        lives: bitmap of the live rows of each segment, or None for all.
        n: live rows that have the field.
        c0, c1: rows of length L score tf / (tf + c0 + c1 L).
        drifts: per segment, how much greater an impact can be than when it was built, 1 and more.
        sparse: per segment, whether few of its rows have the field, and these no other.
        room: how many terms are remembered; then it starts anew.
        frequencies: live rows that hold each term, where these segments are a part of a larger corpus; None to count them.
    """

    cdef str name
    cdef list postings, lives, drifts, sparse
    cdef uint64_t n, room
    cdef double c0, c1
    cdef dict known
    cdef object frequencies

    def __init__(self, str name, list postings, list lives, uint64_t n, double c0, double c1, list drifts, list sparse,
                 uint64_t room=1 << 16, object frequencies=None):
        self.name, self.postings, self.lives, self.drifts, self.sparse = name, postings, lives, drifts, sparse
        self.n, self.room, self.c0, self.c1, self.frequencies = n, room, c0, c1, frequencies
        self.known = {}

    cpdef Found held(self, str token):
        """Return a term that some live row holds, or None. Most words are in few of the fields of many languages."""
        cdef FieldPostings field
        cdef Found found
        cdef bint is_there = self.frequencies is not None
        for field in self.postings:
            is_there = is_there or field.find(token) >= 0
        if not is_there:
            return None
        found = self.find(token)
        return found if found.df else None

    cpdef Found find(self, str token):
        """Return the term, looked up in every segment that holds it."""
        cdef object held = self.known.get(token)
        if held is not None:
            return <Found>held
        cdef Found found = Found.__new__(Found, self.name, token, self.postings)
        cdef Py_ssize_t i
        for i in range(len(self.postings)):
            found.df += self._locate(token, i, &found.terms[i])
        if self.frequencies is not None:
            found.df = self.frequencies[token]
        if found.df:
            found.bm25 = bm25_idf(found.df, self.n)
        if <uint64_t>len(self.known) >= self.room:
            self.known = {}
        self.known[token] = found
        return found

    cdef uint64_t _locate(self, str token, Py_ssize_t segment, Term* term) except? 0:
        """Locate a term in a segment; returns how many live rows hold it."""
        cdef FieldPostings field = self.postings[segment]
        cdef int64_t number = field.find(token)
        if number < 0:
            return 0
        cdef bint is_dense = field.locate(<uint32_t>number, &term.postings)
        term.lengths, term.c0, term.c1 = field.lengths, <float>self.c0, <float>self.c1
        term.unit = <float>(<double>self.drifts[segment] * 1.00001 / 255)
        term.is_sparse = self.sparse[segment] and not is_dense
        live = self.lives[segment]
        return term.postings.df if live is None else field.df(<uint32_t>number, live)


def terms_of_word(str word not None, list rules not None):
    """Return the term of a word in each field that has one, and its tokens in all of them, "" where it is a stop word.

    Args:
        word: of ASCII letters and digits, in small letters.
        rules: for each field (index, (stop words, stem, fold)): `str` stems a word that is its own stem; `index` is what the
            field is asked with, by `held`.
    """
    cdef list terms = []
    cdef set tokens = set()
    cdef tuple rule, of_words
    cdef str token
    for each in rules:
        rule = <tuple>each  # named tuples, which Cython would unpack by iteration
        of_words = <tuple>rule[1]
        if word in of_words[0]:
            tokens.add("")
            continue
        token = word if of_words[1] is str else of_words[1](word)
        if not PyUnicode_IS_ASCII(token):
            token = of_words[2](token)
        tokens.add(token)
        index = rule[0]
        term = (<FieldIndex>index).held(token) if type(index) is FieldIndex else index.held(token)
        if term is not None:
            terms.append(term)
    return terms, tokens


def tally(list words not None):
    """Return how often each term comes, given the terms of each word."""
    cdef dict times_of = {}
    cdef tuple terms
    for terms in words:
        for term in terms:
            times = times_of.get(term)
            times_of[term] = 1.0 if times is None else times + 1.0
    return times_of


def weigh(dict times_of not None):
    """Return (minus weight, field, token, times, found) for each term that some live row holds, heaviest first.

    Args:
        times_of: how often each term comes.
    """
    cdef Found found
    cdef double times
    cdef list out = []
    for found, given in times_of.items():
        times = given
        if found.df:
            out.append((-times * found.bm25, found.field, found.token, times, found))
    out.sort()
    return out
