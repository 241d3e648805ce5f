/* Selects the best k rows of several segments without scoring all of them.
 *
 * Per block of rows the maxima of the query's terms sum to a bound; blocks are visited best bound first until the k-th
 * score beats every bound left (Block-Max Pruning: Mallia, Suel, Tonellotto, SIGIR 2024). Terms are added in one order,
 * so equal rows get bit-equal scores on every path.
 */
#ifndef SLEUTH_BLOCKMAX_H
#define SLEUTH_BLOCKMAX_H
#include <math.h>
#include <stdlib.h>
#include "postings.h"
#include "terms.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(SLEUTH_PORTABLE)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

#define GROUP_SHIFT  6   /* rows per entry of `firsts` */
#define PRUNED_TERMS 128 /* more are scored in full; 80 terms take a third of that time when they are pruned */
#define COLUMN       16  /* blocks per seed candidate */
#define AHEAD        4   /* blocks that are visited while the memory of another comes */
#define REGION_SHIFT 10  /* rows per set of terms: of many languages, most terms are in few rows */
#define SET_WORDS    (PRUNED_TERMS / 64)

/* Visits the members of a set of terms, ascending. */
#define EACH_TERM(j, set)                                                                                              \
    for (int word_ = 0, j = 0; word_ < SET_WORDS; word_++)                                                             \
        for (uint64_t left_ = (set)[word_]; left_ && (j = word_ * 64 + __builtin_ctzll(left_), 1); left_ &= left_ - 1)

typedef struct {
    float score;
    uint32_t tie, doc, part;
} Hit;

typedef struct {
    Hit *hits; /* a heap: the worst on top */
    uint64_t n, k;
    const uint32_t *ties;
    float threshold; /* what a score must reach */
} Top;

typedef enum { FEW, ALL, BLOCKS } Path;

/* One segment, as a query sees it. */
typedef struct {
    const Term *terms, *sparse; /* those of sparse fields are apart where they have few postings */
    int n_terms, n_sparse;
    uint32_t n, part;
    const uint64_t *mask; /* rows that may answer; NULL for all */
    uint64_t room;        /* of the table of sparse rows, a power of two, twice as many as there may be */
    Top top;
    float *bounds;
    uint64_t *held; /* per region of rows, the set of terms that may be in it */
    Path path;
} Search;

/* The sum of a row of a sparse field; `row` is its number plus 1, or 0 without one. */
typedef struct {
    uint32_t row;
    float sum;
} Sum;

/* What a search needs beside its hits; each is as large as the largest segment wants. */
typedef struct {
    float *scores, *bounds, *columns;
    uint32_t *found, *ordered, *firsts;
    uint64_t *held;
    Sum *sums;
} Areas;

static inline uint64_t groups_of(uint32_t n) { return ((uint64_t)n + (1u << GROUP_SHIFT) - 1) >> GROUP_SHIFT; }

static inline uint64_t regions_of(uint32_t n) { return ((uint64_t)n + (1u << REGION_SHIFT) - 1) >> REGION_SHIFT; }

/* Whether a row may answer. */
static inline int may_answer(const Search *s, uint32_t doc) { return !s->mask || has_bit(s->mask, doc); }

static inline int worse(Hit a, Hit b) { return a.score < b.score || (a.score == b.score && a.tie > b.tie); }

static void sink(Hit *hits, uint64_t n, uint64_t i) {
    Hit moving = hits[i];
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && worse(hits[child + 1], hits[child])) child++;
        if (!worse(hits[child], moving)) break;
        hits[i] = hits[child];
        i = child;
    }
    hits[i] = moving;
}

static inline void offer(Top *top, float score, uint32_t doc) {
    Hit hit = {score, top->ties ? top->ties[doc] : doc, doc, 0};
    if (top->n < top->k) {
        top->hits[top->n++] = hit;
        if (top->n == top->k) {
            for (uint64_t i = top->k / 2; i-- > 0;) sink(top->hits, top->k, i);
            top->threshold = top->hits[0].score;
        }
    } else if (worse(top->hits[0], hit)) {
        top->hits[0] = hit;
        sink(top->hits, top->k, 0);
        top->threshold = top->hits[0].score;
    }
}

/* Sorts the heap best first. */
static void settle(Top *top) {
    uint64_t n = top->n;
    if (n < top->k)
        for (uint64_t i = n / 2; i-- > 0;) sink(top->hits, n, i);
    while (n > 1) {
        Hit last = top->hits[--n];
        top->hits[n] = top->hits[0];
        top->hits[0] = last;
        sink(top->hits, n, 0);
    }
}

static inline float contribution(const Term *t, uint32_t count, uint32_t doc) {
    float tf = (float)count, length = (float)t->lengths[doc];
    return t->weight * (tf / (tf + (t->c0 + t->c1 * length)));
}

/* Adds every term to every row it is in. scores: shape (n,), zeroed. */
static void score_all(const Term *terms, int n_terms, float *scores) {
    for (int j = 0; j < n_terms; j++) {
        const Term *t = terms + j;
        const Postings *p = &t->postings;
        if (p->entries) {
            for (uint64_t i = 0; i < p->df; i++) {
                uint32_t row = list_doc(p->entries[i]);
                scores[row] += contribution(t, list_count(p, p->entries[i]), row);
            }
            continue;
        }
        const uint8_t *at = p->stream;
        uint32_t doc;
        for (uint32_t block = 0; block < p->blocks; block++)
            for (const uint8_t *end = at + p->sizes[block]; at < end;) {
                uint32_t count = read_dense(p, &at, block << BLOCK_SHIFT, &doc);
                scores[doc] += contribution(t, count, doc);
            }
    }
}

static float score_one(const Term *terms, int n_terms, uint32_t doc) {
    float score = 0;
    for (int j = 0; j < n_terms; j++) {
        uint32_t count = count_in(&terms[j].postings, doc);
        if (count) score += contribution(terms + j, count, doc);
    }
    return score;
}

/* Every row, or every row of the mask, scored and offered. scores: zeroed, shape (n,). */
static void search_all(Search *s, float *scores) {
    score_all(s->terms, s->n_terms, scores);
    for (uint32_t doc = 0; doc < s->n; doc++)
        if (scores[doc] > 0 && scores[doc] >= s->top.threshold && may_answer(s, doc)) offer(&s->top, scores[doc], doc);
}

/* Few rows may answer: each is looked up. */
static void search_few(Search *s) {
    for (uint64_t word = 0; word < ((uint64_t)s->n + 63) / 64; word++)
        for (uint64_t bits = s->mask[word]; bits; bits &= bits - 1) {
            uint32_t doc = (uint32_t)(word * 64 + (uint64_t)__builtin_ctzll(bits));
            float score = score_one(s->terms, s->n_terms, doc);
            if (score > 0 && score >= s->top.threshold) offer(&s->top, score, doc);
        }
}

WIDE static void add_maxima(float *restrict bounds, const uint8_t *restrict maxima, float unit, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) bounds[i] += unit * (float)maxima[i];
}

WIDE static void raise_to(float *restrict a, const float *restrict b, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
}

/* Places whose bound reaches the threshold, in any order; n is a multiple of 64, and `out` has room for n. */
WIDE static uint64_t reaching(const float *bounds, uint64_t n, float threshold, uint32_t *out) {
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; i += 64) {
        float most[16];
        for (int j = 0; j < 16; j++) {
            float a = bounds[i + j] > bounds[i + 16 + j] ? bounds[i + j] : bounds[i + 16 + j];
            float b = bounds[i + 32 + j] > bounds[i + 48 + j] ? bounds[i + 32 + j] : bounds[i + 48 + j];
            most[j] = a > b ? a : b;
        }
        uint32_t any = 0;
        for (int j = 0; j < 16; j++) any |= most[j] >= threshold ? 1u << j : 0;
        for (; any; any &= any - 1)
            for (uint32_t j = (uint32_t)__builtin_ctz(any); j < 64; j += 16) {
                out[found] = (uint32_t)i + j;
                found += bounds[i + j] >= threshold;
            }
    }
    return found;
}

/* Rows of a set. */
WIDE static uint64_t count_rows(const uint64_t *set, uint64_t words) {
    uint64_t rows = 0;
    for (uint64_t i = 0; i < words; i++) rows += (uint64_t)__builtin_popcountll(set[i]);
    return rows;
}

/* Leaves out blocks none of whose rows may answer; the mask has two bytes for each. */
WIDE static void leave_out(float *restrict bounds, const uint8_t *restrict mask, uint64_t blocks) {
    for (uint64_t b = 0; b < blocks; b++) bounds[b] = mask[2 * b] | mask[2 * b + 1] ? bounds[b] : -1;
}

/* Bounds of all blocks; `room` of them, a multiple of 16, those beyond the segment below 0. */
static void add_bounds(Search *s, uint64_t blocks, uint64_t room) {
    const uint64_t tile = 4096;
    float *bounds = s->bounds;
    memset(bounds, 0, blocks * sizeof *bounds);
    for (uint64_t start = 0; start < blocks; start += tile) {
        uint64_t n = blocks - start < tile ? blocks - start : tile;
        for (int j = 0; j < s->n_terms; j++)
            if (!s->terms[j].postings.entries)
                add_maxima(bounds + start, s->terms[j].postings.maxima + start, s->terms[j].unit, n);
    }
    for (int j = 0; j < s->n_terms; j++) {
        const Term *t = s->terms + j;
        const Postings *p = &t->postings;
        if (!p->entries) continue;
        uint32_t impact = 0; /* the greatest of a block */
        for (uint64_t i = p->df; i-- > 0;) {
            uint32_t doc = list_doc(p->entries[i]), block = doc >> BLOCK_SHIFT;
            if (p->impacts[i] > impact && may_answer(s, doc)) impact = p->impacts[i];
            if (i && list_doc(p->entries[i - 1]) >> BLOCK_SHIFT == block) continue;
            bounds[block] += t->unit * (float)impact;
            impact = 0;
            t->firsts[doc >> GROUP_SHIFT] = (uint32_t)i;
            s->held[(doc >> REGION_SHIFT) * SET_WORDS + j / 64] |= 1ull << j % 64;
        }
    }
    for (uint64_t b = blocks; b < room; b++) bounds[b] = -1;
    if (s->mask) leave_out(bounds, (const uint8_t *)s->mask, blocks);
}

/* The terms that may be in a block. */
static inline const uint64_t *terms_in(const Search *s, uint32_t block) {
    return s->held + ((uint64_t)block << BLOCK_SHIFT >> REGION_SHIFT) * SET_WORDS;
}

/* Begins the set of each region with the terms that have no list. */
static void begin_sets(Search *s) {
    uint64_t dense[SET_WORDS] = {0};
    for (int j = 0; j < s->n_terms; j++)
        if (!s->terms[j].postings.entries) dense[j / 64] |= 1ull << j % 64;
    for (uint64_t region = 0; region < regions_of(s->n); region++)
        memcpy(s->held + region * SET_WORDS, dense, sizeof dense);
}

/* The first posting of a list at or after row `base`, which begins a block; the end of the list where its group has
 * none, or a later one. */
static inline uint64_t list_from(const Term *t, uint32_t base) {
    const Postings *p = &t->postings;
    uint64_t i = t->firsts[base >> GROUP_SHIFT];
    if (i >= p->df || list_doc(p->entries[i]) >> GROUP_SHIFT != base >> GROUP_SHIFT) return p->df;
    while (i < p->df && list_doc(p->entries[i]) < base) i++;
    return i;
}

/* Scores the rows of a block, giving up where the terms left cannot lift any to the threshold. */
static void visit(Search *s, uint32_t block) {
    float sums[BLOCK] = {0}, left = s->bounds[block] * 1.00001f, best = 0;
    uint32_t base = block << BLOCK_SHIFT, doc;
    EACH_TERM(j, terms_in(s, block)) {
        const Term *t = s->terms + j;
        const Postings *p = &t->postings;
        uint32_t impact = 0; /* the greatest, which the bound counts */
        if (p->entries) {
            for (uint64_t i = list_from(t, base); i < p->df && (doc = list_doc(p->entries[i])) < base + BLOCK; i++) {
                if (!may_answer(s, doc)) continue;
                if (p->impacts[i] > impact) impact = p->impacts[i];
                float sum = sums[doc - base] += contribution(t, list_count(p, p->entries[i]), doc);
                if (sum > best) best = sum;
            }
        } else if (p->maxima[block]) {
            impact = p->maxima[block];
            const uint8_t *at = p->stream + block_start(p, block), *end = at + p->sizes[block];
            while (at < end) {
                uint32_t count = read_dense(p, &at, base, &doc);
                if (!may_answer(s, doc)) continue;
                float sum = sums[doc - base] += contribution(t, count, doc);
                if (sum > best) best = sum;
            }
        }
        left -= t->unit * (float)impact;
        if (best + left < s->top.threshold) return;
    }
    for (uint32_t i = 0; i < BLOCK; i++)
        if (sums[i] > 0 && sums[i] >= s->top.threshold) offer(&s->top, sums[i], base + i);
}

/* Numbers of blocks ordered by falling bound, roughly: by 256 steps between the threshold and the best. */
static void order_by_bound(const float *bounds, const uint32_t *from, uint32_t *to, uint64_t n, float low) {
    uint64_t starts[257] = {0};
    float most = 0;
    for (uint64_t i = 0; i < n; i++)
        if (bounds[from[i]] > most) most = bounds[from[i]];
    float scale = most > low ? 255.0f / (most - low) : 0;
    for (uint64_t i = 0; i < n; i++) starts[256 - (int)((bounds[from[i]] - low) * scale)]++;
    for (int i = 1; i < 257; i++) starts[i] += starts[i - 1];
    for (uint64_t i = n; i-- > 0;) to[--starts[256 - (int)((bounds[from[i]] - low) * scale)]] = from[i];
}

/* Fetches the memory that a visit of a block reads: where its postings are, or once that is here, the postings. Inlined
 * in any case, since GCC drops calls of a function that only fetches. */
__attribute__((always_inline)) static inline void fetch(const Search *s, uint32_t block, int has_places) {
    uint32_t base = block << BLOCK_SHIFT;
    EACH_TERM(j, terms_in(s, block)) {
        const Term *t = s->terms + j;
        const Postings *p = &t->postings;
        if (p->entries)
            __builtin_prefetch(has_places ? (const void *)(p->entries + t->firsts[base >> GROUP_SHIFT])
                                          : (const void *)(t->firsts + (base >> GROUP_SHIFT)));
        else if (has_places)
            __builtin_prefetch(p->stream + block_start(p, block));
        else {
            __builtin_prefetch(p->maxima + block);
            __builtin_prefetch(p->sizes + block);
            __builtin_prefetch(p->anchors + (block >> ANCHOR_SHIFT));
        }
        if (!has_places) __builtin_prefetch(t->lengths + base);
    }
    if (!has_places && s->top.ties) __builtin_prefetch(s->top.ties + base);
}

/* Visits blocks in this order, `most` of them, each if its bound still reaches the threshold. A block waits in two
 * steps for its memory, meanwhile those before it are visited. */
static void visit_all(Search *s, const uint32_t *blocks, uint64_t n, uint64_t most) {
    for (uint64_t i = 0; i < n + 2 * AHEAD && most; i++) {
        if (i < n && s->bounds[blocks[i]] >= s->top.threshold) fetch(s, blocks[i], 0);
        if (i >= AHEAD && i - AHEAD < n && s->bounds[blocks[i - AHEAD]] >= s->top.threshold)
            fetch(s, blocks[i - AHEAD], 1);
        if (i < 2 * AHEAD) continue;
        uint32_t block = blocks[i - 2 * AHEAD];
        if (s->bounds[block] < s->top.threshold) continue;
        visit(s, block);
        s->bounds[block] = -1;
        most--;
    }
}

/* Visits blocks of high bound, so that the threshold is near its end value. columns: shape (room / COLUMN,). */
static void seed(Search *s, uint64_t room, float *columns, uint32_t *found, uint32_t *ordered, uint64_t wanted) {
    uint64_t width = room / COLUMN, tally[256] = {0}, taken = 0, n = 0;
    memcpy(columns, s->bounds, width * sizeof *columns);
    for (uint64_t row = 1; row < COLUMN; row++) raise_to(columns, s->bounds + row * width, width);
    float most = 0;
    for (uint64_t i = 0; i < width; i++)
        if (columns[i] > most) most = columns[i];
    if (most <= 0) return;
    float scale = 255.0f / most;
    for (uint64_t i = 0; i < width; i++)
        if (columns[i] > 0) tally[(int)(columns[i] * scale)]++;
    int cut = 256;
    while (cut > 0 && taken < 2 * wanted) taken += tally[--cut];
    for (uint64_t i = 0; i < width; i++) {
        if (columns[i] <= 0 || (int)(columns[i] * scale) < cut) continue;
        uint64_t b = i;
        while (s->bounds[b] != columns[i]) b += width;
        found[n++] = (uint32_t)b;
    }
    order_by_bound(s->bounds, found, ordered, n, 0);
    visit_all(s, ordered, n, wanted);
}

/* Room for the bounds of a segment's blocks, a multiple of 64 and of COLUMN. */
static inline uint64_t room_of(uint32_t n) { return ((uint64_t)n + 4095) / 4096 * 256; }

static void search_blocks(Search *s, Term *terms, const Areas *areas) {
    uint64_t blocks = ((uint64_t)s->n + BLOCK - 1) >> BLOCK_SHIFT, room = room_of(s->n);
    uint32_t *firsts = areas->firsts;
    for (int j = 0; j < s->n_terms; j++)
        if (terms[j].postings.entries) {
            terms[j].firsts = firsts;
            firsts += groups_of(s->n);
        }
    s->bounds = areas->bounds;
    s->held = areas->held;
    begin_sets(s);
    add_bounds(s, blocks, room);
    seed(s, room, areas->columns, areas->found, areas->ordered, s->top.k + 8);
    float low = s->top.threshold > 0 ? s->top.threshold : 1e-30f;
    uint64_t n = reaching(s->bounds, room, low, areas->found);
    order_by_bound(s->bounds, areas->found, areas->ordered, n, low);
    visit_all(s, areas->ordered, n, n);
}

/* The place of a row in a table, or the free one that it would take. */
static inline Sum *sum_of(Sum *sums, uint64_t room, uint32_t doc) {
    uint64_t i = (doc * 2654435769u >> 7) & (room - 1);
    while (sums[i].row && sums[i].row != doc + 1) i = (i + 1) & (room - 1);
    return sums + i;
}

/* Scores the rows of sparse fields whose impacts sum to the threshold. They hold no other terms, and of many languages
 * these are most terms of a query: among the blocks, each would be looked for again and again. */
static void search_sparse(Search *s, Sum *sums) {
    const Term *end = s->sparse + s->n_sparse;
    memset(sums, 0, s->room * sizeof *sums);
    for (const Term *t = s->sparse; t < end; t++)
        for (uint64_t i = 0; i < t->postings.df; i++) {
            uint32_t doc = list_doc(t->postings.entries[i]);
            if (!may_answer(s, doc)) continue;
            Sum *at = sum_of(sums, s->room, doc);
            at->row = doc + 1;
            at->sum += t->unit * (float)t->postings.impacts[i];
        }
    for (uint64_t i = 0; i < s->room; i++) sums[i].sum = sums[i].sum * 1.00001f < s->top.threshold ? -1 : 0;
    for (const Term *t = s->sparse; t < end; t++)
        for (uint64_t i = 0; i < t->postings.df; i++) {
            uint32_t entry = t->postings.entries[i], doc = list_doc(entry);
            Sum *at = sum_of(sums, s->room, doc);
            if (at->sum >= 0) at->sum += contribution(t, list_count(&t->postings, entry), doc);
        }
    for (uint64_t i = 0; i < s->room; i++)
        if (sums[i].row && sums[i].sum > 0 && sums[i].sum >= s->top.threshold)
            offer(&s->top, sums[i].sum, sums[i].row - 1);
}

/* Both best first; into `out`, those of equal score in order of part. At most k, and what ties with the last of them.
 */
static uint64_t merge_hits(const Hit *a, uint64_t n_a, const Hit *b, uint64_t n_b, uint64_t k, Hit *out) {
    uint64_t i = 0, j = 0, n = 0;
    while (i < n_a || j < n_b) {
        int first =
            j == n_b || (i < n_a && (a[i].score > b[j].score || (a[i].score == b[j].score && a[i].part < b[j].part)));
        Hit next = first ? a[i] : b[j];
        if (n >= k && next.score < out[n - 1].score) break;
        out[n++] = next;
        if (first)
            i++;
        else
            j++;
    }
    return n;
}

/* The best k hits of all segments and what ties with the last of them, best first, in one of two areas with room for
 * the best k of each segment; how many. `hits`: room for the best k of one. */
static uint64_t search_parts(Search *parts, int n_parts, uint64_t k, Hit *hits, Hit **best, Hit *other,
                             const Areas *areas) {
    uint64_t n = 0;
    float threshold = 0;
    for (int p = 0; p < n_parts; p++) {
        Search *s = parts + p;
        if (!s->n_terms && !s->n_sparse) continue;
        s->top.hits = hits;
        s->top.threshold = threshold;
        if (s->path == FEW)
            search_few(s);
        else if (s->path == ALL) {
            memset(areas->scores, 0, s->n * sizeof *areas->scores);
            search_all(s, areas->scores);
        } else if (s->n_terms)
            search_blocks(s, (Term *)s->terms, areas);
        if (s->n_sparse) search_sparse(s, areas->sums);
        settle(&s->top);
        for (uint64_t i = 0; i < s->top.n; i++) hits[i].part = s->part;
        n = merge_hits(*best, n, hits, s->top.n, k, other);
        Hit *merged = other;
        other = *best;
        *best = merged;
        if (n >= k) threshold = merged[k - 1].score;
    }
    return n;
}

#endif
