# How values stand in JSON text: as msgspec writes them, so that all of kwire's JSON is the same.

cdef const char* BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
cdef const char* BASE64URL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
cdef const char* HEX = b"0123456789abcdef"
cdef object _json_encode = msgspec.json.encode


cdef inline int put_decimal(Output* o, int64_t value) except -1:
    cdef uint8_t[20] digits
    cdef int at = 20
    cdef uint64_t left = <uint64_t>value
    if 0 <= value < 10:
        room(o, 1)[0] = <uint8_t>(c'0' + value)
        return 0
    if value < 0:
        left = 0 - left
    while True:
        at -= 1
        digits[at] = <uint8_t>(c'0' + left % 10)
        left //= 10
        if left == 0:
            break
    if value < 0:
        at -= 1
        digits[at] = c'-'
    put(o, &digits[at], 20 - at)
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
    cdef Py_ssize_t i, start = 0
    cdef uint8_t byte, seen = 0
    room(o, 1)[0] = c'"'
    for i in range(size):
        byte = p[i]
        seen |= byte
        if byte < 32 or byte == c'"' or byte == c'\\':
            put(o, p + start, i - start)
            start = i + 1
            put_escape(o, byte)
    if seen > 127:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))  # raises where it is not UTF-8
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
