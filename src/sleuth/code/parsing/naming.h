/* What are the definitions of a source called? Where every name is a plain one; others are read by `sleuth.code.parse`. */
#ifndef SLEUTH_NAMING_H
#define SLEUTH_NAMING_H

#include "extract.h"

enum { MOST_NAME = 120, MOST_QUALIFIED = 300 };

/* Qualified names end to end; `ends` says where each stops. */
typedef struct {
    char* text;
    uint32_t* ends;
    uint32_t size;
} Qualified;

static int is_plain_name(const char* name, int32_t size) {
    if (size < 1 || (*name >= '0' && *name <= '9')) return 0;
    for (int32_t i = 0; i < size; i++)
        if (!is_word(name[i])) return 0;
    return !(size == 4 && !memcmp(name, "self", 4)) && !(size == 9 && !memcmp(name, "prototype", 9));
}

static uint32_t qualified_size(const Qualified* q, int32_t at) { return q->ends[at] - (at ? q->ends[at - 1] : 0); }

static const char* qualified_text(const Qualified* q, int32_t at) { return q->text + (at ? q->ends[at - 1] : 0); }

/* 1 where all names are plain, 0 where one is not, -1 without memory. The caller frees both arrays. */
static int qualify(const Found* f, Qualified* q) {
    uint64_t room = 1;
    q->ends = malloc((f->defs.n + 1) * sizeof(uint32_t));
    if (!q->ends) return -1;
    for (uint32_t i = 0; i < f->defs.n; i++) {
        const Def* d = &f->defs.data[i];
        if (d->receiver_end || !is_plain_name(f->source + d->start + d->name, d->name_end)) return 0;
        uint32_t outer = d->parent < 0 ? 0 : q->ends[d->parent] + 1;
        uint32_t size = outer + (d->name_end < MOST_NAME ? d->name_end : MOST_NAME);
        q->ends[i] = size < MOST_QUALIFIED ? size : MOST_QUALIFIED; /* the size, until there is a place for it */
        room += q->ends[i] + MOST_NAME + 1;
    }
    q->text = malloc(room);
    if (!q->text) return -1;
    for (uint32_t i = 0; i < f->defs.n; i++) {
        const Def* d = &f->defs.data[i];
        uint32_t size = q->ends[i], used = 0;
        char* at = q->text + q->size;
        if (d->parent >= 0) {
            used = qualified_size(q, d->parent);
            memcpy(at, qualified_text(q, d->parent), used);
            at[used++] = '.';
        }
        if (used < size) memcpy(at + used, f->source + d->start + d->name, size - used);
        q->size += size;
        q->ends[i] = q->size;
    }
    return 1;
}

/* The names of definitions, a space between, into `out`, which has room for all; how many bytes that is. */
static size_t join_names(const Found* f, int attributes, char* out) {
    size_t used = 0;
    for (uint32_t i = 0; i < f->defs.n; i++) {
        const Def* d = &f->defs.data[i];
        if (d->kind == ATTRIBUTE && !attributes) continue;
        int32_t size = d->name_end < MOST_NAME ? d->name_end : MOST_NAME;
        if (used) out[used++] = ' ';
        memcpy(out + used, f->source + d->start + d->name, size);
        used += size;
    }
    return used;
}

#endif
