/* Texts as numbers of symbols, 12 bits each: 4,096 strings of up to 8 bytes, among them every byte.
 *
 * The table is one for all indexes and never changes (symbols.bin, which tools/symbols.py made), so a text is read by
 * itself. Two numbers take three bytes, the lower bits first. Nothing in them has to be checked: any 12 bits are a
 * symbol.
 */
#ifndef SLEUTH_SYMBOLS_H
#define SLEUTH_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SYMBOLS 4096
#define LONGEST 8

static uint64_t symbols[SYMBOLS]; /* their bytes, the first lowest */
static uint8_t symbol_sizes[SYMBOLS];
/* Where symbols of three bytes and more begin, by the hash of these; and the symbols of two bytes, 0 for none. */
static uint16_t starts[SYMBOLS + 1], pairs[1 << 16];

static inline uint32_t hash_of(uint64_t word) { return (uint32_t)(word & 0xffffff) * 2654435769u >> 20; }

/* Takes the table: the size of each symbol, then their bytes. First is every byte, last are symbols of three bytes and
 * more by their hash, the longest first. */
static inline void symbols_begin(const uint8_t *table) {
    const uint8_t *at = table + SYMBOLS;
    for (size_t i = 0; i < SYMBOLS; i++) {
        memcpy(&symbols[i], at, symbol_sizes[i] = table[i]);
        at += table[i];
        if (table[i] == 2) pairs[symbols[i]] = (uint16_t)i;
        if (table[i] > 2) starts[hash_of(symbols[i])]++;
    }
    starts[SYMBOLS] = SYMBOLS;
    for (size_t i = SYMBOLS; i-- > 0;) starts[i] = (uint16_t)(starts[i + 1] - starts[i]);
}

/* Writes a text as the longest symbols from its begin on; returns the bytes written, three for two of its own at most.
 */
static inline size_t symbols_write(const uint8_t *text, size_t size, uint8_t *out) {
    size_t n = 0;
    for (; size; n++) {
        uint64_t word = 0;
        memcpy(&word, text, size < LONGEST ? size : LONGEST);
        uint32_t symbol = size > 1 && pairs[word & 0xffff] ? pairs[word & 0xffff] : text[0];
        for (uint32_t i = starts[hash_of(word)], end = starts[hash_of(word) + 1]; i < end; i++)
            if (!((word ^ symbols[i]) << (64 - 8 * symbol_sizes[i])) && symbol_sizes[i] <= size) {
                symbol = i;
                break;
            }
        uint8_t *at = out + n * 3 / 2;
        at[0] = n & 1 ? (uint8_t)(at[0] | symbol << 4) : (uint8_t)symbol;
        at[1] = (uint8_t)(symbol >> (n & 1 ? 4 : 8));
        text += symbol_sizes[symbol], size -= symbol_sizes[symbol];
    }
    return (n * 3 + 1) / 2;
}

/* Writes the text of numbers in `size` bytes, which has six times as many at most; returns its length. */
static inline size_t symbols_read(const char *in, size_t size, char *out) {
    char *at = out;
    for (size_t i = 0, n = size * 2 / 3; i < n; i++) {
        const uint8_t *from = (const uint8_t *)in + i * 3 / 2;
        const uint32_t symbol = (from[0] | (uint32_t)from[1] << 8) >> 4 * (i & 1) & (SYMBOLS - 1);
        memcpy(at, &symbols[symbol], LONGEST);
        at += symbol_sizes[symbol];
    }
    return (size_t)(at - out);
}

#endif
