/* Decompresses snappy: https://github.com/google/snappy/blob/main/format_description.txt. These functions check bounds
   themselves: of the input, of the output, and of copies from what was written. */

#ifndef KWIRE_SNAPPY_H
#define KWIRE_SNAPPY_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "c_helpers.h"

/* Read the size that a block claims, and return the number of its bytes; -1 if there is no size of at most 32 bits. */
static int kwire_snappy_claim(const uint8_t *p, Py_ssize_t n, uint32_t *claim) {
    uint64_t size = 0;
    int i;
    for (i = 0; i < 5 && i < n; i++) {
        size |= (uint64_t)(p[i] & 127) << 7 * i;
        if (p[i] < 128) {
            *claim = (uint32_t)size;
            return size >> 32 ? -1 : i + 1; } }
    return -1; }

/* Decompress the elements after the claim; return whether they fill the output exactly. */
static int kwire_snappy_block(const uint8_t *p, Py_ssize_t n, uint8_t *out, Py_ssize_t size) {
    const uint8_t *end = p + n;
    Py_ssize_t done = 0;
    while (p < end) {
        uint8_t tag = *p++;
        uint64_t length = (tag >> 2) + 1, offset = 0;
        int i, width = tag & 3 ? (tag & 3) == 3 ? 4 : tag & 3 : length > 60 ? (int)length - 60 : 0;
        if (end - p < width) return 0;
        for (i = 0; i < width; i++) offset |= (uint64_t)p[i] << 8 * i;
        p += width;
        if ((tag & 3) == 0) {  /* a literal; the bytes after the tag, if any, are its length less 1 */
            if (width) length = offset + 1;
            if (length > (uint64_t)(end - p) || length > (uint64_t)(size - done)) return 0;
            memcpy(out + done, p, length);
            p += length; }
        else {
            if ((tag & 3) == 1) { length = (tag >> 2 & 7) + 4; offset |= (uint64_t)(tag >> 5) << 8; }
            if (!offset || offset > (uint64_t)done || length > (uint64_t)(size - done)) return 0;
            if (offset >= length) memcpy(out + done, out + done - offset, length);
            else for (i = 0; i < (int)length; i++) out[done + i] = out[done + i - offset]; }  /* they overlap */
        done += length; }
    return done == size; }

/* The largest size that some compressed bytes can have: three bytes become at most 64. */
static inline int kwire_snappy_may_be(uint32_t claim, Py_ssize_t n) { return 3 * (uint64_t)claim <= 64 * (uint64_t)n; }

/* Walk over blocks in snappy-java's framing, or over one without it: returns the sum of what they claim, and if `out` is
   not NULL, decompresses them into it, which has room for that. -1 for what is unusual or more than `limit`. */
static Py_ssize_t kwire_snappy_all(const uint8_t *p, Py_ssize_t n, uint8_t *out, Py_ssize_t limit) {
    static const uint8_t magic[8] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
    int is_framed = n >= 16 && memcmp(p, magic, 8) == 0, head;
    Py_ssize_t at = is_framed ? 16 : 0, total = 0, size;
    uint32_t claim;
    while (at < n) {
        size = n;  /* without the framing */
        if (is_framed) {
            if (n - at < 4) return -1;
            size = kwire_be32(p + at);
            at += 4; }
        if (size > n - at) return -1;
        head = kwire_snappy_claim(p + at, size, &claim);
        if (head < 0 || !kwire_snappy_may_be(claim, size) || (Py_ssize_t)claim > limit - total) return -1;
        if (out != NULL && !kwire_snappy_block(p + at + head, size - head, out + total, claim)) return -1;
        total += claim;
        at += size; }
    return total; }

#endif
