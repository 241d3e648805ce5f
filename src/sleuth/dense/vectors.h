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
#define WIDE __attribute__((target_clones("default", "popcnt", "avx2", "arch=x86-64-v4"), unused))
#elif defined(__GNUC__)
#define WIDE __attribute__((unused))
#else
#define WIDE
#endif

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define FETCH(p) __builtin_prefetch(p)
#define FETCH_SECOND(p) __builtin_prefetch(p, 0, 2)
#else
#define ALWAYS_INLINE inline
#define FETCH(p) ((void)(p))
#define FETCH_SECOND(p) ((void)(p))
#endif

#define LANES 16

/* into[0..n) += row[0..n) */
WIDE static void add_row(float *into, const float *row, size_t n) {
    for (size_t i = 0; i < n; i++) into[i] += row[i];
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

static ALWAYS_INLINE float dot(const float *a, const float *b, size_t n) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) lane[k] += a[i + k] * b[i + k];
    for (size_t k = 0; i < n; i++, k++) lane[k] += a[i] * b[i];
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0];
}

/* cosines[q] = of a row of n halves to query q, for each bit q of `asked`, queries of n floats and of length 1; `wide` has
 * room for n floats. */
WIDE static void cosines_of(const uint16_t *row, const float *queries, uint64_t asked, size_t n, float *wide,
                            float *cosines) {
    float square;
    for (size_t i = 0; i < n; i++) wide[i] = widen(row[i]);
    square = dot(wide, wide, n);
    for (; asked; asked &= asked - 1) {
        const int q = __builtin_ctzll(asked);
        cosines[q] = square > 0 ? dot(wide, queries + q * n, n) / sqrtf(square) : 0;
    }
}

/* scores[j] = query . row rows[j], or row first + j where rows is NULL, of halves of n columns. */
WIDE static void dot_rows(const uint16_t *halves, size_t n, const float *query, const uint32_t *rows, size_t first,
                          size_t m, float *scores) {
    for (size_t j = 0; j < m; j++) {
        const uint16_t *row = halves + (rows ? rows[j] : first + j) * n;
        float lane[LANES] = {0};
        size_t i = 0;
        if (rows && j + 8 < m)
            for (size_t line = 0; line < n; line += 32) FETCH(halves + rows[j + 8] * n + line);
        for (; i + LANES <= n; i += LANES)
            for (size_t k = 0; k < LANES; k++) lane[k] += query[i + k] * widen(row[i + k]);
        for (size_t k = 0; i < n; i++, k++) lane[k] += query[i] * widen(row[i]);
        for (size_t half = LANES / 2; half; half /= 2)
            for (size_t k = 0; k < half; k++) lane[k] += lane[k + half];
        scores[j] = lane[0];
    }
}

#endif
