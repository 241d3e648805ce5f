/* CRC-32C (Castagnoli), by the processor's own instruction where it has one: 8 bytes in 3 cycles. */
#ifndef SLEUTH_CRC32C_H
#define SLEUTH_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

static uint32_t crc_tables[8][256]; /* the remainders of a byte that 0 to 7 bytes follow */

static uint32_t crc_by_tables(uint32_t crc, const uint8_t *data, size_t size) {
    uint64_t word;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8); /* least significant byte first, as on all machines that Sleuth runs on */
        word ^= crc;
        crc = crc_tables[7][word & 255] ^ crc_tables[6][word >> 8 & 255] ^ crc_tables[5][word >> 16 & 255] ^
              crc_tables[4][word >> 24 & 255] ^ crc_tables[3][word >> 32 & 255] ^ crc_tables[2][word >> 40 & 255] ^
              crc_tables[1][word >> 48 & 255] ^ crc_tables[0][word >> 56];
    }
    for (; size; data++, size--) crc = crc >> 8 ^ crc_tables[0][(crc ^ *data) & 255];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *data, size_t size) {
    uint64_t word, remainder = crc;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        remainder = _mm_crc32_u64(remainder, word);
    }
    crc = (uint32_t)remainder;
    for (; size; data++, size--) crc = _mm_crc32_u8(crc, *data);
    return crc;
}
#elif defined(__ARM_FEATURE_CRC32)
static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *data, size_t size) {
    uint64_t word;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        crc = __crc32cd(crc, word);
    }
    for (; size; data++, size--) crc = __crc32cb(crc, *data);
    return crc;
}
#endif

static uint32_t (*crc_step)(uint32_t, const uint8_t *, size_t) = crc_by_tables;

/* Fill the tables and choose the way; with `portable` that of every machine. */
static void crc_begin(int portable) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++) remainder = remainder >> 1 ^ (remainder & 1 ? 0x82F63B78u : 0);
        crc_tables[0][byte] = remainder;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int i = 1; i < 8; i++)
            crc_tables[i][byte] = crc_tables[i - 1][byte] >> 8 ^ crc_tables[0][crc_tables[i - 1][byte] & 255];
    crc_step = crc_by_tables;
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("sse4.2")) crc_step = crc_by_instruction;
#elif defined(__ARM_FEATURE_CRC32)
    if (!portable) crc_step = crc_by_instruction;
#endif
}

/* The CRC-32C of bytes that follow those of another one; 0 for none. */
static uint32_t crc32c(uint32_t crc, const void *data, size_t size) {
    return ~crc_step(~crc, (const uint8_t *)data, size);
}

#endif
