/* Finds rows that may be near a query, from one bit per dimension.
 *
 * A code holds the signs s of a centred row x. The query's product with the row is estimated as f * (q . s), where
 * f = |x|^2 / |x|_1 makes the estimate of x itself exact (RaBitQ: Gao and Long, SIGMOD 2024). Four dimensions have 16
 * sums of signed query values, in a table of bytes; q . s is a sum of what the table says of each half byte, which one
 * instruction looks up for 64 rows (Andre, Kermarrec, Le Scouarnec: "Quicker ADC", 2018). So codes lie in blocks of 64
 * rows, byte by byte, and one word of a filter serves a block.
 */
#ifndef SLEUTH_CODES_H
#define SLEUTH_CODES_H
#include <stdlib.h>

#include "vectors.h"
#ifdef CLONED
#include <immintrin.h>
#endif
#if defined(__aarch64__) && defined(__ARM_NEON) /* of every 64-bit ARM */
#define NEON
#include <arm_neon.h>
#endif

#define BLOCK   64
#define NIBBLE  16
#define SAFE    4            /* bytes of a code whose entries, 31 at most for each half, can be summed in a byte */
#define AHEAD   (16 * BLOCK) /* rows whose codes are asked for while others are estimated */
#define BINS    256
#define WAITING 8 /* rows that are asked for before the first of them is scored */

struct Query;
/* Estimates of a block's rows, of which some are asked for: those of them that are above `least`. */
typedef uint64_t (*Estimate)(const struct Query *, const uint8_t *block, const float *factors, float base, float least,
                             uint64_t rows, float *scores);

typedef struct Query {
    const uint8_t *table; /* shape (2 * bytes, 16): the sum for each pattern of four signs, in steps from the least */
    const uint16_t
        *wide; /* shape (bytes, 256): the same by whole bytes, where there is no instruction to look up halves */
    size_t bytes;
    float step, shift; /* q . s = step * (sum of entries) + shift */
    Estimate estimate;
} Query;

typedef struct {
    float score;
    uint32_t part, row;
} Candidate;

typedef struct {
    Candidate *at;
    size_t count, capacity, depth;
    float least; /* new candidates must beat it, and those that reach it stay */
    int broken;  /* whether a score was no finite number, as of a crafted file: selection needs an order */
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
    const uint8_t *codes;
    const float *factors;
    const uint16_t *halves;
    const uint64_t *allowed; /* NULL for all */
    const uint32_t *ties;    /* NULL where rows are in order of id */
    const int64_t *keys;
    size_t n, members;
    float base; /* what to add to estimates */
} Part;

/* Estimates for the 64 rows of a block from the sums of their entries; those of the rows asked for that are above
 * `least`. */
static ALWAYS_INLINE uint64_t estimates_of(const Query *q, const uint16_t *sums, const float *factors, float base,
                                           float least, uint64_t rows, float *scores) {
    uint64_t above = 0;
    for (int r = 0; r < BLOCK; r++) scores[r] = base + factors[r] * (q->step * (float)sums[r] + q->shift);
    for (int r = 0; r < BLOCK; r++) above |= (uint64_t)(scores[r] > least) << r;
    return above & rows;
}

WIDE static uint64_t estimate_portable(const Query *q, const uint8_t *block, const float *factors, float base,
                                       float least, uint64_t rows, float *scores) {
    uint16_t sums[BLOCK] = {0};
    for (size_t j = 0; j < q->bytes; j++)
        for (int r = 0; r < BLOCK; r++) sums[r] += q->wide[j * 256 + block[j * BLOCK + r]];
    return estimates_of(q, sums, factors, base, least, rows, scores);
}

#ifdef CLONED
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

AVX2 static uint64_t estimate_avx2(const Query *q, const uint8_t *block, const float *factors, float base, float least,
                                   uint64_t rows, float *scores) {
    const __m256i low = _mm256_set1_epi8(15), byte = _mm256_set1_epi16(255);
    uint16_t sums[BLOCK];
    for (int half = 0; half < BLOCK; half += 32) {
        __m256i even = _mm256_setzero_si256(), odd = even;
        if (!(rows >> half & 0xffffffff)) continue;
        for (size_t j = 0; j < q->bytes;) {
            __m256i sum = _mm256_setzero_si256();
            for (const size_t end = j + SAFE < q->bytes ? j + SAFE : q->bytes; j < end; j++) {
                const __m128i *table = (const __m128i *)(q->table + 2 * j * NIBBLE);
                const __m256i x = _mm256_loadu_si256((const __m256i *)(block + j * BLOCK + half));
                const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128(table));
                const __m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
                sum = _mm256_add_epi8(sum, _mm256_shuffle_epi8(first, _mm256_and_si256(x, low)));
                sum = _mm256_add_epi8(sum, _mm256_shuffle_epi8(second, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
            }
            even = _mm256_add_epi16(even, _mm256_and_si256(sum, byte));
            odd = _mm256_add_epi16(odd, _mm256_srli_epi16(sum, 8));
        }
        const __m256i a = _mm256_unpacklo_epi16(even, odd), b = _mm256_unpackhi_epi16(even, odd);
        _mm256_storeu_si256((__m256i *)(sums + half), _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_storeu_si256((__m256i *)(sums + half + 16), _mm256_permute2x128_si256(a, b, 0x31));
    }
    return estimates_of(q, sums, factors, base, least, rows, scores);
}

AVX512 static uint64_t estimate_avx512(const Query *q, const uint8_t *block, const float *factors, float base,
                                       float least, uint64_t rows, float *scores) {
    const __m512i low = _mm512_set1_epi8(15), byte = _mm512_set1_epi16(255);
    const __m512i heads = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0),
                  tails = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    const __m512 step = _mm512_set1_ps(q->step), shift = _mm512_set1_ps(q->shift);
    __m512i even = _mm512_setzero_si512(), odd = even, quarters[2];
    uint64_t above = 0;
    for (size_t j = 0; j < q->bytes;) {
        __m512i sum = _mm512_setzero_si512();
        for (const size_t end = j + SAFE < q->bytes ? j + SAFE : q->bytes; j < end; j++) {
            const __m128i *table = (const __m128i *)(q->table + 2 * j * NIBBLE);
            const __m512i x = _mm512_loadu_si512(block + j * BLOCK);
            const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128(table));
            const __m512i second = _mm512_broadcast_i32x4(_mm_loadu_si128(table + 1));
            sum = _mm512_add_epi8(sum, _mm512_shuffle_epi8(first, _mm512_and_si512(x, low)));
            sum = _mm512_add_epi8(sum, _mm512_shuffle_epi8(second, _mm512_and_si512(_mm512_srli_epi16(x, 4), low)));
        }
        even = _mm512_add_epi16(even, _mm512_and_si512(sum, byte));
        odd = _mm512_add_epi16(odd, _mm512_srli_epi16(sum, 8));
    }
    const __m512i a = _mm512_unpacklo_epi16(even, odd), b = _mm512_unpackhi_epi16(even, odd);
    quarters[0] = _mm512_permutex2var_epi64(a, heads, b);
    quarters[1] = _mm512_permutex2var_epi64(a, tails, b);
    for (int r = 0; r < BLOCK; r += 16) {
        const __m512i half = quarters[r / 32];
        const __m256i words = r & 16 ? _mm512_extracti64x4_epi64(half, 1) : _mm512_castsi512_si256(half);
        __m512 found = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(words));
        found = _mm512_add_ps(_mm512_mul_ps(step, found), shift);
        found = _mm512_add_ps(_mm512_set1_ps(base), _mm512_mul_ps(_mm512_loadu_ps(factors + r), found));
        _mm512_storeu_ps(scores + r, found);
        above |= (uint64_t)_mm512_cmp_ps_mask(found, _mm512_set1_ps(least), _CMP_GT_OQ) << r;
    }
    return above & rows;
}
#endif

#ifdef NEON
static uint64_t estimate_neon(const Query *q, const uint8_t *block, const float *factors, float base, float least,
                              uint64_t rows, float *scores) {
    const uint8x16_t low = vdupq_n_u8(15);
    uint16_t sums[BLOCK] = {0};
    for (int first = 0; first < BLOCK; first += 16) {
        uint16x8_t head = vdupq_n_u16(0), tail = head;
        if (!(rows >> first & 0xffff)) continue;
        for (size_t j = 0; j < q->bytes;) {
            uint8x16_t sum = vdupq_n_u8(0);
            for (const size_t end = j + SAFE < q->bytes ? j + SAFE : q->bytes; j < end; j++) {
                const uint8_t *table = q->table + 2 * j * NIBBLE;
                const uint8x16_t x = vld1q_u8(block + j * BLOCK + first);
                sum = vaddq_u8(sum, vqtbl1q_u8(vld1q_u8(table), vandq_u8(x, low)));
                sum = vaddq_u8(sum, vqtbl1q_u8(vld1q_u8(table + NIBBLE), vshrq_n_u8(x, 4)));
            }
            head = vaddw_u8(head, vget_low_u8(sum));
            tail = vaddw_u8(tail, vget_high_u8(sum));
        }
        vst1q_u16(sums + first, head);
        vst1q_u16(sums + first + 8, tail);
    }
    return estimates_of(q, sums, factors, base, least, rows, scores);
}
#endif

/* The fastest there is for this machine, over registers of so many bits at most; NULL where whole bytes have to be
 * looked up one by one. */
static Estimate best_estimate(int width) {
#ifdef CLONED
    if (width >= 512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return estimate_avx512;
    if (width >= 256 && __builtin_cpu_supports("avx2")) return estimate_avx2;
#endif
#ifdef NEON
    if (width >= 128) return estimate_neon;
#endif
    (void)width;
    return NULL;
}

/* The signs of one centred row into bytes, BLOCK apart; its factor, and the square of what they leave out. */
WIDE static float encode_row(const uint16_t *row, const float *centre, size_t n, uint8_t *code, float *square_left) {
    float square[LANES] = {0}, absolute[LANES] = {0};
    uint8_t above[64];
    for (size_t i = 0; i < n; i += 64) {
        size_t m = n - i < 64 ? n - i : 64;
        memset(above, 0, sizeof above);
        for (size_t k = 0; k < m; k++) above[k] = widen(row[i + k]) > centre[i + k];
        for (size_t k = 0; k < m; k += 8) {
            uint64_t bytes;
            memcpy(&bytes, above + k, 8); /* eight bytes of 0 or 1 into eight bits, the first lowest */
            code[(i + k) / 8 * BLOCK] = (uint8_t)((bytes * 0x0102040810204080u) >> 56);
        }
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

/* Moves the best k of n candidates to the front, in no order (Hoare's selection). */
static void select_best(Candidate *at, size_t n, size_t k) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2, i = low, j = high;
        float a = at[low].score, b = at[middle].score, d = at[high].score;
        float pivot = a < b ? (b < d ? b : (a < d ? d : a)) : (a < d ? a : (b < d ? d : b));
        while (i <= j) {
            while (at[i].score > pivot) i++;
            while (at[j].score < pivot) j--;
            if (i > j) break;
            swap_candidates(&at[i], &at[j]);
            i++;
            if (j == 0) break;
            j--;
        }
        if (k - 1 <= j)
            high = j;
        else if (k - 1 >= i)
            low = i;
        else
            break;
    }
}

/* The same by counting in bins of equal width, which the processor need not guess at; 0 where too many lie in one. */
static int select_by_bins(Candidate *at, size_t n, size_t k) {
    Candidate between[BINS];
    uint32_t counts[BINS] = {0};
    float low = at[0].score, high = low, scale;
    size_t above = 0, kept = 0, same = 0;
    int bin = BINS - 1;
    for (size_t i = 1; i < n; i++)
        low = at[i].score < low ? at[i].score : low, high = at[i].score > high ? at[i].score : high;
    if (!(high > low)) return 1; /* equal rows stay in their order */
    scale = (BINS - 1) / (high - low);
    if (!(scale < 1e30f)) return 0;
    for (size_t i = 0; i < n; i++) counts[(int)((at[i].score - low) * scale)]++;
    while (above + counts[bin] < k) above += counts[bin--];
    if (counts[bin] > BINS) return 0;
    for (size_t i = 0; i < n; i++) {
        const int of = (int)((at[i].score - low) * scale);
        if (of == bin) between[same++] = at[i];
        at[kept] = at[i];
        kept += of > bin;
    }
    if (same > k - above) select_best(between, same, k - above);
    memcpy(at + kept, between, (k - above) * sizeof *at);
    return 1;
}

/* Drops what is below `least`; if more than `depth` are left, keeps that many of the best, in no order, and raises
 * `least` to the worst of them. */
static void keep_best(Candidates *c) {
    const size_t k = c->depth;
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        const int stays = c->at[i].score >= c->least;
        c->at[kept] = c->at[i];
        kept += (size_t)stays;
    }
    c->count = kept;
    if (c->count <= k) return;
    if (c->count < BINS || !select_by_bins(c->at, c->count, k)) select_best(c->at, c->count, k);
    c->count = k;
    c->least = c->at[0].score;
    for (size_t i = 1; i < k; i++) c->least = c->at[i].score < c->least ? c->at[i].score : c->least;
}

static inline float finite_score(float score, Candidates *c) {
    if (isfinite(score)) return score;
    c->broken = 1;
    return 0;
}

/* Scores rows exactly, and raises `least` where they are among the best k. */
static void score_rows(Exact *x, const uint16_t *halves, size_t columns, const uint32_t *rows, size_t m,
                       Candidates *c) {
    float scores[WAITING], least;
    dot_rows(halves, columns, x->query, rows, 0, m, scores);
    for (size_t j = 0; j < m; j++) {
        const float score = finite_score(scores[j], c);
        size_t i = 0;
        if (x->count < x->k) {
            for (i = x->count++; i && x->scores[(i - 1) / 2] > score; i = (i - 1) / 2)
                x->scores[i] = x->scores[(i - 1) / 2];
            x->scores[i] = score;
        } else if (score > x->scores[0]) {
            for (size_t child; (child = 2 * i + 1) < x->k; i = child) {
                if (child + 1 < x->k && x->scores[child + 1] < x->scores[child]) child++;
                if (x->scores[child] >= score) break;
                x->scores[i] = x->scores[child];
            }
            x->scores[i] = score;
        }
    }
    least = x->scores[0] - x->margin;
    if (x->count == x->k && least > c->least) c->least = least;
}

WIDE static size_t members(const uint64_t *bitmap, size_t words) {
    size_t count = 0;
    for (size_t i = 0; i < words; i++) count += (size_t)__builtin_popcountll(bitmap[i]);
    return count;
}

/* Adds the rows of one segment that may answer. Blocks are asked for before they are read, since pages of a mapped file
 * are not fetched ahead by the machine itself: into the second cache, which can wait for more lines at a time than the
 * first. */
static void scan_part(const Query *q, const Part *part, uint32_t number, size_t columns, Exact *x, Candidates *c) {
    const Estimate estimate_block = q->estimate ? q->estimate : estimate_portable;
    uint32_t waiting[WAITING];
    float scores[BLOCK];
    size_t count = 0;
    for (size_t first = 0; first < part->n; first += BLOCK) {
        uint64_t rows = part->allowed ? part->allowed[first / BLOCK] : ~(uint64_t)0;
        if (part->n - first < BLOCK) rows &= ((uint64_t)1 << (part->n - first)) - 1;
        if (first + AHEAD + BLOCK <= part->n) {
            const uint8_t *codes = part->codes + (first + AHEAD) * q->bytes;
            for (size_t j = 0; j < q->bytes; j++) FETCH_SECOND(codes + j * BLOCK);
            for (size_t r = 0; r < BLOCK; r += 16) FETCH_SECOND(part->factors + first + AHEAD + r);
        }
        if (!rows) continue;
        rows = estimate_block(q, part->codes + first * q->bytes, part->factors + first, part->base, c->least, rows,
                              scores);
        if (!rows) continue;
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            const int r = __builtin_ctzll(rows);
            const uint32_t row = (uint32_t)first + (uint32_t)r;
            if (!(scores[r] > c->least)) continue;
            c->at[c->count++] = (Candidate){scores[r], number, row};
            if (!(x->count < x->k || (x->k && scores[r] > x->scores[0]))) continue;
            for (size_t line = 0; line < columns; line += 32) FETCH(part->halves + row * columns + line);
            waiting[count++] = row;
            if (count == WAITING) score_rows(x, part->halves, columns, waiting, count, c), count = 0;
        }
    }
    if (count) score_rows(x, part->halves, columns, waiting, count, c);
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
        c->at[i].score = finite_score(c->at[i].score, c);
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
        Candidates best = {c->at, n, c->capacity, k, -INFINITY, 0};
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
