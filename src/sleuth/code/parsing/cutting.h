/* Where is a parsed file cut into chunks? The rules are told in `sleuth.code.chunks`. */
#ifndef SLEUTH_CUTTING_H
#define SLEUTH_CUTTING_H

#include "references.h"

enum { DEFINITION, OUTLINE, PART, MODULE_CODE };
enum { MOST_NESTED = 500 };

typedef struct {
    int32_t whole_lines, container_lines, part_lines;
} Limits;

typedef struct {
    const Found* f;
    Limits limits;
    int32_t* next;  /* per definition, the next member of the same owner; [n] the first of the file */
    int32_t* child; /* per definition, its first member */
    uint8_t* holds; /* per definition, whether it has members */
    Places borders;
    Chunks chunks;
} Cutter;

/* Whether letters or digits stand in the lines; other scripts count, their punctuation does not. */
static int says_something(const char* p, const char* end) {
    while (p < end) {
        unsigned char c = (unsigned char)*p++;
        if (c < 128) {
            if (is_word((char)c) && c != '_') return 1;
        } else if (c >= 0xC3 && c < 0xE2) {
            return 1;
        } else if (c > 0xE3 && c < 0xF0) {
            return 1;
        }
    }
    return 0;
}

static void keep(Cutter* c, int32_t first, int32_t last, int32_t symbol, int kind) {
    const char *a = NULL, *b = NULL;
    for (; first <= last; first++) {
        line_text(c->f, first, &a, &b);
        if (a < b) break;
    }
    for (; last >= first; last--) {
        line_text(c->f, last, &a, &b);
        if (a < b) break;
    }
    if (first > last) return;
    if (kind == OUTLINE && c->chunks.n) {
        Chunk* before = &c->chunks.data[c->chunks.n - 1];
        if (before->end < first && !says_something(c->f->source + c->f->lines.data[first - 1], b)) {
            before->end = last;
            return;
        }
    }
    *Chunks_push(&c->chunks) = (Chunk){first, last, symbol, kind};
}

/* Lines where statements of a node begin, deeper only where a statement is long itself. */
static void find_borders(Cutter* c, uint32_t node, int32_t first, int32_t last) {
    const FlatNode* nodes = c->f->nodes.data;
    c->borders.n = 0;
    for (uint32_t j = node + 1; j < nodes[node].stop;) {
        int32_t start = (int32_t)nodes[j].row + 1, end = (int32_t)nodes[j].end_row + 1;
        int deeper = 0;
        if (nodes[j].named && end >= first && start <= last) {
            if (first < start) *Places_push(&c->borders) = (uint32_t)start;
            deeper = (end < last ? end : last) - (start > first ? start : first) >= c->limits.part_lines;
        }
        j = deeper ? j + 1 : nodes[j].stop;
    }
}

/* Packs lines to parts that begin at borders, or where there are none at every so many lines. Borders ascend. */
static void cut_parts(Cutter* c, int32_t first, int32_t last, int32_t symbol, int kind, uint32_t node) {
    find_borders(c, node, first, last);
    uint32_t i = 0;
    int32_t at = first;
    while (last - at + 1 > c->limits.part_lines) {
        int32_t best = 0;
        for (; i < c->borders.n && (int32_t)c->borders.data[i] <= at + c->limits.part_lines; i++) best = (int32_t)c->borders.data[i];
        if (best <= at) best = at + c->limits.part_lines;
        keep(c, at, best - 1, symbol, kind);
        at = best;
    }
    keep(c, at, last, symbol, kind);
}

static void cut_between(Cutter* c, int32_t first, int32_t last, int32_t owner) {
    if (last < first) return;
    int kind = owner < 0 ? MODULE_CODE : OUTLINE;
    if (last - first < c->limits.whole_lines) keep(c, first, last, owner, kind);
    else cut_parts(c, first, last, owner, kind, owner < 0 ? 0 : c->f->def_nodes.data[owner]);
}

static void cut_region(Cutter* c, int32_t first, int32_t last, int32_t owner, int nested) {
    int32_t at = first;
    for (int32_t i = owner < 0 ? c->next[c->f->defs.n] : c->child[owner]; i >= 0; i = c->next[i]) {
        const Def* d = &c->f->defs.data[i];
        int32_t start = d->first > at ? d->first : at, end = d->last < last ? d->last : last;
        if (end < start) continue;
        cut_between(c, at, start - 1, owner);
        int container = HOLDS_MEMBERS(d->kind) && c->holds[i] && nested < MOST_NESTED;
        if (end - start + 1 <= (container ? c->limits.container_lines : c->limits.whole_lines)) *Chunks_push(&c->chunks) = (Chunk){start, end, i, DEFINITION};
        else if (container) cut_region(c, start, end, i, nested + 1);
        else cut_parts(c, start, end, i, PART, c->f->def_nodes.data[i]);
        at = end + 1;
    }
    cut_between(c, at, last, owner);
}

/* Links the members of containers in order; what stands inside a function is none. */
static void link_members(Cutter* c) {
    int32_t n = (int32_t)c->f->defs.n;
    uint8_t* opaque = calloc(n + 1, 1);
    if (!opaque) out_of_memory();
    for (int32_t i = 0; i < n; i++) {
        const Def* d = &c->f->defs.data[i];
        opaque[i] = d->parent >= 0 && (opaque[d->parent] || !HOLDS_MEMBERS(c->f->defs.data[d->parent].kind));
        c->child[i] = c->next[i] = -1;
    }
    c->next[n] = -1;
    for (int32_t i = n - 1; i >= 0; i--) {
        const Def* d = &c->f->defs.data[i];
        if (opaque[i] || d->kind == CONSTANT || d->kind == ATTRIBUTE) continue;
        int32_t* head = d->parent < 0 ? &c->next[n] : &c->child[d->parent];
        c->next[i] = *head;
        *head = i;
        if (d->parent >= 0) c->holds[d->parent] = 1;
    }
    free(opaque);
}

static void cut_all(Cutter* c) {
    uint32_t n = c->f->defs.n;
    c->next = malloc((n + 1) * sizeof(int32_t));
    c->child = malloc((n + 1) * sizeof(int32_t));
    c->holds = calloc(n + 1, 1);
    if (!c->next || !c->child || !c->holds) out_of_memory();
    link_members(c);
    int32_t last = (int32_t)c->f->lines.n;
    if (c->f->lines.data[last - 1] == c->f->size) last--;
    cut_region(c, 1, last, -1, 0);
    free(c->next);
    free(c->child);
    free(c->holds);
    free(c->borders.data);
}

/* Definitions, references, imports and chunks of a source. What is left in `sound` where the grammar does not fit is -1. */
static void take_apart(Found* f, const Grammar* g, Arena* arena, Limits limits, const char* source, uint32_t size) {
    f->source = source;
    f->size = size;
    f->nodes = arena->nodes;
    f->nodes.n = 0;
    f->sound = parse_flat(arena, g->language, source, size, &f->nodes);
    if (f->sound >= 0) {
        find_lines(f);
        match_all(&g->program, &f->nodes, source);
        find_defs(f, g);
        find_refs(f, g);
        make_relative(f);
        Cutter cutter = {.f = f, .limits = limits};
        cut_all(&cutter);
        f->chunks = cutter.chunks;
    }
    f->count = f->nodes.n;
    arena->nodes = f->nodes;
    if (arena->nodes.room > KEPT_NODES) {
        free(arena->nodes.data);
        arena->nodes = (FlatNodes){0};
    }
    f->nodes = (FlatNodes){0};
    free(f->lines.data);
    free(f->def_nodes.data);
    f->lines = f->def_nodes = (Places){0};
}

#endif
