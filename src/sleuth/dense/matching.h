/* Compares each token of a query with the tokens of a row, which is the set of its tokens.
 *
 * A set is stored as its ids in ascending order. Each id is its distance from the previous one, less one, in LEB128: 7
 * bits per byte, the lowest first, the eighth bit set if more follow. Common tokens have small ids, so that a token
 * takes 1.3 bytes.
 */
#ifndef SLEUTH_MATCHING_H
#define SLEUTH_MATCHING_H
#include <stdlib.h>

#include "vectors.h"

#define AHEAD 4 /* tokens between the one that is fetched into the first cache and the one that is compared */

/* Writes the set of these ids; `seen`, a bit per token of the vocabulary, is clear before and after. Returns bytes
 * written, three for each id at most. */
static inline size_t pack_ids(const int32_t *ids, size_t n, uint64_t *seen, uint8_t *out) {
    uint8_t *at = out;
    size_t low = (size_t)-1, high = 0;
    int32_t before = -1;
    for (size_t i = 0; i < n; i++) {
        const size_t word = (size_t)ids[i] >> 6;
        seen[word] |= (uint64_t)1 << (ids[i] & 63);
        low = word < low ? word : low;
        high = word > high ? word : high;
    }
    for (size_t word = low; n && word <= high; word++) {
        for (uint64_t bits = seen[word]; bits; bits &= bits - 1) {
            const int32_t id = (int32_t)(word * 64) + __builtin_ctzll(bits);
            uint32_t gap = (uint32_t)(id - before - 1);
            for (; gap >= 128; gap >>= 7) *at++ = (uint8_t)(gap | 128);
            *at++ = (uint8_t)gap;
            before = id;
        }
        seen[word] = 0;
    }
    return (size_t)(at - out);
}

/* The ids of a set of `size` bytes, at most as many; how many, or -1 where one is not below `most`. */
static inline int64_t unpack_ids(const uint8_t *in, size_t size, uint32_t most, uint16_t *ids) {
    uint64_t id = 0, gap = 0;
    int64_t n = 0;
    int shift = 0;
    for (size_t i = 0; i < size; i++) {
        gap |= (uint64_t)(in[i] & 127) << shift;
        shift += 7;
        if (in[i] & 128 && shift < 28) continue;
        id += gap;
        if (id >= most) return -1;
        ids[n++] = (uint16_t)id++;
        gap = 0, shift = 0;
    }
    return n;
}

typedef struct {
    const uint16_t *table; /* a vector of halves per token */
    float *lengths;        /* of these vectors; 0 where it is not known yet */
    const float *queries;  /* m vectors of length 1 */
    const uint16_t *asked; /* their tokens */
    size_t m, columns, tokens;
} Match;

/* A token that was met: its place among those that are compared, and its number among the query's, both from 1, 0 for
 * none. */
typedef struct {
    uint32_t token; /* plus 1; 0 where there is none */
    uint16_t compared, number;
} Met;

/* The place of a token in a table of `mask` + 1 places, half of them free at least. */
static inline uint32_t place_of_token(Met *met, uint32_t mask, uint32_t token) {
    uint32_t at = token * 2654435769u >> 7 & mask;
    while (met[at].token && met[at].token != token + 1) at = (at + 1) & mask;
    met[at].token = token + 1;
    return at;
}

/* The length of a token's vector. Threads that compute it at once write the same. */
static inline float length_of(const Match *x, uint16_t token) {
    if (x->lengths[token] == 0) x->lengths[token] = sqrtf(square_halves(x->table + token * x->columns, x->columns));
    return x->lengths[token];
}

/* to[q] = the greatest of near[compared * stride + q] over the tokens met at these places. */
WIDE static void greatest(const Met *met, const uint32_t *place, size_t n, const float *near, size_t stride,
                          float *to) {
    for (size_t q = 0; q < stride; q++) to[q] = -1;
    for (size_t i = 0; i < n; i++) {
        const float *from = near + (size_t)(met[place[i]].compared - 1) * stride;
        for (size_t q = 0; q < stride; q++) to[q] = from[q] > to[q] ? from[q] : to[q];
    }
}

/* best[row * m + query] = the greatest cosine of a query's token to one of the row's, rows of ids ids[starts[row]] up
 * to ids[starts[row + 1]]; -1 without queries. Queries `first` to `first + count`, 64 at most. A row that holds a
 * token has cosine 1 to it, so that only what it does not hold is compared; each pair of tokens once. False without
 * memory. */
static inline int match_some(const Match *x, const uint16_t *ids, const size_t *starts, size_t rows, size_t first,
                             size_t count, float *best) {
    const uint64_t all = count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
    const size_t total = starts[rows], stride = (count + LANES - 1) / LANES * LANES;
    const Dot dot_of = best_dot(x->columns);
    const float *queries = x->queries + first * x->columns;
    uint32_t mask = 255;
    while (mask < 2 * (total + count)) mask = 2 * mask + 1;
    Met *met = calloc((size_t)mask + 1, sizeof *met);
    uint32_t *place = malloc((total + 1) * sizeof *place);
    uint64_t *missing = malloc((rows + 1) * sizeof *missing), *need = malloc((total + 1) * sizeof *need);
    uint16_t *compared = malloc((total + 1) * sizeof *compared);
    float *near = NULL;
    size_t n = 0;
    int done = met && place && missing && need && compared;
    for (size_t q = 0; done && q < count; q++)
        met[place_of_token(met, mask, x->asked[first + q])].number = (uint16_t)(q + 1);
    for (size_t row = 0; done && row < rows; row++) {
        missing[row] = all;
        for (size_t i = starts[row]; i < starts[row + 1]; i++) {
            const uint16_t number = met[place[i] = place_of_token(met, mask, ids[i])].number;
            if (number) missing[row] &= ~((uint64_t)1 << (number - 1));
        }
        for (size_t i = starts[row]; missing[row] && i < starts[row + 1]; i++) {
            Met *token = met + place[i];
            if (!token->compared) {
                fetch_halves(x->table + ids[i] * x->columns, x->columns);
                compared[n] = ids[i], need[n] = 0, token->compared = (uint16_t)++n;
            }
            need[token->compared - 1] |= missing[row];
        }
    }
    done = done && (near = malloc((n * stride + 1) * sizeof *near));
    for (size_t i = 0; done && i < n; i++) {
        const uint16_t *row = x->table + compared[i] * x->columns;
        float *to = near + i * stride;
        if (i + AHEAD < n) {
            FETCH(x->lengths + compared[i + AHEAD]);
            fetch_halves(x->table + compared[i + AHEAD] * x->columns, x->columns);
        }
        for (size_t q = 0; q < stride; q++) to[q] = -1;
        const float length = length_of(x, compared[i]);
        for (uint64_t left = need[i]; left;) {
            const float *side[SIDE];
            float products[SIDE];
            int numbers[SIDE], n_side = 0;
            for (; left && n_side < SIDE; left &= left - 1) numbers[n_side++] = __builtin_ctzll(left);
            for (int j = 0; j < SIDE; j++) side[j] = queries + (size_t)numbers[j < n_side ? j : 0] * x->columns;
            dot_of(row, side, x->columns, products);
            for (int j = 0; j < n_side; j++) to[numbers[j]] = length > 0 ? products[j] / length : 0;
        }
    }
    for (size_t row = 0; done && row < rows; row++) {
        float *to = best + row * x->m + first, nearest[64];
        const int filled = starts[row] < starts[row + 1];
        if (filled && missing[row])
            greatest(met, place + starts[row], starts[row + 1] - starts[row], near, stride, nearest);
        for (size_t q = 0; q < count; q++) to[q] = !filled ? -1 : missing[row] >> q & 1 ? nearest[q] : 1;
    }
    free(met), free(place), free(missing), free(need), free(compared), free(near);
    return done;
}

#endif
