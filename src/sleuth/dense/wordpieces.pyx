# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Cuts texts into the tokens of a Llama vocabulary and computes the mean of their vectors.

Byte-pair encoding as sentencepiece and Hugging Face `tokenizers` define it for Llama 2: a space is put in front, the
characters are merged pair by pair, and a character that the vocabulary lacks becomes its UTF-8 bytes. "▁", which stands
for a space in the published vocabulary, is read as one. The merges need no list: a pair merges if the vocabulary holds its
concatenation, and comes first by (not a run of spaces, id of the whole, id of the left, id of the right, place), which is
the order of the published list.

No merge crosses two bytes that stand side by side in no token. There a text is cut into words, which are encoded one by
one: before most spaces, at the ends of lines, between digits.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

cdef extern from "vectors.h" nogil:
    void FETCH(const void*)
    void sum_rows(float* into, const uint16_t* halves, const int32_t* ids, size_t m, size_t n)

cdef extern from "matching.h" nogil:
    size_t pack_ids(const int32_t* ids, size_t n, uint64_t* seen, uint8_t* out)

cdef extern from "wordpieces.h" nogil:
    ctypedef struct Candidate:
        uint64_t rank
        int32_t place
    void heap_push(Candidate* heap, int64_t* n, Candidate new)
    Candidate heap_pop(Candidate* heap, int64_t* n)
    uint32_t FIRST_HASH
    uint32_t hash_byte(uint32_t hash, uint8_t byte)
    uint32_t last_hash(uint32_t hash)
    uint32_t hash_bytes(const uint8_t* p, int64_t n)
    int64_t with_spaces(const uint8_t* text, int64_t n, uint8_t* out)
    int64_t with_small_letters(const uint8_t* text, int64_t n, uint8_t* out)

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    void* PyUnicode_DATA(object)

cdef enum:
    FIRST_TEXT = 259  # below: unknown, two control tokens, 256 bytes
    FIRST_BYTE = 3
    SPACE = 32
    LONGEST_WORD = 42
    MOST_TOKENS = 8
    WORDS = 1 << 17
    AHEAD = 16  # words of a text that are fetched together
    BRIEF = 400  # bytes: a text, mostly a query, that is read sooner than the lock is taken back

cdef struct Symbol:
    int32_t start
    int32_t size  # bytes; 0 once merged into its left neighbour
    int32_t id  # below FIRST_TEXT: takes no part in merges
    int32_t left
    int32_t right

cdef struct Slot:
    uint32_t hash
    int32_t id  # -1 where empty

cdef struct Piece:  # a word of a text
    int64_t start
    int64_t size
    uint32_t hash

cdef struct Text:
    const uint8_t* start
    int64_t size
    bint has_case

cdef struct Word:  # one that was encoded before, and what it came to; 64 bytes, a line of the processor's cache
    uint32_t hash
    uint8_t size  # bytes; 0 where empty
    uint8_t count
    uint8_t[LONGEST_WORD] text
    uint16_t[MOST_TOKENS] ids

cdef struct Scratch:
    void* memory  # of words
    Word* words  # two places for each hash, the latest stay
    Candidate* heap  # begins the memory of a text, in which the others lie
    Symbol* symbols
    int32_t* ids
    uint8_t* text
    int64_t capacity  # symbols, bytes of text and ids; the heap holds three times as many


cdef bint reserve(Scratch* s, int64_t n) noexcept nogil:
    """Make room for a text of n bytes; False without memory."""
    cdef int64_t size = n + n // 2 + 256
    if n <= s.capacity:
        return True
    free(s.heap)
    s.capacity = 0
    s.heap = <Candidate*> malloc(size * (3 * sizeof(Candidate) + sizeof(Symbol) + sizeof(int32_t) + 1))
    if s.heap == NULL:
        return False
    s.symbols = <Symbol*> (s.heap + 3 * size)
    s.ids = <int32_t*> (s.symbols + size)
    s.text = <uint8_t*> (s.ids + size)
    s.capacity = size
    return True


cdef class Reader:
    """Buffers of one thread, and the words that it met, kept between calls."""

    cdef Scratch scratch

    def __cinit__(self):
        self.scratch.memory = calloc(WORDS + 1, sizeof(Word))
        if self.scratch.memory == NULL:
            raise MemoryError
        self.scratch.words = <Word*> ((<size_t> self.scratch.memory + sizeof(Word) - 1) // sizeof(Word) * sizeof(Word))

    def __dealloc__(self):
        free(self.scratch.heap)
        free(self.scratch.memory)


cdef class Vocabulary:
    """Tokens by their bytes.

    Args:
        tokens: the vocabulary in order of id, each UTF-8: control tokens, then 256 bytes, then text with a space for "▁".
    """

    cdef list _tokens  # keeps the bytes alive
    cdef list _spare  # readers that no call is using
    cdef const uint8_t** _text
    cdef int32_t* _size
    cdef Slot* _slots
    cdef uint64_t* _pairs  # of tokens that make a token: left, right and 1 + the id of the whole; 0 where empty
    cdef uint8_t* _marks  # by id: 1 for runs of spaces
    cdef uint64_t* _joined  # a bit for each pair of bytes: 1 where some token has the second right after the first
    cdef int32_t _of_ascii[128]  # the token of each ASCII character alone, or -1
    cdef uint32_t _mask  # of slots and of pairs
    cdef int32_t _longest
    cdef readonly int size

    def __cinit__(self, list tokens):
        cdef int32_t i, j, n = len(tokens)
        cdef uint32_t hashed, slot
        cdef uint8_t byte
        cdef bytes token
        if n > 1 << 16:
            raise ValueError(f"tokens must be at most 65,536, got {n}")
        self.size = n
        self._tokens = tokens
        self._spare = []
        self._mask = 1024
        while self._mask < 4 * <uint32_t> n:
            self._mask *= 2
        self._text = <const uint8_t**> malloc(n * sizeof(uint8_t*))
        self._size = <int32_t*> malloc(n * sizeof(int32_t))
        self._slots = <Slot*> malloc(self._mask * sizeof(Slot))
        self._pairs = <uint64_t*> calloc(self._mask, sizeof(uint64_t))
        self._marks = <uint8_t*> malloc(n)
        self._joined = <uint64_t*> calloc(256 * 256 // 64, sizeof(uint64_t))
        if (self._text == NULL or self._size == NULL or self._slots == NULL or self._pairs == NULL or self._marks == NULL
                or self._joined == NULL):
            raise MemoryError
        self._mask -= 1
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(Slot))
        for i in range(n):
            token = self._tokens[i]
            self._text[i] = token
            self._size[i] = len(token)
            self._marks[i] = not token.strip(b" ")
            if i < FIRST_TEXT:
                continue
            self._longest = max(self._longest, self._size[i])
            for j in range(1, self._size[i]):
                self._joined[self._text[i][j - 1] * 4 + (self._text[i][j] >> 6)] |= 1ull << (self._text[i][j] & 63)
            hashed = hash_bytes(self._text[i], self._size[i])
            slot = hashed & self._mask
            while self._slots[slot].id >= 0:
                slot = (slot + 1) & self._mask
            self._slots[slot] = Slot(hashed, i)
        for i in range(128):
            byte = <uint8_t> i
            self._of_ascii[i] = self.find(&byte, 1)
        j = 0
        for i in range(FIRST_TEXT, n):
            j += self.link(i)
            if j > <int32_t> (self._mask // 4 * 3):
                raise ValueError(f"tokens must be made of at most {self._mask // 4 * 3:,} pairs of tokens")

    def __dealloc__(self):
        free(self._text)
        free(self._size)
        free(self._slots)
        free(self._pairs)
        free(self._marks)
        free(self._joined)

    cdef Reader take(self):
        """Return a reader for this call alone."""
        try:
            return self._spare.pop()
        except IndexError:
            return Reader()

    cdef int32_t find(self, const uint8_t* p, int64_t n) noexcept nogil:
        """Return the id of the token of these bytes, or -1."""
        if n > self._longest:
            return -1
        return self.find_hashed(p, n, hash_bytes(p, n))

    cdef inline int32_t find_hashed(self, const uint8_t* p, int64_t n, uint32_t hashed) noexcept nogil:
        cdef uint32_t slot = hashed & self._mask
        cdef Slot at
        while True:
            at = self._slots[slot]
            if at.id < 0 or (
                at.hash == hashed and self._size[at.id] == n and memcmp(self._text[at.id], p, n) == 0
            ):
                return at.id
            slot = (slot + 1) & self._mask

    cdef int32_t link(self, int32_t whole) noexcept:
        """Note the pairs of tokens that make this one; return how many there are."""
        cdef const uint8_t* p = self._text[whole]
        cdef int32_t size = self._size[whole], count = 0, i, left, right
        cdef uint32_t hashed = FIRST_HASH
        for i in range(1, size):
            hashed = hash_byte(hashed, p[i - 1])
            left = self.find_hashed(p, i, last_hash(hashed))
            right = self.find(p + i, size - i) if left >= 0 else -1
            if right >= 0:
                self.pair(left, right)[0] = (<uint64_t> left << 16 | <uint64_t> right) << 32 | <uint64_t> (whole + 1)
                count += 1
        return count

    cdef inline uint64_t* pair(self, int32_t left, int32_t right) noexcept nogil:
        """Return the place of two tokens among pairs, which is empty where they make none."""
        cdef uint64_t key = <uint64_t> left << 16 | <uint64_t> right
        cdef uint64_t at = key * 0x9E3779B97F4A7C15ull >> 32 & self._mask
        while self._pairs[at] and self._pairs[at] >> 32 != key:
            at = (at + 1) & self._mask
        return &self._pairs[at]

    cdef inline int32_t join(self, Symbol* left, Symbol* right) noexcept nogil:
        """Return the id of the token that two neighbours make, or -1. Control tokens and bytes make none."""
        if left.id < FIRST_TEXT or right.id < FIRST_TEXT:
            return -1
        return <int32_t> <uint32_t> self.pair(left.id, right.id)[0] - 1

    cdef void offer(self, Scratch* s, int64_t* waiting, int32_t place) noexcept nogil:
        """Push the pair that starts at symbol `place` on the heap if the vocabulary merges it."""
        cdef Symbol* left = &s.symbols[place]
        cdef Symbol* right
        cdef Candidate new
        cdef int32_t whole
        if left.right < 0:
            return
        right = &s.symbols[left.right]
        whole = self.join(left, right)
        if whole < 0:
            return
        new.rank = (
            (<uint64_t> self._marks[whole] << 63) | (<uint64_t> whole << 42)
            | (<uint64_t> left.id << 21) | <uint64_t> right.id
        )
        new.place = place
        heap_push(s.heap, waiting, new)

    cdef int64_t encode_word(
        self, Scratch* s, const uint8_t* p, int64_t n, uint32_t hashed, int32_t* ids
    ) noexcept nogil:
        """Find the token ids of the n bytes of one word and return how many; remembered where the cache has a place."""
        cdef int64_t i, count
        cdef int way
        cdef Word* word
        if n > LONGEST_WORD:
            return self.merge_word(s, p, n, ids)
        word = &s.words[hashed & (WORDS - 2)]
        for way in range(2):
            if word[way].size == n and word[way].hash == hashed and memcmp(word[way].text, p, n) == 0:
                for i in range(word[way].count):
                    ids[i] = word[way].ids[i]
                return word[way].count
        count = self.merge_word(s, p, n, ids)
        if count <= MOST_TOKENS:
            word[1] = word[0]
            word.hash, word.size, word.count = hashed, <uint8_t> n, <uint8_t> count
            memcpy(word.text, p, n)
            for i in range(count):
                word.ids[i] = <uint16_t> ids[i]
        return count

    cdef int64_t merge_word(self, Scratch* s, const uint8_t* p, int64_t n, int32_t* ids) noexcept nogil:
        """Find the token ids of a word by merging its characters."""
        cdef int64_t i = 0, count = 0, waiting = 0, out = 0
        cdef int32_t token, place, size, b
        cdef Symbol* left
        cdef Symbol* right
        cdef Candidate best
        while i < n:
            size = 1
            while i + size < n and (p[i + size] & 0xC0) == 0x80:
                size += 1
            token = self._of_ascii[p[i]] if p[i] < 128 else self.find(p + i, size)
            s.symbols[count] = Symbol(i, size, token, count - 1, count + 1)
            count += 1
            i += size
        s.symbols[count - 1].right = -1
        for i in range(count - 1):
            self.offer(s, &waiting, i)
        while waiting > 0:
            best = heap_pop(s.heap, &waiting)
            left = &s.symbols[best.place]
            if left.size == 0 or left.right < 0:
                continue
            right = &s.symbols[left.right]
            token = <int32_t> ((best.rank >> 42) & 0x1FFFFF)
            if self.join(left, right) != token:
                continue
            left.size += right.size
            left.id = token
            left.right = right.right
            right.size = 0
            if left.right >= 0:
                s.symbols[left.right].left = best.place
                self.offer(s, &waiting, best.place)
            if left.left >= 0:
                self.offer(s, &waiting, left.left)
        place = 0
        while place >= 0:
            left = &s.symbols[place]
            if left.id >= 0:
                ids[out] = left.id
                out += 1
            else:
                for b in range(left.size):
                    ids[out] = FIRST_BYTE + p[left.start + b]
                    out += 1
            place = left.right
        return out

    cdef int64_t encode_text(self, Scratch* s, const uint8_t* text, int64_t n, bint has_case=False) noexcept nogil:
        """Write the token ids of a text of n bytes, with capitals ASCII alone, to s.ids; return how many, or -1 without memory."""
        cdef int64_t size, start = 0, end, count = 0
        cdef uint32_t hashed
        cdef int32_t i, pieces
        cdef Piece[AHEAD] piece
        if n == 0:
            return 0
        if not reserve(s, n + 1):
            return -1
        size = with_small_letters(text, n, s.text) if has_case else with_spaces(text, n, s.text)
        while start < size:
            pieces = 0
            while start < size and pieces < AHEAD:
                end = start + 1
                hashed = hash_byte(FIRST_HASH, s.text[start])
                while end < size and self.continues(s.text + end):
                    hashed = hash_byte(hashed, s.text[end])
                    end += 1
                hashed = last_hash(hashed)
                FETCH(&s.words[hashed & (WORDS - 2)])
                piece[pieces] = Piece(start, end - start, hashed)
                pieces += 1
                start = end
            for i in range(pieces):
                count += self.encode_word(s, s.text + piece[i].start, piece[i].size, piece[i].hash, s.ids + count)
        return count

    cdef inline bint continues(self, const uint8_t* p) noexcept nogil:
        """Return whether a token may hold the byte at p together with the one before it."""
        return p[0] & 0xC0 == 0x80 or (self._joined[p[-1] * 4 + (p[0] >> 6)] >> (p[0] & 63)) & 1

    cdef int64_t encode_alone(self, Scratch* s, bytes text) except -1:
        """Run `encode_text`, releasing the GIL only for texts long enough to pay for it."""
        cdef const uint8_t* p = text
        cdef int64_t count, n = len(text)
        if n <= BRIEF:
            count = self.encode_text(s, p, n)
        else:
            with nogil:
                count = self.encode_text(s, p, n)
        if count < 0:
            raise MemoryError
        return count

    def encode(self, bytes text):
        """Return the token ids of a text in UTF-8, shape (m,), int32."""
        cdef Reader reader = self.take()
        cdef int64_t count = self.encode_alone(&reader.scratch, text)
        ids = np.empty(count, np.int32)
        cdef int32_t[::1] view = ids
        if count:
            memcpy(&view[0], reader.scratch.ids, count * sizeof(int32_t))
        self._spare.append(reader)
        return ids

    def embed(self, bytes text, const uint16_t[:, ::1] table):
        """Return the vector of one text as `read` computes it, from a table of halves: shape (dimension,), float32."""
        cdef int64_t count, dimension = table.shape[1]
        cdef Reader reader
        if table.shape[0] != self.size:
            raise ValueError("table must fit the vocabulary")
        vector = np.empty(dimension, np.float32)
        cdef float[::1] out = vector
        reader = self.take()
        count = self.encode_alone(&reader.scratch, text)
        sum_rows(&out[0], &table[0, 0], reader.scratch.ids, count, dimension)
        scale_row(&out[0], dimension)
        self._spare.append(reader)
        return vector

    def read(self, list texts, int64_t most, const uint16_t[:, ::1] table=None, float[:, ::1] out=None):
        """Return the tokens of texts and, with a table, the sums of their vectors. Releases the GIL.

        Args:
            texts: n texts, UTF-8; or as str, ASCII alone, of which capitals are read as small letters.
            most: tokens to keep of a text; sums are over all.
            table: a vector per token in halves, shape (size, dimension).
            out: shape (n, dimension), overwritten: sums scaled to length 1; zeros where a text has no tokens.

        Returns:
            The set of tokens of each text (matching.h), one after the other, uint8; and their sizes in bytes, shape (n,),
            uint16.
        """
        cdef int64_t n = len(texts), i, count = 0, bytes_in = 0, dimension = 0 if table is None else table.shape[1]
        cdef size_t size = 0
        cdef Text* inputs
        cdef uint64_t* seen
        cdef uint8_t* packed = NULL
        cdef Reader reader
        if table is not None and (
            table.shape[0] != self.size or out is None or out.shape[0] != n or out.shape[1] != dimension
        ):
            raise ValueError("table and out must fit the vocabulary and the texts")
        if not 0 <= most <= 1 << 14:
            raise ValueError(f"most must be at most 16,384, got {most}")
        sizes = np.zeros(n, np.uint16)
        cdef uint16_t[::1] each = sizes
        cdef uint8_t[::1] view
        inputs = <Text*> malloc((n + 1) * sizeof(Text))
        seen = <uint64_t*> calloc(self.size // 64 + 1, sizeof(uint64_t))
        try:
            if inputs == NULL or seen == NULL:
                raise MemoryError
            for i, text in enumerate(texts):
                if isinstance(text, str) and PyUnicode_IS_ASCII(text):
                    inputs[i] = Text(<const uint8_t*> PyUnicode_DATA(text), len(text), True)
                else:
                    inputs[i] = Text(<const uint8_t*> <bytes?> text, len(text), False)
                bytes_in += 3 * min(most, inputs[i].size + 1)  # a token is a byte at least, in the text or put before it
            packed = <uint8_t*> malloc(bytes_in + 1)
            if packed == NULL:
                raise MemoryError
            reader = self.take()
            with nogil:
                for i in range(n):
                    count = self.encode_text(&reader.scratch, inputs[i].start, inputs[i].size, inputs[i].has_case)
                    if count < 0:
                        break
                    each[i] = <uint16_t> pack_ids(reader.scratch.ids, min(count, most), seen, packed + size)
                    size += each[i]
                    if dimension:
                        sum_rows(&out[i, 0], &table[0, 0], reader.scratch.ids, count, dimension)
                        scale_row(&out[i, 0], dimension)
            self._spare.append(reader)
            if count < 0:
                raise MemoryError
            tokens = np.empty(size, np.uint8)
            if size:
                view = tokens
                memcpy(&view[0], packed, size)
        finally:
            free(inputs)
            free(seen)
            free(packed)
        return tokens, sizes


cdef void scale_row(float* row, int64_t n) noexcept nogil:
    cdef double square = 0
    cdef float length
    cdef int64_t i
    for i in range(n):
        square += <double> row[i] * row[i]
    if square > 0:
        length = <float> sqrt(square)
        for i in range(n):
            row[i] = row[i] / length
