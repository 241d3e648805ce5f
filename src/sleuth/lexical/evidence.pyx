# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reads lists of documents and weighs their terms, for TF-IDF over a given list."""

import numpy as np
from cpython.object cimport PyObject_Hash
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint32_t


def read_contents(evidence not None, int64_t n):
    """Return (contents, hashes) of the documents, each read once.

    Raises:
        KeyError: a document without `id` or `content`; `args[1]` is its place.
        TypeError: a content that is no str, or a document that is no mapping; `args[1]` is its place.
    """
    cdef int64_t i = 0
    cdef list contents = []
    hashes_array = np.empty(n, np.int64)
    cdef int64_t[::1] hashes = hashes_array
    for document in evidence:
        try:
            document["id"]
            content = document["content"]
        except (KeyError, TypeError, IndexError) as error:
            raise KeyError(str(error), i) from error
        if not isinstance(content, str):
            raise TypeError("content", i)
        contents.append(content)
        hashes[i] = PyObject_Hash(content)
        i += 1
    return contents, hashes_array


def weigh_by_term(const int64_t[::1] ends, const uint32_t[::1] terms, const uint32_t[::1] counts, const double[::1] idf):
    """Compute TF-IDF weights, count * idf, each row scaled to length 1; by row, sorted by term.

    Args:
        ends: row i has terms[ends[i - 1]:ends[i]], and counts of the same shape.
        idf: by term.

    Returns:
        (starts, rows, weights): term t is in rows[starts[t]:starts[t + 1]], ascending, with weights, float64.
    """
    cdef int64_t n_terms = idf.shape[0], i, j = 0, at, first
    cdef double length, weight
    starts_array = np.zeros(n_terms + 1, np.int64)
    rows_array, out_array = np.empty(terms.shape[0], np.uint32), np.empty(terms.shape[0], np.float64)
    cdef int64_t[::1] starts = starts_array
    cdef uint32_t[::1] rows = rows_array
    cdef double[::1] out = out_array
    with nogil:
        for i in range(terms.shape[0]):
            starts[terms[i]] += 1
        for i in range(n_terms):
            at = starts[i]
            starts[i] = j
            j += at
        starts[n_terms] = j
        first = 0
        for i in range(ends.shape[0]):
            length = 0
            for j in range(first, ends[i]):
                weight = counts[j] * idf[terms[j]]
                length += weight * weight
            length = sqrt(length)
            for j in range(first, ends[i]):
                at = starts[terms[j]]
                starts[terms[j]] = at + 1
                rows[at] = <uint32_t>i
                out[at] = counts[j] * idf[terms[j]] / length
            first = ends[i]
        for i in range(n_terms, 0, -1):
            starts[i] = starts[i - 1]
        starts[0] = 0
    return starts_array, rows_array, out_array
