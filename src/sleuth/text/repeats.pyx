# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Tells which texts of a list repeat earlier ones, by the runs of words that they share."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    RUN = 3            # words of a run
    MOST_WORDS = 4096  # of a text that are read
    MOST_TEXTS = 0xFFFF
    FEW = 12           # runs; a text with fewer repeats only one that has the same runs

cdef double SAME = 0.6
cdef uint64_t PRIME = 0x100000001B3  # of the hash FNV-1a


cdef struct Run:  # 8 bytes: tables of hundreds of passages stay within the second cache
    uint32_t hash   # 0 where the place is empty
    uint16_t owner  # the first text that has it
    uint16_t last   # the last text that was compared and has it, as a number that begins again after 65,535


# Of the text at hand, which is read while the GIL is held: 49 kB that each new object would set to 0.
cdef uint64_t _words[MOST_WORDS + RUN]
cdef uint32_t _places[MOST_WORDS]  # of runs that it has added


cdef class Repeats:
    """The distinct texts of a list. One thread at a time.

    A text repeats the texts before it if they hold three fifths of its runs of three words, or if it holds three fifths of
    those of one of them and is at most twice as long. A text with fewer than twelve
    runs repeats only a text with the same runs. Case and marks do not count, only the first 4,096 words are read, and only
    the first 65,535 distinct texts are remembered.

    Args:
        texts: how many will be compared, about.

    Source of runs (shingles): Broder, "On the resemblance and containment of documents", SEQUENCES 1997.
    """

    cdef Run* table
    cdef uint32_t mask
    cdef uint32_t used
    cdef list sizes           # distinct runs of each distinct text
    cdef dict short           # places of texts with few runs, by all of these together
    cdef uint16_t compared    # texts, as Run.last counts

    def __cinit__(self, uint32_t texts=0):
        self.mask, self.used, self.compared = 2047, 0, 0
        while self.mask < 80 * min(texts, 100):  # to grow costs a fifth of the comparison of a hundred texts
            self.mask = 2 * self.mask + 1
        self.sizes, self.short = [], {}
        self.table = <Run*>calloc(self.mask + 1, sizeof(Run))
        if self.table == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table)

    def __len__(self):
        return len(self.sizes)

    def add(self, str text not None):
        """Return the place of the distinct text that holds most of this one; None, and add it, if it repeats none."""
        cdef const char* start
        cdef Py_ssize_t size
        cdef uint32_t owner = <uint32_t>len(self.sizes), added = 0, shared = 0, best = 0, n, i, hash, own, held, *shares
        cdef uint64_t whole = 0
        cdef bint is_repeat
        cdef Run* run
        try:
            start = PyUnicode_AsUTF8AndSize(text, &size)  # no copy of what is ASCII
        except UnicodeEncodeError:  # a lone surrogate
            text = text.encode("utf-8", "replace").decode()
            start = PyUnicode_AsUTF8AndSize(text, &size)
        n = read_words(<const uint8_t*>start, <const uint8_t*>start + size, _words)
        n = n - RUN + 1 if n >= RUN else (n > 0)
        while 4 * (self.used + n) > 3 * self.mask:
            self._grow()
        shares = <uint32_t*>calloc(owner + 1, sizeof(uint32_t))
        if shares == NULL:
            raise MemoryError
        self.compared += 1
        for i in range(n):
            hash = hash_of(_words + i)
            run = place_of(self.table, self.mask, hash)
            if run.hash == 0 or run.last != self.compared:
                whole += <uint64_t>hash * hash
            if run.hash == 0:
                run.hash, run.owner = hash, <uint16_t>owner
                _places[added] = <uint32_t>(run - self.table)
                added += 1
            elif run.last != self.compared:
                shares[run.owner] += 1
                own = shares[run.owner]
                if own > shares[best] or (own == shares[best] and run.owner < best):
                    best = run.owner
                shared += 1
            run.last = self.compared
        n = added + shared
        if n < FEW:
            is_repeat = whole in self.short
            best = self.short.get(whole, 0)
        else:
            held = <uint32_t>self.sizes[best] if shared else 0  # runs of the text that has most of these
            is_repeat = held >= FEW and (
                shared >= SAME * n or (shares[best] >= SAME * held and n <= 2 * held)
            )
        free(shares)
        if is_repeat or owner == MOST_TEXTS:
            while added:  # in reverse: so each leaves the table as it found it
                added -= 1
                self.table[_places[added]].hash = 0
            return best if is_repeat else None
        self.used += added
        if 0 < n < FEW:
            self.short[whole] = owner
        self.sizes.append(n)
        return None

    cdef int _grow(self) except -1:
        cdef uint32_t mask = 2 * self.mask + 1, i
        cdef Run* table = <Run*>calloc(mask + 1, sizeof(Run))
        if table == NULL:
            raise MemoryError
        for i in range(self.mask + 1):
            if self.table[i].hash:
                place_of(table, mask, self.table[i].hash)[0] = self.table[i]
        free(self.table)
        self.table, self.mask = table, mask
        return 0


cdef inline Run* place_of(Run* table, uint32_t mask, uint32_t hash) noexcept nogil:
    """Return where a run is in a table, or where it would be."""
    cdef uint32_t place = hash >> 1 & mask
    while table[place].hash and table[place].hash != hash:
        place = (place + 1) & mask
    return &table[place]


cdef inline uint32_t hash_of(const uint64_t* words) noexcept nogil:
    """Return a hash of a run of words; never 0."""
    return <uint32_t>mixed((words[0] * PRIME + words[1]) * PRIME + words[2]) | 1


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """Return a hash of 64 bits: the finalizer of MurmurHash3."""
    x = (x ^ (x >> 33)) * <uint64_t>0xFF51AFD7ED558CCD
    x = (x ^ (x >> 33)) * <uint64_t>0xC4CEB9FE1A85EC53
    return x ^ (x >> 33)


cdef uint8_t FOLDED[256]  # ASCII: small letters, digits and "_"; 0 for marks and spaces. Above: the byte itself
for _byte in range(256):
    _char = chr(_byte).lower()
    FOLDED[_byte] = ord(_char) if _byte >= 0x80 or _char.isalnum() or _char == "_" else 0


cdef inline int symbol(const uint8_t* at, const uint8_t* end, int* length) noexcept nogil:
    """Return what a character that is not ASCII is: 0 a mark or a space, 1 a part of a word, 2 a word of its own."""
    cdef uint8_t first = at[0]
    cdef uint32_t second = at[1] if at + 1 < end else 0
    length[0] = min(<int>(end - at), 2 if first < 0xE0 else 3 if first < 0xF0 else 4)
    if first == 0xC2 or (first == 0xE2 and second < 0x84) or (first == 0xE3 and second == 0x80):
        return 0  # signs of Latin-1, general and Chinese punctuation
    return 2 if 0xE3 <= first <= 0xE9 else 1  # Kana and Han are written without spaces


cdef uint32_t read_words(const uint8_t* at, const uint8_t* end, uint64_t* words) noexcept nogil:
    """Write a hash of each word of a text, then zeros, and return how many words there are."""
    cdef uint64_t word = 0, letter
    cdef uint32_t n = 0
    cdef int kind, length, i
    while at < end and n < MOST_WORDS - 1:
        if at[0] < 0x80:
            letter = FOLDED[at[0]]  # without branches: where words end cannot be predicted
            words[n] = word
            n += (letter == 0) & (word != 0)
            word = ((word << 7 | word >> 57) ^ letter) & -<uint64_t>(letter != 0)
            at += 1
            continue
        kind = symbol(at, end, &length)
        if kind != 1 and word:
            words[n] = word
            n += 1
            word = 0
        for i in range(length if kind else 0):
            word = (word << 7 | word >> 57) ^ at[i]
        if kind == 2:
            words[n] = word
            n += 1
            word = 0
        at += length
    if word:
        words[n] = word
        n += 1
    for i in range(n, min(n + RUN, MOST_WORDS + RUN)):
        words[i] = 0
    return n
