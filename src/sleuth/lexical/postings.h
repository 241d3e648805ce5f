/* Postings of one field of one segment, as they lie in its arrays.
 *
 * A rare term is a list of `row << 4 | count`, with impacts beside it. A frequent one is dense: for every block of
 * BLOCK rows the greatest impact and the bytes its postings take, in one stream of `place << 4 | count`. Where a count
 * does not fit, its place is taken by a mark: 15 in a list, 0 in a stream, where it follows as a byte of its own, and
 * 255 there if that is too small as well; the count is then in the table `large`. Impacts are BM25's tf / (tf + K),
 * rounded up to 255ths.
 */
#ifndef SLEUTH_POSTINGS_H
#define SLEUTH_POSTINGS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SHIFT  4
#define BLOCK        (1u << BLOCK_SHIFT)
#define ANCHOR_SHIFT 4  /* blocks per absolute offset into the stream */
#define LIST_MARK    15 /* the greatest count of a list's entry: it is in `large` */
#define STREAM_MARK  255

typedef struct {
    const uint32_t *terms, *docs, *counts; /* sorted by term, then doc */
    uint64_t n;
} Large;

typedef struct {
    const uint32_t *entries; /* NULL in a dense term */
    const uint8_t *impacts;
    const uint8_t *maxima, *sizes, *stream; /* a dense term */
    const uint32_t *anchors;
    const Large *large;
    uint32_t number, df, blocks;
} Postings;

static uint32_t large_count(const Large *large, uint32_t term, uint32_t doc) {
    uint64_t low = 0, high = large->n, want = ((uint64_t)term << 32) | doc;
    while (low < high) {
        uint64_t mid = (low + high) / 2, here = ((uint64_t)large->terms[mid] << 32) | large->docs[mid];
        if (here < want)
            low = mid + 1;
        else
            high = mid;
    }
    return low < large->n ? large->counts[low] : 0;
}

static inline uint32_t list_doc(uint32_t entry) { return entry >> 4; }

static inline uint32_t list_count(const Postings *p, uint32_t entry) {
    uint32_t count = entry & 15;
    return count < LIST_MARK ? count : large_count(p->large, p->number, entry >> 4);
}

static inline uint64_t byte_sum(uint64_t bytes) { return (bytes * 0x0101010101010101u) >> 56; }

/* Where the postings of a block begin in the stream. A block takes at most 32 bytes. */
static inline uint64_t block_start(const Postings *p, uint32_t block) {
    uint64_t group = block >> ANCHOR_SHIFT, start = p->anchors[group], sizes[2];
    uint32_t before = block & 7;
    memcpy(sizes, p->sizes + (group << ANCHOR_SHIFT), 16);
    if (block & 8) {
        start += byte_sum(sizes[0] & 0x00ffffffffffffffu) + (sizes[0] >> 56);
        sizes[0] = sizes[1];
    }
    return start + (before ? byte_sum(sizes[0] << (64 - 8 * before)) : 0);
}

/* Reads the posting at `at`, moving it on. */
static inline uint32_t read_dense(const Postings *p, const uint8_t **at, uint32_t base, uint32_t *doc) {
    uint32_t code = *(*at)++, count = code & 15;
    *doc = base + (code >> 4);
    if (!count) {
        count = *(*at)++;
        if (count == STREAM_MARK) count = large_count(p->large, p->number, *doc);
    }
    return count;
}

/* First index in a list whose ordinal is at least doc. */
static inline uint64_t list_find(const Postings *p, uint32_t doc) {
    uint64_t low = 0, n = p->df;
    while (n) {
        uint64_t half = n / 2;
        if (list_doc(p->entries[low + half]) < doc) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

/* How often the term is in the row; 0 where it is not. */
static inline uint32_t count_in(const Postings *p, uint32_t doc) {
    if (p->entries) {
        uint64_t i = list_find(p, doc);
        return i < p->df && list_doc(p->entries[i]) == doc ? list_count(p, p->entries[i]) : 0;
    }
    uint32_t block = doc >> BLOCK_SHIFT, here;
    if (!p->maxima[block]) return 0;
    const uint8_t *at = p->stream + block_start(p, block), *end = at + p->sizes[block];
    while (at < end) {
        uint32_t count = read_dense(p, &at, block << BLOCK_SHIFT, &here);
        if (here == doc) return count;
    }
    return 0;
}

static inline int has_bit(const uint64_t *set, uint32_t i) { return (int)(set[i >> 6] >> (i & 63) & 1); }

/* Rows of the set that hold the term. */
static inline uint64_t df_within(const Postings *p, const uint64_t *set) {
    uint64_t n = 0;
    uint32_t doc;
    if (p->entries) {
        for (uint64_t i = 0; i < p->df; i++) n += has_bit(set, list_doc(p->entries[i]));
        return n;
    }
    const uint8_t *at = p->stream;
    for (uint32_t block = 0; block < p->blocks; block++)
        for (const uint8_t *end = at + p->sizes[block]; at < end;) {
            read_dense(p, &at, block << BLOCK_SHIFT, &doc);
            n += has_bit(set, doc);
        }
    return n;
}

/* ---- checking: files are untrusted, and reading relies on nothing else than these checks ---- */

/* Whether the rows of a list rise and are below `rows`, and every count is there. */
static inline int is_sound_list(const Postings *p, uint32_t rows) {
    uint32_t wrong = 0, marks = 0;
    for (uint64_t i = 1; i < p->df; i++) wrong |= list_doc(p->entries[i - 1]) >= list_doc(p->entries[i]);
    for (uint64_t i = 0; i < p->df; i++) wrong |= !(p->entries[i] & 15), marks |= (p->entries[i] & 15) == LIST_MARK;
    for (uint64_t i = 0; marks && i < p->df; i++) wrong |= list_count(p, p->entries[i]) < (p->entries[i] & 15);
    return !wrong && list_doc(p->entries[p->df - 1]) < rows;
}

/* The postings of a block of a stream, whose rows must be below `rows`; -1 where they do not end with the block. */
static inline int count_block(const Postings *p, const uint8_t *at, uint32_t size, uint32_t base, uint32_t rows) {
    const uint8_t *end = at + size;
    uint32_t doc;
    int n = 0;
    for (; at < end; n++) {
        const int is_long = !(*at & 15);
        if (is_long && (end - at < 2 || at[1] < 16)) return -1;
        const uint32_t least = is_long ? at[1] : 1;
        if (read_dense(p, &at, base, &doc) < least || doc >= rows) return -1;
    }
    return n;
}

/* Whether the blocks of a dense term fill its stream of `size` bytes, with its postings, of rows below `rows`. */
static inline int is_sound_stream(const Postings *p, uint32_t rows, uint64_t size) {
    const uint32_t group = 1u << ANCHOR_SHIFT;
    uint64_t start = 0, n = 0;
    for (uint32_t first = 0; first < p->blocks; first += group) {
        const uint8_t *sizes = p->sizes + first, *stream = p->stream + start;
        uint32_t total = 0, wrong = 0, simple = first + group < p->blocks;
        for (uint32_t i = 0; i < group; i++) total += sizes[i], wrong |= sizes[i] > 2 * BLOCK;
        if (wrong || p->anchors[first >> ANCHOR_SHIFT] != start || total > size - start) return 0;
        start += total;
        for (uint32_t i = 0; i < total; i++) simple &= (stream[i] & 15) != 0;
        if (simple) { /* a byte per posting, and no block of rows that there are not */
            n += total;
            continue;
        }
        for (uint32_t i = 0; i < group; i++) {
            int postings = count_block(p, stream, sizes[i], (first + i) << BLOCK_SHIFT, rows);
            if (postings < 0) return 0;
            stream += sizes[i];
            n += (uint64_t)postings;
        }
    }
    return start == size && n == p->df;
}

/* ---- writing ---- */

#define DENSE_MARK 0x8000000000000000u

typedef enum { FITS, NO_MEMORY, NO_ROOM } Outcome;

typedef struct {
    uint64_t *cursors; /* per term: next place in the lists and their end; or DENSE_MARK | dense number, and nothing */
    uint32_t *entries;
    uint8_t *impacts;
    uint64_t *stream_cursors; /* per dense term: next place in the stream, and its end */
    uint8_t *stream, *maxima, *sizes;
    uint64_t stride; /* blocks per dense term, padded */
    uint32_t *large; /* term, row, count, one after the other */
    uint64_t n_large, large_room;
    Outcome outcome;
} Writer;

static inline uint8_t round_up(float impact) {
    uint32_t whole = (uint32_t)(impact * 255.0f * 1.00001f);
    return (uint8_t)(whole >= 255 ? 255 : whole + 1);
}

static void write_large(Writer *w, uint32_t term, uint32_t doc, uint32_t count) {
    if (w->n_large == w->large_room) {
        uint64_t room = w->large_room ? w->large_room * 2 : 64;
        uint32_t *larger = realloc(w->large, room * 3 * sizeof *larger);
        if (!larger) {
            w->outcome = NO_MEMORY;
            return;
        }
        w->large = larger;
        w->large_room = room;
    }
    uint32_t *at = w->large + 3 * w->n_large++;
    at[0] = term;
    at[1] = doc;
    at[2] = count;
}

static inline void write_posting(Writer *w, uint32_t term, uint32_t doc, uint32_t count, float norm) {
    uint8_t impact = round_up((float)count / ((float)count + norm));
    uint64_t *cursor = w->cursors + 2 * (uint64_t)term, at = *cursor;
    if (!(at & DENSE_MARK)) {
        if (at == cursor[1]) {
            w->outcome = NO_ROOM;
            return;
        }
        *cursor = at + 1;
        w->entries[at] = doc << 4 | (count < LIST_MARK ? count : LIST_MARK);
        w->impacts[at] = impact;
        if (count >= LIST_MARK) write_large(w, term, doc, count);
        return;
    }
    at &= ~DENSE_MARK;
    cursor = w->stream_cursors + 2 * at;
    uint64_t block = at * w->stride + (doc >> BLOCK_SHIFT), next = *cursor;
    if (cursor[1] - next < 1 + (uint64_t)(count >= 16)) {
        w->outcome = NO_ROOM;
        return;
    }
    if (impact > w->maxima[block]) w->maxima[block] = impact;
    w->stream[next++] = (uint8_t)((doc & (BLOCK - 1)) << 4 | (count < 16 ? count : 0));
    w->sizes[block]++;
    if (count >= 16) {
        w->stream[next++] = (uint8_t)(count < STREAM_MARK ? count : STREAM_MARK);
        w->sizes[block]++;
        if (count >= STREAM_MARK) write_large(w, term, doc, count);
    }
    *cursor = next;
}

#endif
