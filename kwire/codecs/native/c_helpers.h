/* What the engine does in C, because Cython has no expression for it or compiles one that takes longer.
   No function here checks bounds: their callers (`bounds.pxi`) have done so. */

#ifndef KWIRE_C_HELPERS_H
#define KWIRE_C_HELPERS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The fingerprint of the sources; the build defines it. */
#ifndef KWIRE_SOURCES
#define KWIRE_SOURCES 0u
#endif

/* Compilers turn these shifts into one load; they are correct on machines of either byte order. */
static inline uint16_t kwire_be16(const uint8_t *p) { return (uint16_t)(((uint16_t)p[0] << 8) | p[1]); }
static inline uint32_t kwire_be32(const uint8_t *p) {
    return ((uint32_t)p[0] << 24) | ((uint32_t)p[1] << 16) | ((uint32_t)p[2] << 8) | p[3]; }
static inline uint32_t kwire_le32(const uint8_t *p) {
    return ((uint32_t)p[3] << 24) | ((uint32_t)p[2] << 16) | ((uint32_t)p[1] << 8) | p[0]; }
static inline uint64_t kwire_be64(const uint8_t *p) { return ((uint64_t)kwire_be32(p) << 32) | kwire_be32(p + 4); }
static inline void kwire_put_be(uint8_t *p, uint64_t v, int n) {
    switch (n) {  /* a loop over n bytes takes a quarter of the time of encoding */
    case 8: p[0] = v >> 56; p[1] = v >> 48; p[2] = v >> 40; p[3] = v >> 32; p += 4; /* fall through */
    case 4: p[0] = (uint8_t)(v >> 24); p[1] = (uint8_t)(v >> 16); p += 2; /* fall through */
    case 2: p[0] = (uint8_t)(v >> 8); p += 1; /* fall through */
    default: p[0] = (uint8_t)v;
    } }
/* Up to 7 bytes in a word, padded with letters: a loop over them takes longer than the preceding whole words. */
static inline uint64_t kwire_short(const uint8_t *p, Py_ssize_t n) {
    uint32_t low = 0x61616161, high = 0x61616161;
    if (n >= 4) { memcpy(&low, p, 4); memcpy(&high, p + n - 4, 4); }
    else if (n > 0) low = p[0] | (uint32_t)p[n >> 1] << 8 | (uint32_t)p[n - 1] << 16 | 0x61000000;
    return low | (uint64_t)high << 32; }
#define KWIRE_EACH 0x0101010101010101ULL  /* multiplied by a byte: a word of 8 such bytes */
#define KWIRE_ZERO(x) (((x) - KWIRE_EACH) & ~(x))  /* has a high bit where a byte of x is 0 */
static inline uint64_t kwire_escapes(uint64_t w) {
    return ((w - KWIRE_EACH * 32) & ~w) | KWIRE_ZERO(w ^ KWIRE_EACH * '"') | KWIRE_ZERO(w ^ KWIRE_EACH * '\\'); }
/* Flags: 1 if the text has bytes that are not ASCII, 2 if it has bytes that JSON escapes. */
static inline int kwire_text_has(const uint8_t *p, Py_ssize_t n) {
    uint64_t word, all, found;
    Py_ssize_t i;
    all = kwire_short(p + (n & ~7), n & 7), found = kwire_escapes(all);
    for (i = 0; i + 8 <= n; i += 8) { memcpy(&word, p + i, 8); all |= word; found |= kwire_escapes(word); }
    return ((all & KWIRE_EACH * 128) != 0) | ((found & KWIRE_EACH * 128) != 0) << 1; }
/* Whether JSON text, in which control characters are escaped, is printable ASCII. A loop over bytes took a sixth of
   the time to write JSON lines. Only a byte of 255 causes a carry, and it is not ASCII. */
static inline int kwire_is_printable(const uint8_t *p, Py_ssize_t n) {
    uint64_t word = kwire_short(p + (n & ~7), n & 7), all = word | (word + KWIRE_EACH);
    Py_ssize_t i;
    for (i = 0; i + 8 <= n; i += 8) { memcpy(&word, p + i, 8); all |= word | (word + KWIRE_EACH); }
    return !(all & KWIRE_EACH * 128); }
/* Most text is ASCII; CPython's decoder takes twice as long for it. */
static inline PyObject *kwire_new_text(const uint8_t *p, Py_ssize_t n) {
    uint64_t word, all = kwire_short(p + (n & ~7), n & 7);
    Py_ssize_t i;
    PyObject *made;
    for (i = 0; i + 8 <= n; i += 8) { memcpy(&word, p + i, 8); all |= word; }
    if (n < 2 || all & KWIRE_EACH * 128) return PyUnicode_DecodeUTF8((const char *)p, n, NULL);
    made = PyUnicode_New(n, 127);
    if (made) memcpy(PyUnicode_1BYTE_DATA(made), p, n);
    return made; }
/* A cache of small integers: partitions, brokers, ports, epochs, timeouts and error codes. With 2048 of them instead
   of 65536, MetadataResponses and LeaderAndIsrRequests with ten thousand distinct numbers take 1.7 times as long;
   all 65536 take 2.5 MB. Without the GIL there is no cache: threads would contend for the reference counts. */
#ifdef Py_GIL_DISABLED
#define KWIRE_INTEGERS 0
#else
#define KWIRE_INTEGERS 65536
#endif
static PyObject *kwire_integers[KWIRE_INTEGERS + 1];
static inline PyObject *kwire_new_integer(int64_t v) {
    PyObject *made;
    if ((uint64_t)v < KWIRE_INTEGERS && kwire_integers[v]) return Py_NewRef(kwire_integers[v]);
    made = sizeof(long) == 8 ? PyLong_FromLong((long)v) : PyLong_FromLongLong(v);  /* the first is faster */
    if ((uint64_t)v < KWIRE_INTEGERS && made) kwire_integers[v] = Py_NewRef(made);
    return made; }
/* PyType_GenericAlloc, inlined for classes without garbage collection; calling it takes a tenth of decoding. */
static inline PyObject *kwire_new_struct(PyTypeObject *cls) {
    PyObject *made = (PyObject *)PyObject_Malloc(cls->tp_basicsize);
    void **slot = (void **)(made + 1), **end = (void **)((char *)made + cls->tp_basicsize);
    if (!made) return PyErr_NoMemory();
    while (slot < end) *slot++ = NULL;
    return PyObject_Init(made, cls); }
static void kwire_inherit_next(PyTypeObject *cls, PyTypeObject *base) { cls->tp_iternext = base->tp_iternext; }
/* A tuple of a subclass, such as a NamedTuple, whose items are still missing. */
static inline PyObject *kwire_new_tuple(PyTypeObject *cls, Py_ssize_t size) { return cls->tp_alloc(cls, size); }
static int kwire_long_value(PyObject *v, int64_t *value) {
    int overflow = 0;
    if (!PyLong_Check(v) || PyBool_Check(v)) return 0;
    *value = PyLong_AsLongLongAndOverflow(v, &overflow);
    return !overflow; }
/* Whether an object is an integer of at most 64 bits, and its value; most have one digit, which needs no call. */
static inline int kwire_value(PyObject *v, int64_t *value) {
    if (!PyLong_CheckExact(v)) return kwire_long_value(v, value);
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)v)) return kwire_long_value(v, value);
    *value = PyUnstable_Long_CompactValue((PyLongObject *)v);
    return 1; }
#else
    if (Py_SIZE(v) == 1) *value = ((PyLongObject *)v)->ob_digit[0];
    else if (Py_SIZE(v) == 0) *value = 0;
    else return kwire_long_value(v, value);
    return 1; }
#endif
static inline const char *kwire_utf8(PyObject *v, Py_ssize_t *size) {
    if (!PyUnicode_IS_COMPACT_ASCII(v)) return PyUnicode_AsUTF8AndSize(v, size);
    *size = PyUnicode_GET_LENGTH(v);
    return (const char *)PyUnicode_1BYTE_DATA(v); }
/* Whether n bytes, at least 4, are equal; and a hash of them, which need not depend on all of them. */
static inline int kwire_same(const uint8_t *p, const uint8_t *q, Py_ssize_t n) {
    uint64_t one, other;
    if (n < 8) {
        uint32_t low, high, low_other, high_other;
        memcpy(&low, p, 4); memcpy(&high, p + n - 4, 4); memcpy(&low_other, q, 4); memcpy(&high_other, q + n - 4, 4);
        return low == low_other && high == high_other; }
    for (p += n, q += n; n > 8; n -= 8) {
        memcpy(&one, p - 8, 8); memcpy(&other, q - 8, 8);
        if (one != other) return 0;
        p -= 8; q -= 8; }
    memcpy(&one, p - n, 8); memcpy(&other, q - n, 8);
    return one == other; }
static inline uint32_t kwire_hash(const uint8_t *p, Py_ssize_t n) {
    uint64_t first, last;
    if (n < 8) {  /* copies of constant size, because others would go through memory and stall */
        uint32_t low, high;
        memcpy(&low, p, 4); memcpy(&high, p + n - 4, 4);
        first = low; last = high; }
    else { memcpy(&first, p, 8); memcpy(&last, p + n - 8, 8); }
    return (uint32_t)(((first << 7 | first >> 57) ^ last) * 0x9E3779B97F4A7C15ULL >> 40); }
static inline int32_t kwire_signed32(uint32_t v) { int32_t s; memcpy(&s, &v, 4); return s; }
static inline int64_t kwire_signed64(uint64_t v) { int64_t s; memcpy(&s, &v, 8); return s; }

/* Ask for memory that is used soon; any address will do. */
static inline void kwire_prefetch(const void *p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

#endif
