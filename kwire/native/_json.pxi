# Bytes to JSON text.


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
    """Write a value of fixed size whose bytes are there."""
    if kind <= UINT32:
        put_decimal(o, integer(kind, p))
    elif kind == BOOLEAN:
        if boolean(p[0]):
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
        if f.run:  # bounds are looked at once
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
        if c.at < c.end and c.at[0] == 0:
            c.at += 1
        else:
            tags_text(n, c, o)
    if o.size == start:
        room(o, 1)
    o.data[start] = c'{'  # each key begins with a comma: the first becomes the brace
    room(o, 1)[0] = c'}'
    return 0


cdef int tags_text(Node* n, Cursor* c, Output* o) except -1:
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef Cursor one
    cdef Field* f
    cdef Output unknown
    cdef Small small
    if count * 2 > c.end - c.at:
        raise Refused
    begin(&unknown, &small)
    try:
        for i in range(count):
            tag = unsigned_varint(c)
            size = unsigned_varint(c)
            if tag <= last or tag > HIGHEST_TAG:
                raise Refused
            last = tag
            known = known_tag(n, tag)
            if known < 0:
                unknown_tag_text(n, tag, size, c, &unknown)
                continue
            f = &n.fields[n.count + known]
            one = c[0]
            tag_value(f, size, &one)
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
        raise Refused
    put(o, b',{"tag":', 8)
    put_decimal(o, tag)
    put(o, b',"data":', 8)
    put_base64(o, take(c, size), size, BASE64, True)
    room(o, 1)[0] = c'}'
    return 0
