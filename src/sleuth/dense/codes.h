/* Rows that may be near a query, from one bit per dimension.
 *
 * A code holds the signs s of a centred row x. The query's product with the row is estimated as f * (q . s), where
 * f = |x|^2 / |x|_1 makes the estimate of x itself exact (RaBitQ: Gao and Long, SIGMOD 2024). The query is cut into
 * bit planes, so that q . s is a weighted sum of population counts. Codes lie in blocks of 64 rows, word by word, so
 * that one instruction serves many rows and one word of a filter serves a block.
 */
#ifndef SLEUTH_CODES_H
#define SLEUTH_CODES_H
#include "vectors.h"

#define BLOCK 64
#define PLANES 4
#define SPARSE 48 /* where fewer than one row in so many may answer, they are read one by one */

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

typedef int (*Estimate)(const Query *, const uint64_t *, const float *, float, float, float *);

/* Estimates for the 64 rows of one block; the number of them above `least`. */
static ALWAYS_INLINE int estimate(const Query *q, const uint64_t *block, const float *factors, float base, float least,
                                  float *scores) {
    uint64_t sum[BLOCK] = {0}, set[BLOCK] = {0};
    int above = 0;
    for (size_t w = 0; w < q->words; w++) {
        const uint64_t *x = block + w * BLOCK;
        const uint64_t p0 = q->planes[w], p1 = q->planes[q->words + w], p2 = q->planes[2 * q->words + w],
                       p3 = q->planes[3 * q->words + w];
        for (int r = 0; r < BLOCK; r++) {
            sum[r] += (uint64_t)__builtin_popcountll(x[r] & p0) + 2 * (uint64_t)__builtin_popcountll(x[r] & p1) +
                      4 * (uint64_t)__builtin_popcountll(x[r] & p2) + 8 * (uint64_t)__builtin_popcountll(x[r] & p3);
            set[r] += (uint64_t)__builtin_popcountll(x[r]);
        }
    }
    for (int r = 0; r < BLOCK; r++)
        scores[r] = base + factors[r] * (q->step * (float)(int32_t)sum[r] + q->low * (float)(int32_t)set[r] + q->shift);
    for (int r = 0; r < BLOCK; r++) above += scores[r] > least;
    return above;
}

WIDE static int estimate_portable(const Query *q, const uint64_t *block, const float *factors, float base, float least,
                                  float *scores) {
    return estimate(q, block, factors, base, least, scores);
}

/* The same for some rows of a block, one by one: a narrow filter leaves so few
 * that the others are not worth reading. */
WIDE static void estimate_some(const Query *q, const uint64_t *block, const float *factors, float base, uint64_t rows,
                               float *scores) {
    for (; rows; rows &= rows - 1) {
        int r = __builtin_ctzll(rows);
        uint64_t sum = 0, set = 0;
        for (size_t w = 0; w < q->words; w++) {
            const uint64_t x = block[w * BLOCK + r], *p = q->planes + w;
            for (int b = 0; b < PLANES; b++) sum += (uint64_t)__builtin_popcountll(x & p[b * q->words]) << b;
            set += (uint64_t)__builtin_popcountll(x);
        }
        scores[r] = base + factors[r] * (q->step * (float)(int32_t)sum + q->low * (float)(int32_t)set + q->shift);
    }
}

#ifdef CLONED
/* Population counts of vectors: six times as fast, and out of reach of target_clones, which knows no such target. */
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq"))) static int estimate_vpopcnt(
    const Query *q, const uint64_t *block, const float *factors, float base, float least, float *scores) {
    return estimate(q, block, factors, base, least, scores);
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

/* Adds the rows of one segment, those in `allowed` where it is not NULL. */
static void scan_part(const Query *q, const uint64_t *codes, const float *factors, const uint16_t *halves,
                      size_t columns, size_t n, const uint64_t *allowed, float base, uint32_t part, Exact *x,
                      Candidates *c) {
    const Estimate estimate_block = best_estimate();
    const int sparse = allowed && members(allowed, (n + BLOCK - 1) / BLOCK) * SPARSE < n;
    float scores[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        uint64_t rows = allowed ? allowed[first / BLOCK] : ~(uint64_t)0;
        if (n - first < BLOCK) rows &= ((uint64_t)1 << (n - first)) - 1;
        if (!rows) continue;
        if (sparse)
            estimate_some(q, codes + first * q->words, factors + first, base, rows, scores);
        else if (!estimate_block(q, codes + first * q->words, factors + first, base, c->least, scores))
            continue;
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            int r = __builtin_ctzll(rows);
            if (scores[r] > c->least) {
                Candidate *at = &c->at[c->count++];
                at->score = scores[r], at->part = part, at->row = (uint32_t)(first + (size_t)r);
                if (x->count < x->k || (x->k && scores[r] > x->scores[0])) score_row(x, halves, columns, at->row, c);
            }
        }
    }
}

#endif
