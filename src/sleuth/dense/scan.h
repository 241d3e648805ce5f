/* Scans the codes of segments for the best rows: estimates first, then exact scores. */
#ifndef SLEUTH_SCAN_H
#define SLEUTH_SCAN_H
#include "candidates.h"
#include "codes.h"

#define WAITING 8  /* rows that are asked for before the first of them is scored */
#define AHEAD   16 /* blocks between the one that is asked for and the one that is estimated */
#define SAMPLED 16 /* blocks of which a sample has one */

/* The best k exact scores so far, the least on top. A row that belongs among them has, with the certainty that
 * `margin` buys, an estimate above the least of them less `margin`. */
typedef struct {
    const Question *query;
    float *scores;
    size_t k, count;
    float margin;
} Exact;

/* One segment, as a query sees it. */
typedef struct {
    const uint8_t *codes;
    const float *factors;
    const uint8_t *rows;
    const uint64_t *allowed; /* NULL for all */
    const uint32_t *ties;    /* NULL where rows are in order of id */
    const int64_t *keys;
    size_t n, members;
    float base; /* what to add to estimates */
} Part;

/* Scores rows exactly, and raises `least` where they are among the best k. */
static void score_rows(Exact *x, const uint8_t *rows, const uint32_t *ids, size_t m, Candidates *c) {
    float scores[WAITING], least;
    dot_rows(rows, x->query, ids, 0, m, scores);
    for (size_t j = 0; j < m; j++) {
        const float score = scores[j];
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

/* Asks for a block before it is read, since pages of a mapped file are not fetched ahead by the machine itself: into
 * the second cache, which can wait for more lines than the first: a million rows take two thirds of the time. */
static ALWAYS_INLINE void fetch_block(const uint8_t *codes, const float *factors, size_t block, size_t bytes) {
    for (size_t j = 0; j < bytes; j++) FETCH_SECOND(codes + (block * bytes + j) * BLOCK);
    for (size_t r = 0; r < BLOCK; r += 16) FETCH_SECOND(factors + block * BLOCK + r);
}

/* Rows of one segment that wait to be scored exactly. */
typedef struct {
    const Part *part;
    uint32_t number;
    size_t count;
    uint32_t rows[WAITING];
} Waiting;

static void score_waiting(Waiting *w, Exact *x, Candidates *c) {
    if (w->count) score_rows(x, w->part->rows, w->rows, w->count, c);
    w->count = 0;
}

static ALWAYS_INLINE void add_candidate(Waiting *w, uint32_t row, float score, Exact *x, Candidates *c) {
    c->at[c->count++] = (Candidate){score, w->number, row};
    if (!(x->count < x->k || (x->k && score > x->scores[0]))) return;
    fetch_row(x->query, w->part->rows + row * row_bytes(x->query->width));
    w->rows[w->count++] = row;
    if (w->count == WAITING) score_waiting(w, x, c);
}

/* Adds the rows of every `stride`-th block of a segment that may answer. */
static void scan_blocks(const Query *q, const Part *part, uint32_t number, size_t stride, Exact *x, Candidates *c) {
    Waiting waiting = {part, number, 0, {0}};
    float scores[BLOCK];
    for (size_t first = 0; first < part->n; first += stride * BLOCK) {
        uint64_t rows = part->allowed ? part->allowed[first / BLOCK] : ~(uint64_t)0;
        if (part->n - first < BLOCK) rows &= ((uint64_t)1 << (part->n - first)) - 1;
        if (first + (AHEAD * stride + 1) * BLOCK <= part->n)
            fetch_block(part->codes, part->factors, first / BLOCK + AHEAD * stride, q->bytes);
        if (!rows) continue;
        rows =
            q->estimate(q, part->codes + first * q->bytes, part->factors + first, part->base, c->least, rows, scores);
        if (!rows) continue;
        if (c->count + BLOCK > c->capacity) keep_best(c);
        for (; rows; rows &= rows - 1) {
            const int r = __builtin_ctzll(rows);
            if (scores[r] > c->least) add_candidate(&waiting, (uint32_t)first + (uint32_t)r, scores[r], x, c);
        }
    }
    score_waiting(&waiting, x, c);
}

/* Adds the rows of one segment that may answer. A sample of the first one tells which estimates are too low to be among
 * the best, unless those are so many in it by chance that too few are left: then all rows are candidates. */
static void scan_part(const Query *q, const Part *part, uint32_t number, Exact *x, Candidates *c) {
    const size_t share = 2 * c->depth / SAMPLED; /* twice of what it has of the best on average */
    if (!x->k && !c->count && share && part->members > 4 * c->depth) {
        Candidates sample = {c->at, 0, 2 * share + 2 * BLOCK, share, c->least};
        scan_blocks(q, part, number, SAMPLED, x, &sample);
        if (sample.count >= share) {
            keep_best(&sample);
            c->least = sample.least;
            scan_blocks(q, part, number, 1, x, c);
            if (c->count >= c->depth) return;
            c->count = 0, c->least = -INFINITY;
        }
    }
    scan_blocks(q, part, number, 1, x, c);
}

/* From here on, rows whose estimate is below the k-th best exact score by `margin` are left out. */
static void set_margin(Exact *x, Candidates *c, float margin) {
    if (!x->k) return;
    x->margin = margin;
    c->least = x->count == x->k ? x->scores[0] - margin : -INFINITY;
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
static void score_candidates(const Part *parts, const Question *query, Candidates *c) {
    const size_t ahead = 24;
    for (size_t i = 0; i < c->count; i++) {
        if (i + ahead < c->count) {
            const Candidate *next = &c->at[i + ahead];
            fetch_row(query, parts[next->part].rows + next->row * row_bytes(query->width));
        }
        dot_rows(parts[c->at[i].part].rows, query, NULL, c->at[i].row, 1, &c->at[i].score);
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
        Candidates best = {c->at, n, c->capacity, k, -INFINITY};
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
