/* Keeps the best of many scored rows. */
#ifndef SLEUTH_CANDIDATES_H
#define SLEUTH_CANDIDATES_H
#include <stdlib.h>

#include "vectors.h"

#define BINS 256

typedef struct {
    float score;
    uint32_t part, row;
} Candidate;

typedef struct {
    Candidate *at;
    size_t count, capacity, depth;
    float least; /* new candidates must beat it, and those that reach it stay */
} Candidates;

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

#endif
