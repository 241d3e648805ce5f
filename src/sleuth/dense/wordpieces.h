/* Pairs of tokens that wait to be merged, and bytes of texts and words. */
#ifndef SLEUTH_WORDPIECES_H
#define SLEUTH_WORDPIECES_H
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t rank; /* the least is merged first, and of equal ones the one that stands first */
    int32_t place; /* of the left token */
} Candidate;

static inline int is_before(Candidate a, Candidate b) {
    return a.rank < b.rank || (a.rank == b.rank && a.place < b.place);
}

/* Adds a candidate to a heap of n. */
static void heap_push(Candidate *heap, int64_t *n, Candidate new) {
    int64_t i = (*n)++;
    for (int64_t up; i > 0 && is_before(new, heap[up = (i - 1) / 2]); i = up) heap[i] = heap[up];
    heap[i] = new;
}

/* Removes the first candidate of a heap of n. */
static Candidate heap_pop(Candidate *heap, int64_t *n) {
    const Candidate top = heap[0], last = heap[--*n];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* FNV-1a of 32 bits, byte by byte, with a last step that mixes the low bits. */
#define FIRST_HASH 2166136261u

static inline uint32_t hash_byte(uint32_t hash, uint8_t byte) { return (hash ^ byte) * 16777619u; }

static inline uint32_t last_hash(uint32_t hash) { return hash ^ (hash >> 15); }

static inline uint32_t hash_bytes(const uint8_t *p, int64_t n) {
    uint32_t hash = FIRST_HASH;
    for (int64_t i = 0; i < n; i++) hash = hash_byte(hash, p[i]);
    return last_hash(hash);
}

/* Writes a space and the n bytes of a text, with a space for each "\u2581" (E2 96 81); returns how many bytes that is.
 */
static int64_t with_spaces(const uint8_t *text, int64_t n, uint8_t *out) {
    const uint8_t *end = text + n;
    uint8_t *at = out;
    *at++ = ' ';
    while (text < end) {
        const uint8_t *mark = memchr(text, 0xE2, (size_t)(end - text));
        const size_t plain = (size_t)((mark ? mark : end) - text);
        memcpy(at, text, plain);
        text += plain, at += plain;
        if (end - text > 2 && text[1] == 0x96 && text[2] == 0x81) {
            *at++ = ' ';
            text += 3;
        } else if (text < end) {
            *at++ = *text++;
        }
    }
    return at - out;
}

/* As `with_spaces`, of a text in ASCII, in small letters. */
static int64_t with_small_letters(const uint8_t *text, int64_t n, uint8_t *out) {
    out[0] = ' ';
    for (int64_t i = 0; i < n; i++) out[i + 1] = (uint8_t)(text[i] + ((uint8_t)(text[i] - 'A') < 26) * 32);
    return n + 1;
}

#endif
