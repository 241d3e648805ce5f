# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compresses short texts with a codebook and decodes each by itself, in a microsecond.

A codebook is a list of byte strings, the symbols, the 256 single bytes among them. A text is cut greedily into the longest
symbols and written as their numbers: 240 frequent ones in a byte, 4,096 others in two. Block compressors cannot decode a
single text. After FSST (Boncz, Neumann, Leis, VLDB 2020), with longer codes: it has 255 symbols.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    SHORT = 240      # codes of one byte
    LONGEST = 15     # bytes of a symbol
    WIDTH = 16       # bytes of a symbol's place in the table
    MOST = 4336     # SHORT + 16 * 256

MOST_SYMBOLS = MOST
LONGEST_SYMBOL = LONGEST


cdef inline uint32_t _three(const uint8_t* s) noexcept nogil:
    return s[0] << 16 | s[1] << 8 | s[2]


cdef enum:
    LONGER = 1 << 15     # in `by_two`: longer symbols begin with these two bytes
    PAIR_ROOM = 1 << 21

cdef struct Symbol:      # of 3 bytes and more
    uint64_t low, high   # its bytes, filled up with zeros
    uint32_t code, size

cdef class Codebook:
    """Encodes and decodes with one list of symbols.

    The longest symbol at a place is found by its first two bytes, which most places are done with, or by its first
    three: those that begin with them stand together, the longest first.

    Args:
        symbols: at most MOST_SYMBOLS distinct byte strings of 1 to LONGEST_SYMBOL bytes; all single bytes are among them.
    """

    cdef int n
    cdef uint8_t* table      # symbols, WIDTH bytes each
    cdef uint8_t* lengths
    cdef uint16_t by_one[256]
    cdef uint16_t* by_two    # the code of the longest symbol of 1 or 2 bytes
    cdef uint64_t* by_three  # three bytes + 1, then first and number of their symbols in `longer`; 0 where free
    cdef uint32_t mask
    cdef Symbol* longer
    cdef uint64_t masks[WIDTH + 1][2]

    def __cinit__(self, list symbols):
        cdef int i
        if not 256 <= len(symbols) <= MOST:
            raise ValueError(f"symbols must be 256 to {MOST}, got {len(symbols)}")
        for symbol in symbols:
            if not isinstance(symbol, bytes) or not 1 <= len(symbol) <= LONGEST:
                raise ValueError(f"symbols must be 1 to {LONGEST} bytes long, got {symbol!r}")
        if len({s for s in symbols if len(s) == 1}) != 256 or len(set(symbols)) != len(symbols):
            raise ValueError("symbols must be distinct and hold every byte")
        self.n = <int>len(symbols)
        self.mask = 1
        while self.mask < 2 * self.n:
            self.mask <<= 1
        self.table = <uint8_t*>calloc(self.n, WIDTH)
        self.lengths = <uint8_t*>calloc(self.n, 1)
        self.by_two = <uint16_t*>calloc(65536, sizeof(uint16_t))
        self.by_three = <uint64_t*>calloc(self.mask, sizeof(uint64_t))
        self.longer = <Symbol*>calloc(self.n, sizeof(Symbol))
        if not (self.table and self.lengths and self.by_two and self.by_three and self.longer):
            raise MemoryError
        self.mask -= 1
        for i in range(WIDTH + 1):
            memset(self.masks[i], 0xFF, i)
            memset(<uint8_t*>self.masks[i] + i, 0, WIDTH - i)
        for i in range(self.n):
            memcpy(self.table + i * WIDTH, PyBytes_AS_STRING(symbols[i]), PyBytes_GET_SIZE(symbols[i]))
            self.lengths[i] = <uint8_t>PyBytes_GET_SIZE(symbols[i])
        self._order(symbols)

    def __dealloc__(self):
        free(self.table)
        free(self.lengths)
        free(self.by_two)
        free(self.by_three)
        free(self.longer)

    cdef _order(self, list symbols):
        cdef int code, place, first = 0
        cdef uint8_t* s
        cdef Symbol* symbol
        for code in range(self.n):
            if self.lengths[code] == 1:
                self.by_one[self.table[code * WIDTH]] = <uint16_t>code
        for place in range(65536):
            self.by_two[place] = self.by_one[place >> 8]
        for code in range(self.n):
            if self.lengths[code] == 2:
                s = self.table + code * WIDTH
                self.by_two[s[0] << 8 | s[1]] = <uint16_t>code
        for place, code in enumerate(sorted((i for i in range(self.n) if self.lengths[i] > 2), key=lambda i: (symbols[i][:3], -len(symbols[i])))):
            s = self.table + code * WIDTH
            symbol = self.longer + place
            memcpy(&symbol.low, s, 8)
            memcpy(&symbol.high, s + 8, 8)
            symbol.code = code
            symbol.size = self.lengths[code]
            if place == 0 or memcmp(&symbol.low, &self.longer[place - 1].low, 3):
                first = place
                self.by_two[s[0] << 8 | s[1]] |= LONGER
            self._slot(s)[0] = (<uint64_t>_three(s) + 1) << 32 | <uint64_t>first << 16 | (place - first + 1)

    cdef inline uint64_t* _slot(self, const uint8_t* s) noexcept nogil:
        """Return the place of the symbols that begin with the three bytes `s`; a free place where there are none."""
        cdef uint32_t key = _three(s)
        cdef uint32_t slot = (key * <uint32_t>2654435769 >> 9) & self.mask
        while self.by_three[slot] and self.by_three[slot] >> 32 != key + 1:
            slot = (slot + 1) & self.mask
        return self.by_three + slot

    cdef inline int32_t _longest(self, const uint8_t* text, Py_ssize_t n) noexcept nogil:
        """Return the code of the longest symbol that begins a text of `n` >= 1 bytes."""
        cdef uint64_t words[2]
        cdef uint64_t found
        cdef uint32_t two, i, end
        cdef Symbol* symbol
        if n == 1:
            return self.by_one[text[0]]
        two = self.by_two[text[0] << 8 | text[1]]
        if not two & LONGER:
            return two
        two ^= LONGER
        if n == 2:
            return two
        found = self._slot(text)[0]
        if not found:
            return two
        if n < WIDTH:
            words[0] = words[1] = 0
            memcpy(words, text, n)
        else:
            memcpy(words, text, WIDTH)
        i = (found >> 16) & 0xFFFF
        end = i + (found & 0xFFFF)
        while i < end:
            symbol = self.longer + i
            if not ((words[0] ^ symbol.low) & self.masks[symbol.size][0] | (words[1] ^ symbol.high) & self.masks[symbol.size][1]):
                if symbol.size <= n:
                    return symbol.code
            i += 1
        return two

    cdef Py_ssize_t _encode(self, const uint8_t* text, Py_ssize_t n, uint8_t* out, Py_ssize_t room) noexcept nogil:
        """Return the number of bytes written; 0 where they would not be fewer than `room`."""
        cdef Py_ssize_t at = 0, o = 0
        cdef int32_t code
        while at < n:
            code = self._longest(text + at, n - at)
            at += self.lengths[code]
            if o + 2 >= room:
                return 0
            if code < SHORT:
                out[o] = <uint8_t>code
                o += 1
            else:
                code -= SHORT
                out[o] = <uint8_t>(SHORT + (code >> 8))
                out[o + 1] = <uint8_t>(code & 255)
                o += 2
        return o

    def encode(self, list texts, int mark):
        """Encode texts as bytes that begin with `mark`, 0 to 255; a text that would not get shorter stays as it is.

        Args:
            texts: without lone surrogates.
        """
        cdef Py_ssize_t count = len(texts), i
        cdef const char** starts = <const char**>malloc((count + 1) * sizeof(char*))
        cdef Py_ssize_t* sizes = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t* ends = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t total = 0, at = 0
        cdef uint8_t* out = NULL
        cdef list made = []
        try:
            if not (starts and sizes and ends):
                raise MemoryError
            for i in range(count):
                starts[i] = PyUnicode_AsUTF8AndSize(texts[i], &sizes[i])
                total += sizes[i]
            out = <uint8_t*>malloc(total + 1)
            if not out:
                raise MemoryError
            with nogil:
                for i in range(count):
                    at += self._encode(<const uint8_t*>starts[i], sizes[i], out + at, sizes[i] - 1)
                    ends[i] = at
            at = 0
            for i in range(count):
                if ends[i] == at:
                    made.append(texts[i])
                    continue
                coded = PyBytes_FromStringAndSize(NULL, ends[i] - at + 1)
                PyBytes_AS_STRING(coded)[0] = <char>mark
                memcpy(PyBytes_AS_STRING(coded) + 1, out + at, ends[i] - at)
                made.append(coded)
                at = ends[i]
        finally:
            free(starts)
            free(sizes)
            free(ends)
            free(out)
        return made

    def decode(self, bytes coded):
        """Decode bytes of `encode`; ignores their first byte.

        Raises:
            ValueError: bytes that no text has.
        """
        return self._decode(<const uint8_t*>PyBytes_AS_STRING(coded), PyBytes_GET_SIZE(coded))

    cdef str _decode(self, const uint8_t* data, Py_ssize_t n):
        cdef Py_ssize_t i = 1, size = 0
        cdef int code
        cdef uint8_t small[4096]
        cdef uint8_t* out = small
        if n * LONGEST + WIDTH > <Py_ssize_t>sizeof(small):
            out = <uint8_t*>malloc(n * LONGEST + WIDTH)
            if not out:
                raise MemoryError
        try:
            while i < n:
                code = data[i]
                i += 1
                if code >= SHORT:
                    if i >= n:
                        raise ValueError("the last code is cut off")
                    code = SHORT + ((code - SHORT) << 8 | data[i])
                    i += 1
                if code >= self.n:
                    raise ValueError(f"no symbol has code {code}")
                memcpy(out + size, self.table + code * WIDTH, WIDTH)
                size += self.lengths[code]
            return PyUnicode_DecodeUTF8(<const char*>out, size, NULL)
        finally:
            if out != small:
                free(out)

    def codes_of(self, bytes text):
        """Return the codes of a text, shape (m,), uint16: for counting."""
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, m = 0
        cdef int32_t code
        found = np.empty(n, np.uint16)
        cdef uint16_t[::1] codes = found
        if n:
            with nogil:
                while at < n:
                    code = self._longest(data + at, n - at)
                    codes[m] = <uint16_t>code
                    m += 1
                    at += self.lengths[code]
        return found[:m]

    def count(self, bytes text):
        """Count codes and pairs of neighbours in a text: for learning.

        Returns:
            counts, shape (symbols,), int64; then first and second code, uint16, and number, int64, of the pairs that
            are there more than twice, in order of the codes.
        """
        found = self.codes_of(text)
        cdef const uint16_t[::1] codes = found
        cdef Py_ssize_t i, n = len(found)
        cdef uint32_t pair, slot, used = 0
        cdef uint64_t* table
        cdef uint64_t[::1] view
        if n > PAIR_ROOM // 2:
            raise ValueError(f"text must have at most {PAIR_ROOM // 2} codes, got {n}")
        table = <uint64_t*>calloc(PAIR_ROOM, sizeof(uint64_t))
        if not table:
            raise MemoryError
        try:
            with nogil:
                for i in range(n - 1):
                    pair = (<uint32_t>codes[i] << 16 | codes[i + 1]) + 1
                    slot = (pair * <uint32_t>2654435769 >> 11) & (PAIR_ROOM - 1)
                    while table[slot] and table[slot] >> 32 != pair:
                        slot = (slot + 1) & (PAIR_ROOM - 1)
                    table[slot] = <uint64_t>pair << 32 | (<uint64_t><uint32_t>table[slot] + 1)
                for i in range(PAIR_ROOM):
                    if <uint32_t>table[i] > 2:
                        table[used] = table[i]
                        used += 1
            kept = np.empty(used, np.uint64)
            view = kept
            if used:
                memcpy(&view[0], table, used * sizeof(uint64_t))
        finally:
            free(table)
        kept.sort()
        pairs = (kept >> np.uint64(32)).astype(np.uint32) - np.uint32(1)
        return (
            np.bincount(found, minlength=self.n),
            (pairs >> 16).astype(np.uint16),
            pairs.astype(np.uint16),
            (kept & np.uint64(0xFFFFFFFF)).astype(np.int64),
        )


def decode_all(bytes stored, list sizes, list coded, dict books):
    """Texts that lie one after the other.

    Args:
        sizes: bytes of each.
        coded: which are as `Codebook.encode` made them, begun by the number of their codebook; the others are UTF-8.
        books: codebooks by number.

    Raises:
        KeyError: the number of a codebook that is not among them.
        ValueError: bytes that no text has.
    """
    cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(stored)
    cdef Py_ssize_t left = PyBytes_GET_SIZE(stored), size
    cdef Codebook book = None
    cdef int number = -1
    cdef list texts = []
    for length, by_book in zip(sizes, coded):
        size = length
        if not (1 if by_book else 0) <= size <= left:
            raise ValueError("texts must lie within the bytes")
        if not by_book:
            texts.append(PyUnicode_DecodeUTF8(<const char*>data, size, NULL))
        else:
            if number != data[0]:
                number = data[0]
                book = books[number]
            texts.append(book._decode(data, size))
        data, left = data + size, left - size
    return texts
