/* Reads the lists of a segment that are near a query, and chooses the lists of a row. */
#ifndef SLEUTH_LISTS_H
#define SLEUTH_LISTS_H
#include "scan.h"

#define ASSIGNED 128  /* centres near a row, of which two are chosen */
#define REACH    5.0f /* deviations from the mean score of a list at which its best rows are expected */
#define APART    2.0f /* how much it counts that a second centre lies along what the first leaves out */

/* Rows of one segment listed by clusters, each list in blocks of its own, around its own centre. A row may be in
 * several.
 */
typedef struct {
    const uint8_t *codes;
    const float *factors;
    const uint32_t *rows;   /* by place in the blocks: the row of the segment, or a number beyond them */
    const uint32_t *begins; /* shape (count + 1): the first block of each list */
    const uint8_t *centres; /* `count` rows */
    const uint8_t *centre_codes;
    const float *centre_factors, *scales; /* by which the centre of a list is longer */
    size_t count;
} Lists;

/* The blocks of a list that is read, and what to add to their estimates. */
typedef struct {
    uint32_t block, end;
    float base;
} Run;

/* A bit for each row. */
typedef struct {
    uint64_t *at;
    size_t words;
} Bits;

/* The bits of a search that ended: fresh pages take longer to get than old ones to clear. The GIL guards them. */
static Bits spare_bits;

/* Bits that are all 0; none where there is no memory. */
static Bits take_bits(size_t words) {
    Bits bits = spare_bits;
    spare_bits = (Bits){NULL, 0};
    if (bits.words >= words) {
        memset(bits.at, 0, words * sizeof *bits.at);
        return bits;
    }
    free(bits.at);
    return (Bits){calloc(words, sizeof *bits.at), words};
}

/* Keeps bits for the next search, if there are no more already. */
static void leave_bits(Bits bits) {
    Bits other = spare_bits;
    if (bits.at && bits.words > other.words) {
        spare_bits = bits;
        bits = other;
    }
    free(bits.at);
}

/* Whether a row may answer and was not seen before, in another list. */
static inline int is_new(const Part *part, uint64_t *seen, uint32_t row) {
    const uint64_t bit = (uint64_t)1 << row % 64;
    if (row >= part->n || (part->allowed && !(part->allowed[row / 64] & bit)) || seen[row / 64] & bit) return 0;
    seen[row / 64] |= bit;
    return 1;
}

/* The centres with the best estimates, in no order: `depth` of them. */
static void nearest_centres(const Query *q, const uint8_t *codes, const float *factors, size_t n, Candidates *c) {
    const Part centres = {.codes = codes, .factors = factors, .n = n};
    Exact none = {0};
    scan_part(q, &centres, 0, &none, c);
    keep_best(c);
}

/* Adds the blocks of a list to `runs`. */
static size_t add_run(const Lists *lists, uint32_t list, float product, Run *runs, size_t count) {
    runs[count] = (Run){lists->begins[list], lists->begins[list + 1], product * lists->scales[list]};
    return count + (runs[count].block < runs[count].end);
}

/* What the rows of a list score at most: their mean, and `REACH` deviations. A row is the centre times the list's scale
 * and a rest of length sqrt(1 - scale^2) across it, of which any direction is taken to be as likely as another. */
static float most_of_list(float product, float scale, size_t columns) {
    const float rest = 1 - scale * scale, across = 1 - product * product;
    const float variance = rest > 0 && across > 0 ? rest * across / (float)columns : 0;
    return product * scale + REACH * sqrtf(variance);
}

/* The `probes` lists of which most is expected, into `runs`; how many are not empty. The best sixteenth comes first, so
 * that few other rows are worth an exact score, and the rest as it lies in memory. They are chosen from the lists with
 * the nearest centres, by estimate, twice as many. `products` has room for one of each list, and `chosen` a bit, 0. */
static size_t nearest_lists(const Query *q, const Lists *lists, const Question *query, size_t columns, size_t probes,
                            Candidates *c, float *products, uint64_t *chosen, Run *runs) {
    const Part centres = {.rows = lists->centres};
    size_t count = 0, first;
    nearest_centres(q, lists->centre_codes, lists->centre_factors, lists->count, c);
    score_candidates(&centres, query, c);
    for (size_t i = 0; i < c->count; i++) {
        const uint32_t list = c->at[i].row;
        products[list] = c->at[i].score;
        c->at[i].score = most_of_list(products[list], lists->scales[list], columns);
    }
    if (probes < c->count)
        select_best(c->at, c->count, probes);
    else
        probes = c->count; /* a query that is no number has no estimates */
    first = probes / 16;
    if (first) select_best(c->at, probes, first);
    for (size_t i = 0; i < first; i++) count = add_run(lists, c->at[i].row, products[c->at[i].row], runs, count);
    for (size_t i = first; i < probes; i++) chosen[c->at[i].row / 64] |= (uint64_t)1 << c->at[i].row % 64;
    for (size_t word = 0; word * 64 < lists->count; word++)
        for (uint64_t bits = chosen[word]; bits; bits &= bits - 1) {
            const uint32_t list = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
            count = add_run(lists, list, products[list], runs, count);
        }
    return count;
}

/* Asks for the next block of the runs. */
static ALWAYS_INLINE void fetch_next(const Lists *lists, Run *next, const Run **run, const Run *end, size_t bytes) {
    if (next->block == next->end) {
        if (*run == end) return;
        *next = *(*run)++;
    }
    fetch_block(lists->codes, lists->factors, next->block++, bytes);
}

/* Places in lists whose rows wait to be read. */
typedef struct {
    size_t count;
    uint32_t places[2 * BLOCK];
    float scores[2 * BLOCK];
} Places;

/* Adds the rows at these places that may answer. */
static void add_places(Places *places, const Part *part, const Lists *lists, uint64_t *seen, Waiting *waiting, Exact *x,
                       Candidates *c) {
    if (c->count + places->count > c->capacity) keep_best(c);
    for (size_t i = 0; i < places->count; i++) {
        const uint32_t row = lists->rows[places->places[i]];
        if (places->scores[i] > c->least && is_new(part, seen, row))
            add_candidate(waiting, row, places->scores[i], x, c);
    }
    places->count = 0;
}

/* Adds the rows of one segment that may answer and lie in these runs; `seen` has a bit per row, all 0. */
static void scan_runs(const Query *q, const Part *part, const Lists *lists, const Run *runs, size_t n, uint64_t *seen,
                      uint32_t number, Exact *x, Candidates *c) {
    const Run *run = runs, *end = runs + n;
    Run next = {0, 0, 0};
    Waiting waiting = {part, number, 0, {0}};
    Places places = {0};
    float scores[BLOCK];
    for (size_t i = 0; i < AHEAD; i++) fetch_next(lists, &next, &run, end, q->bytes);
    for (size_t i = 0; i < n; i++)
        for (size_t block = runs[i].block; block < runs[i].end; block++) {
            const size_t first = block * BLOCK;
            uint64_t above;
            fetch_next(lists, &next, &run, end, q->bytes);
            above = q->estimate(q, lists->codes + first * q->bytes, lists->factors + first, runs[i].base, c->least,
                                ~(uint64_t)0, scores);
            if (places.count > BLOCK) add_places(&places, part, lists, seen, &waiting, x, c);
            for (; above; above &= above - 1) {
                const size_t r = (size_t)__builtin_ctzll(above);
                FETCH(lists->rows + first + r);
                places.places[places.count] = (uint32_t)(first + r);
                places.scores[places.count++] = scores[r];
            }
        }
    add_places(&places, part, lists, seen, &waiting, x, c);
    score_waiting(&waiting, x, c);
}

/* The nearest of these centres to a row, and the next that does not lie along what the first leaves out: the centre c
 * with the least |x - c|^2 + APART (r . (x - c))^2, where r is the direction from the first centre f to the row x, so
 * that r . (x - c) = (1 - x . f - x . c + f . c) / |x - f|. Returns x . f. `first` has room for a centre, and `numbers`
 * for one in whole numbers. */
static float nearest_and_apart(const uint8_t *centres, size_t columns, const Question *row, float *first,
                               int16_t *numbers, Candidates *c, int32_t *owners) {
    const Part all = {.rows = centres};
    size_t best = 0;
    float least = INFINITY, left;
    owners[0] = owners[1] = 0;
    if (!c->count) return 0; /* a row that is no number has no estimates */
    score_candidates(&all, row, c);
    for (size_t i = 1; i < c->count; i++)
        if (c->at[i].score > c->at[best].score ||
            (c->at[i].score == c->at[best].score && c->at[i].row < c->at[best].row))
            best = i;
    owners[0] = owners[1] = (int32_t)c->at[best].row;
    unpack_row(centres + c->at[best].row * row_bytes(columns), columns, first);
    const Question head = question_of(first, columns, numbers);
    left = 2 - 2 * c->at[best].score;
    if (!(left > 1e-6f)) left = 1e-6f;
    for (size_t i = 0; i < c->count; i++) {
        float between, along, error;
        if (i == best) continue;
        dot_rows(centres, &head, NULL, c->at[i].row, 1, &between);
        along = 1 - c->at[best].score - c->at[i].score + between;
        error = APART * along * along / left - 2 * c->at[i].score;
        if (error < least || (error == least && (int32_t)c->at[i].row < owners[1]))
            least = error, owners[1] = (int32_t)c->at[i].row;
    }
    return c->at[best].score;
}

#endif
