/* Checksums of records: CRC-32C (batches), CRC-32 (messages of magic 0 and 1) and xxHash32 (lz4 frames).
   No function here checks bounds: their callers (`checksums.pxi`) have done so. */

#ifndef KWIRE_CHECKSUMS_H
#define KWIRE_CHECKSUMS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "c_helpers.h"

/* The reflected polynomials. */
#define KWIRE_CASTAGNOLI 0x82F63B78u
#define KWIRE_IEEE 0xEDB88320u

/* table[k][byte]: the remainder of a byte that k zero bytes follow, so that eight bytes are looked up at once. */
static uint32_t kwire_crc_tables[2][8][256];

static uint32_t kwire_crc_by_table(const uint32_t table[8][256], uint32_t crc, const uint8_t *p, Py_ssize_t n) {
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = crc ^ kwire_le32(p), high = kwire_le32(p + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24]
            ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24]; }
    for (; n > 0; p++, n--) crc = table[0][(crc ^ *p) & 255] ^ crc >> 8;
    return crc; }

/* The instructions for CRC-32C of x86-64 (SSE 4.2) and of ARMv8. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define KWIRE_CRC_TARGET __attribute__((target("sse4.2")))
#define KWIRE_CRC_STEP(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define KWIRE_CRC_BYTE(crc, byte) (__builtin_ia32_crc32qi((crc), (byte)))
#elif defined(__ARM_FEATURE_CRC32) && !defined(__ARM_BIG_ENDIAN)
#include <arm_acle.h>
#define KWIRE_CRC_TARGET
#define KWIRE_CRC_STEP(crc, word) (__crc32cd((crc), (word)))
#define KWIRE_CRC_BYTE(crc, byte) (__crc32cb((crc), (byte)))
#endif

#ifdef KWIRE_CRC_TARGET
#define KWIRE_LANE 1024  /* bytes */
static uint32_t kwire_crc_shift[4][256];  /* appends KWIRE_LANE zero bytes to what has one byte set */
static int kwire_has_crc;

static inline uint32_t kwire_shifted(uint32_t crc) {
    return kwire_crc_shift[0][crc & 255] ^ kwire_crc_shift[1][crc >> 8 & 255]
         ^ kwire_crc_shift[2][crc >> 16 & 255] ^ kwire_crc_shift[3][crc >> 24]; }

/* An instruction takes three cycles, and one begins in each: three lanes keep it busy. */
KWIRE_CRC_TARGET static uint32_t kwire_crc_by_instruction(uint32_t crc, const uint8_t *p, Py_ssize_t n) {
    uint64_t word;
    for (; n >= 3 * KWIRE_LANE; p += 3 * KWIRE_LANE, n -= 3 * KWIRE_LANE) {
        uint32_t second = 0, third = 0;
        int i;
        for (i = 0; i < KWIRE_LANE; i += 8) {
            memcpy(&word, p + i, 8); crc = KWIRE_CRC_STEP(crc, word);
            memcpy(&word, p + i + KWIRE_LANE, 8); second = KWIRE_CRC_STEP(second, word);
            memcpy(&word, p + i + 2 * KWIRE_LANE, 8); third = KWIRE_CRC_STEP(third, word); }
        crc = kwire_shifted(kwire_shifted(crc) ^ second) ^ third; }
    for (; n >= 8; p += 8, n -= 8) { memcpy(&word, p, 8); crc = KWIRE_CRC_STEP(crc, word); }
    for (; n > 0; p++, n--) crc = KWIRE_CRC_BYTE(crc, *p);
    return crc; }
#endif

/* `crc` is the checksum of the preceding bytes, 0 at the beginning. */
static inline uint32_t kwire_crc32c(uint32_t crc, const uint8_t *p, Py_ssize_t n, int by_table) {
#ifdef KWIRE_CRC_TARGET
    if (kwire_has_crc && !by_table) return ~kwire_crc_by_instruction(~crc, p, n);
#endif
    return ~kwire_crc_by_table(kwire_crc_tables[0], ~crc, p, n); }
static inline uint32_t kwire_crc32(uint32_t crc, const uint8_t *p, Py_ssize_t n) {
    return ~kwire_crc_by_table(kwire_crc_tables[1], ~crc, p, n); }

/* Fills the tables; called once, when the engine is loaded. */
static void kwire_make_crc_tables(void) {
    static const uint32_t polynomials[2] = {KWIRE_CASTAGNOLI, KWIRE_IEEE};
    uint32_t crc;
    int which, byte, k;
    for (which = 0; which < 2; which++) {
        for (byte = 0; byte < 256; byte++) {
            for (crc = (uint32_t)byte, k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? polynomials[which] : 0);
            kwire_crc_tables[which][0][byte] = crc; }
        for (k = 1; k < 8; k++)
            for (byte = 0; byte < 256; byte++) {
                crc = kwire_crc_tables[which][k - 1][byte];
                kwire_crc_tables[which][k][byte] = kwire_crc_tables[which][0][crc & 255] ^ crc >> 8; } }
#ifdef KWIRE_CRC_TARGET
    {
        static const uint8_t zeros[KWIRE_LANE];
        int bit;
        for (bit = 0; bit < 32; bit++) {  /* a remainder is linear: the sum of those of its bits */
            crc = kwire_crc_by_table(kwire_crc_tables[0], 1u << bit, zeros, KWIRE_LANE);
            for (byte = 0; byte < 256; byte++)
                if (byte >> (bit & 7) & 1) kwire_crc_shift[bit >> 3][byte] ^= crc; }
#ifdef __x86_64__
        __builtin_cpu_init();
        kwire_has_crc = __builtin_cpu_supports("sse4.2") != 0;
#else
        kwire_has_crc = 1;
#endif
    }
#endif
}

/* xxHash32 with seed 0, as specified in doc/xxhash_spec.md of github.com/Cyan4973/xxHash. */
#define KWIRE_ROTATED(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
static uint32_t kwire_xxh32(const uint8_t *p, Py_ssize_t n) {
    const uint32_t prime1 = 2654435761u, prime2 = 2246822519u, prime3 = 3266489917u, prime4 = 668265263u,
                   prime5 = 374761393u;
    uint32_t value = prime5, size = (uint32_t)n;
    if (n >= 16) {
        uint32_t first = prime1 + prime2, second = prime2, third = 0, fourth = 0u - prime1;
        for (; n >= 16; p += 16, n -= 16) {
            first += kwire_le32(p) * prime2; first = KWIRE_ROTATED(first, 13) * prime1;
            second += kwire_le32(p + 4) * prime2; second = KWIRE_ROTATED(second, 13) * prime1;
            third += kwire_le32(p + 8) * prime2; third = KWIRE_ROTATED(third, 13) * prime1;
            fourth += kwire_le32(p + 12) * prime2; fourth = KWIRE_ROTATED(fourth, 13) * prime1; }
        value = KWIRE_ROTATED(first, 1) + KWIRE_ROTATED(second, 7) + KWIRE_ROTATED(third, 12)
              + KWIRE_ROTATED(fourth, 18); }
    value += size;
    for (; n >= 4; p += 4, n -= 4) { value += kwire_le32(p) * prime3; value = KWIRE_ROTATED(value, 17) * prime4; }
    for (; n > 0; p++, n--) { value += *p * prime5; value = KWIRE_ROTATED(value, 11) * prime1; }
    value = (value ^ value >> 15) * prime2;
    value = (value ^ value >> 13) * prime3;
    return value ^ value >> 16; }

#endif
