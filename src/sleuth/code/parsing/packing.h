/* Tables as they are kept: rows as differences from the row before, in seven bits a byte. */
#ifndef SLEUTH_PACKING_H
#define SLEUTH_PACKING_H

#include "extract.h"

enum { PACKED_MOST = 5 /* bytes per number */, PACKED_HEAD = 6 };

/* How many bytes they take. */
static size_t pack_table(const int32_t* rows, size_t n, size_t width, uint8_t* out) {
    size_t used = 0;
    for (size_t i = 0; i < n * width; i++) {
        uint32_t difference = (uint32_t)rows[i] - (i < width ? 0 : (uint32_t)rows[i - width]);
        uint32_t value = difference << 1 ^ (uint32_t)((int32_t)difference >> 31);
        for (; value >= 128; value >>= 7) out[used++] = (uint8_t)(value | 128);
        out[used++] = (uint8_t)value;
    }
    return used;
}

#define NUMBERS(vector) ((vector).n * (sizeof *(vector).data / sizeof(int32_t)))
#define PACK(vector, out) \
    pack_table((const int32_t*)(vector).data, (vector).n, sizeof *(vector).data / sizeof(int32_t), out)

static size_t packed_most(const Found* f) {
    return PACKED_MOST * (PACKED_HEAD + NUMBERS(f->defs) + NUMBERS(f->refs) + NUMBERS(f->imports) + NUMBERS(f->chunks));
}

/* A head that tells the lengths, then the tables. */
static size_t pack_found(const Found* f, int32_t language, uint8_t* out) {
    int32_t head[PACKED_HEAD] = {
        f->sound, language, (int32_t)f->defs.n, (int32_t)f->refs.n, (int32_t)f->imports.n, (int32_t)f->chunks.n,
    };
    size_t used = pack_table(head, 1, PACKED_HEAD, out);
    used += PACK(f->defs, out + used);
    used += PACK(f->refs, out + used);
    used += PACK(f->imports, out + used);
    return used + PACK(f->chunks, out + used);
}

#endif
