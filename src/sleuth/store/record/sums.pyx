# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""What are the checksums of many rows? Those of `record.document_checksum` and `record.chunk_checksum`, without Python."""

from cpython.bytes cimport PyBytes_AsStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "crc.h" nogil:
    void crc_init()
    uint32_t crc_add(uint32_t, const void*, uint64_t)
    uint32_t crc_text(uint32_t, const char*)
    uint32_t crc_number(uint32_t, int64_t)
    int64_t count_lines(const char*, uint64_t)

crc_init()

cdef enum:
    HASH, NAME, SOURCE, TITLE, METADATA, TEXT, COLUMNS


cdef int64_t SIGN = 1 << 31


cdef struct Value:
    const char* data
    Py_ssize_t size


def sums_of(int64_t first, list hashes not None, list names not None, list sources, list titles, list metadata, list texts not None):
    """Checksums of documents of one chunk each, whose keys are `first` and those after it.

    Args:
        hashes: content hashes, bytes; the other columns hold texts without lone surrogates.
        sources, titles, metadata: of texts and None; None where all are.

    Returns:
        Checksums of documents, line breaks in texts, checksums of chunks: lists of int.
    """
    cdef Py_ssize_t n = len(texts), i
    cdef Value* values = <Value*>calloc(n * COLUMNS + 1, sizeof(Value))
    cdef int64_t* made = <int64_t*>calloc(n * 3 + 1, sizeof(int64_t))
    cdef Value* row
    cdef uint32_t crc
    cdef int64_t lines
    try:
        if values == NULL or made == NULL:
            raise MemoryError
        for i in range(n):
            row = values + i * COLUMNS
            PyBytes_AsStringAndSize(hashes[i], <char**>&row[HASH].data, &row[HASH].size)
            row[NAME].data = PyUnicode_AsUTF8AndSize(names[i], &row[NAME].size)
            row[TEXT].data = PyUnicode_AsUTF8AndSize(texts[i], &row[TEXT].size)
        for place, column in ((SOURCE, sources), (TITLE, titles), (METADATA, metadata)):
            _fill(values, place, n, column)
        with nogil:
            for i in range(n):
                row = values + i * COLUMNS
                crc = crc_number(crc_add(0, row[HASH].data, row[HASH].size), first + i)
                crc = crc_add(crc_text(crc, "|1|0|None|"), row[NAME].data, row[NAME].size)
                crc = crc_add(crc_add(crc, b"\0", 1), row[SOURCE].data, row[SOURCE].size)
                crc = crc_add(crc_add(crc, b"\0", 1), row[TITLE].data, row[TITLE].size)
                crc = crc_add(crc_add(crc, b"\0", 1), row[METADATA].data, row[METADATA].size)
                made[i] = <int64_t>crc - SIGN
                lines = count_lines(row[TEXT].data, row[TEXT].size)
                made[n + i] = lines
                crc = crc_number(crc_text(crc_number(0, first + i), "|0|None|0|1|"), lines)
                crc = crc_add(crc, b"|None\0None\0", 11)
                crc = crc_add(crc, row[TEXT].data, row[TEXT].size)
                made[2 * n + i] = <int64_t>crc - SIGN
        return (
            [made[i] for i in range(n)],
            [made[i] for i in range(n, 2 * n)],
            [made[i] for i in range(2 * n, 3 * n)],
        )
    finally:
        free(values)
        free(made)


cdef int _fill(Value* values, int place, Py_ssize_t n, list column) except -1:
    cdef Py_ssize_t i
    cdef Value* value
    for i in range(n):
        value = values + i * COLUMNS + place
        found = None if column is None else column[i]
        if found is None:
            value.data = b"None"
            value.size = 4
        else:
            value.data = PyUnicode_AsUTF8AndSize(found, &value.size)
    return 0
