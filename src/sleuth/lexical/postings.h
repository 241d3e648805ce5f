/* Postings of one field of one segment, as they lie in its arrays.
 *
 * A rare term is a list: ordinals, counts and impacts side by side. A frequent one is dense: for every block of BLOCK
 * rows the greatest impact and the bytes its postings take, in one stream of `place << 4 | count`. A count above 15
 * follows as a byte of its own; one of 255 and more stands in the table `large`. Impacts are BM25's tf / (tf + K),
 * rounded up to 255ths.
 */
#ifndef SLEUTH_POSTINGS_H
#define SLEUTH_POSTINGS_H
#include <stdint.h>
#include <string.h>

#define BLOCK_SHIFT 4
#define BLOCK (1u << BLOCK_SHIFT)
#define ANCHOR_SHIFT 3 /* blocks per absolute offset into the stream */

typedef struct {
    const uint32_t *terms, *docs, *counts; /* sorted by term, then doc */
    uint64_t n;
} Large;

typedef struct {
    const uint32_t *docs; /* a list; NULL in a dense term */
    const uint8_t *counts, *impacts;
    const uint8_t *maxima, *sizes, *stream; /* a dense term */
    const uint32_t *anchors;
    const Large *large;
    uint32_t number, df, blocks;
} Postings;

static uint32_t large_count(const Large *large, uint32_t term, uint32_t doc) {
    uint64_t low = 0, high = large->n, want = ((uint64_t)term << 32) | doc;
    while (low < high) {
        uint64_t mid = (low + high) / 2, here = ((uint64_t)large->terms[mid] << 32) | large->docs[mid];
        if (here < want) low = mid + 1;
        else high = mid;
    }
    return low < large->n && large->terms[low] == term && large->docs[low] == doc ? large->counts[low] : 255;
}

static inline uint32_t list_count(const Postings *p, uint64_t i) {
    uint32_t count = p->counts[i];
    return count < 255 ? count : large_count(p->large, p->number, p->docs[i]);
}

static inline uint64_t block_start(const Postings *p, uint32_t block) {
    uint64_t sizes, group = block >> ANCHOR_SHIFT;
    memcpy(&sizes, p->sizes + (group << ANCHOR_SHIFT), 8);
    uint32_t before = (block & 7) * 8;
    sizes = before ? sizes << (64 - before) : 0;
    return p->anchors[group] + ((sizes * 0x0101010101010101u) >> 56);
}

/* Reads the posting at `at`, moving it on. */
static inline uint32_t read_dense(const Postings *p, const uint8_t **at, uint32_t base, uint32_t *doc) {
    uint32_t code = *(*at)++, count = code & 15;
    *doc = base + (code >> 4);
    if (!count) {
        count = *(*at)++;
        if (count == 255) count = large_count(p->large, p->number, *doc);
    }
    return count;
}

/* First index in a list whose ordinal is at least doc. */
static inline uint64_t list_find(const Postings *p, uint32_t doc) {
    uint64_t low = 0, n = p->df;
    while (n) {
        uint64_t half = n / 2;
        if (p->docs[low + half] < doc) {
            low += half + 1;
            n -= half + 1;
        } else n = half;
    }
    return low;
}

/* How often the term is in the row; 0 where it is not. */
static uint32_t count_in(const Postings *p, uint32_t doc) {
    if (p->docs) {
        uint64_t i = list_find(p, doc);
        return i < p->df && p->docs[i] == doc ? list_count(p, i) : 0;
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
static uint64_t df_within(const Postings *p, const uint64_t *set) {
    uint64_t n = 0;
    uint32_t doc;
    if (p->docs) {
        for (uint64_t i = 0; i < p->df; i++) n += has_bit(set, p->docs[i]);
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

/* ---- writing ---- */

#define DENSE_MARK 0x8000000000000000u

typedef struct {
    uint64_t *cursors; /* per term: next place in its list, or DENSE_MARK | dense number */
    uint32_t *docs;
    uint8_t *counts, *impacts;
    uint64_t *stream_cursors; /* per dense term */
    uint8_t *stream, *maxima, *sizes;
    uint64_t stride; /* blocks per dense term, padded */
    uint32_t *large_terms, *large_docs, *large_counts;
    uint64_t large;
} Writer;

static inline uint8_t round_up(float impact) {
    float x = impact * 255.0f * 1.00001f;
    uint32_t whole = (uint32_t)x;
    return (uint8_t)(whole >= 255 ? 255 : whole + 1);
}

static inline void write_posting(Writer *w, uint32_t term, uint32_t doc, uint32_t count, float norm) {
    uint8_t impact = round_up((float)count / ((float)count + norm)), byte = (uint8_t)(count < 255 ? count : 255);
    uint64_t at = w->cursors[term];
    if (count >= 255) {
        w->large_terms[w->large] = term;
        w->large_docs[w->large] = doc;
        w->large_counts[w->large++] = count;
    }
    if (!(at & DENSE_MARK)) {
        w->cursors[term] = at + 1;
        w->docs[at] = doc;
        w->counts[at] = byte;
        w->impacts[at] = impact;
        return;
    }
    at &= ~DENSE_MARK;
    uint64_t block = at * w->stride + (doc >> BLOCK_SHIFT), next = w->stream_cursors[at];
    if (impact > w->maxima[block]) w->maxima[block] = impact;
    w->stream[next++] = (uint8_t)((doc & (BLOCK - 1)) << 4 | (count < 16 ? count : 0));
    w->sizes[block]++;
    if (count >= 16) {
        w->stream[next++] = byte;
        w->sizes[block]++;
    }
    w->stream_cursors[at] = next;
}

#endif
