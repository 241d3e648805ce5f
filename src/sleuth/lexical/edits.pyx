# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the terms of a dictionary that differ from a word in a few places."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

import numpy as np

cdef enum:
    MOST_LETTERS = 100  # of a term: `sleuth.text.analyzers.MAX_TOKEN`
    MOST_BYTES = 4 * MOST_LETTERS


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


cdef uint64_t signature(const uint32_t* letters, Py_ssize_t n) noexcept nogil:
    """Return a bit for each letter, which others may share: an edit changes two of them at most."""
    cdef uint64_t bits = 0
    cdef Py_ssize_t i
    for i in range(n):
        bits |= <uint64_t>1 << (letters[i] & 63)
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


def terms_near(
    const uint8_t[::1] term_bytes not None, const uint32_t[::1] term_starts not None,
    const uint32_t[::1] candidates not None, str word not None, int edits,
):
    """Return the numbers of the candidates that differ from a word by 1 to `edits` edits, shape (terms,).

    A letter left out, added, replaced or swapped with the next is one edit. The first letter stays, or changes places
    with the second: few typing mistakes are there.

    Args:
        term_bytes, term_starts: the dictionary of a field: UTF-8, and where each term begins, with the end.
        candidates: numbers of terms.
        word: of 1 to `MOST_LETTERS` letters; any other has no such term.
        edits: 1 or more.
    """
    cdef const uint8_t[::1] word_bytes = word.encode("utf-8", "surrogatepass")
    cdef uint32_t[MOST_LETTERS] letters
    cdef uint32_t[MOST_LETTERS] others
    cdef Py_ssize_t n = -1, m, i, size, least, most, count = 0
    cdef uint32_t term
    cdef uint64_t bits, differing
    cdef uint32_t[::1] numbers = np.empty(candidates.shape[0], np.uint32)
    if 0 < word_bytes.shape[0] <= MOST_BYTES:
        n = letters_of(&word_bytes[0], word_bytes.shape[0], letters)
    if n < 1:
        return np.empty(0, np.uint32)
    least, most = max(1, word_bytes.shape[0] - 4 * edits), word_bytes.shape[0] + 4 * edits
    bits = signature(letters, n)
    with nogil:
        for i in range(candidates.shape[0]):
            term = candidates[i]
            size = <Py_ssize_t>term_starts[term + 1] - term_starts[term]
            if size < least or size > most:
                continue
            m = letters_of(&term_bytes[term_starts[term]], size, others)
            if m < 1 or m > n + edits or m < n - edits:
                continue
            if others[0] != letters[0] and not (n > 1 and m > 1 and others[0] == letters[1] and others[1] == letters[0]):
                continue
            differing = bits ^ signature(others, m)
            for _ in range(2 * edits):
                differing &= differing - 1  # less its lowest bit
            if not differing and 0 < distance(letters, n, others, m, edits) <= edits:
                numbers[count] = term
                count += 1
    return np.asarray(numbers)[:count]
