/* Finds rows that may be near a query, from one bit per dimension.
 *
 * A code holds the signs s of a centred row x. The query's product with the row is estimated as f * (q . s), where
 * f = |x|^2 / |x|_1 makes the estimate of x itself exact (RaBitQ: Gao and Long, SIGMOD 2024). Four dimensions have 16
 * sums of signed query values, in a table of bytes; q . s is a sum of the table's entries for each half byte, which one
 * instruction looks up for 64 rows (Andre, Kermarrec, Le Scouarnec: "Quicker ADC", 2018). So codes lie in blocks of 64
 * rows, byte by byte, and one word of a filter serves a block.
 */
#ifndef SLEUTH_CODES_H
#define SLEUTH_CODES_H
#include <stdlib.h>

#include "rows.h"
#ifdef CLONED
#include <immintrin.h>
#endif
#if defined(__aarch64__) && defined(__ARM_NEON) /* of every 64-bit ARM */
#define NEON
#include <arm_neon.h>
#endif

#define BLOCK      64
#define NIBBLE     16
#define MOST_STEPS 31
#define SAFE       4 /* bytes of a code whose entries, MOST_STEPS at most for each half, can be summed in a byte */

/* A query's products with signs, in steps from the least. */
typedef struct {
    double step, least;
    double square; /* of the error of rounding all */
} Steps;

/* Fills a table of shape (2 * ceil(n / 8), 16): entry p of half t is the query's product with the four signs of p's
 * bits, in steps. No entry is above MOST_STEPS, and the sum of all fits 16 bits. */
UNUSED static Steps fill_table(const float *vector, size_t n, uint8_t *table) {
    const size_t halves = 2 * ((n + 7) / 8), most = 65535 / halves < MOST_STEPS ? 65535 / halves : MOST_STEPS;
    double sums[NIBBLE], greatest = 0;
    Steps steps = {1, 0, 0};
    for (size_t t = 0; t < halves; t++) {
        double width = 0;
        for (size_t i = 4 * t; i < 4 * t + 4 && i < n; i++) width += fabs((double)vector[i]);
        steps.least -= width;
        greatest = 2 * width > greatest ? 2 * width : greatest;
    }
    if (greatest > 0) steps.step = greatest / (double)most;
    for (size_t t = 0; t < halves; t++) {
        sums[0] = 0;
        for (size_t i = 4 * t; i < 4 * t + 4 && i < n; i++) sums[0] += fabs((double)vector[i]) - vector[i];
        for (int i = 0; i < 4; i++) { /* patterns with bit i set follow from those without it */
            const double width = 4 * t + (size_t)i < n ? 2 * vector[4 * t + (size_t)i] : 0;
            for (int pattern = 0; pattern < 1 << i; pattern++) sums[pattern + (1 << i)] = sums[pattern] + width;
        }
        for (int pattern = 0; pattern < NIBBLE; pattern++) {
            const int entry = (int)(sums[pattern] / steps.step + 0.5);
            const double left = sums[pattern] - entry * steps.step;
            table[t * NIBBLE + (size_t)pattern] = (uint8_t)entry;
            steps.square += left * left / NIBBLE;
        }
    }
    return steps;
}

/* The standard error of an estimate. The variances of two errors add: that of the code, and that of rounding the n
 * numbers of the query times the square of the code's factor f. A centred row and what its code leaves out are at right
 * angles, so f * f * n is the sum of their squares: at most 1 on average, and spread * spread * n. */
UNUSED static double error_of(double spread, const Steps *steps, size_t n) {
    const double square = spread * spread;
    return sqrt(square + steps->square * (square + 1 / (double)n));
}

struct Query;
/* Estimates of a block's rows, of which some are asked for: those of them that are above `least`. */
typedef uint64_t (*Estimate)(const struct Query *, const uint8_t *block, const float *factors, float base, float least,
                             uint64_t rows, float *scores);

typedef struct Query {
    const uint8_t *table; /* shape (2 * bytes, 16): the sum for each pattern of four signs, in steps from the least */
    size_t bytes;
    float step, shift; /* q . s = step * (sum of entries) + shift */
    Estimate estimate;
} Query;

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
        for (int r = 0; r < BLOCK; r++) {
            const uint8_t *table = q->table + 2 * j * NIBBLE, byte = block[j * BLOCK + r];
            sums[r] += (uint16_t)(table[byte & 15] + table[NIBBLE + (byte >> 4)]);
        }
    return estimates_of(q, sums, factors, base, least, rows, scores);
}

#ifdef CLONED
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

/* The fastest there is for this machine, over registers of so many bits at most. */
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
    return estimate_portable;
}

/* The signs of one centred vector into bytes, BLOCK apart; its factor, and the square of the remaining error. */
WIDE static float encode_row(const float *vector, const float *centre, size_t n, uint8_t *code, float *square_left) {
    float square[LANES] = {0}, absolute[LANES] = {0};
    uint8_t above[64];
    for (size_t i = 0; i < n; i += 64) {
        size_t m = n - i < 64 ? n - i : 64;
        memset(above, 0, sizeof above);
        for (size_t k = 0; k < m; k++) above[k] = vector[i + k] > centre[i + k];
        for (size_t k = 0; k < m; k += 8) {
            uint64_t bytes;
            memcpy(&bytes, above + k, 8); /* eight bytes of 0 or 1 into eight bits, the first lowest */
            code[(i + k) / 8 * BLOCK] = (uint8_t)((bytes * 0x0102040810204080u) >> 56);
        }
    }
    for (size_t i = 0; i < n; i += LANES)
        for (size_t k = 0; k < LANES && i + k < n; k++) {
            float x = vector[i + k] - centre[i + k];
            square[k] += x * x;
            absolute[k] += x < 0 ? -x : x;
        }
    const float length_squared = sum_of_lanes(square), sum = sum_of_lanes(absolute);
    const float factor = sum > 0 ? length_squared / sum : 0;
    *square_left = factor * factor * (float)n - length_squared; /* |x - f s|^2, as f s - x is orthogonal to x */
    return factor;
}

#endif
