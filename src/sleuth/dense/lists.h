/* Reads the lists of a segment that are near a query, and chooses the lists of a row. */
#ifndef SLEUTH_LISTS_H
#define SLEUTH_LISTS_H
#include "scan.h"

#define ASSIGNED 64   /* centres near a row, of which two are chosen */
#define APART    2.0f /* how much it counts that a second centre lies along what the first leaves out */

/* Rows of one segment listed by clusters, each list in blocks of its own, around its own centre. A row may be in
 * several.
 */
typedef struct {
    const uint8_t *codes;
    const float *factors;
    const uint32_t *rows;    /* by place in the blocks: the row of the segment, or a number beyond them */
    const uint32_t *begins;  /* shape (count + 1): the first block of each list */
    const uint16_t *centres; /* shape (count, columns), of length 1 */
    const uint8_t *centre_codes;
    const float *centre_factors, *scales; /* by which the centre of a list is longer */
    size_t count;
} Lists;

/* A block to read, and what to add to its estimates. */
typedef struct {
    uint32_t block;
    float base;
} Visit;

/* Whether a row may answer and was not seen before, in another list. */
static inline int is_new(const Part *part, uint64_t *seen, uint32_t row) {
    const uint64_t bit = (uint64_t)1 << row % 64;
    if (row >= part->n || (part->allowed && !(part->allowed[row / 64] & bit)) || seen[row / 64] & bit) return 0;
    seen[row / 64] |= bit;
    return 1;
}

/* The centres with the best estimates, in no order: `depth` of them. */
static void nearest_centres(const Query *q, const uint8_t *codes, const float *factors, size_t n, Candidates *c) {
    const Estimate estimate_block = q->estimate ? q->estimate : estimate_portable;
    float scores[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const uint64_t all = n - first < BLOCK ? ((uint64_t)1 << (n - first)) - 1 : ~(uint64_t)0;
        uint64_t rows = estimate_block(q, codes + first * q->bytes, factors + first, 0, c->least, all, scores);
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            const int r = __builtin_ctzll(rows);
            c->at[c->count++] = (Candidate){scores[r], 0, (uint32_t)first + (uint32_t)r};
        }
    }
    keep_best(c);
}

/* Adds the blocks of a list to `visits`. */
static size_t visit_list(const Lists *lists, uint32_t list, float product, Visit *visits, size_t count) {
    for (uint32_t block = lists->begins[list]; block < lists->begins[list + 1]; block++)
        visits[count++] = (Visit){block, product * lists->scales[list]};
    return count;
}

/* The blocks of the `probes` lists whose centres are nearest to the query, into `visits`; how many there are. The
 * nearest sixteenth comes first, so that few other rows are worth an exact score, and the rest as it lies in memory. Of
 * twice as many centres, those with the best estimates, the products are computed. `products` has room for one of each
 * list. */
static size_t nearest_blocks(const Query *q, const Lists *lists, const float *query, size_t columns, size_t probes,
                             Candidates *c, float *products, Visit *visits) {
    const Part centres = {.halves = lists->centres};
    size_t count = 0, first;
    nearest_centres(q, lists->centre_codes, lists->centre_factors, lists->count, c);
    score_candidates(&centres, query, columns, c);
    if (probes < c->count)
        select_best(c->at, c->count, probes);
    else
        probes = c->count; /* a query that is no number has no estimates */
    first = probes / 16;
    if (first) select_best(c->at, probes, first);
    for (size_t i = 0; i < first; i++) count = visit_list(lists, c->at[i].row, c->at[i].score, visits, count);
    for (size_t i = 0; i < lists->count; i++) products[i] = NAN;
    for (size_t i = first; i < probes; i++) products[c->at[i].row] = c->at[i].score;
    for (size_t i = 0; i < lists->count; i++)
        if (!isnan(products[i])) count = visit_list(lists, (uint32_t)i, products[i], visits, count);
    return count;
}

/* Adds the rows of one segment that may answer and lie in these blocks; `seen` has a bit per row, all 0. */
static void scan_visits(const Query *q, const Part *part, const Lists *lists, const Visit *visits, size_t n,
                        uint64_t *seen, uint32_t number, size_t columns, Exact *x, Candidates *c) {
    const Estimate estimate_block = q->estimate ? q->estimate : estimate_portable;
    Waiting waiting = {part, number, columns, 0, {0}};
    float scores[BLOCK];
    for (size_t i = 0; i < n; i++) {
        const size_t first = (size_t)visits[i].block * BLOCK;
        uint64_t rows;
        if (i + AHEAD < n) fetch_block(lists->codes, lists->factors, visits[i + AHEAD].block, q->bytes);
        rows = estimate_block(q, lists->codes + first * q->bytes, lists->factors + first, visits[i].base, c->least,
                              ~(uint64_t)0, scores);
        if (!rows) continue;
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            const int r = __builtin_ctzll(rows);
            const uint32_t row = lists->rows[first + (size_t)r];
            if (scores[r] > c->least && is_new(part, seen, row)) add_candidate(&waiting, row, scores[r], x, c);
        }
    }
    score_waiting(&waiting, x, c);
}

/* The nearest of these centres to a row, and the next that does not lie along what the first leaves out: the centre c
 * with the least |x - c|^2 + APART (r . (x - c))^2, where r is the direction from the first centre f to the row x, so
 * that r . (x - c) = (1 - x . f - x . c + f . c) / |x - f|. Returns x . f. `first` has room for a centre. */
static float nearest_and_apart(const uint16_t *centres, size_t columns, const float *row, float *first, Candidates *c,
                               int32_t *owners) {
    const Part all = {.halves = centres};
    size_t best = 0;
    float least = INFINITY, left;
    owners[0] = owners[1] = 0;
    if (!c->count) return 0; /* a row that is no number has no estimates */
    score_candidates(&all, row, columns, c);
    for (size_t i = 1; i < c->count; i++)
        if (c->at[i].score > c->at[best].score ||
            (c->at[i].score == c->at[best].score && c->at[i].row < c->at[best].row))
            best = i;
    owners[0] = owners[1] = (int32_t)c->at[best].row;
    for (size_t k = 0; k < columns; k++) first[k] = widen(centres[c->at[best].row * columns + k]);
    left = 2 - 2 * c->at[best].score;
    if (!(left > 1e-6f)) left = 1e-6f;
    for (size_t i = 0; i < c->count; i++) {
        float between, along, error;
        if (i == best) continue;
        dot_rows(centres, columns, first, NULL, c->at[i].row, 1, &between);
        along = 1 - c->at[best].score - c->at[i].score + between;
        error = APART * along * along / left - 2 * c->at[i].score;
        if (error < least || (error == least && (int32_t)c->at[i].row < owners[1]))
            least = error, owners[1] = (int32_t)c->at[i].row;
    }
    return c->at[best].score;
}

#endif
