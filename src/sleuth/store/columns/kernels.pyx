# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Loops over a million rows or strings at once: front coding, tables of codes to bitmaps, runs to bitmaps.

Front coding: sorted strings in blocks of 64. An entry is the length of the prefix it shares with the entry before it
(not written for the first of a block), the length of the rest, and the rest; lengths are LEB128. `heads` holds where
each block begins. Every read is checked against the end of its array: damaged bytes raise ValueError.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy

cdef enum:
    BLOCK = 64

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t


cdef inline Py_ssize_t put(uint8_t* out, Py_ssize_t at, uint64_t value) noexcept nogil:
    while value >= 128:
        out[at] = <uint8_t>(value | 128)
        value >>= 7
        at += 1
    out[at] = <uint8_t>value
    return at + 1


cdef inline int64_t take(const uint8_t* data, Py_ssize_t* at, Py_ssize_t end) noexcept nogil:
    """Read the number at `at` and move on; -1 where the data end first."""
    cdef uint64_t value = 0
    cdef int shift = 0
    while at[0] < end and shift < 35:
        value |= <uint64_t>(data[at[0]] & 127) << shift
        at[0] += 1
        if data[at[0] - 1] < 128:
            return <int64_t>value
        shift += 7
    return -1


cdef inline int compare(const uint8_t* a, Py_ssize_t n_a, const uint8_t* b, Py_ssize_t n_b) noexcept nogil:
    cdef Py_ssize_t n = n_a if n_a < n_b else n_b
    cdef int order = memcmp(a, b, n) if n else 0  # of an empty string there may be no address
    return order if order != 0 else (n_a > n_b) - (n_a < n_b)


cdef class Reader:
    """A pass over front-coded strings from a block on; `text[:length]` is the last string."""

    cdef const uint8_t* data
    cdef Py_ssize_t at, end, length, room
    cdef uint8_t* text

    def __dealloc__(self):
        free(self.text)

    cdef int start(self, const uint8_t[::1] data, Py_ssize_t at) except -1:
        if at > data.shape[0]:
            raise ValueError("a block of strings begins beyond the data")
        self.data = &data[0] if data.shape[0] else NULL
        self.at = at
        self.end = data.shape[0]
        self.length = 0
        return 0

    cdef int step(self, bint is_first) except -1:
        cdef int64_t shared = 0 if is_first else take(self.data, &self.at, self.end)
        cdef int64_t rest = take(self.data, &self.at, self.end)
        if shared < 0 or rest < 0 or shared > self.length or rest > self.end - self.at:
            raise ValueError("a string runs beyond the data")
        if shared + rest > self.room:
            self.room = 2 * (shared + rest) + 64
            self.text = <uint8_t*>realloc(self.text, self.room)
            if self.text == NULL:
                raise MemoryError()
        if rest:
            memcpy(self.text + shared, self.data + self.at, rest)
        self.at += rest
        self.length = shared + rest
        return 0


cdef class Writer:
    """Front-codes strings that come in order."""

    cdef uint8_t* data
    cdef uint8_t* last
    cdef Py_ssize_t at, room, n, n_last, last_room
    cdef uint64_t before  # bytes that were taken out
    cdef list heads

    def __cinit__(self):
        self.heads = []

    def __dealloc__(self):
        free(self.data)
        free(self.last)

    cdef int add(self, const uint8_t* text, Py_ssize_t length) except -1:
        cdef Py_ssize_t shared = 0, limit = self.n_last if self.n_last < length else length
        self.data = grown(self.data, &self.room, self.at + length + 20)
        self.last = grown(self.last, &self.last_room, length)
        if self.n % BLOCK == 0:
            if self.before + self.at > 0xFFFFFFFF:
                raise ValueError("strings of one key must take less than 4 GiB in a segment")
            self.heads.append(self.before + self.at)
        else:
            while shared < limit and self.last[shared] == text[shared]:
                shared += 1
            self.at = put(self.data, self.at, shared)
        self.at = put(self.data, self.at, length - shared)
        if length > shared:
            memcpy(self.data + self.at, text + shared, length - shared)
            memcpy(self.last + shared, text + shared, length - shared)
        self.at += length - shared
        self.n_last = length
        self.n += 1
        return 0

    cdef take_out(self):
        """Return (data, heads) of the strings since the last time."""
        data = np.empty(self.at, np.uint8)
        cdef uint8_t[::1] out = data
        if self.at:
            memcpy(&out[0], self.data, self.at)
        heads, self.heads = self.heads, []
        self.before += self.at
        self.at = 0
        return data, np.array(heads, np.uint32)


cdef uint8_t* grown(uint8_t* data, Py_ssize_t* room, Py_ssize_t size) except NULL:
    """Return memory of at least this size, with what was in it before."""
    if data != NULL and size <= room[0]:
        return data
    cdef Py_ssize_t more = size + size // 2 + 64
    cdef uint8_t* moved = <uint8_t*>realloc(data, more)
    if moved == NULL:
        raise MemoryError()
    room[0] = more
    return moved


def encode(const uint8_t[::1] blob, const int64_t[::1] offsets):
    """Front-code sorted strings: string i is `blob[offsets[i]:offsets[i + 1]]`. Returns (data, heads)."""
    cdef Writer writer = Writer()
    cdef const uint8_t* text = &blob[0] if blob.shape[0] else NULL
    cdef Py_ssize_t i
    for i in range(offsets.shape[0] - 1):
        writer.add(text + offsets[i], offsets[i + 1] - offsets[i])
    return writer.take_out()


def decode(const uint8_t[::1] data, Py_ssize_t count):
    """Decode all strings. Returns (blob, offsets), as `encode` takes them."""
    cdef Reader reader = Reader()
    cdef Py_ssize_t i, total = 0
    offsets = np.zeros(count + 1, np.int64)
    cdef int64_t[::1] ends = offsets
    reader.start(data, 0)
    for i in range(count):
        reader.step(i % BLOCK == 0)
        total += reader.length
        ends[i + 1] = total
    blob = np.empty(total, np.uint8)
    cdef uint8_t[::1] out = blob
    reader.start(data, 0)
    for i in range(count):
        reader.step(i % BLOCK == 0)
        if reader.length:
            memcpy(&out[ends[i]], reader.text, reader.length)
    return blob, offsets


def below(const uint8_t[::1] data, const uint32_t[::1] heads, Py_ssize_t count, bytes needle):
    """Count the strings that sort before `needle`."""
    cdef Reader reader = Reader()
    cdef Py_ssize_t low = 0, high = heads.shape[0], middle, i
    cdef const uint8_t* wanted = needle
    cdef Py_ssize_t n_wanted = len(needle)
    while low < high:  # the first block whose head is not below
        middle = (low + high) // 2
        reader.start(data, heads[middle])
        reader.step(True)
        if compare(reader.text, reader.length, wanted, n_wanted) < 0:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return 0
    reader.start(data, heads[low - 1])
    for i in range((low - 1) * BLOCK, min(low * BLOCK, count)):
        reader.step(i % BLOCK == 0)
        if compare(reader.text, reader.length, wanted, n_wanted) >= 0:
            return i
    return min(low * BLOCK, count)


def containing(const uint8_t[::1] data, Py_ssize_t count, bytes needle):
    """Return which strings contain `needle`: a mask of shape (count,), uint8."""
    cdef Reader reader = Reader()
    cdef Py_ssize_t i, left, n_wanted = len(needle)
    cdef const uint8_t* wanted = needle
    cdef const uint8_t* at
    mask = np.zeros(count, np.uint8)
    cdef uint8_t[::1] out = mask
    reader.start(data, 0)
    for i in range(count):
        reader.step(i % BLOCK == 0)
        if n_wanted == 0:
            out[i] = 1
            continue
        at = reader.text
        left = reader.length - n_wanted + 1
        while left > 0:
            at = <const uint8_t*>memchr(at, wanted[0], left)
            if at == NULL:
                break
            if memcmp(at, wanted, n_wanted) == 0:
                out[i] = 1
                break
            at += 1
            left = reader.length - n_wanted + 1 - (at - reader.text)
    return mask


cdef class Selected(Reader):
    """A pass over those of front-coded strings that a mask selects."""

    cdef const uint8_t[::1] mask
    cdef uint32_t[::1] places
    cdef Py_ssize_t i

    cdef bint next(self) except -1:
        """Move on to the next selected string; return whether there is one."""
        while self.i < self.mask.shape[0]:
            self.step(self.i % BLOCK == 0)
            self.i += 1
            if self.mask[self.i - 1]:
                return True
        return False


def merge(parts, Py_ssize_t size):
    """Merge sorted lists of distinct strings into one, string by string.

    Args:
        parts: of each list its front-coded data, a mask of the strings to take, shape (count,), uint8, and an array of
            the same shape, uint32, which gets the place of each string taken.
        size: bytes of a piece, about.

    Yields:
        (data, heads, count): the strings as of `encode`, a piece after the other, and how many these are.
    """
    cdef Writer writer = Writer()
    cdef Selected reader, least
    cdef Py_ssize_t n = 0
    cdef list left = []
    for data, mask, places in parts:
        reader = Selected()
        reader.start(data, 0)
        reader.mask, reader.places = mask, places
        if reader.next():
            left.append(reader)
    while left:
        least = left[0]
        for reader in left:
            if compare(reader.text, reader.length, least.text, least.length) < 0:
                least = reader
        writer.add(least.text, least.length)
        ended = []
        for reader in left:
            if reader is least or compare(reader.text, reader.length, writer.last, writer.n_last) == 0:
                reader.places[reader.i - 1] = <uint32_t>(writer.n - 1)
                if not reader.next():
                    ended.append(reader)
        for reader in ended:
            left.remove(reader)
        if writer.at >= size:
            yield *writer.take_out(), writer.n - n
            n = writer.n
    yield *writer.take_out(), writer.n - n


def select(const code_t[::1] codes, const uint8_t[::1] table):
    """Return the bitmap of the rows whose code has a 1 in `table`; a code beyond the table counts as 0."""
    cdef Py_ssize_t n = codes.shape[0], size = table.shape[0], word, i, end
    cdef uint64_t bits
    bitmap = np.zeros((n + 63) // 64, np.uint64)
    cdef uint64_t[::1] out = bitmap
    with nogil:
        for word in range((n + 63) // 64):
            bits = 0
            end = min(64, n - 64 * word)
            for i in range(end):
                if codes[64 * word + i] < size:
                    bits |= <uint64_t>table[codes[64 * word + i]] << i
            out[word] = bits
    return bitmap


def spread(const uint32_t[::1] starts, const uint8_t[::1] mask, Py_ssize_t n):
    """Return the bitmap of the rows of the runs in `mask`; run i goes from `starts[i]` to the next start, or to n."""
    cdef Py_ssize_t i, word, n_runs = starts.shape[0]
    cdef uint64_t low, high, first, last
    cdef uint64_t ones = 0xFFFFFFFFFFFFFFFF
    bitmap = np.zeros((n + 63) // 64, np.uint64)
    cdef uint64_t[::1] out = bitmap
    with nogil:
        for i in range(n_runs):
            if not mask[i]:
                continue
            low = starts[i]
            high = starts[i + 1] if i + 1 < n_runs else n
            if low >= high or high > <uint64_t>n:
                continue
            first, last = low >> 6, (high - 1) >> 6
            if first == last:
                out[first] |= (ones << (low & 63)) & (ones >> (63 - ((high - 1) & 63)))
                continue
            out[first] |= ones << (low & 63)
            for word in range(<Py_ssize_t>first + 1, <Py_ssize_t>last):
                out[word] = ones
            out[last] |= ones >> (63 - ((high - 1) & 63))
    return bitmap


def any_of(const uint32_t[::1] offsets, const code_t[::1] elements, const uint8_t[::1] table):
    """Return which lists have an element with a 1 in `table`: list i is `elements[offsets[i]:offsets[i + 1]]`."""
    cdef Py_ssize_t n = offsets.shape[0] - 1, i, j, size = table.shape[0], limit = elements.shape[0]
    mask = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = mask
    with nogil:
        for i in range(n):
            for j in range(offsets[i], min(<Py_ssize_t>offsets[i + 1], limit)):
                if elements[j] < size and table[elements[j]]:
                    out[i] = 1
                    break
    return mask
