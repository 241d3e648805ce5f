/* BLAKE2b with a digest of 16 bytes and no key (RFC 7693). */
#ifndef SLEUTH_BLAKE2B_H
#define SLEUTH_BLAKE2B_H
#include <stdint.h>
#include <string.h>

#define BLAKE2B_BLOCK 128

static const uint64_t blake2b_iv[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static inline uint64_t blake2b_turn(uint64_t x, int n) { return x >> n | x << (64 - n); }

#define BLAKE2B_MIX(a, b, c, d, x, y)                                                                                  \
    do {                                                                                                               \
        a += b + (x), d = blake2b_turn(d ^ a, 32), c += d, b = blake2b_turn(b ^ c, 24);                                \
        a += b + (y), d = blake2b_turn(d ^ a, 16), c += d, b = blake2b_turn(b ^ c, 63);                                \
    } while (0)
#define BLAKE2B_ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf)                                  \
    do {                                                                                                               \
        BLAKE2B_MIX(v[0], v[4], v[8], v[12], m[s0], m[s1]);                                                            \
        BLAKE2B_MIX(v[1], v[5], v[9], v[13], m[s2], m[s3]);                                                            \
        BLAKE2B_MIX(v[2], v[6], v[10], v[14], m[s4], m[s5]);                                                           \
        BLAKE2B_MIX(v[3], v[7], v[11], v[15], m[s6], m[s7]);                                                           \
        BLAKE2B_MIX(v[0], v[5], v[10], v[15], m[s8], m[s9]);                                                           \
        BLAKE2B_MIX(v[1], v[6], v[11], v[12], m[sa], m[sb]);                                                           \
        BLAKE2B_MIX(v[2], v[7], v[8], v[13], m[sc], m[sd]);                                                            \
        BLAKE2B_MIX(v[3], v[4], v[9], v[14], m[se], m[sf]);                                                            \
    } while (0)

static void blake2b_block(uint64_t *h, const uint8_t *block, uint64_t bytes, int last) {
    uint64_t v[16], m[16];
    memcpy(m, block, sizeof m);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int i = 0; i < 16; i++) m[i] = __builtin_bswap64(m[i]);
#endif
    memcpy(v, h, 64);
    memcpy(v + 8, blake2b_iv, 64);
    v[12] ^= bytes;
    if (last) v[14] = ~v[14];
    BLAKE2B_ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    BLAKE2B_ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    BLAKE2B_ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
    BLAKE2B_ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
    BLAKE2B_ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
    BLAKE2B_ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
    BLAKE2B_ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
    BLAKE2B_ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
    BLAKE2B_ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
    BLAKE2B_ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
    BLAKE2B_ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    BLAKE2B_ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

/* The digest of two stretches of bytes, one after the other. */
static void blake2b_16(uint8_t *out, const uint8_t *one, uint64_t n, const uint8_t *two, uint64_t more) {
    uint8_t held[2 * BLAKE2B_BLOCK];
    uint64_t h[8], at = 0, filled;
    memcpy(h, blake2b_iv, 64);
    h[0] ^= 0x01010000u ^ 16u;
    for (; n - at > BLAKE2B_BLOCK; at += BLAKE2B_BLOCK) blake2b_block(h, one + at, at + BLAKE2B_BLOCK, 0);
    filled = n - at; /* at most a block, which may be the last */
    memcpy(held, one + at, filled);
    while (more) {
        uint64_t part = sizeof held - filled < more ? sizeof held - filled : more;
        memcpy(held + filled, two, part);
        filled += part, two += part, more -= part;
        while (filled > BLAKE2B_BLOCK) {
            at += BLAKE2B_BLOCK;
            blake2b_block(h, held, at, 0);
            filled -= BLAKE2B_BLOCK;
            memmove(held, held + BLAKE2B_BLOCK, filled);
        }
    }
    memset(held + filled, 0, BLAKE2B_BLOCK - filled);
    blake2b_block(h, held, at + filled, 1);
    for (int i = 0; i < 16; i++) out[i] = (uint8_t)(h[i >> 3] >> 8 * (i & 7));
}

#endif
