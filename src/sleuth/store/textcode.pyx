# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""How does a short text become fewer bytes, and come back in a microsecond?

A codebook is a list of byte strings, the symbols, the 256 single bytes among them. A text is cut greedily into the longest
symbols and written as their numbers: 240 frequent ones in a byte, 4,096 others in two. Each text is decoded by itself,
which block compressors cannot do. After FSST (Boncz, Neumann, Leis, VLDB 2020), with longer codes: it has 255 symbols.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

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


# A node of the tree of symbols in one word, so that a step costs one look at memory: its number (17 bits), the code of
# the symbol that ends here plus 1, or 0 (13 bits), and whether it has children (1 bit).
cdef enum:
    CODE_AT = 17
    INNER = 1 << 30
    NUMBER = (1 << 17) - 1
    CODED = ((1 << 13) - 1) << 17

cdef extern from *:
    """
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define SLEUTH_LOW 1
    #else
    #define SLEUTH_LOW 0
    #endif
    """
    int LOW "SLEUTH_LOW"     # which half of a slot holds the node

cdef class Codebook:
    """Encodes and decodes with one list of symbols.

    Args:
        symbols: at most MOST_SYMBOLS distinct byte strings of 1 to LONGEST_SYMBOL bytes; all single bytes are among them.
    """

    cdef int n
    cdef uint8_t* table      # symbols, WIDTH bytes each
    cdef uint8_t* lengths
    cdef uint64_t* slots     # ((parent's number << 8 | byte) + 1) << 32 | node; 0 where free
    cdef uint32_t mask
    cdef uint32_t* first     # by one byte: node
    cdef uint32_t* second    # by two bytes: node, or 0
    cdef uint32_t nodes

    def __cinit__(self, list symbols):
        cdef Py_ssize_t total = 0
        cdef int i
        if not 256 <= len(symbols) <= MOST:
            raise ValueError(f"symbols must be 256 to {MOST}, got {len(symbols)}")
        for symbol in symbols:
            if not isinstance(symbol, bytes) or not 1 <= len(symbol) <= LONGEST:
                raise ValueError(f"symbols must be 1 to {LONGEST} bytes long, got {symbol!r}")
            total += len(symbol)
        if len({s for s in symbols if len(s) == 1}) != 256 or len(set(symbols)) != len(symbols):
            raise ValueError("symbols must be distinct and hold every byte")
        self.n = <int>len(symbols)
        self.mask = 1
        while self.mask < 2 * (total + 257):
            self.mask <<= 1
        self.table = <uint8_t*>calloc(self.n, WIDTH)
        self.lengths = <uint8_t*>calloc(self.n, 1)
        self.slots = <uint64_t*>calloc(self.mask, sizeof(uint64_t))
        self.first = <uint32_t*>calloc(256, sizeof(uint32_t))
        self.second = <uint32_t*>calloc(65536, sizeof(uint32_t))
        if not (self.table and self.lengths and self.slots and self.first and self.second):
            raise MemoryError
        self.mask -= 1
        self.nodes = 256     # node b is the single byte b
        for i in range(256):
            self.first[i] = i
        for i in range(self.n):
            self._add(i, symbols[i])

    def __dealloc__(self):
        free(self.table)
        free(self.lengths)
        free(self.slots)
        free(self.first)
        free(self.second)

    cdef void _add(self, int code, bytes symbol):
        cdef const uint8_t* s = <const uint8_t*>PyBytes_AS_STRING(symbol)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(symbol), i
        cdef uint32_t* place = &self.first[s[0]]
        memcpy(self.table + code * WIDTH, s, n)
        self.lengths[code] = <uint8_t>n
        for i in range(1, n):
            place[0] |= INNER
            place = self._place(place[0] & NUMBER, s, i)
        place[0] |= <uint32_t>(code + 1) << CODE_AT

    cdef uint32_t* _place(self, uint32_t parent, const uint8_t* symbol, Py_ssize_t i):
        """Where the node for byte `i` of a symbol is kept; a new node where there was none."""
        cdef uint32_t key = (parent << 8 | symbol[i]) + 1
        cdef uint32_t slot = (key * <uint32_t>2654435769 >> 7) & self.mask
        if i == 1:
            if not self.second[symbol[0] << 8 | symbol[1]]:
                self.second[symbol[0] << 8 | symbol[1]] = self.nodes
                self.nodes += 1
            return &self.second[symbol[0] << 8 | symbol[1]]
        while self.slots[slot]:
            if <uint32_t>(self.slots[slot] >> 32) == key:
                return <uint32_t*>&self.slots[slot] + LOW
            slot = (slot + 1) & self.mask
        self.slots[slot] = <uint64_t>key << 32 | self.nodes
        self.nodes += 1
        return <uint32_t*>&self.slots[slot] + LOW

    cdef inline uint32_t _child(self, uint32_t parent, uint8_t byte) noexcept nogil:
        cdef uint32_t key = (parent << 8 | byte) + 1
        cdef uint32_t slot = (key * <uint32_t>2654435769 >> 7) & self.mask
        while self.slots[slot]:
            if <uint32_t>(self.slots[slot] >> 32) == key:
                return <uint32_t>self.slots[slot]
            slot = (slot + 1) & self.mask
        return 0

    cdef inline int32_t _longest(self, const uint8_t* text, Py_ssize_t n) noexcept nogil:
        """The code of the longest symbol that begins a text of `n` >= 1 bytes."""
        cdef uint32_t node = self.first[text[0]], best = node
        cdef Py_ssize_t i = 2
        if n > 1 and node & INNER:
            node = self.second[text[0] << 8 | text[1]]
            while node:
                if node & CODED:
                    best = node
                if i == n or not node & INNER:
                    break
                node = self._child(node & NUMBER, text[i])
                i += 1
        return <int32_t>((best & CODED) >> CODE_AT) - 1

    cdef Py_ssize_t _encode(self, const uint8_t* text, Py_ssize_t n, uint8_t* out, Py_ssize_t room) noexcept nogil:
        """Bytes written; 0 where they would not be fewer than `room`."""
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
        """Texts as bytes that begin with `mark`, 0 to 255; a text that would not get shorter stays as it is.

        Args:
            texts: without lone surrogates.
        """
        cdef Py_ssize_t count = len(texts), i, longest = 1
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
        """The text of bytes that `encode` made; their first byte is not looked at.

        Raises:
            ValueError: bytes that no text has.
        """
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(coded)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(coded), i = 1, size = 0
        cdef int code
        cdef uint8_t small[4096 + 16]
        cdef uint8_t* out = small
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
            size += self.lengths[code]
        if size > 4096:
            out = <uint8_t*>malloc(size + WIDTH)
            if not out:
                raise MemoryError
        try:
            size = 0
            i = 1
            while i < n:
                code = data[i]
                i += 1
                if code >= SHORT:
                    code = SHORT + ((code - SHORT) << 8 | data[i])
                    i += 1
                memcpy(out + size, self.table + code * WIDTH, WIDTH)
                size += self.lengths[code]
            return PyUnicode_DecodeUTF8(<const char*>out, size, NULL)
        finally:
            if out != small:
                free(out)

    def codes_of(self, bytes text):
        """The codes of a text, shape (m,), uint16: for counting."""
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
