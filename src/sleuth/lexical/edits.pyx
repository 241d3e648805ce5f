# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the terms of a dictionary that begin with a word, or differ from it in a few places."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp

import numpy as np

from sleuth.lexical.postings cimport FieldPostings

cdef enum:
    MOST_LETTERS = 100  # of a term: `sleuth.text.analyzers.MAX_TOKEN`


cdef Py_ssize_t letters_of(const uint8_t* data, Py_ssize_t size, uint32_t* letters) noexcept nogil:
    """Write the code points of UTF-8, and return how many there are; -1 where a term cannot have so many."""
    cdef Py_ssize_t i = 0, n = 0, more, k
    cdef uint32_t letter
    while i < size:
        letter = data[i]
        more = 0 if letter < 0x80 else 1 if letter < 0xE0 else 2 if letter < 0xF0 else 3
        if n == MOST_LETTERS or i + more >= size:
            return -1
        if more:
            letter &= 0x3F >> more
            for k in range(1, more + 1):
                letter = letter << 6 | (data[i + k] & 0x3F)
        letters[n] = letter
        n += 1
        i += more + 1
    return n


cdef uint32_t signature(const uint32_t* letters, Py_ssize_t n) noexcept nogil:
    """Return a bit for each letter, which others may share: an edit changes two of them at most."""
    cdef uint32_t bits = 0
    cdef Py_ssize_t i
    for i in range(n):
        bits |= <uint32_t>1 << (letters[i] & 31)
    return bits


cdef int distance(const uint32_t* word, Py_ssize_t n, const uint32_t* term, Py_ssize_t m, int most) noexcept nogil:
    """Return the optimal string alignment distance of two texts, whose lengths differ by `most` at most.

    Only cells that can lead to `most` or less are computed. More than `most` stands for any greater distance.
    """
    cdef int[3][MOST_LETTERS + 1] rows
    cdef int* row
    cdef int* above
    cdef int* second_above
    cdef int value, least
    cdef Py_ssize_t i, j, first, end
    for j in range(n + 1):
        rows[0][j] = <int>j
    for i in range(1, m + 1):
        row, above, second_above = rows[i % 3], rows[(i + 2) % 3], rows[(i + 1) % 3]
        first = max(1, i - most)
        end = min(n, i + most)
        least = row[first - 1] = <int>i if first == 1 else most + 1
        for j in range(first, end + 1):
            value = min(above[j - 1] + (word[j - 1] != term[i - 1]), row[j - 1] + 1)
            if j < i + most:
                value = min(value, above[j] + 1)
            if i > 1 and j > 1 and word[j - 1] == term[i - 2] and word[j - 2] == term[i - 1]:
                value = min(value, second_above[j - 2] + 1)
            row[j] = value
            least = min(least, value)
        if least > most:
            return most + 1
    return rows[m % 3][n]


cdef class Spellings:
    """The terms of a dictionary by first byte and number of letters, each with its signature.

    So a word is compared with the letters of few terms: those that begin like it, are about as long and have nearly
    the same signature.

    Args:
        term_bytes, term_starts: the dictionary of a field: UTF-8, and where each term begins, with the end.
    """

    cdef const uint8_t[::1] term_bytes
    cdef const uint32_t[::1] term_starts
    cdef const uint32_t[::1] numbers, signatures  # of terms, by kind
    cdef const uint16_t[::1] kinds                # first byte and number of letters; ascending

    def __cinit__(self, const uint8_t[::1] term_bytes not None, const uint32_t[::1] term_starts not None):
        cdef Py_ssize_t n = term_starts.shape[0] - 1, i, size, m
        cdef uint32_t[MOST_LETTERS] letters
        kind_array, signature_array = np.zeros(n, np.uint16), np.zeros(n, np.uint32)
        cdef uint16_t[::1] kinds = kind_array
        cdef uint32_t[::1] signatures = signature_array
        self.term_bytes, self.term_starts = term_bytes, term_starts
        with nogil:
            for i in range(n):
                size = <Py_ssize_t>term_starts[i + 1] - term_starts[i]
                m = letters_of(&term_bytes[term_starts[i]], size, letters) if size else -1
                if m > 0:  # else it stays of kind 0, which no word asks for
                    kinds[i], signatures[i] = <uint16_t>(term_bytes[term_starts[i]] << 8 | m), signature(letters, m)
        order = np.argsort(kind_array, kind="stable").astype(np.uint32)
        self.numbers, self.kinds, self.signatures = order, kind_array[order], signature_array[order]

    cdef Py_ssize_t _first(self, Py_ssize_t kind) noexcept nogil:
        """Return where terms of a kind begin, or those of a greater one."""
        cdef Py_ssize_t low = 0, high = self.kinds.shape[0], middle
        while low < high:
            middle = (low + high) >> 1
            if self.kinds[middle] < kind:
                low = middle + 1
            else:
                high = middle
        return low

    cdef list _like(self, const uint32_t* word, Py_ssize_t n, uint8_t first_byte, int edits):
        """Return the numbers of the terms of one first byte that are like a word."""
        cdef Py_ssize_t i, end, m
        cdef uint32_t[MOST_LETTERS] term
        cdef uint32_t start, differing, bits = signature(word, n)
        cdef const uint32_t* signatures = &self.signatures[0] if self.kinds.shape[0] else NULL
        cdef int _
        cdef list numbers = []
        i = self._first(first_byte << 8 | max(1, n - edits))
        end = self._first((first_byte << 8 | min(MOST_LETTERS, n + edits if edits else MOST_LETTERS)) + 1)
        for i in range(i, end):
            differing = bits ^ signatures[i] if edits else bits & ~signatures[i]
            for _ in range(2 * edits):
                differing &= differing - 1  # less its lowest bit
            if differing:
                continue
            start = self.term_starts[self.numbers[i]]
            m = letters_of(&self.term_bytes[start], self.term_starts[self.numbers[i] + 1] - start, term)
            if not edits:
                if not memcmp(term, word, n * sizeof(uint32_t)):
                    numbers.append(self.numbers[i])
                continue
            if term[0] != word[0] and not (n > 1 and m > 1 and term[0] == word[1] and term[1] == word[0]):
                continue
            if 0 < distance(word, n, term, m, edits) <= edits:
                numbers.append(self.numbers[i])
        return numbers

    def like(self, str word not None, int edits):
        """Return the numbers of the terms that differ from a word by 1 to `edits` edits, as a sorted list.

        A letter left out, added, replaced or swapped with the next is one edit. The first letter stays, or changes places
        with the second: few typing mistakes are there.

        Args:
            word: of 1 to `MOST_LETTERS` letters; no term is like any other.
            edits: 0 for the terms that begin with the word.
        """
        cdef uint32_t[MOST_LETTERS] letters
        cdef Py_ssize_t n = len(word), i
        cdef list numbers = []
        if n > MOST_LETTERS:
            return numbers
        for i in range(n):
            letters[i] = <Py_UCS4>word[i]
        for first_byte in {letter.encode("utf-8", "surrogatepass")[0] for letter in word[: 2 if edits else 1]}:
            numbers += self._like(letters, n, first_byte, edits)
        numbers.sort()
        return numbers


def terms_like(list fields not None, str word not None, int edits):
    """Return the terms of each field that are like a word: the place of the field, and their numbers.

    Fields without such a term are left out, as most fields of many languages.

    Args:
        fields: postings, which keep their `Spellings` once somebody has asked for such terms.
        word, edits: as of `Spellings.like`.
    """
    cdef FieldPostings field
    cdef list matches = [], numbers
    cdef Py_ssize_t place
    for place, field in enumerate(fields):
        if field.spellings is None:
            field.spellings = Spellings(field.arrays["term_bytes"], field.arrays["term_starts"])
        numbers = (<Spellings>field.spellings).like(word, edits)
        if numbers:
            matches.append((place, numbers))
    return matches
