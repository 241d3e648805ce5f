# cython: boundscheck=False, wraparound=False, cdivision=True
"""Writes passages as records, one after the other.

The record of a passage is its number in its document, as a varint; in the first of a document what all of them share: a CRC-32C, the lengths
of id, source, title and metadata, and these; then its own: a CRC-32C, the lengths of its text, fields and metadata, its place, and these.
Lengths are one more, 0 for what is missing; 0 before the length of a text says that it is written as symbols (symbols.h), which is done where it
is shorter so. Each CRC covers the key and the salt of the index besides the bytes after it.
"""

import zlib
from pathlib import Path

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "crc32c.h":
    void crc_begin(int portable)
    uint32_t crc32c(uint32_t crc, const void* data, size_t size) nogil
    uint32_t start_of(uint32_t salt, int64_t key) nogil

cdef extern from "symbols.h":
    void symbols_begin(const uint8_t* table)
    size_t symbols_write(const uint8_t* text, size_t size, uint8_t* out)

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

crc_begin(0)


def use_tables(bint portable):
    """Compute checksums as on a machine without an instruction for them; for tests."""
    crc_begin(portable)


TABLE = Path(__file__).with_name("symbols.bin").read_bytes()
if zlib.crc32(TABLE) != 0x2306A577:  # of every index: the table never changes
    raise ImportError(f"symbols.bin beside {__file__} is damaged: install sleuth again")
symbols_begin(TABLE)


def coded(bytes text not None):
    """Return a text of UTF-8 as symbols."""
    cdef _Buffer out = _Buffer()
    out.symbols(<const char*>text, len(text))
    return PyBytes_FromStringAndSize(<char*>out.data, out.size)


cdef class _Buffer:
    """Bytes that grow at their end."""

    cdef uint8_t* data
    cdef Py_ssize_t size, room

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    cdef int need(self, Py_ssize_t size) except -1:
        cdef uint8_t* data
        if self.size + size > self.room:
            self.room = 2 * (self.size + size)
            data = <uint8_t*>PyMem_RawRealloc(self.data, self.room)
            if data == NULL:
                raise MemoryError
            self.data = data
        return 0

    cdef int number(self, uint64_t value) except -1:
        self.need(10)
        while value >= 128:
            self.data[self.size] = <uint8_t>(value & 127 | 128)
            value >>= 7
            self.size += 1
        self.data[self.size] = <uint8_t>value
        self.size += 1
        return 0

    cdef int text(self, object text) except -1:
        cdef Py_ssize_t size
        if text is not None:
            data = PyUnicode_AsUTF8AndSize(text, &size)
            self.bytes(data, size)
        return 0

    cdef int bytes(self, const char* data, Py_ssize_t size) except -1:
        self.need(size)
        memcpy(self.data + self.size, data, size)
        self.size += size
        return 0

    cdef int symbols(self, const char* data, Py_ssize_t size) except -1:
        """Append a text as symbols."""
        self.need(size + size // 2 + 2)
        self.size += symbols_write(<const uint8_t*>data, size, self.data + self.size)
        return 0

    cdef int length(self, object text) except -1:
        """Append one more than the length of a text, 0 for None."""
        cdef Py_ssize_t size = -1
        if text is not None:
            PyUnicode_AsUTF8AndSize(text, &size)
        return self.number(<uint64_t>(size + 1))

    cdef Py_ssize_t begin(self) except -1:
        """Leave room for a checksum; return where it is."""
        self.need(4)
        self.size += 4
        return self.size - 4

    cdef void seal(self, Py_ssize_t at, uint32_t start) noexcept:
        """Write the checksum of what followed."""
        cdef uint32_t checksum = crc32c(start, self.data + at + 4, self.size - at - 4)
        memcpy(self.data + at, &checksum, 4)


cdef inline uint64_t zigzag(int64_t value) noexcept:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline object item(list column, Py_ssize_t i, object default):
    """Return a value of a column, whose end may be missing."""
    return <object>PyList_GET_ITEM(column, i) if i < PyList_GET_SIZE(column) else default


cdef list json_of(column):
    return [None if value is None else value.text for value in column]


def encode(batch, const int64_t[::1] document_keys not None, uint32_t salt):
    """Return the records of a `DocumentBatch`, and where they begin.

    Args:
        document_keys: of each document the key of its first passage.
        salt: of the index.

    Returns:
        offsets, shape (passages + 1,), uint64, and records, shape (bytes,), uint8.
    """
    cdef list ids = batch.ids, texts = batch.texts
    cdef list sources = list(batch.sources), titles = list(batch.titles), metadata = json_of(batch.metadata)
    cdef list pages = list(batch.pages), starts = list(batch.starts), lines = list(batch.lines), breaks = list(batch.breaks)
    cdef list fields = json_of(batch.fields), own = json_of(batch.own)
    cdef const int64_t[::1] counts = batch.chunk_counts()
    cdef Py_ssize_t d, i = 0, at, n
    cdef object text, field, value, page  # declared: Cython does not end when it infers them
    cdef tuple values
    cdef _Buffer out = _Buffer(), symbols = _Buffer()
    cdef const char* data
    cdef Py_ssize_t size
    offsets = np.zeros(len(texts) + 1, np.uint64)
    cdef uint64_t[::1] ends = offsets
    for d in range(document_keys.shape[0]):
        for n in range(counts[d]):
            out.number(n)
            if n == 0:
                values = (ids[d], item(sources, d, None), item(titles, d, None), item(metadata, d, None))
                at = out.begin()
                for value in values:
                    out.length(value)
                for value in values:
                    out.text(value)
                out.seal(at, start_of(salt, document_keys[d]))
            text, field, value = texts[i], item(fields, i, None), item(own, i, None)
            page = item(pages, i, None)
            at = out.begin()
            data, symbols.size = PyUnicode_AsUTF8AndSize(text, &size), 0
            symbols.symbols(data, size)
            if symbols.size < size:
                out.number(0)
                data, size = <const char*>symbols.data, symbols.size
            out.number(size + 1)
            out.length(field)
            out.length(value)
            out.number(zigzag(item(starts, i, 0)))
            out.number(zigzag(item(lines, i, 1)))
            out.number(zigzag(item(breaks, i, 0)))
            out.number(0 if page is None else zigzag(page) + 1)
            out.bytes(data, size)
            out.text(field)
            out.text(value)
            out.seal(at, start_of(start_of(salt, document_keys[d] + n), n))
            i += 1
            ends[i] = out.size
    return offsets, np.frombuffer(PyBytes_FromStringAndSize(<char*>out.data, out.size), np.uint8)
