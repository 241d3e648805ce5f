# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums what a table holds for the letter n-grams of a text."""

from cpython.unicode cimport Py_UNICODE_ISALPHA
from libc.stdint cimport int8_t, int32_t, uint32_t

import numpy as np

cdef enum:
    LONGEST = 4          # letters of an n-gram
    FIRST_MARK = 0x300   # from here to LAST_MARK, what is no letter is a mark of the letter before it, and left out
    LAST_MARK = 0x1FFF
    BLANK = 32

cdef uint32_t HASH = 0x9E3779B1  # 2^32 over the golden ratio: its products spread over the upper bits


def add_rows(str text not None, const int8_t[:, ::1] table not None):
    """Return the sums of the rows of all n-grams of a text, shape (columns,), int32.

    An n-gram is one to four letters of a word, with a blank before and after the word. Its row is its hash.

    Args:
        text: lower-case.
        table: shape (rows, columns); rows are a power of two, 2 at least.
    """
    sums = np.zeros(table.shape[1], np.int32)
    cdef int32_t[::1] totals = sums
    cdef uint32_t columns = <uint32_t>table.shape[1], shift = 32, hash, column, n, known = 1
    cdef uint32_t[LONGEST] letters  # the last ones, backwards
    cdef Py_ssize_t rows = table.shape[0]
    cdef const int8_t* row
    cdef Py_UCS4 sign
    while rows > 1:
        rows, shift = rows >> 1, shift - 1
    letters[0] = BLANK
    for sign in text:
        if not Py_UNICODE_ISALPHA(sign):
            if known == 1 or FIRST_MARK <= sign <= LAST_MARK:
                continue
            sign = BLANK
        for n in range(min(known, LONGEST - 1), 0, -1):
            letters[n] = letters[n - 1]
        letters[0], hash = sign, 0
        known = min(known + 1, LONGEST)
        for n in range(known):
            hash = (hash + letters[n]) * HASH
            if n == 0 and sign == BLANK:
                continue
            row = &table[hash >> shift, 0]
            for column in range(columns):
                totals[column] += row[column]
        if sign == BLANK:
            known = 1
    return sums
