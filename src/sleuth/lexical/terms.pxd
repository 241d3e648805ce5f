from libc.stdint cimport uint32_t, uint64_t

from sleuth.lexical.postings cimport Postings


cdef extern from "terms.h" nogil:
    ctypedef struct Term:
        Postings postings
        const uint32_t* lengths
        float weight, c0, c1, unit
        uint32_t* firsts
        int is_sparse


cdef class Found:
    cdef readonly str field, token
    cdef readonly uint64_t df
    cdef readonly double bm25
    cdef Term* terms
    cdef Py_hash_t hashed
    cdef list postings
