/* The vectors of a segment, in 12 bits for each dimension.
 *
 * A row is a direction: whole numbers from -2047 to 2047, of which only the ratios count, since what is read of a row
 * is divided by the length of its numbers. So every byte stands for a number, and a row needs no scale. The upper 8
 * bits of all numbers come first, then the lower 4: those of 16 numbers in the lower halves of 16 bytes, those of the
 * next 16 in the upper halves. A row of n numbers is filled up with zeros to a multiple of 32.
 */
#ifndef SLEUTH_ROWS_H
#define SLEUTH_ROWS_H
#include "vectors.h"

#define GROUP    32 /* numbers whose lower bits share 16 bytes */
#define GREATEST 2047
#define CHUNK    256     /* numbers whose products with those of a query add up to less than 2^31 */
#define LENGTH   32000.0 /* of a query in whole numbers, each of which fits 16 bits */

/* A vector in whole numbers, `width` of them, zeros beyond its dimensions; `step` is what a number counts. Sums of
 * whole numbers are equal in every order, so scores are equal on every machine. */
typedef struct {
    const int16_t *numbers;
    size_t width;
    float step;
} Question;

/* Numbers of a row of n dimensions. */
static inline size_t width_of(size_t n) { return (n + GROUP - 1) / GROUP * GROUP; }

static inline size_t row_bytes(size_t n) { return width_of(n) / 2 * 3; }

/* Writes the direction of n numbers; zeros where they have none. */
WIDE static void pack_row(const float *values, size_t n, uint8_t *row) {
    uint8_t *lower = row + width_of(n);
    float most = 0, scale;
    for (size_t i = 0; i < n; i++) most = fabsf(values[i]) > most ? fabsf(values[i]) : most;
    scale = most > 1e-30f ? GREATEST / most : 0;
    memset(row, 0, row_bytes(n));
    for (size_t i = 0; i < n; i++) {
        const float value = values[i] * scale;
        const int number = value >= -GREATEST - 1 && value <= GREATEST + 1 ? (int)rintf(value) : 0; /* no NaN */
        row[i] = (uint8_t)(number >> 4);
        lower[i / GROUP * 16 + i % 16] |= (uint8_t)((number & 15) << (i % GROUP < 16 ? 0 : 4));
    }
}

/* Up to CHUNK numbers of a row, m of them, a multiple of GROUP, from their upper and lower bits. */
static ALWAYS_INLINE void read_numbers(const uint8_t *upper, const uint8_t *lower, size_t m, int16_t *numbers) {
    for (size_t i = 0; i < m; i += GROUP)
        for (size_t k = 0; k < 16; k++) {
            const uint8_t bits = lower[i / 2 + k];
            numbers[i + k] = (int16_t)((int8_t)upper[i + k] * 16 + (bits & 15));
            numbers[i + 16 + k] = (int16_t)((int8_t)upper[i + 16 + k] * 16 + (bits >> 4));
        }
}

/* The vector of a row, of length 1; zeros where it has no direction. */
WIDE static void unpack_row(const uint8_t *row, size_t n, float *out) {
    const uint8_t *lower = row + width_of(n);
    int16_t numbers[GROUP];
    double square = 0;
    for (size_t i = 0; i < n; i += GROUP) {
        read_numbers(row + i, lower + i / 2, GROUP, numbers);
        for (size_t k = 0; k < GROUP && i + k < n; k++) out[i + k] = numbers[k];
        for (size_t k = 0; k < GROUP; k++) square += numbers[k] * numbers[k];
    }
    for (size_t i = 0; i < n; i++) out[i] *= (float)(square > 0 ? 1 / sqrt(square) : 0);
}

/* Writes a vector of n dimensions in whole numbers, with room for `width_of(n)`. */
static Question question_of(const float *vector, size_t n, int16_t *numbers) {
    double square = 0, scale;
    for (size_t i = 0; i < n; i++) square += (double)vector[i] * vector[i];
    scale = square > 0 ? LENGTH / sqrt(square) : 0;
    for (size_t i = 0; i < n; i++) numbers[i] = (int16_t)rint(vector[i] * scale);
    for (size_t i = n; i < width_of(n); i++) numbers[i] = 0;
    return (Question){numbers, width_of(n), (float)(square > 0 ? 1 / scale : 0)};
}

/* The sums of products of m numbers of a row: with those of a query, and with themselves. */
WIDE static void add_products(const uint8_t *upper, const uint8_t *lower, const int16_t *query, size_t m,
                              int32_t *sums) {
    int16_t numbers[CHUNK];
    int32_t products = 0, squares = 0;
    read_numbers(upper, lower, m, numbers);
    for (size_t k = 0; k < m; k++) products += numbers[k] * query[k];
    for (size_t k = 0; k < m; k++) squares += numbers[k] * numbers[k];
    sums[0] = products, sums[1] = squares;
}

#ifdef CLONED
#define AVX2 __attribute__((target("avx2")))

/* 16 numbers from their upper bits, in 16 bytes, and their lower ones. */
AVX2 static ALWAYS_INLINE __m256i numbers_of(const uint8_t *upper, __m128i lower) {
    const __m256i high = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)upper));
    return _mm256_or_si256(_mm256_slli_epi16(high, 4), _mm256_cvtepu8_epi16(_mm_and_si128(lower, _mm_set1_epi8(15))));
}

AVX2 static void add_products_256(const uint8_t *upper, const uint8_t *lower, const int16_t *query, size_t m,
                                  int32_t *sums) {
    __m256i products = _mm256_setzero_si256(), squares = products;
    for (size_t i = 0; i < m; i += GROUP) {
        const __m128i bits = _mm_loadu_si128((const __m128i *)(lower + i / 2));
        const __m256i a = numbers_of(upper + i, bits), b = numbers_of(upper + i + 16, _mm_srli_epi16(bits, 4));
        const __m256i c = _mm256_loadu_si256((const __m256i *)(query + i));
        const __m256i d = _mm256_loadu_si256((const __m256i *)(query + i + 16));
        products = _mm256_add_epi32(products, _mm256_add_epi32(_mm256_madd_epi16(a, c), _mm256_madd_epi16(b, d)));
        squares = _mm256_add_epi32(squares, _mm256_add_epi32(_mm256_madd_epi16(a, a), _mm256_madd_epi16(b, b)));
    }
    products = _mm256_hadd_epi32(products, squares);
    products = _mm256_hadd_epi32(products, products);
    _mm_storel_epi64((__m128i *)sums,
                     _mm_add_epi32(_mm256_castsi256_si128(products), _mm256_extracti128_si256(products, 1)));
}
#endif

/* Asks for a row before it is read: into the second cache, which can wait for more than the first. */
static ALWAYS_INLINE UNUSED void fetch_row(const Question *q, const uint8_t *row) {
    for (size_t byte = 0; byte < row_bytes(q->width); byte += 64) FETCH_SECOND(row + byte);
}

/* scores[j] = the question's product with row ids[j], or row first + j where ids is NULL. */
UNUSED static void dot_rows(const uint8_t *rows, const Question *q, const uint32_t *ids, size_t first, size_t m,
                            float *scores) {
    void (*add)(const uint8_t *, const uint8_t *, const int16_t *, size_t, int32_t *) = add_products;
    const size_t bytes = row_bytes(q->width);
#ifdef CLONED
    if (__builtin_cpu_supports("avx2")) add = add_products_256;
#endif
    for (size_t j = 0; j < m; j++) {
        const uint8_t *row = rows + (ids ? ids[j] : first + j) * bytes;
        float product = 0, square = 0;
        if (ids && j + 8 < m) fetch_row(q, rows + ids[j + 8] * bytes);
        for (size_t i = 0; i < q->width; i += CHUNK) {
            int32_t sums[2];
            add(row + i, row + q->width + i / 2, q->numbers + i, q->width - i < CHUNK ? q->width - i : CHUNK, sums);
            product += (float)sums[0], square += (float)sums[1];
        }
        scores[j] = square > 0 ? q->step * product / sqrtf(square) : 0;
    }
}

#endif
