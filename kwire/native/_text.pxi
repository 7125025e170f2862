# How values stand in JSON text: as msgspec writes them, so that all of kwire's JSON is the same.

cdef const char* BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
cdef const char* BASE64URL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
cdef const char* HEX = b"0123456789abcdef"
cdef object _json_encode = msgspec.json.encode


cdef inline int put_decimal(Output* o, int64_t value) except -1:
    cdef uint64_t left = <uint64_t>value, limit = 10
    cdef int size = 1
    cdef uint8_t* q
    if value < 0:
        left = 0 - left
        room(o, 1)[0] = c'-'
    while left >= limit:  # at most 19 digits
        size += 1
        limit *= 10
    q = room(o, size)  # digits go where they stay: to copy what was just written a byte each stalls the processor
    while size:
        size -= 1
        q[size] = <uint8_t>(c'0' + left % 10)
        left //= 10
    return 0


cdef int put_float(Output* o, double value) except -1:
    """Write a float; what JSON cannot say, as Kafka's converters do, in quotes."""
    cdef bytes text
    if value != value:
        text = b'"NaN"'
    elif value - value != 0:
        text = b'"Infinity"' if value > 0 else b'"-Infinity"'
    else:
        text = _json_encode(value)
    put(o, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return 0


cdef int put_string(Output* o, const uint8_t* p, Py_ssize_t size) except -1:
    cdef int has = text_has(p, size)
    cdef uint8_t* q
    if has & 1:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))  # raises where it is not UTF-8
    if has & 2:
        put_escaped(o, p, size)
        return 0
    q = room(o, size + 2)
    q[0] = q[size + 1] = c'"'
    memcpy(q + 1, p, size)
    return 0


cdef int put_escaped(Output* o, const uint8_t* p, Py_ssize_t size) except -1:
    cdef Py_ssize_t i, start = 0
    room(o, 1)[0] = c'"'
    for i in range(size):
        if p[i] < 32 or p[i] == c'"' or p[i] == c'\\':
            put(o, p + start, i - start)
            start = i + 1
            put_escape(o, p[i])
    put(o, p + start, size - start)
    room(o, 1)[0] = c'"'
    return 0


cdef int put_escape(Output* o, uint8_t byte) except -1:
    cdef uint8_t* q
    cdef uint8_t letter = 0
    if byte == c'"' or byte == c'\\': letter = byte
    elif byte == 8: letter = c'b'
    elif byte == 9: letter = c't'
    elif byte == 10: letter = c'n'
    elif byte == 12: letter = c'f'
    elif byte == 13: letter = c'r'
    if letter:
        q = room(o, 2)
        q[0], q[1] = c'\\', letter
    else:
        put(o, b"\\u00", 4)
        q = room(o, 2)
        q[0], q[1] = HEX[byte >> 4], HEX[byte & 15]
    return 0


cdef int put_base64(Output* o, const uint8_t* p, Py_ssize_t size, const char* alphabet, bint padded) except -1:
    cdef Py_ssize_t i
    cdef uint32_t v
    cdef uint8_t* q
    room(o, 1)[0] = c'"'
    q = room(o, size // 3 * 4)
    for i in range(size // 3):
        v = (<uint32_t>p[0] << 16) | (<uint32_t>p[1] << 8) | p[2]
        q[0], q[1], q[2], q[3] = alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]
        p += 3
        q += 4
    if size % 3:
        v = (<uint32_t>p[0] << 16) | (<uint32_t>p[1] << 8 if size % 3 == 2 else 0)
        q = room(o, 2)
        q[0], q[1] = alphabet[v >> 18], alphabet[v >> 12 & 63]
        if size % 3 == 2:
            room(o, 1)[0] = alphabet[v >> 6 & 63]
        if padded:
            put(o, b"==", 3 - size % 3)
    room(o, 1)[0] = c'"'
    return 0
