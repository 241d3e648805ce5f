/* Which nodes do the patterns of a language capture? A pattern is a tree of steps, compiled by `sleuth.code.queries`. */
#ifndef SLEUTH_MATCHES_H
#define SLEUTH_MATCHES_H

#include "trees.h"

/* One node of a pattern. `child` is its first child, `next` the step after it among its siblings, `other` the next
   alternative in its place; -1 for none. `words` lists texts that it may have, -2 less the list those that it may not.
   `symbol` 0 stands for any named node. A step of several alternatives keeps
   `next`, `field` and `first` in all of them. */
typedef struct {
    int32_t symbol, field, absent, capture, first, child, next, other, words;
} Step;

typedef struct {
    const Step* steps;
    const int32_t* roots;       /* by symbol: the first pattern that begins with it, -1 for none */
    const int32_t* chain;       /* by pattern: the next one with the same beginning */
    const int32_t* pattern;     /* by pattern: its first step */
    const char* const* words;   /* texts that a node may have, each list ended by NULL */
    const int32_t* word_at;     /* by list: where it begins */
    uint32_t symbols;
} Program;

typedef struct Rest {
    int32_t step;
    uint32_t at, stop;
    const struct Rest* outer;
} Rest;

typedef struct {
    const Program* program;
    FlatNodes* nodes;
    const char* source;
    uint32_t held[16];
    int32_t captures[16];
    int depth;
} Matching;

static void match_rest(Matching* m, const Rest* rest);

static int head_fits(const Matching* m, const Step* step, uint32_t i) {
    const FlatNode* node = &m->nodes->data[i];
    if (step->symbol ? node->symbol != step->symbol : !node->named || node->symbol == ts_builtin_sym_error) return 0;
    if (step->field && node->field != step->field) return 0;
    if (step->absent && child_with(m->nodes, i, (uint16_t)step->absent) != NONE) return 0;
    if (step->words != -1) {
        uint32_t size = node->end - node->start;
        int allows = step->words >= 0;
        const char* const* word = m->program->words + m->program->word_at[allows ? step->words : -2 - step->words];
        while (*word && (strlen(*word) != size || memcmp(*word, m->source + node->start, size))) word++;
        if (allows != (*word != NULL)) return 0;
    }
    return 1;
}

static void match_head(Matching* m, const Step* step, uint32_t i, const Rest* after) {
    int depth = m->depth;
    if (step->capture >= 0 && depth < 16) {
        m->held[depth] = i;
        m->captures[depth] = step->capture;
        m->depth++;
    }
    if (step->child >= 0) {
        Rest inside = {step->child, i + 1, m->nodes->data[i].stop, after};
        match_rest(m, &inside);
    } else {
        match_rest(m, after);
    }
    m->depth = depth;
}

/* Tries what is left of a pattern at every place where it may stand; marks what is captured where all of it fits. */
static void match_rest(Matching* m, const Rest* rest) {
    while (rest && rest->step < 0) rest = rest->outer;
    if (!rest) {
        for (int k = 0; k < m->depth; k++) m->nodes->data[m->held[k]].marks |= 1u << m->captures[k];
        return;
    }
    const Step* first = &m->program->steps[rest->step];
    for (uint32_t j = rest->at; j < rest->stop; j = m->nodes->data[j].stop) {
        for (const Step* step = first;; step = &m->program->steps[step->other]) {
            if (head_fits(m, step, j)) {
                Rest after = {step->next, m->nodes->data[j].stop, rest->stop, rest->outer};
                match_head(m, step, j, &after);
            }
            if (step->other < 0) break;
        }
        if (first->first && m->nodes->data[j].named) break;
    }
}

static void match_all(const Program* program, FlatNodes* nodes, const char* source) {
    Matching m = {program, nodes, source, {0}, {0}, 0};
    for (uint32_t i = 0; i < nodes->n; i++) {
        uint32_t symbol = nodes->data[i].symbol;
        if (symbol >= program->symbols) continue;
        for (int32_t p = program->roots[symbol]; p >= 0; p = program->chain[p]) {
            const Step* step = &program->steps[program->pattern[p]];
            m.depth = 0;
            if (head_fits(&m, step, i)) match_head(&m, step, i, NULL);
        }
    }
}

#endif
