/* Loops over vectors, compiled once per instruction set; the best for the machine is picked when the module is loaded,
 * so that one portable build is fast everywhere. Sums run in one fixed order: scores are equal on every machine.
 */
#ifndef SLEUTH_VECTORS_H
#define SLEUTH_VECTORS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONED
#include <immintrin.h>
#define WIDE __attribute__((target_clones("default", "popcnt", "avx2", "arch=x86-64-v4"), unused))
#elif defined(__GNUC__)
#define WIDE __attribute__((unused))
#else
#define WIDE
#endif

#if defined(__GNUC__)
#define UNUSED          __attribute__((unused))
#define ALWAYS_INLINE   inline __attribute__((always_inline))
#define FETCH(p)        __builtin_prefetch(p)
#define FETCH_SECOND(p) __builtin_prefetch(p, 0, 2)
#else
#define UNUSED
#define ALWAYS_INLINE   inline
#define FETCH(p)        ((void)(p))
#define FETCH_SECOND(p) ((void)(p))
#endif

#define LANES   16
#define COLUMNS 256 /* columns whose sums fit the registers of AVX-512 */

/* Asks for a row of n halves before it is read. */
static ALWAYS_INLINE UNUSED void fetch_halves(const uint16_t *row, size_t n) {
    for (size_t line = 0; line < n; line += 32) FETCH(row + line);
}

/* The float of a half, exact for all finite ones: its exponent and fraction moved into place, rescaled by 2^112. */
static inline float widen(uint16_t half) {
    uint32_t bits = (uint32_t)(half & 0x7fffu) << 13;
    float value;
    memcpy(&value, &bits, 4);
    value *= 5192296858534827628530496329220096.0f;
    memcpy(&bits, &value, 4);
    bits |= (uint32_t)(half & 0x8000u) << 16;
    memcpy(&value, &bits, 4);
    return value;
}

/* into[0..n) += row of n halves. */
WIDE static void add_halves(float *into, const uint16_t *row, size_t n) {
    for (size_t i = 0; i < n; i++) into[i] += widen(row[i]);
}

/* The sum of lanes, in pairs. */
static ALWAYS_INLINE float sum_of_lanes(float *lane) {
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0];
}

#define SIDE 4 /* vectors whose products with a row are computed side by side */

/* out[j] = vectors[j] . row of n halves, SIDE of them: sums of LANES products each, in pairs, whatever the machine. */
WIDE static void dot_halves(const uint16_t *row, const float *const *vectors, size_t n, float *out) {
    for (size_t j = 0; j < SIDE; j++) {
        float lane[LANES] = {0};
        size_t i = 0;
        for (; i + LANES <= n; i += LANES)
            for (size_t k = 0; k < LANES; k++) lane[k] += vectors[j][i + k] * widen(row[i + k]);
        for (size_t k = 0; i < n; i++, k++) lane[k] += vectors[j][i] * widen(row[i]);
        out[j] = sum_of_lanes(lane);
    }
}

#ifdef CLONED
#define F16C __attribute__((target("avx2,f16c"), unused))
#define F512 __attribute__((target("avx2,f16c,avx512f,avx512dq"), unused))

/* The sums of 8 lanes of each of SIDE vectors, in pairs. */
F16C static ALWAYS_INLINE void sum_lanes(const __m256 *eight, float *out) {
    __m128 four[SIDE];
    for (int j = 0; j < SIDE; j++)
        four[j] = _mm_add_ps(_mm256_castps256_ps128(eight[j]), _mm256_extractf128_ps(eight[j], 1));
    _MM_TRANSPOSE4_PS(four[0], four[1], four[2], four[3]);
    _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(four[0], four[2]), _mm_add_ps(four[1], four[3])));
}

F16C static void add_halves_256(float *into, const uint16_t *row, size_t n) {
    for (size_t i = 0; i < n; i += LANES / 2) {
        const __m256 half = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(row + i)));
        _mm256_storeu_ps(into + i, _mm256_add_ps(_mm256_loadu_ps(into + i), half));
    }
}

F16C static void dot_halves_256(const uint16_t *row, const float *const *vectors, size_t n, float *out) {
    __m256 low[SIDE], high[SIDE];
    for (int j = 0; j < SIDE; j++) low[j] = high[j] = _mm256_setzero_ps();
    for (size_t i = 0; i < n; i += LANES) {
        const __m256 a = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(row + i)));
        const __m256 b = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(row + i + 8)));
        for (int j = 0; j < SIDE; j++) {
            low[j] = _mm256_add_ps(low[j], _mm256_mul_ps(_mm256_loadu_ps(vectors[j] + i), a));
            high[j] = _mm256_add_ps(high[j], _mm256_mul_ps(_mm256_loadu_ps(vectors[j] + i + 8), b));
        }
    }
    for (int j = 0; j < SIDE; j++) low[j] = _mm256_add_ps(low[j], high[j]);
    sum_lanes(low, out);
}

F512 static void dot_halves_512(const uint16_t *row, const float *const *vectors, size_t n, float *out) {
    __m512 sum[SIDE];
    __m256 eight[SIDE];
    for (int j = 0; j < SIDE; j++) sum[j] = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += LANES) {
        const __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(row + i)));
        for (int j = 0; j < SIDE; j++)
            sum[j] = _mm512_add_ps(sum[j], _mm512_mul_ps(_mm512_loadu_ps(vectors[j] + i), x));
    }
    for (int j = 0; j < SIDE; j++)
        eight[j] = _mm256_add_ps(_mm512_castps512_ps256(sum[j]), _mm512_extractf32x8_ps(sum[j], 1));
    sum_lanes(eight, out);
}
#endif

/* The squared length of a row of n halves, summed as products are. */
WIDE static float square_halves(const uint16_t *row, size_t n) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += widen(row[i + k]) * widen(row[i + k]);
    for (size_t k = 0; i < n; i++, k++) lane[k] += widen(row[i]) * widen(row[i]);
    return sum_of_lanes(lane);
}

typedef void (*Dot)(const uint16_t *row, const float *const *vectors, size_t n, float *out);

/* The fastest there is for this machine and rows of n halves. */
UNUSED static Dot best_dot(size_t n) {
#ifdef CLONED
    if (n % LANES == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return dot_halves_512;
    if (n % LANES == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return dot_halves_256;
#endif
    (void)n;
    return dot_halves;
}

#ifdef CLONED
/* The sum of m rows of n halves, a multiple of COLUMNS, which many registers hold at a time. */
F512 static void sum_rows_512(float *into, const uint16_t *halves, const int32_t *ids, size_t m, size_t n) {
    for (size_t first = 0; first < n; first += COLUMNS) {
        __m512 sum[COLUMNS / 16];
        for (size_t k = 0; k < COLUMNS / 16; k++) sum[k] = _mm512_setzero_ps();
        for (size_t j = 0; j < m; j++) {
            const uint16_t *row = halves + (size_t)ids[j] * n + first;
            if (j + 6 < m) fetch_halves(halves + (size_t)ids[j + 6] * n + first, COLUMNS);
#pragma GCC unroll 16
            for (size_t k = 0; k < COLUMNS / 16; k++) {
                const __m256i half = _mm256_loadu_si256((const __m256i *)(row + 16 * k));
                sum[k] = _mm512_add_ps(sum[k], _mm512_cvtph_ps(half));
            }
        }
        for (size_t k = 0; k < COLUMNS / 16; k++) _mm512_storeu_ps(into + first + 16 * k, sum[k]);
    }
}
#endif

/* into[0..n) = the sum of m rows of n halves, in the order of their ids. */
UNUSED static void sum_rows(float *into, const uint16_t *halves, const int32_t *ids, size_t m, size_t n) {
    void (*add)(float *, const uint16_t *, size_t) = add_halves;
#ifdef CLONED
    if (n % COLUMNS == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        sum_rows_512(into, halves, ids, m, n);
        return;
    }
    if (n % LANES == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) add = add_halves_256;
#endif
    memset(into, 0, n * sizeof(float));
    for (size_t j = 0; j < m; j++) {
        if (j + 4 < m) fetch_halves(halves + (size_t)ids[j + 4] * n, n);
        add(into, halves + (size_t)ids[j] * n, n);
    }
}

#endif
