# cython: boundscheck=False, wraparound=False, cdivision=True
"""Makes and compares the CRC-32 of rows of the record, in half a microsecond: each hit of a query is compared."""

from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    bint PyLong_Check(object value)
    int64_t PyLong_AsLongLong(object value) except? -1

cdef enum:
    DIGITS = 21     # of a whole number of 64 bits, its sign and a separator
    VALUES = 16     # of a hit; their places:
    CHUNK = 0
    PLACE = 1
    CHUNK_CHECKSUM = 6
    DOCUMENT = 7
    DOCUMENT_CHECKSUM = 10
    HASH = 11
    ID = 12
    TEXT_BYTES = 15

cdef struct Span:
    const char* data
    Py_ssize_t size

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


def row_checksum(row, Py_ssize_t numbers, Py_ssize_t texts, uint32_t start=0):
    """Return the CRC-32 of a row, as of `f"{number}|{number}|{text}\\0{text}"` in UTF-8.

    Args:
        row: a tuple of, in this order: numbers, values that are not covered, texts.
        numbers: how many there are.
        texts: the place of the first text.
        start: the CRC-32 of what comes before the row.

    Raises:
        TypeError: no tuple, or a value of another type.
        ValueError: a text that UTF-8 cannot hold.
        OverflowError: a number of more than 64 bits.
    """
    cdef Py_ssize_t n, place
    if not isinstance(row, tuple):  # a named one as well
        raise TypeError("row must be a tuple")
    n = PyTuple_GET_SIZE(row)
    for place in range(min(numbers, n)):
        start = _with_number(start, <object>PyTuple_GET_ITEM(row, place))
    for place in range(texts, n):
        if place > texts:
            start = _update(start, b"\0", 1)
        start = _with_text(start, <object>PyTuple_GET_ITEM(row, place))
    return start


def first_damaged(list rows, list texts, str lines, int64_t sign, uint32_t salt):
    """Return the place of the first chunk that, or whose document, has not its checksum; -1 where all have theirs.

    Args:
        rows: a list of values for each chunk, which `store.reading.snapshot` gathers.
        texts: of the chunks.
        lines: four for each chunk, with commas at their ends: one that is skipped, and JSON of its fields, of its metadata
            and of its document's metadata.
        sign: what is added to checksums in the record.
        salt: of the index, which its checksums contain.

    Raises:
        IndexError, OverflowError, TypeError, ValueError: rows of other values, or a text that UTF-8 cannot hold.
    """
    cdef Py_ssize_t i
    cdef list row
    cdef Span rest
    rest.data = PyUnicode_AsUTF8AndSize(lines, &rest.size)
    if len(texts) != len(rows):
        raise ValueError("texts must be as many as rows")
    for i in range(PyList_GET_SIZE(rows)):
        row = rows[i]
        if len(row) != VALUES:
            raise ValueError(f"a row must have {VALUES} values")
        _next(&rest)
        if (_chunk_checksum(row, texts[i], &rest) ^ salt) + sign != row[CHUNK_CHECKSUM]:
            return i
        if (_document_checksum(row, &rest) ^ salt) + sign != row[DOCUMENT_CHECKSUM]:
            return i
    return -1


cdef int64_t _chunk_checksum(list row, object text, Span* rest) except -1:
    cdef uint32_t checksum = 0
    cdef Py_ssize_t place
    for place in range(CHUNK, CHUNK_CHECKSUM):
        checksum = _with_number(checksum, <object>PyList_GET_ITEM(row, place))
    checksum = _with_mapping(checksum, _next(rest))
    checksum = _update(checksum, b"\0", 1)
    checksum = _with_mapping(checksum, _next(rest))
    checksum = _update(checksum, b"\0", 1)
    return _with_text(checksum, text)


cdef int64_t _document_checksum(list row, Span* rest) except -1:
    cdef bytes digest = bytes.fromhex(row[HASH])
    cdef uint32_t checksum = _update(0, digest, len(digest))
    cdef Py_ssize_t place
    checksum = _with_number(checksum, row[CHUNK] - row[PLACE])
    for place in range(DOCUMENT, DOCUMENT_CHECKSUM):
        checksum = _with_number(checksum, <object>PyList_GET_ITEM(row, place))
    for place in range(ID, TEXT_BYTES):
        checksum = _with_text(checksum, <object>PyList_GET_ITEM(row, place))
        checksum = _update(checksum, b"\0", 1)
    return _with_mapping(checksum, _next(rest))


cdef Span _next(Span* rest) noexcept nogil:
    """Return the next line without the comma at its end, and skip it."""
    cdef Span line
    cdef const char* end = <const char*>memchr(rest.data, c"\n", rest.size)
    line.data, line.size = rest.data, (end - rest.data if end else rest.size)
    rest.data, rest.size = rest.data + line.size, rest.size - line.size
    if end:
        rest.data, rest.size = rest.data + 1, rest.size - 1
    if line.size and line.data[line.size - 1] == c",":
        line.size -= 1
    return line


cdef uint32_t _with_mapping(uint32_t checksum, Span line) noexcept nogil:
    """Return the CRC-32 after the JSON of a mapping; that of none is null, and stored as nothing."""
    if line.size == 4 and not memcmp(line.data, b"null", 4):
        return _update(checksum, b"None", 4)
    return _update(checksum, line.data, line.size)


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
