/* CRC-32 as zlib's, eight bytes a step (slicing, after Kounavis and Berry, "Novel Table Lookup-Based Algorithms for
 * High-Performance CRC Generation", 2008). */
#ifndef SLEUTH_CRC_H
#define SLEUTH_CRC_H
#include <stdint.h>
#include <string.h>

static uint32_t crc_table[8][256];

static void crc_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        crc_table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 255];
}

/* The checksum of bytes that follow those whose checksum is `crc`; 0 before the first. */
static uint32_t crc_add(uint32_t crc, const void *bytes, uint64_t n) {
    const uint8_t *s = bytes;
    crc = ~crc;
    for (; n >= 8; s += 8, n -= 8) {
        uint32_t a = (s[0] | s[1] << 8 | s[2] << 16 | (uint32_t)s[3] << 24) ^ crc;
        crc = crc_table[7][a & 255] ^ crc_table[6][a >> 8 & 255] ^ crc_table[5][a >> 16 & 255] ^ crc_table[4][a >> 24]
            ^ crc_table[3][s[4]] ^ crc_table[2][s[5]] ^ crc_table[1][s[6]] ^ crc_table[0][s[7]];
    }
    while (n--) crc = crc >> 8 ^ crc_table[0][(crc ^ *s++) & 255];
    return ~crc;
}

static uint32_t crc_text(uint32_t crc, const char *text) { return crc_add(crc, text, strlen(text)); }

static uint32_t crc_number(uint32_t crc, int64_t number) {
    char digits[24];
    int at = sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) digits[--at] = '-';
    return crc_add(crc, digits + at, sizeof digits - at);
}

static int64_t count_lines(const char *text, uint64_t n) {
    int64_t found = 0;
    for (uint64_t i = 0; i < n; i++) found += text[i] == '\n';
    return found;
}

#endif
