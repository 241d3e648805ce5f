from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "postings.h" nogil:
    ctypedef struct Large:
        const uint32_t* terms
        const uint32_t* docs
        const uint32_t* counts
        uint64_t n
    ctypedef struct Postings:
        const uint32_t* entries
        const uint8_t* impacts
        const uint8_t* maxima
        const uint8_t* sizes
        const uint8_t* stream
        const uint32_t* anchors
        const Large* large
        uint32_t number
        uint32_t df
        uint32_t blocks


cdef class FieldPostings:
    cdef readonly dict arrays
    cdef readonly str where
    cdef public object spellings
    cdef uint8_t* is_sound
    cdef readonly uint64_t n_terms, n_rows
    cdef Large large
    cdef const uint32_t* lengths
    cdef const uint8_t* term_bytes
    cdef const uint32_t* term_starts
    cdef const uint32_t* slots
    cdef uint64_t slot_mask
    cdef const uint32_t* list_starts
    cdef const uint32_t* entries
    cdef const uint8_t* impacts
    cdef const uint32_t* dense_terms
    cdef const uint32_t* dense_df
    cdef const uint64_t* dense_starts
    cdef uint64_t n_dense, blocks, stride
    cdef const uint8_t* maxima
    cdef const uint8_t* sizes
    cdef const uint32_t* anchors
    cdef const uint8_t* stream
    cpdef int64_t find(self, str token) except? -2
    cdef int64_t _find(self, const uint8_t* term, uint64_t size) noexcept nogil
    cdef uint64_t _dense_place(self, uint32_t number) noexcept nogil
    cdef int locate(self, uint32_t number, Postings* out) except -1 nogil
