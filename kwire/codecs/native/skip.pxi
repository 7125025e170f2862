# Skips the bytes of values.


cdef int skip(Node* n, Cursor* c) except -1:
    cdef Py_ssize_t size, i
    cdef Node* element
    if n.kind <= UUID:
        take(c, n.width)
    elif n.kind == STRING or n.kind == BYTES:
        size = length(n, c)
        if size > 0:
            take(c, size)
    elif n.kind == ARRAY:
        size = length(n, c)
        element = n.child
        if element.kind <= UUID:
            take(c, max(size, 0) * element.width)
        else:
            for i in range(size):
                skip(element, c)
    elif n.kind == NULLABLE_STRUCT:
        if present(n, c):
            skip(n.child, c)
    else:
        for i in range(n.count):
            skip(n.fields[i].node, c)
        if n.tags >= 0:
            skip_tags(c)
    return 0


cdef int skip_tags(Cursor* c) except -1:
    cdef int64_t count = unsigned_varint(c), i
    if count * 2 > c.end - c.at:
        refuse()
    for i in range(count):
        unsigned_varint(c)
        take(c, unsigned_varint(c))
    return 0
