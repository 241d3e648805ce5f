/* Rows that may be near a query, from one bit per dimension.
 *
 * A code holds the signs s of a centred row x. The query's product with the row is estimated as f * (q . s), where
 * f = |x|^2 / |x|_1 makes the estimate of x itself exact (RaBitQ: Gao and Long, SIGMOD 2024). The query is cut into
 * bit planes, so that q . s is a weighted sum of population counts. Codes lie in blocks of 64 rows, word by word, so
 * that one instruction serves many rows and one word of a filter serves a block.
 */
#ifndef SLEUTH_CODES_H
#define SLEUTH_CODES_H
#include <stdlib.h>

#include "vectors.h"
#ifdef CLONED
#include <immintrin.h>
#endif

#define BLOCK 64
#define PLANES 4
#define AHEAD (4 * BLOCK)

typedef struct {
    const uint64_t *planes; /* shape (PLANES, words) */
    size_t words;
    float step, low, shift; /* q . s = step * (planes' count) + low * (bits set) + shift */
} Query;

typedef struct {
    float score;
    uint32_t part, row;
} Candidate;

typedef struct {
    Candidate *at;
    size_t count, capacity, depth;
    float least; /* candidates must beat it */
} Candidates;

/* The best k exact scores so far, the least on top. A row that is to be among them has, with the certainty that
 * `margin` buys, an estimate above the least of them less `margin`. */
typedef struct {
    const float *query;
    float *scores;
    size_t k, count;
    float margin;
} Exact;

/* One segment, as a query sees it. */
typedef struct {
    const uint64_t *codes;
    const float *factors;
    const uint16_t *halves;
    const uint64_t *allowed; /* NULL for all */
    const uint32_t *ties;    /* NULL where rows are in order of id */
    size_t n, members;
    float base; /* what to add to estimates */
} Part;

typedef uint64_t (*Estimate)(const Query *, const uint64_t *, const float *, float, float, uint64_t, float *);

static ALWAYS_INLINE float estimate_of(const Query *q, float base, float factor, uint64_t sum, uint64_t set) {
    return base + factor * (q->step * (float)(int32_t)sum + q->low * (float)(int32_t)set + q->shift);
}

/* Estimates for some of the 64 rows of a block; those of them that are above `least`. Where few are asked for they are
 * read one by one. */
WIDE static uint64_t estimate_portable(const Query *q, const uint64_t *block, const float *factors, float base,
                                       float least, uint64_t rows, float *scores) {
    uint64_t sum[BLOCK] = {0}, set[BLOCK] = {0}, above = 0;
    const uint64_t *p0 = q->planes, *p1 = p0 + q->words, *p2 = p1 + q->words, *p3 = p2 + q->words;
    if (__builtin_popcountll(rows) > 8) {
        for (size_t w = 0; w < q->words; w++) {
            const uint64_t *x = block + w * BLOCK;
            for (int r = 0; r < BLOCK; r++) {
                sum[r] += (uint64_t)__builtin_popcountll(x[r] & p0[w]) +
                          2 * (uint64_t)__builtin_popcountll(x[r] & p1[w]) +
                          4 * (uint64_t)__builtin_popcountll(x[r] & p2[w]) +
                          8 * (uint64_t)__builtin_popcountll(x[r] & p3[w]);
                set[r] += (uint64_t)__builtin_popcountll(x[r]);
            }
        }
    } else
        for (uint64_t left = rows; left; left &= left - 1) {
            int r = __builtin_ctzll(left);
            for (size_t w = 0; w < q->words; w++) {
                const uint64_t x = block[w * BLOCK + r];
                for (int b = 0; b < PLANES; b++)
                    sum[r] += (uint64_t)__builtin_popcountll(x & p0[b * q->words + w]) << b;
                set[r] += (uint64_t)__builtin_popcountll(x);
            }
        }
    for (int r = 0; r < BLOCK; r++) scores[r] = estimate_of(q, base, factors[r], sum[r], set[r]);
    for (int r = 0; r < BLOCK; r++) above |= (uint64_t)(scores[r] > least) << r;
    return above & rows;
}

#ifdef CLONED
/* Population counts of vectors, eight rows at a time, out of reach of target_clones, which knows no such target. Eight rows
 * of which none is asked for are not read, so that a filter that keeps few costs less than none. */
#define VPOPCNT __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")))
VPOPCNT static ALWAYS_INLINE uint64_t estimate_eights(const Query *q, size_t words, const uint64_t *block,
                                                      const float *factors, float base, float least, uint64_t rows,
                                                      float *scores) {
    const __m256 step = _mm256_set1_ps(q->step), low = _mm256_set1_ps(q->low), shift = _mm256_set1_ps(q->shift);
    uint64_t above = 0;
    for (int g = 0; g < BLOCK; g += 8) {
        __m512i count[PLANES], set = _mm512_setzero_si512();
        if (!(rows >> g & 0xff)) continue;
        for (int b = 0; b < PLANES; b++) count[b] = _mm512_setzero_si512();
        for (size_t w = 0; w < words; w++) {
            const __m512i x = _mm512_loadu_si512(block + w * BLOCK + g);
            for (int b = 0; b < PLANES; b++) {
                const __m512i plane = _mm512_set1_epi64((int64_t)q->planes[b * words + w]);
                count[b] = _mm512_add_epi64(count[b], _mm512_popcnt_epi64(_mm512_and_si512(x, plane)));
            }
            set = _mm512_add_epi64(set, _mm512_popcnt_epi64(x));
        }
        for (int b = PLANES - 1; b > 0; b--) /* 2 * the higher plane, and the one below */
            count[b - 1] = _mm512_add_epi64(count[b - 1], _mm512_slli_epi64(count[b], 1));
        const __m256 sums = _mm512_cvtepi64_ps(count[0]), sets = _mm512_cvtepi64_ps(set);
        __m256 found = _mm256_add_ps(_mm256_mul_ps(step, sums), _mm256_mul_ps(low, sets));
        found = _mm256_mul_ps(_mm256_loadu_ps(factors + g), _mm256_add_ps(found, shift));
        found = _mm256_add_ps(_mm256_set1_ps(base), found);
        _mm256_storeu_ps(scores + g, found);
        above |= (uint64_t)_mm256_cmp_ps_mask(found, _mm256_set1_ps(least), _CMP_GT_OQ) << g;
    }
    return above & rows;
}

VPOPCNT static uint64_t estimate_vpopcnt(const Query *q, const uint64_t *block, const float *factors, float base,
                                         float least, uint64_t rows, float *scores) {
    if (q->words == 4) return estimate_eights(q, 4, block, factors, base, least, rows, scores);
    return estimate_eights(q, q->words, block, factors, base, least, rows, scores);
}
#endif

static Estimate best_estimate(void) {
#ifdef CLONED
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return estimate_vpopcnt;
#endif
    return estimate_portable;
}

/* The signs of one centred row into `words` words, `stride` apart; its factor, and the square of what they leave out. */
WIDE static float encode_row(const uint16_t *row, const float *centre, size_t n, uint64_t *words, size_t stride,
                             float *square_left) {
    float square[LANES] = {0}, absolute[LANES] = {0};
    uint8_t above[64];
    for (size_t i = 0, w = 0; i < n; i += 64, w += stride) {
        size_t m = n - i < 64 ? n - i : 64;
        uint64_t word = 0;
        memset(above, 0, sizeof above);
        for (size_t k = 0; k < m; k++) above[k] = widen(row[i + k]) > centre[i + k];
        for (size_t k = 0; k < 64; k += 8) {
            uint64_t bytes;
            memcpy(&bytes, above + k, 8); /* eight bytes of 0 or 1 into eight bits, the first lowest */
            word |= ((bytes * 0x0102040810204080u) >> 56) << k;
        }
        words[w] = word;
    }
    for (size_t i = 0; i < n; i += LANES)
        for (size_t k = 0; k < LANES && i + k < n; k++) {
            float x = widen(row[i + k]) - centre[i + k];
            square[k] += x * x;
            absolute[k] += x < 0 ? -x : x;
        }
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t k = 0; k < half; k++) square[k] += square[k + half], absolute[k] += absolute[k + half];
    if (!(absolute[0] > 0)) {
        *square_left = 0;
        return 0;
    }
    float factor = square[0] / absolute[0];
    *square_left = factor * factor * (float)n - square[0]; /* |x - f s|^2, as f s - x is orthogonal to x */
    return factor;
}

static inline void swap_candidates(Candidate *a, Candidate *b) {
    Candidate c = *a;
    *a = *b;
    *b = c;
}

/* Drops what no longer beats `least`; if more than `depth` are left, keeps that many of the best, in no order, and raises
 * `least` to the worst of them (Hoare's selection). */
static void keep_best(Candidates *c) {
    size_t low = 0, high, k = c->depth, kept = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i].score > c->least) c->at[kept++] = c->at[i];
    c->count = kept;
    if (c->count <= k) return;
    high = c->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2, i = low, j = high;
        float a = c->at[low].score, b = c->at[middle].score, d = c->at[high].score;
        float pivot = a < b ? (b < d ? b : (a < d ? d : a)) : (a < d ? a : (b < d ? d : b));
        while (i <= j) {
            while (c->at[i].score > pivot) i++;
            while (c->at[j].score < pivot) j--;
            if (i > j) break;
            swap_candidates(&c->at[i], &c->at[j]);
            i++;
            if (j == 0) break;
            j--;
        }
        if (k - 1 <= j) high = j;
        else if (k - 1 >= i) low = i;
        else break;
    }
    c->count = k;
    c->least = c->at[0].score;
    for (size_t i = 1; i < k; i++)
        if (c->at[i].score < c->least) c->least = c->at[i].score;
}

/* Scores one row exactly, and raises `least` where it is among the best k. */
static void score_row(Exact *x, const uint16_t *halves, size_t columns, size_t row, Candidates *c) {
    float score, least;
    size_t i = 0;
    dot_rows(halves, columns, x->query, NULL, row, 1, &score);
    if (x->count < x->k) {
        for (i = x->count++; i && x->scores[(i - 1) / 2] > score; i = (i - 1) / 2) x->scores[i] = x->scores[(i - 1) / 2];
        x->scores[i] = score;
    } else if (score > x->scores[0]) {
        for (size_t child; (child = 2 * i + 1) < x->k; i = child) {
            if (child + 1 < x->k && x->scores[child + 1] < x->scores[child]) child++;
            if (x->scores[child] >= score) break;
            x->scores[i] = x->scores[child];
        }
        x->scores[i] = score;
    }
    least = x->scores[0] - x->margin;
    if (x->count == x->k && least > c->least) c->least = least;
}

WIDE static size_t members(const uint64_t *bitmap, size_t words) {
    size_t count = 0;
    for (size_t i = 0; i < words; i++) count += (size_t)__builtin_popcountll(bitmap[i]);
    return count;
}

/* Asks for the eights of a block that may answer before they are read: pages of a mapped file are not fetched ahead by the
 * machine itself. */
static ALWAYS_INLINE void fetch_block(const Part *part, size_t first, size_t words) {
    const uint64_t rows = part->allowed ? part->allowed[first / BLOCK] : ~(uint64_t)0;
    for (size_t eight = 0; eight < BLOCK; eight += 8)
        if (rows >> eight & 0xff)
            for (size_t w = 0; w < words; w++) FETCH(part->codes + first * words + w * BLOCK + eight);
    FETCH(part->factors + first);
}

/* Adds the rows of one segment that may answer. */
static void scan_part(const Query *q, const Part *part, uint32_t number, size_t columns, Exact *x, Candidates *c) {
    const Estimate estimate_block = best_estimate();
    float scores[BLOCK];
    for (size_t first = 0; first < part->n; first += BLOCK) {
        uint64_t rows = part->allowed ? part->allowed[first / BLOCK] : ~(uint64_t)0;
        if (part->n - first < BLOCK) rows &= ((uint64_t)1 << (part->n - first)) - 1;
        if (!rows) continue;
        if (first + AHEAD + BLOCK <= part->n) fetch_block(part, first + AHEAD, q->words);
        rows = estimate_block(q, part->codes + first * q->words, part->factors + first, part->base, c->least, rows, scores);
        if (!rows) continue;
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            int r = __builtin_ctzll(rows);
            if (scores[r] > c->least) {
                Candidate *at = &c->at[c->count++];
                at->score = scores[r], at->part = number, at->row = (uint32_t)(first + (size_t)r);
                if (x->count < x->k || (x->k && scores[r] > x->scores[0])) score_row(x, part->halves, columns, at->row, c);
            }
        }
    }
}

/* Adds all rows of one segment that may answer; there is room for them. */
static void take_part(const Part *part, uint32_t number, Candidates *c) {
    for (size_t first = 0; first < part->n; first += BLOCK) {
        uint64_t rows = part->allowed ? part->allowed[first / BLOCK] : ~(uint64_t)0;
        if (part->n - first < BLOCK) rows &= ((uint64_t)1 << (part->n - first)) - 1;
        for (; rows; rows &= rows - 1) {
            Candidate *at = &c->at[c->count++];
            at->part = number, at->row = (uint32_t)(first + (size_t)__builtin_ctzll(rows));
        }
    }
}

/* Puts exact scores in the place of estimates. */
static void score_candidates(const Part *parts, const float *query, size_t columns, Candidates *c) {
    const size_t ahead = 8;
    for (size_t i = 0; i < c->count; i++) {
        if (i + ahead < c->count) {
            const Candidate *next = &c->at[i + ahead];
            const uint16_t *row = parts[next->part].halves + next->row * columns;
            for (size_t line = 0; line < columns; line += 32) FETCH(row + line);
        }
        dot_rows(parts[c->at[i].part].halves, columns, query, NULL, c->at[i].row, 1, &c->at[i].score);
    }
}

/* Whether a comes before b: by score, then by segment, then by tie rank. */
static inline int comes_before(const Part *parts, const Candidate *a, const Candidate *b) {
    const uint32_t *ties = parts[a->part].ties;
    if (a->score != b->score) return a->score > b->score;
    if (a->part != b->part) return a->part < b->part;
    return ties ? ties[a->row] < ties[b->row] : a->row < b->row;
}

static void sift(const Part *parts, Candidate *at, size_t i, size_t n) {
    const Candidate moved = at[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && comes_before(parts, &at[child], &at[child + 1])) child++;
        if (!comes_before(parts, &moved, &at[child])) break;
        at[i] = at[child];
    }
    at[i] = moved;
}

/* Leaves the best k, and what ties with the last of them, in order (heapsort: the last in order lies on top). */
static void sort_best(const Part *parts, Candidates *c, size_t k) {
    const size_t n = c->count;
    size_t kept = 0;
    if (n > k) {
        Candidates best = {c->at, n, c->capacity, k, -INFINITY};
        Candidate *all = malloc(n * sizeof *all);
        if (all) {
            memcpy(all, c->at, n * sizeof *all);
            keep_best(&best);
            for (size_t i = 0; i < n; i++)
                if (all[i].score >= best.least) c->at[kept++] = all[i];
            c->count = kept;
            free(all);
        }
    }
    for (size_t i = c->count / 2; i-- > 0;) sift(parts, c->at, i, c->count);
    for (size_t i = c->count; i-- > 1;) {
        swap_candidates(&c->at[0], &c->at[i]);
        sift(parts, c->at, 0, i);
    }
}

#endif
