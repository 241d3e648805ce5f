# cython: boundscheck=False, wraparound=False, cdivision=True
"""Makes the checksums of rows of the record, in half a microsecond each: each hit of a query is compared with its own."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    bint PyLong_Check(object value)
    int64_t PyLong_AsLongLong(object value) except? -1

cdef enum:
    DIGITS = 21     # of a whole number of 64 bits, its sign and a separator

cdef int64_t SIGN = 1LL << 31

cdef uint32_t _tables[8][256]  # the remainders of a byte that 0 to 7 bytes follow


cdef void _fill_tables() noexcept:
    cdef uint32_t byte, rest, _bit, i
    for byte in range(256):
        rest = byte
        for _bit in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
        _tables[0][byte] = rest
    for byte in range(256):
        for i in range(1, 8):
            rest = _tables[i - 1][byte]
            _tables[i][byte] = rest >> 8 ^ _tables[0][rest & 255]


_fill_tables()


cdef uint32_t _update(uint32_t checksum, const char* text, Py_ssize_t size) noexcept nogil:
    """Return the CRC-32 of bytes that follow those of a CRC-32, as `zlib.crc32`; eight bytes at a time."""
    cdef const uint8_t* data = <const uint8_t*>text
    cdef uint64_t word
    checksum = ~checksum
    while size >= 8:
        memcpy(&word, data, 8)  # least significant byte first, as on all machines that Sleuth runs on
        word ^= checksum
        checksum = (
            _tables[7][word & 255] ^ _tables[6][word >> 8 & 255] ^ _tables[5][word >> 16 & 255]
            ^ _tables[4][word >> 24 & 255] ^ _tables[3][word >> 32 & 255] ^ _tables[2][word >> 40 & 255]
            ^ _tables[1][word >> 48 & 255] ^ _tables[0][word >> 56]
        )
        data, size = data + 8, size - 8
    while size > 0:
        checksum = checksum >> 8 ^ _tables[0][(checksum ^ data[0]) & 255]
        data, size = data + 1, size - 1
    return ~checksum


def row_checksum(row, Py_ssize_t numbers, Py_ssize_t texts, uint32_t salt, uint32_t start=0):
    """Return the checksum of a row: the CRC-32 of `f"{number}|{number}|{text}\\0{text}"` in UTF-8, with a salt.

    It is less by 2^31: SQLite keeps a signed number of 32 bits in 4 bytes, an unsigned one in 6.

    Args:
        row: a tuple of, in this order: numbers, values that are not covered, texts.
        numbers: how many there are.
        texts: the place of the first text.
        salt: of the index.
        start: the CRC-32 of what comes before the row.

    Raises:
        TypeError: no tuple, or a value of another type.
        ValueError: a text that UTF-8 cannot hold.
        OverflowError: a number of more than 64 bits.
    """
    if not isinstance(row, tuple):  # a named one as well
        raise TypeError("row must be a tuple")
    cdef Py_ssize_t n = PyTuple_GET_SIZE(row)
    return _checksum(row, 0, min(numbers, n), texts, n, salt, start)


def has_checksums(
    tuple row not None, Py_ssize_t document, uint32_t salt, tuple chunk_parts not None, tuple document_parts not None
):
    """Return whether a chunk and its document, in one row, are as they were written.

    Args:
        row: the values of the chunk, then those of the document.
        document: the place of its first value.
        salt: of the index.
        chunk_parts, document_parts: how many numbers stand first and the place of the first text, as of `row_checksum`; the
            checksum comes after the numbers, then the hash of a document.
    """
    cdef Py_ssize_t n = PyTuple_GET_SIZE(row), numbers, texts
    cdef bytes digest
    try:
        numbers, texts = chunk_parts
        if _checksum(row, 0, numbers, texts, document, salt, 0) != row[numbers]:
            return False
        numbers, texts = document_parts
        numbers, texts = numbers + document, texts + document
        digest = row[numbers + 1]
        start = _update(0, PyBytes_AS_STRING(digest), PyBytes_GET_SIZE(digest))
        return _checksum(row, document, numbers, texts, n, salt, start) == row[numbers]
    except (OverflowError, TypeError, ValueError):  # values of another type than were written
        return False


cdef int64_t _checksum(
    object row, Py_ssize_t first, Py_ssize_t numbers, Py_ssize_t texts, Py_ssize_t end, uint32_t salt, uint32_t start
) except? 0:
    """Return the checksum of a part of a tuple: numbers from `first` to `numbers`, and texts from `texts` to `end`."""
    cdef Py_ssize_t place
    for place in range(first, numbers):
        start = _with_number(start, <object>PyTuple_GET_ITEM(row, place))
    for place in range(texts, end):
        if place > texts:
            start = _update(start, b"\0", 1)
        start = _with_text(start, <object>PyTuple_GET_ITEM(row, place))
    return <int64_t>(start ^ salt) - SIGN


cdef int64_t _with_text(uint32_t checksum, object text) except -1:
    """Return the CRC-32 after a text or None."""
    cdef Py_ssize_t size
    cdef const char* data
    if text is None:
        return _update(checksum, b"None", 4)
    data = PyUnicode_AsUTF8AndSize(text, &size)
    return _update(checksum, data, size)


cdef int64_t _with_number(uint32_t checksum, object value) except -1:
    """Return the CRC-32 after a whole number or None, and `|`."""
    cdef Py_ssize_t at = DIGITS - 1
    cdef int64_t number
    cdef uint64_t left
    cdef char digits[DIGITS]
    if value is None:
        return _update(checksum, b"None|", 5)
    if not PyLong_Check(value):
        raise TypeError(f"a number must be whole, got {value!r}")
    number = PyLong_AsLongLong(value)
    left = -<uint64_t>number if number < 0 else <uint64_t>number
    digits[at] = c"|"
    while True:  # faster by half a microsecond a row than snprintf
        at -= 1
        digits[at] = <char>(c"0" + left % 10)
        left //= 10
        if not left:
            break
    if number < 0:
        at -= 1
        digits[at] = c"-"
    return _update(checksum, digits + at, DIGITS - at)
