# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts the terms of rows.

A text is cut at ASCII separators into *surfaces*, in one pass over its UTF-8 bytes. Each distinct surface is
converted to terms once, by Python (stemming, Unicode, identifiers); after that a token costs one array look-up.
A counter that starts anew keeps what it knows of surfaces, and numbers terms again from 0.
"""

import numpy as np
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)

cdef extern from "tokens.h" nogil:
    ctypedef struct StringTable:
        uint8_t* bytes
        uint64_t used
        uint64_t* starts
        uint32_t* hashes
        uint64_t count
    ctypedef struct Numbers:
        uint32_t* data
        uint64_t used
    int table_init(StringTable*)
    void table_free(StringTable*)
    int64_t table_intern(StringTable*, const uint8_t*, uint64_t, uint32_t)
    uint32_t string_hash(const uint8_t*, uint64_t)
    int numbers_push(Numbers*, uint32_t)
    ctypedef struct Text:
        const uint8_t* fold
        const uint8_t* kinds
        const uint8_t* s
        uint64_t n
    int intern_runs(StringTable*, const Text*, uint8_t*, Numbers*)

cdef uint32_t NONE = 0xFFFFFFFF
cdef uint64_t BATCH_BYTES = 1 << 22


cdef class TermCounter:
    """Counts terms of rows; holds the dictionary of all terms since it started. One thread at a time.

    Args:
        fold: 256 bytes: what each byte of a text becomes in a surface, 0 for a separator.
        expand: list of surfaces to list of their terms: a str for one term, a sequence of str for any other number.
        prepare: a text that is not ASCII to the text that is cut.
        kinds: 256 bytes, of each byte of a text: which separators a surface may hold, and where (`tokens.h`).
    """

    cdef StringTable surfaces
    cdef StringTable terms
    cdef Numbers expansion      # per surface: start in flat
    cdef Numbers flat           # terms of surfaces, one surface after the other
    cdef Numbers tokens
    cdef Numbers numbered       # terms since the start, in order of first appearance
    cdef uint32_t* number       # per term: its place in `numbered`, or NONE
    cdef uint32_t* seen         # per term: 1 + the row that last had it, within a call
    cdef uint32_t* place        # per term: where its count is
    cdef uint64_t room          # of `number`, `seen` and `place`
    cdef uint8_t fold[256]
    cdef uint8_t kinds[256]
    cdef object expand
    cdef object prepare

    def __cinit__(self, bytes fold not None, expand, prepare, bytes kinds not None=bytes(256)):
        if len(fold) != 256 or len(kinds) != 256:
            raise ValueError(f"fold and kinds must be 256 bytes each, got {len(fold)} and {len(kinds)}")
        memcpy(self.fold, <const uint8_t*>fold, 256)
        memcpy(self.kinds, <const uint8_t*>kinds, 256)
        self.expand = expand
        self.prepare = prepare
        if table_init(&self.surfaces) or table_init(&self.terms) or numbers_push(&self.expansion, 0):
            raise MemoryError

    def __dealloc__(self):
        table_free(&self.surfaces)
        table_free(&self.terms)
        free(self.expansion.data)
        free(self.flat.data)
        free(self.tokens.data)
        free(self.numbered.data)
        free(self.number)
        free(self.seen)
        free(self.place)

    def __len__(self):
        return self.numbered.used

    @property
    def known(self):
        """How many surfaces have been converted to terms."""
        return self.surfaces.count

    def restart(self):
        """Forget which terms were counted."""
        cdef uint64_t i
        for i in range(self.numbered.used):
            self.number[self.numbered.data[i]] = NONE
        self.numbered.used = 0

    def count(self, list sources not None, list weights not None):
        """Return terms and their weighted counts, row by row.

        Args:
            sources: lists of texts, one per source, all of one length n.
            weights: per source, how often a token of it counts.

        Returns:
            (ends, terms, counts, lengths): row i has terms[ends[i - 1]:ends[i]], uint32, distinct, in order of first
            appearance, with counts of the same shape, uint32; lengths, shape (n,), uint32, sums of counts.
        """
        parts = [self._tally(ends, weights, stop - start) for start, stop, ends in self._batches(sources)]
        if len(parts) == 1:
            return parts[0]
        base = 0
        ends = []
        for part in parts:
            ends.append(part[0] + base)
            base += len(part[1])
        return np.concatenate(ends), *(np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))

    def hold(self, list sources not None, list phrase not None):
        """Return which rows have a text that holds the terms of a phrase one after the other, shape (n,), bool.

        Args:
            sources: lists of texts, one per source, all of one length n.
            phrase: at least one term.
        """
        cdef int64_t text, texts, first, width = len(sources)
        cdef uint64_t i, j, state = 0, size = len(phrase), base = self.flat.used
        holding = np.zeros(len(sources[0]), np.uint8)
        cdef uint32_t[::1] terms = np.zeros(size, np.uint32)
        # How many terms still match after a mismatch (Knuth, Morris and Pratt).
        cdef uint64_t[::1] ends, border = np.zeros(size + 1, np.uint64)
        cdef uint8_t[::1] holds = holding
        for token in phrase:
            self._add_term(token)
        for i in range(size):
            terms[i] = self.flat.data[base + i]
        for i in range(1, size):
            while state and terms[i] != terms[state]:
                state = border[state]
            state += terms[i] == terms[state]
            border[i + 1] = state
        for first, _, ends in self._batches(sources):
            texts, i = ends.shape[0], 0
            with nogil:
                for text in range(texts):
                    state = 0
                    while i < ends[text]:
                        for j in range(self.expansion.data[self.tokens.data[i]], self.expansion.data[self.tokens.data[i] + 1]):
                            while state and (state == size or self.flat.data[j] != terms[state]):
                                state = border[state]
                            state += self.flat.data[j] == terms[state]
                            holds[first + text // width] |= state == size
                        i += 1
        return holding.view(np.bool_)

    def _batches(self, list sources not None):
        """Yield rows, some 4 MB of text at a time, at least once: the first, the end, and where tokens end (`_cut`)."""
        cdef int64_t n = len(sources[0]) if sources else 0, first, stop = 0
        cdef uint64_t size
        while True:
            first, size = stop, 0
            while stop < n and size < BATCH_BYTES:
                for texts in sources:
                    size += len(texts[stop])
                stop += 1
            yield first, stop, self._cut(sources, first, stop)
            if stop == n:
                return

    cdef _cut(self, list sources, int64_t start, int64_t stop):
        """Set `tokens` to the surfaces of some rows; return where each text ends there, row by row, uint64."""
        cdef int64_t width = len(sources), n = (stop - start) * width, i, first = self.expansion.used - 1
        cdef StringTable* s = &self.surfaces
        cdef list words = []
        cdef const char** pointers = <const char**>malloc((n + 1) * sizeof(char*))
        cdef Py_ssize_t* sizes = <Py_ssize_t*>malloc((n + 1) * sizeof(Py_ssize_t))
        cdef uint8_t* buffer = NULL
        cdef Py_ssize_t longest = 0
        cdef int failed = 0
        cdef bytes encoded
        cdef object text
        cdef Text run_text
        run_text.fold, run_text.kinds = self.fold, self.kinds
        token_ends = np.empty(n, np.uint64)
        cdef uint64_t[::1] ends = token_ends
        keep = []
        try:
            if pointers == NULL or sizes == NULL:
                raise MemoryError
            for i in range(n):
                text = sources[i % width][start + i // width]
                if not isinstance(text, str):
                    raise TypeError(f"a text must be a str, got {text!r}")
                if PyUnicode_IS_ASCII(text):
                    keep.append(text)
                    pointers[i] = PyUnicode_AsUTF8AndSize(text, &sizes[i])
                else:
                    encoded = self.prepare(text).encode("utf-8", "surrogatepass")
                    keep.append(encoded)
                    pointers[i] = encoded
                    sizes[i] = len(encoded)
                longest = max(longest, sizes[i])
            buffer = <uint8_t*>malloc(longest + 1)
            if buffer == NULL:
                raise MemoryError
            self.tokens.used = 0
            with nogil:
                for i in range(n):
                    run_text.s, run_text.n = <const uint8_t*>pointers[i], sizes[i]
                    failed |= intern_runs(&self.surfaces, &run_text, buffer, &self.tokens)
                    ends[i] = self.tokens.used
            if failed:
                raise MemoryError
        finally:
            free(pointers)
            free(sizes)
            free(buffer)
        # New surfaces become terms.
        self.flat.used = self.expansion.data[first]  # what a call that raised half-way left
        for i in range(first, s.count):
            words.append(PyUnicode_DecodeUTF8(<char*>s.bytes + s.starts[i], s.starts[i + 1] - s.starts[i], "surrogatepass"))
        expanded = self.expand(words) if words else ()
        if len(expanded) != len(words):
            raise ValueError("expand must give one entry per surface")
        for terms in expanded:
            for token in (terms,) if isinstance(terms, str) else terms:
                self._add_term(token)
            if numbers_push(&self.expansion, <uint32_t>self.flat.used):
                raise MemoryError
        return token_ends

    cdef int _add_term(self, str token) except -1:
        """Add a term of the last surface."""
        cdef int64_t number
        cdef Py_ssize_t size
        cdef const char* p
        cdef bytes encoded
        if PyUnicode_IS_ASCII(token):
            p = PyUnicode_AsUTF8AndSize(token, &size)
        else:
            encoded = token.encode("utf-8", "surrogatepass")
            p = encoded
            size = len(encoded)
        number = table_intern(&self.terms, <const uint8_t*>p, size, string_hash(<const uint8_t*>p, size))
        if number < 0 or numbers_push(&self.flat, <uint32_t>number):
            raise MemoryError
        return 0

    cdef _tally(self, uint64_t[::1] token_ends, list weights, int64_t n):
        cdef int64_t width = len(weights), row, source
        cdef uint64_t i, j, total = 0, used = 0, room = max(1, self.terms.count)
        cdef uint32_t surface, term, weight, length
        cdef int failed = 0
        cdef uint32_t* tokens = self.tokens.data
        cdef uint32_t* at = self.expansion.data
        cdef uint32_t* flat = self.flat.data
        if room > self.room:
            room += room // 2
            self.number = <uint32_t*>realloc(self.number, room * sizeof(uint32_t))
            self.seen = <uint32_t*>realloc(self.seen, room * sizeof(uint32_t))
            self.place = <uint32_t*>realloc(self.place, room * sizeof(uint32_t))
            if self.number == NULL or self.seen == NULL or self.place == NULL:
                raise MemoryError
            for i in range(self.room, room):
                self.number[i] = NONE
            self.room = room
        for i in range(self.terms.count):
            self.seen[i] = 0
        cdef uint32_t* number = self.number
        cdef uint32_t* seen = self.seen
        cdef uint32_t* place = self.place
        for i in range(self.tokens.used):
            total += at[tokens[i] + 1] - at[tokens[i]]
        weights_array = np.array(weights, np.uint32)
        row_ends, row_lengths = np.empty(n, np.int64), np.empty(n, np.uint32)
        row_terms, row_counts = np.empty(total, np.uint32), np.empty(total, np.uint32)
        cdef uint32_t[::1] w = weights_array, lengths = row_lengths, terms = row_terms, counts = row_counts
        cdef int64_t[::1] ends = row_ends
        with nogil:
            i = 0
            for row in range(n):
                length = 0
                for source in range(width):
                    weight = w[source]
                    while i < token_ends[row * width + source]:
                        surface = tokens[i]
                        i += 1
                        for j in range(at[surface], at[surface + 1]):
                            term = flat[j]
                            if number[term] == NONE:
                                number[term] = <uint32_t>self.numbered.used
                                failed |= numbers_push(&self.numbered, term)
                            if weight == 0:
                                continue
                            length += weight
                            if seen[term] == row + 1:
                                counts[place[term]] += weight
                            else:
                                seen[term] = row + 1
                                place[term] = used
                                terms[used] = number[term]
                                counts[used] = weight
                                used += 1
                ends[row] = used
                lengths[row] = length
        if failed:
            raise MemoryError
        return row_ends, row_terms[:used].copy(), row_counts[:used].copy(), row_lengths

    def dictionary(self):
        """Return the terms in order of number: (bytes, starts): uint8 end to end, and count + 1 offsets, int64."""
        cdef uint64_t i, begin, size
        starts = np.zeros(self.numbered.used + 1, np.int64)
        cdef int64_t[::1] s = starts
        for i in range(self.numbered.used):
            begin = self.terms.starts[self.numbered.data[i]]
            s[i + 1] = s[i] + self.terms.starts[self.numbered.data[i] + 1] - begin
        data = np.empty(s[self.numbered.used], np.uint8)
        cdef uint8_t[::1] b = data
        for i in range(self.numbered.used):
            size = s[i + 1] - s[i]
            if size:
                memcpy(&b[s[i]], self.terms.bytes + self.terms.starts[self.numbered.data[i]], size)
        return data, starts


cdef class TermTable:
    """Finds the first place of each term, of one share of all terms by their hash.

    Args:
        share, shares: which share, and how many there are.
    """

    cdef StringTable table
    cdef Numbers firsts
    cdef uint64_t share, shares

    def __cinit__(self, uint64_t share=0, uint64_t shares=1):
        self.share, self.shares = share, shares
        if table_init(&self.table):
            raise MemoryError

    def __dealloc__(self):
        table_free(&self.table)
        free(self.firsts.data)

    def add(self, const uint8_t[::1] data, const uint32_t[::1] starts, uint32_t[::1] firsts, uint32_t first):
        """Set firsts[first + i] for each term i of this share: where the term came first, now or in a call before.

        Args:
            data: the terms, end to end.
            starts: where they begin and end, shape (n + 1,), with any first value.
        """
        cdef int64_t i, number = 0
        cdef uint64_t size
        cdef const uint8_t* s = &data[0] if data.shape[0] else NULL
        cdef uint32_t h
        with nogil:
            for i in range(starts.shape[0] - 1):
                size = starts[i + 1] - starts[i]
                h = string_hash(s, size)
                if h * self.shares >> 32 == self.share:
                    number = table_intern(&self.table, s, size, h)
                    if number < 0 or number == self.firsts.used and numbers_push(&self.firsts, first + i):
                        number = -1
                        break
                    firsts[first + i] = self.firsts.data[number]
                s += size
        if number < 0:
            raise MemoryError


def number_terms(uint32_t[::1] firsts):
    """Number terms in order of their first places: firsts[i] becomes the number of term i; return how many there are."""
    cdef int64_t i
    cdef uint32_t n = 0
    with nogil:
        for i in range(firsts.shape[0]):
            if firsts[i] == i:
                firsts[i] = n
                n += 1
            else:
                firsts[i] = firsts[firsts[i]]
    return n
