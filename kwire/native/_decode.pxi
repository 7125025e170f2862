# Bytes to messages.

cdef PyObject* read(Node* n, Cursor* c) except NULL:
    cdef Py_ssize_t size
    if n.kind <= UINT32:
        return new_integer(integer(n.kind, take(c, n.width)))
    if n.kind == STRING:
        size = length(n, c)
        return new_text(take(c, size), size) if size >= 0 else Py_NewRef(Py_None)
    if n.kind == ARRAY:
        return read_array(n, c)
    if n.kind == STRUCT:
        return read_struct(n, c)
    if n.kind == BOOLEAN:
        return Py_NewRef(Py_True if boolean(c) else Py_False)
    if n.kind == UUID:
        return PyBytes_New(<const char*>take(c, 16), 16)
    if n.kind == BYTES:
        size = length(n, c)
        return PyBytes_New(<const char*>take(c, size), size) if size >= 0 else Py_NewRef(Py_None)
    if n.kind == NULLABLE_STRUCT:
        return read_struct(n.child, c) if present(n, c) else Py_NewRef(Py_None)
    return PyFloat_FromDouble(float64(take(c, 8)))


cdef PyObject* read_array(Node* n, Cursor* c) except NULL:
    cdef Py_ssize_t size = length(n, c), i
    cdef Node* element = n.child
    cdef const uint8_t* p
    if size < 0:
        return Py_NewRef(Py_None)
    items = PyTuple_New(size)
    if element.kind <= UINT32:
        p = take(c, size * element.width)
        for i in range(size):
            PyTuple_Put(<PyObject*>items, i, new_integer(integer(element.kind, p + i * element.width)))
    elif element.kind == STRUCT:
        for i in range(size):
            PyTuple_Put(<PyObject*>items, i, read_struct(element, c))
    else:
        for i in range(size):
            PyTuple_Put(<PyObject*>items, i, read(element, c))
    if size:
        PyObject_GC_UnTrack(<PyObject*>items)  # frozen values without cycles: nothing for the collector to find
    return Py_NewRef(<PyObject*>items)


cdef struct Same:  # the last array of integers that was read of a struct
    Field* field
    const uint8_t* start
    Py_ssize_t size


cdef inline PyObject* read_integers(Field* f, Cursor* c, PyObject* message, Same* last) except NULL:
    """Read an array of integers; one with the bytes of the last is the same tuple again.

    Nearly every ISR has the members of the replicas before it: a fifth of the time of Kafka's MetadataResponses.
    """
    cdef PyObject* items
    if (last.field != NULL and last.size <= c.end - c.at and memcmp(c.at, last.start, last.size) == 0
            and f.node.child.kind == last.field.node.child.kind and f.node.width == last.field.node.width
            and f.node.nullable == last.field.node.nullable):
        take(c, last.size)
        return Py_NewRef((<PyObject**>(<char*>message + last.field.slot))[0])
    last.field, last.start = f, c.at
    items = read_array(f.node, c)
    last.size = c.at - last.start
    return items


cdef PyObject* read_struct(Node* n, Cursor* c) except NULL:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    if not n.by_slot:
        return read_struct_by_call(n, c)
    cdef PyObject* message = PyType_GenericAlloc(<PyTypeObject*>n.message_class, 0)
    cdef Same last
    last.field, last.start, last.size = NULL, NULL, 0
    made = owned(message)  # goes, with what it has, if the rest is refused
    while f < end:
        if f.node.kind <= UINT32:  # a call saved
            fill(message, f.slot, new_integer(integer(f.node.kind, take(c, f.node.width))))
        elif f.node.kind == ARRAY and f.node.child.kind <= UINT32:
            fill(message, f.slot, read_integers(f, c, message, &last))
        else:
            fill(message, f.slot, read(f.node, c))
        f += 1
    if n.tags < 0:
        fill(message, n.unknown, Py_NewRef(Py_None))
    elif c.at < c.end and c.at[0] == 0:
        c.at += 1
        fill(message, n.unknown, Py_NewRef(Py_None))
        fill_defaults(f, f + n.tags, message)
    else:
        read_tags(n, c, message)
    end = f + max(n.tags, 0)
    fill_defaults(end, end + n.absent, message)
    return Py_NewRef(message)


cdef inline void fill_defaults(Field* f, Field* end, PyObject* message) noexcept:
    while f < end:
        fill(message, f.slot, Py_NewRef(f.default))
        f += 1


cdef int read_tags(Node* n, Cursor* c, PyObject* message) except -1:
    """Read a tagged section into the slots of a message, which are empty: given tags first, then defaults."""
    cdef list values = [None] * n.tags
    cdef Field* f = n.fields + n.count
    cdef int i
    cdef unsigned long long seen = 0
    unknown = tag_values(n, c, values, &seen)
    for i in range(n.tags):
        value = values[i] if seen >> i & 1 else <object>f[i].default
        fill(message, f[i].slot, Py_NewRef(<PyObject*>value))
    fill(message, n.unknown, Py_NewRef(<PyObject*>unknown))
    return 0


cdef object tag_values(Node* n, Cursor* c, list values, unsigned long long* seen):
    """Read a tagged section: known fields into `values`, with a bit each in `seen`; return the unknown ones."""
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef const uint8_t* start
    cdef Output unknown
    cdef Small small
    if count * 2 > c.end - c.at or n.tags > 64:
        raise Refused
    begin(&unknown, &small)
    try:
        for i in range(count):
            start = c.at
            tag = unsigned_varint(c)
            size = unsigned_varint(c)
            if tag <= last or tag > HIGHEST_TAG:
                raise Refused
            last = tag
            known = known_tag(n, tag)
            if known < 0:
                if tag in <object>n.foreign:
                    raise Refused
                take(c, size)
                put(&unknown, start, c.at - start)
            else:
                values[known] = tag_value(&n.fields[n.count + known], size, c)
                seen[0] |= 1ULL << known
        return PyBytes_FromStringAndSize(<const char*>unknown.data, unknown.size) if unknown.size else None
    finally:
        release(&unknown)


cdef object tag_value(Field* f, Py_ssize_t size, Cursor* c):
    """Read a tagged field. One that holds its default is legal, but not what a writer writes: it is refused."""
    cdef const uint8_t* start = c.at
    value = owned(read(f.node, c))
    if c.at - start != size or is_default(value, <object>f.default):
        raise Refused
    return value


cdef inline int known_tag(Node* n, int64_t tag) noexcept:
    cdef Field* f = n.fields + n.count
    cdef int i
    for i in range(n.tags):
        if f[i].tag == tag:
            return i
    return -1


cdef PyObject* read_struct_by_call(Node* n, Cursor* c) except NULL:
    """The same by a call of the class, where it is not known how its objects lie in memory."""
    cdef Field* f = n.fields
    cdef int i, tags = max(n.tags, 0)
    cdef list values = [None] * tags
    cdef dict members = {}
    cdef unsigned long long seen = 0
    for i in range(n.count):
        members[<object>f[i].name] = owned(read(f[i].node, c))
    if n.tags >= 0:
        members["unknown_tags"] = tag_values(n, c, values, &seen)
    f += n.count
    for i in range(tags):
        if seen >> i & 1:
            members[<object>f[i].name] = values[i]
    made = (<object>n.message_class)(**members)
    return Py_NewRef(<PyObject*>made)

# Bytes that nobody wants.


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
        raise Refused
    for i in range(count):
        unsigned_varint(c)
        take(c, unsigned_varint(c))
    return 0
