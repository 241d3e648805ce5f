# cython: language_level=3, boundscheck=False, cdivision=True, initializedcheck=False
"""Writes, reads and merges the postings of a segment. postings.h describes the format."""

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from sleuth.errors import ArgumentError, IndexDamagedError

cdef extern from "postings.h" nogil:
    ctypedef enum Outcome:
        FITS
        NO_MEMORY
        NO_ROOM
    ctypedef struct Writer:
        uint64_t* cursors
        uint32_t* entries
        uint8_t* impacts
        uint64_t* stream_cursors
        uint8_t* stream
        uint8_t* maxima
        uint8_t* sizes
        uint64_t stride
        uint32_t* large
        uint64_t n_large
        Outcome outcome
    uint32_t list_doc(uint32_t)
    uint32_t list_count(const Postings*, uint32_t)
    uint32_t read_dense(const Postings*, const uint8_t**, uint32_t, uint32_t*)
    uint32_t count_in(const Postings*, uint32_t)
    uint64_t df_within(const Postings*, const uint64_t*)
    int is_sound_list(const Postings*, uint32_t)
    int is_sound_stream(const Postings*, uint32_t, uint64_t)
    void write_posting(Writer*, uint32_t, uint32_t, uint32_t, float)

BLOCK = 16
GROUP = 16
"""Blocks per anchor."""
MOST_ROWS = 1 << 28
LARGE = 15
"""Smallest count that is stored in a separate table: the mark of a list."""
STRIDE = 16
"""Blocks per dense term are padded to a multiple of this."""
DENSE_SHARE = 0.25
"""A term is dense where it is in at least this many rows per block ..."""
DENSE_LEAST = 64
"""... and in at least this many rows."""
GONE = 0xFFFFFFFF
"""Marks a dropped row or term in a map."""
cdef uint32_t GONE_ROW = GONE


cdef const uint32_t* _u32(array) except? NULL:
    cdef const uint32_t[::1] view = array
    return &view[0] if view.shape[0] else NULL


cdef const uint64_t* _u64(array) except? NULL:
    cdef const uint64_t[::1] view = array
    return &view[0] if view.shape[0] else NULL


cdef const uint8_t* _u8(array) except? NULL:
    cdef const uint8_t[::1] view = array
    return &view[0] if view.shape[0] else NULL


cdef uint32_t _hash(const uint8_t* s, uint64_t n) noexcept nogil:
    cdef uint64_t h = 1469598103934665603u, i
    for i in range(n):
        h = (h ^ s[i]) * 1099511628211u
    return <uint32_t>(h ^ (h >> 32))


cdef class FieldPostings:
    """Reads the postings of one field of one segment.

    The postings of a term are checked when they are first read, since they make up most of a file.

    Args:
        arrays: of the leg, or of a file that it has validated.
        where: names the segment in an error.

    Attributes:
        spellings: what finds terms that are like a word; None until somebody asks for some.
    """

    def __cinit__(self, arrays, where="a segment"):
        self.arrays = a = dict(arrays)
        self.where = where
        self.n_rows = len(a["lengths"])
        self.n_terms = len(a["term_starts"]) - 1
        self.lengths = _u32(a["lengths"])
        self.term_bytes = _u8(a["term_bytes"])
        self.term_starts = _u32(a["term_starts"])
        self.slots = _u32(a["slots"])
        self.slot_mask = len(a["slots"]) - 1
        self.list_starts = _u32(a["list_starts"])
        self.entries = _u32(a["entries"])
        self.impacts = _u8(a["impacts"])
        self.dense_terms = _u32(a["dense_terms"])
        self.dense_df = _u32(a["dense_df"])
        self.dense_starts = _u64(a["dense_starts"])
        self.n_dense = len(a["dense_terms"])
        self.blocks = (self.n_rows + BLOCK - 1) // BLOCK
        self.stride = stride_of(self.n_rows)
        self.maxima = _u8(a["maxima"])
        self.sizes = _u8(a["sizes"])
        self.anchors = _u32(a["anchors"])
        self.stream = _u8(a["stream"])
        self.large.terms = _u32(a["large_terms"])
        self.large.docs = _u32(a["large_docs"])
        self.large.counts = _u32(a["large_counts"])
        self.large.n = len(a["large_terms"])
        self.is_sound = <uint8_t*>calloc(self.n_terms + 1, 1)
        if self.is_sound == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.is_sound)

    def __len__(self):
        return self.n_terms

    cdef uint64_t _dense_place(self, uint32_t number) noexcept nogil:
        """Return where a term is among those that are dense."""
        cdef uint64_t low = 0, high = self.n_dense, mid
        while low < high:
            mid = (low + high) // 2
            if self.dense_terms[mid] < number:
                low = mid + 1
            else:
                high = mid
        return low

    cdef int locate(self, uint32_t number, Postings* out) except -1 nogil:
        """Locate the postings of a term, verified; returns whether they are dense."""
        cdef uint64_t start = self.list_starts[number], low
        cdef bint is_sound
        out.number = number
        out.large = &self.large
        out.blocks = <uint32_t>self.blocks
        out.df = <uint32_t>(self.list_starts[number + 1] - start)
        if out.df:
            out.entries = self.entries + start
            out.impacts = self.impacts + start
            out.maxima = NULL
            is_sound = self.is_sound[number] or is_sound_list(out, <uint32_t>self.n_rows)
        else:
            low = self._dense_place(number)
            out.entries = NULL
            out.df = self.dense_df[low]
            out.maxima = self.maxima + low * self.stride
            out.sizes = self.sizes + low * self.stride
            out.anchors = self.anchors + low * (self.stride // 16)
            out.stream = self.stream + self.dense_starts[low]
            is_sound = self.is_sound[number] or is_sound_stream(
                out, <uint32_t>self.n_rows, self.dense_starts[low + 1] - self.dense_starts[low]
            )
        if not is_sound:
            with gil:
                raise IndexDamagedError(
                    f"{self.where}: the postings of {self.term(number)!r} do not read; "
                    "`sleuth doctor --repair` makes them anew"
                )
        self.is_sound[number] = True
        return out.entries == NULL

    def check(self):
        """Check all terms and their postings.

        Raises:
            IndexDamagedError: names a term.
        """
        cdef Postings p
        cdef uint64_t number
        for number in range(self.n_terms):
            if self._find(self.term_bytes + self.term_starts[number], self.term_starts[number + 1] - self.term_starts[number]) != <int64_t>number:
                raise IndexDamagedError(f"{self.where}: its dictionary does not find term {number}")
        with nogil:
            for number in range(self.n_terms):
                self.locate(<uint32_t>number, &p)

    cpdef int64_t find(self, str token) except? -2:
        """Return the number of a term, or -1."""
        cdef bytes encoded = token.encode("utf-8", "surrogatepass")
        return self._find(<const uint8_t*><const char*>encoded, len(encoded))

    cdef int64_t _find(self, const uint8_t* term, uint64_t size) noexcept nogil:
        cdef uint64_t j = _hash(term, size) & self.slot_mask, i
        while self.slots[j]:
            i = self.slots[j] - 1
            if self.term_starts[i + 1] - self.term_starts[i] == size and not memcmp(self.term_bytes + self.term_starts[i], term, size):
                return i
            j = (j + 1) & self.slot_mask
        return -1

    def term(self, uint32_t number):
        """Return the term of a number; bytes that are not UTF-8 are escaped."""
        cdef uint32_t start = self.term_starts[number]
        cdef bytes term = (<const char*>self.term_bytes)[start : self.term_starts[number + 1]]
        try:
            return term.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return term.decode("utf-8", "backslashreplace")

    def rows(self, uint32_t number):
        """Return how many rows hold a term, deleted ones included, without a look at its postings."""
        cdef uint32_t n = self.list_starts[number + 1] - self.list_starts[number]
        return n if n else self.dense_df[self._dense_place(number)]

    def df(self, uint32_t number, const uint64_t[::1] live=None):
        """Count the rows of `live` that contain the term."""
        cdef Postings p
        cdef uint64_t n
        self.locate(number, &p)
        if live is None:
            return p.df
        with nogil:
            n = df_within(&p, &live[0])
        return n

    def count(self, uint32_t number, uint32_t row):
        """Return how often a row contains the term."""
        cdef Postings p
        self.locate(number, &p)
        return count_in(&p, row)

    def postings(self, uint32_t number):
        """Return (rows, counts) of a term, uint32, in order of row."""
        cdef Postings p
        self.locate(number, &p)
        rows_array, counts_array = np.empty(p.df, np.uint32), np.empty(p.df, np.uint32)
        cdef uint32_t[::1] rows = rows_array, counts = counts_array
        cdef uint64_t i = 0
        cdef uint32_t block
        cdef const uint8_t* at
        cdef const uint8_t* end
        if p.entries != NULL:
            for i in range(p.df):
                rows[i] = list_doc(p.entries[i])
                counts[i] = list_count(&p, p.entries[i])
            return rows_array, counts_array
        at = p.stream
        for block in range(p.blocks):
            end = at + p.sizes[block]
            while at < end:
                counts[i] = read_dense(&p, &at, block * 16, &rows[i])
                i += 1
        return rows_array, counts_array


def stride_of(n_rows):
    """Return the number of blocks per dense term, padded."""
    return -(-n_rows // (BLOCK * STRIDE)) * STRIDE


def _spans(starts):
    """Return (start, end) of each piece between `starts`, shape (n + 1,); shape (n, 2), uint64."""
    return np.stack((starts[:-1], starts[1:]), axis=1).astype(np.uint64)


def is_dense(df, n_rows):
    """Return which terms are dense, by the number of rows of each."""
    return df >= max(DENSE_LEAST, DENSE_SHARE * (n_rows / BLOCK))


def sizes_of(df, long_counts, n_rows):
    """Estimate the bytes of each term's postings; shape (n_terms,), int64."""
    return np.where(is_dense(df, n_rows), df.astype(np.int64) + long_counts + 2 * stride_of(n_rows), 5 * df.astype(np.int64))


def dictionary(data, starts):
    """Return the arrays of these terms, end to end, and where each begins and ends. Raises as `term_starts`."""
    short = term_starts(starts)
    slots = empty_slots(len(short) - 1)
    fill_slots(slots, data, short, 0)
    return {"term_bytes": data, "term_starts": short, "slots": slots}


def term_starts(starts):
    """Return where terms begin and end, in 32 bits; raises ArgumentError where all take too many bytes."""
    if starts[-1] >= GONE:
        raise ArgumentError(f"a segment must hold less than {GONE} bytes of distinct terms, got {starts[-1]}")
    return starts.astype(np.uint32)


def empty_slots(n_terms):
    """Return the hash table of a dictionary of so many terms, shape (a power of two,), uint32; 0 is free."""
    room = 8
    while room * 2 < n_terms * 3:
        room *= 2
    return np.zeros(room, np.uint32)


def fill_slots(uint32_t[::1] slots, const uint8_t[::1] data, const uint32_t[::1] starts, uint32_t first):
    """Put terms into a hash table, each as its number + 1, from `first` on; `starts` may begin with any value."""
    cdef uint64_t mask = slots.shape[0] - 1, i, j
    cdef const uint8_t* term = &data[0] if data.shape[0] else NULL
    with nogil:
        for i in range(<uint64_t>starts.shape[0] - 1):
            j = _hash(term, starts[i + 1] - starts[i]) & mask
            term += starts[i + 1] - starts[i]
            while slots[j]:
                j = (j + 1) & mask
            slots[j] = <uint32_t>(first + i + 1)


cdef class PostingsWriter:
    """Writes postings in any order of terms, each term's in order of row. Every posting is announced first.

    Args:
        df: rows per term, uint32, shape (n_terms,).
        long_counts: postings per term with a count of 16 and more, uint32.
        lengths: shape (n,), uint32.
        c0, c1: impacts are tf / (tf + c0 + c1 * length).
    """

    cdef Writer w
    cdef readonly dict arrays
    cdef object keep
    cdef const uint32_t* lengths
    cdef float c0, c1

    def __cinit__(self, df, long_counts, lengths, float c0, float c1):
        n = len(lengths)
        if n > MOST_ROWS:
            raise ArgumentError(f"a segment must hold at most {MOST_ROWS} rows, got {n}")
        stride = stride_of(n)
        dense = is_dense(df, n)
        dense_terms = np.flatnonzero(dense).astype(np.uint32)
        list_starts = np.zeros(len(df) + 1, np.int64)
        np.cumsum(np.where(dense, 0, df), out=list_starts[1:])
        dense_starts = np.zeros(len(dense_terms) + 1, np.uint64)
        np.cumsum(df[dense_terms].astype(np.uint64) + long_counts[dense_terms], out=dense_starts[1:])
        if list_starts[-1] >= GONE:
            raise ArgumentError(f"a segment must hold fewer than {GONE} postings of rare terms, got {list_starts[-1]}")
        total = int(list_starts[-1])
        self.arrays = a = {
            "lengths": lengths,
            "list_starts": list_starts.astype(np.uint32),
            "entries": np.empty(total, np.uint32),
            "impacts": np.empty(total, np.uint8),
            "dense_terms": dense_terms,
            "dense_df": df[dense_terms].astype(np.uint32),
            "dense_starts": dense_starts,
            "maxima": np.zeros(len(dense_terms) * stride, np.uint8),
            "sizes": np.zeros(len(dense_terms) * stride, np.uint8),
            "stream": np.empty(int(dense_starts[-1]), np.uint8),
        }
        cursors = _spans(list_starts)
        cursors[dense_terms, 0] = np.arange(len(dense_terms), dtype=np.uint64) | np.uint64(1 << 63)
        cursors[dense_terms, 1] = cursors[dense_terms, 0]
        stream_cursors = _spans(dense_starts)
        self.keep = (cursors, stream_cursors)
        self.w.cursors = <uint64_t*>_u64(cursors.reshape(-1))
        self.w.stream_cursors = <uint64_t*>_u64(stream_cursors.reshape(-1))
        self.w.entries = <uint32_t*>_u32(a["entries"])
        self.w.impacts = <uint8_t*>_u8(a["impacts"])
        self.w.stream = <uint8_t*>_u8(a["stream"])
        self.w.maxima = <uint8_t*>_u8(a["maxima"])
        self.w.sizes = <uint8_t*>_u8(a["sizes"])
        self.w.stride = stride
        self.lengths = _u32(lengths)
        self.c0, self.c1 = c0, c1

    def __dealloc__(self):
        free(self.w.large)

    def add_rows(self, int64_t first, const int64_t[::1] ends, const uint32_t[::1] terms, const uint32_t[::1] counts):
        """Add rows from ordinal `first` on: row i has terms[ends[i - 1]:ends[i]]."""
        cdef int64_t i, j = 0
        cdef float norm
        with nogil:
            for i in range(ends.shape[0]):
                norm = self.c0 + self.c1 * <float>self.lengths[first + i]
                while j < ends[i]:
                    write_posting(&self.w, terms[j], <uint32_t>(first + i), counts[j], norm)
                    j += 1

    def add_segment(
        self,
        FieldPostings source not None,
        const uint32_t[::1] terms,
        const uint32_t[::1] rows,
        uint32_t base,
        uint32_t first,
        uint64_t begin,
        uint64_t end,
    ):
        """Add postings of a segment whose term i and row j have the numbers terms[i] - first and rows[j] here.

        A term of another number, and a row that is GONE, are left out. Where `rows` is None, row j is base + j. Only
        the terms from `begin` to `end` of the segment are read.
        """
        cdef uint64_t number, stop = min(end, source.n_terms)
        cdef uint32_t term, n = <uint32_t>(len(self.arrays["list_starts"]) - 1)
        cdef const uint32_t* row_numbers = &rows[0] if rows is not None and rows.shape[0] else NULL
        with nogil:
            for number in range(begin, stop):
                term = terms[number] - first
                if term < n:
                    self._add_term(source, number, term, row_numbers, base)

    cdef int _add_term(
        self, FieldPostings source, uint64_t number, uint32_t term, const uint32_t* rows, uint32_t base
    ) except -1 nogil:
        cdef Postings p
        cdef uint64_t i
        cdef uint32_t block, doc
        cdef const uint8_t* at
        cdef const uint8_t* end
        if not source.locate(<uint32_t>number, &p):
            for i in range(p.df):
                doc = list_doc(p.entries[i])
                self._move(rows[doc] if rows else base + doc, term, list_count(&p, p.entries[i]))
            return 0
        at = p.stream
        for block in range(p.blocks):
            end = at + p.sizes[block]
            while at < end:
                i = read_dense(&p, &at, block * 16, &doc)
                self._move(rows[doc] if rows else base + doc, term, <uint32_t>i)
        return 0

    cdef inline void _move(self, uint32_t row, uint32_t term, uint32_t count) noexcept nogil:
        if row != GONE_ROW:
            write_posting(&self.w, term, row, count, self.c0 + self.c1 * <float>self.lengths[row])

    def finish(self):
        """Return the complete arrays.

        Raises:
            IndexDamagedError: other postings came than were announced: a segment's counts are not those of its postings.
        """
        if self.w.outcome == NO_MEMORY:
            raise MemoryError
        if self.w.outcome == NO_ROOM or any((span[:, 0] != span[:, 1]).any() for span in self.keep):
            raise IndexDamagedError(
                "a segment counts other postings than it holds; `sleuth doctor --repair` makes it anew"
            )
        a = self.arrays
        groups = stride_of(len(a["lengths"])) // GROUP
        sizes = a["sizes"].reshape(-1, GROUP).sum(axis=1, dtype=np.uint32)
        anchors = np.zeros(sizes.shape, np.uint32)
        if groups:
            np.cumsum(sizes.reshape(-1, groups)[:, :-1], axis=1, out=anchors.reshape(-1, groups)[:, 1:])
        a["anchors"] = anchors
        large = np.empty((self.w.n_large, 3), np.uint32)
        cdef uint32_t[:, ::1] view = large
        if self.w.n_large:
            memcpy(&view[0, 0], self.w.large, self.w.n_large * 12)
        large = large[np.lexsort((large[:, 1], large[:, 0]))]
        for i, name in enumerate(("large_terms", "large_docs", "large_counts")):
            a[name] = np.ascontiguousarray(large[:, i])
        return a


def tally(const uint32_t[::1] terms, const uint32_t[::1] counts, uint32_t[::1] df, uint32_t[::1] long_counts):
    """Add the postings of a batch to df and long_counts."""
    cdef int64_t i
    with nogil:
        for i in range(terms.shape[0]):
            df[terms[i]] += 1
            long_counts[terms[i]] += counts[i] >= 16


def tally_segment(
    FieldPostings source not None, const uint32_t[::1] terms, const uint32_t[::1] rows, uint32_t[::1] df, uint32_t[::1] long_counts
):
    """Run `tally` over the kept rows of a segment; term i and row j are terms[i] and rows[j] here.

    A term or a row that is GONE is left out.
    """
    cdef uint64_t number, i
    cdef Postings p
    cdef uint32_t block, doc, count, term
    cdef const uint8_t* at
    cdef const uint8_t* end
    with nogil:
        for number in range(source.n_terms):
            term = terms[number]
            if term == GONE_ROW:
                continue
            if not source.locate(<uint32_t>number, &p):
                for i in range(p.df):
                    if rows[list_doc(p.entries[i])] != GONE_ROW:
                        df[term] += 1
                        long_counts[term] += list_count(&p, p.entries[i]) >= 16
                continue
            at = p.stream
            for block in range(p.blocks):
                end = at + p.sizes[block]
                while at < end:
                    count = read_dense(&p, &at, block * 16, &doc)
                    if rows[doc] != GONE_ROW:
                        df[term] += 1
                        long_counts[term] += count >= 16
