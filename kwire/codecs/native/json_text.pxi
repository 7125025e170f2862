# Converts bytes to JSON text. Values have the format of msgspec, so that all JSON of kwire has one format.

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
    q = room(o, size)  # digits are written in place: copying bytes that were just written stalls the processor
    while size:
        size -= 1
        q[size] = <uint8_t>(c'0' + left % 10)
        left //= 10
    return 0


cdef int put_float(Output* o, double value) except -1:
    """Write a float; NaN and infinities are strings, as in Kafka's JSON converters."""
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
    check_utf8(p, size, has)
    if has & 2:
        put_escaped(o, p, size)
        return 0
    q = room(o, size + 2)
    q[0] = q[size + 1] = c'"'
    copy(q + 1, p, size)
    return 0


cdef int put_escaped(Output* o, const uint8_t* p, Py_ssize_t size) except -1:
    cdef Py_ssize_t i, start = 0
    cdef int byte
    room(o, 1)[0] = c'"'
    for i in range(size):
        byte = byte_at(p, size, i)
        if byte < 32 or byte == c'"' or byte == c'\\':
            put(o, p + start, i - start)
            start = i + 1
            put_escape(o, <uint8_t>byte)
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
        v = triple(p, size, 3 * i)
        q[0], q[1], q[2], q[3] = alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]
        q += 4
    if size % 3:
        v = triple(p, size, size - size % 3)
        q = room(o, 2)
        q[0], q[1] = alphabet[v >> 18], alphabet[v >> 12 & 63]
        if size % 3 == 2:
            room(o, 1)[0] = alphabet[v >> 6 & 63]
        if padded:
            put(o, b"==", 3 - size % 3)
    room(o, 1)[0] = c'"'
    return 0


cdef int text(Node* n, Cursor* c, Output* o) except -1:
    cdef Py_ssize_t size
    if n.kind == STRING:
        size = length(n, c)
        if size < 0:
            put(o, b"null", 4)
        else:
            put_string(o, take(c, size), size)
    elif n.kind == ARRAY:
        array_text(n, c, o)
    elif n.kind == STRUCT:
        struct_text(n, c, o)
    elif n.kind == BYTES:
        size = length(n, c)
        if size < 0:
            put(o, b"null", 4)
        else:
            put_base64(o, take(c, size), size, BASE64, True)
    elif n.kind == NULLABLE_STRUCT:
        if present(n, c):
            struct_text(n.child, c, o)
        else:
            put(o, b"null", 4)
    else:
        fixed_text(n.kind, take(c, n.width), o)
    return 0


cdef inline int fixed_text(int kind, const uint8_t* p, Output* o) except -1:
    """Write a value of fixed size, whose bounds were checked."""
    if kind <= UINT32:
        put_decimal(o, integer(kind, p))
    elif kind == BOOLEAN:
        if boolean(p):
            put(o, b"true", 4)
        else:
            put(o, b"false", 5)
    elif kind == UUID:
        put_base64(o, p, 16, BASE64URL, False)
    else:
        put_float(o, float64(p))
    return 0


cdef int array_text(Node* n, Cursor* c, Output* o) except -1:
    cdef Py_ssize_t size = length(n, c), i
    cdef Node* element = n.child
    if size < 0:
        put(o, b"null", 4)
        return 0
    room(o, 1)[0] = c'['
    for i in range(size):
        if i:
            room(o, 1)[0] = c','
        if element.kind == STRUCT:
            struct_text(element, c, o)
        else:
            text(element, c, o)
    room(o, 1)[0] = c']'
    return 0


cdef int struct_text(Node* n, Cursor* c, Output* o) except -1:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Field* stop
    cdef const uint8_t* p
    cdef Py_ssize_t start = o.size
    while f < end:
        if f.run:  # one check of the bounds for all of them
            p = take(c, f.run_width)
            stop = f + f.run
            while f < stop:
                put(o, f.key, f.key_size)
                fixed_text(f.kind, p, o)
                p += f.width
                f += 1
        else:
            put(o, f.key, f.key_size)
            text(f.node, c, o)
            f += 1
    if n.tags >= 0:
        if not accept(c, 0):
            tags_text(n, c, o)
    if o.size == start:
        room(o, 1)
    o.data[start] = c'{'  # replaces the comma before the first key
    room(o, 1)[0] = c'}'
    return 0


cdef int tags_text(Node* n, Cursor* c, Output* o) except -1:
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef Cursor section
    cdef Field* f
    cdef Output unknown
    cdef Small small
    if count * 2 > c.end - c.at:
        raise Declined
    begin(&unknown, &small)
    try:
        for i in range(count):
            tag = unsigned_varint(c)
            size = unsigned_varint(c)
            if tag <= last or tag > HIGHEST_TAG:
                raise Declined
            last = tag
            known = known_tag(n, tag)
            if known < 0:
                unknown_tag_text(n, tag, size, c, &unknown)
                continue
            f = &n.fields[n.count + known]
            section = c[0]
            tag_value(f, size, &section)
            put(o, f.key, f.key_size)
            text(f.node, c, o)
        if unknown.size:
            put(o, b',"_unknownTags":[', 17)
            put(o, unknown.data + 1, unknown.size - 1)
            room(o, 1)[0] = c']'
    finally:
        release(&unknown)
    return 0


cdef int unknown_tag_text(Node* n, int64_t tag, Py_ssize_t size, Cursor* c, Output* o) except -1:
    if tag in <object>n.foreign:
        raise Declined
    put(o, b',{"tag":', 8)
    put_decimal(o, tag)
    put(o, b',"data":', 8)
    put_base64(o, take(c, size), size, BASE64, True)
    room(o, 1)[0] = c'}'
    return 0
