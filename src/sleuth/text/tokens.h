/* Interned byte strings: distinct strings numbered in order of first appearance, compared by their bytes. */
#ifndef SLEUTH_TOKENS_H
#define SLEUTH_TOKENS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *bytes; /* all strings, end to end */
    uint64_t used, room;
    uint64_t *starts; /* count + 1 offsets into bytes */
    uint32_t *hashes;
    uint64_t count, count_room;
    uint64_t *slots; /* hash << 32 | number + 1; 0 is free */
    uint64_t n_slots;
} StringTable;

static inline uint32_t string_hash(const uint8_t *s, uint64_t n) {
    uint64_t h = 1469598103934665603u;
    for (uint64_t i = 0; i < n; i++) h = (h ^ s[i]) * 1099511628211u;
    return (uint32_t)(h ^ (h >> 32));
}

static void table_free(StringTable *t) {
    free(t->bytes);
    free(t->starts);
    free(t->hashes);
    free(t->slots);
    memset(t, 0, sizeof *t);
}

/* 0, or -1 without memory. */
static int table_init(StringTable *t) {
    memset(t, 0, sizeof *t);
    t->room = 1 << 12;
    t->count_room = 1 << 9;
    t->n_slots = 1 << 10;
    t->bytes = malloc(t->room);
    t->starts = malloc((t->count_room + 1) * sizeof *t->starts);
    t->hashes = malloc(t->count_room * sizeof *t->hashes);
    t->slots = calloc(t->n_slots, sizeof *t->slots);
    if (!t->bytes || !t->starts || !t->hashes || !t->slots) return -1;
    t->starts[0] = 0;
    return 0;
}

static int table_grow_slots(StringTable *t) {
    uint64_t n = t->n_slots * 2, mask = n - 1;
    uint64_t *slots = calloc(n, sizeof *slots);
    if (!slots) return -1;
    for (uint64_t i = 0; i < t->count; i++) {
        uint64_t j = t->hashes[i] & mask;
        while (slots[j]) j = (j + 1) & mask;
        slots[j] = ((uint64_t)t->hashes[i] << 32) | (i + 1);
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    return 0;
}

static int table_reserve(StringTable *t, uint64_t n) {
    if (t->used + n > t->room) {
        uint64_t room = (t->used + n) * 2;
        uint8_t *bytes = realloc(t->bytes, room);
        if (!bytes) return -1;
        t->bytes = bytes;
        t->room = room;
    }
    if (t->count == t->count_room) {
        uint64_t room = t->count_room * 2;
        uint64_t *starts = realloc(t->starts, (room + 1) * sizeof *starts);
        if (!starts) return -1;
        t->starts = starts;
        uint32_t *hashes = realloc(t->hashes, room * sizeof *hashes);
        if (!hashes) return -1;
        t->hashes = hashes;
        t->count_room = room;
    }
    return (t->count + 1) * 2 > t->n_slots ? table_grow_slots(t) : 0;
}

/* The number of a string, new or known; -1 without memory (or at 2^32 - 2 strings). */
static inline int64_t table_intern(StringTable *t, const uint8_t *s, uint64_t n, uint32_t hash) {
    uint64_t mask = t->n_slots - 1, j = hash & mask;
    while (t->slots[j]) {
        if ((uint32_t)(t->slots[j] >> 32) == hash) {
            uint64_t i = (uint32_t)t->slots[j] - 1;
            if (t->starts[i + 1] - t->starts[i] == n && !memcmp(t->bytes + t->starts[i], s, n)) return (int64_t)i;
        }
        j = (j + 1) & mask;
    }
    if (t->count >= 0xfffffffdu || table_reserve(t, n)) return -1;
    mask = t->n_slots - 1;
    j = hash & mask;
    while (t->slots[j]) j = (j + 1) & mask;
    t->slots[j] = ((uint64_t)hash << 32) | (t->count + 1);
    memcpy(t->bytes + t->used, s, n);
    t->hashes[t->count] = hash;
    t->used += n;
    t->starts[++t->count] = t->used;
    return (int64_t)t->count - 1;
}

/* A growing array of numbers. */
typedef struct {
    uint32_t *data;
    uint64_t used, room;
} Numbers;

static inline int numbers_push(Numbers *a, uint32_t x) {
    if (a->used == a->room) {
        uint64_t room = a->room ? a->room * 2 : 1024;
        uint32_t *data = realloc(a->data, room * sizeof *data);
        if (!data) return -1;
        a->data = data;
        a->room = room;
    }
    a->data[a->used++] = x;
    return 0;
}

/* Which bytes may stand where in a run that holds separators; see sleuth.text.compounds. */
enum { LETTER = 1, DIGIT = 2, SINGLE = 4, SEPARATOR = 8 };

typedef struct {
    const uint8_t *fold;  /* what each byte becomes in a run; 0 separates */
    const uint8_t *kinds; /* of each byte; all 0 where runs hold no separators */
    const uint8_t *s;
    uint64_t n;
} Text;

static inline uint8_t kind_at(const Text *t, uint64_t i, uint8_t kinds) {
    return i < t->n && (t->kinds[t->s[i]] & kinds);
}

/* Whether a run goes on at i; NUL is before the parts of a run that `words.spaced` has cut. */
static inline int goes_on(const Text *t, uint64_t i) { return i < t->n && (t->fold[t->s[i]] || !t->s[i]); }

static inline int is_byte(const Text *t, uint64_t i, uint8_t c) { return i < t->n && t->s[i] == c; }

/* How many bytes from the separator at i on belong to the run that begins at `start`; then it ends, save after one. */
static inline uint64_t joined(const Text *t, uint64_t start, uint64_t i) {
    int alone = i == start + 1, dotted = !alone && t->s[i - 2] == '.';
    switch (t->s[i]) {
    case ' ':
    case '\n': /* "version 7" */
        if (!kind_at(t, i + 1, SINGLE) || goes_on(t, i + 2) || !kind_at(t, i - 1, LETTER) || dotted) return 0;
        if (is_byte(t, i + 2, '#') || is_byte(t, i + 2, '+')) return 0;
        return is_byte(t, i + 2, '.') && goes_on(t, i + 3) ? 0 : 2;
    case '.': /* "3.5", "U.S." */
        if (kind_at(t, i - 1, DIGIT) && kind_at(t, i + 1, DIGIT)) return 1;
        return (alone || dotted) && kind_at(t, i - 1, LETTER) && kind_at(t, i + 1, LETTER) && !goes_on(t, i + 2);
    case '#':
    case '+': { /* "C#", "C++" */
        uint64_t size = t->s[i] == '#' ? 1 : 2;
        if (!alone || !kind_at(t, i - 1, LETTER) || (size == 2 && !is_byte(t, i + 1, '+'))) return 0;
        return goes_on(t, i + size) && !kind_at(t, i + size, DIGIT) ? 0 : size;
    }
    }
    return 0;
}

/* Runs of a text, folded and interned; numbers go to `out`. A separator within a run stays, and a line end is a blank.
 */
static int intern_runs(StringTable *t, const Text *text, uint8_t *buffer, Numbers *out) {
    const uint8_t *s = text->s, *fold = text->fold;
    uint64_t i = 0, n = text->n;
    while (i < n) {
        uint8_t c = fold[s[i]];
        if (!c) {
            i++;
            continue;
        }
        uint64_t h = 1469598103934665603u, m = 0, start = i, more = 0;
        do {
            while (c) {
                buffer[m++] = c;
                h = (h ^ c) * 1099511628211u;
                c = ++i < n ? fold[s[i]] : 0;
            }
            more = i < n && text->kinds[s[i]] ? joined(text, start, i) : 0;
            for (uint64_t end = i + more; i < end; i++) {
                c = fold[s[i]] ? fold[s[i]] : s[i] == '\n' ? ' ' : s[i];
                buffer[m++] = c;
                h = (h ^ c) * 1099511628211u;
            }
            c = i < n ? fold[s[i]] : 0;
        } while (more == 1 && s[i - 1] == '.' && c);
        int64_t id = table_intern(t, buffer, m, (uint32_t)(h ^ (h >> 32)));
        if (id < 0 || numbers_push(out, (uint32_t)id)) return -1;
    }
    return 0;
}

#endif
