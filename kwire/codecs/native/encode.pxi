# Converts messages to bytes.

cdef str UNKNOWN_TAGS = "unknown_tags"


cdef int write(Node* n, PyObject* value, Output* o) except -1:
    cdef Py_ssize_t size
    cdef const char* text
    if n.kind == STRING:
        if value == Py_None:
            put_length(o, n, -1)
        else:
            if not PyUnicode_CheckExact(value):
                refuse()
            text = utf8_of(value, &size)
            put_length(o, n, size)
            put(o, text, size)
    elif n.kind == ARRAY:
        write_array(n, value, o)
    elif n.kind == STRUCT:
        write_held_struct(n, <object>value, o)
    elif n.kind == BYTES:
        if value == Py_None:
            put_length(o, n, -1)
        else:
            if not PyBytes_CheckExact(value):
                refuse()
            put_length(o, n, PyBytes_SizeOf(value))
            put(o, PyBytes_DataOf(value), PyBytes_SizeOf(value))
    elif n.kind == NULLABLE_STRUCT:
        if n.tagged_marker:
            room(o, 1)[0] = value != Py_None
        else:
            room(o, 1)[0] = 255 if value == Py_None else 1
        if value != Py_None:
            write_held_struct(n.child, <object>value, o)
    elif not put_fixed(n.kind, value, room(o, n.width)):
        refuse()
    return 0


cdef int write_held_struct(Node* n, object message, Output* o) except -1:
    """Write the struct of a field. `is_default` runs Python code, which may take it from its field meanwhile."""
    held = message
    write_struct(n, <PyObject*>held, o)
    return 0


cdef inline bint put_fixed(int kind, PyObject* value, uint8_t* q) noexcept:
    """Write a value of fixed size to memory with enough room; return whether its type and range are right."""
    if kind <= UINT32:
        return put_integer(kind, value, q)
    if kind == BOOLEAN:
        q[0] = value == Py_True
        return value == Py_True or value == Py_False
    if kind == UUID:
        if not PyBytes_CheckExact(value) or PyBytes_SizeOf(value) != 16:
            return False
        copy(q, address_of(<bytes>value), 16)
        return True
    return put_float64(value, q)


cdef inline bint put_integer(int kind, PyObject* value, uint8_t* q) noexcept:
    cdef int64_t number
    if not integer_of(value, &number):
        return False
    if kind == INT32:
        put_be(q, <uint64_t>number, 4)
        return number == <int32_t>number
    if kind == INT16:
        put_be(q, <uint64_t>number, 2)
        return number == <int16_t>number
    if kind == INT64:
        put_be(q, <uint64_t>number, 8)
        return True
    if kind == INT8:
        q[0] = <uint8_t>number
        return number == <int8_t>number
    if kind == UINT16:
        put_be(q, <uint64_t>number, 2)
        return number == <uint16_t>number
    put_be(q, <uint64_t>number, 4)
    return number == <uint32_t>number


cdef inline bint put_float64(PyObject* value, uint8_t* q) noexcept:
    cdef double number
    if not PyFloat_Check(value):
        return False
    number = PyFloat_AS_DOUBLE(value)
    put_be(q, bits_of(number), 8)
    return True


cdef int write_array(Node* n, PyObject* value, Output* o) except -1:
    cdef tuple items
    cdef Py_ssize_t i, size
    cdef Node* element = n.child
    cdef uint8_t* p
    if value == Py_None:
        put_length(o, n, -1)
        return 0
    if type(<object>value) is tuple:
        items = <tuple>value
    elif type(<object>value) is list:
        items = tuple(<list>value)
    else:
        refuse()
    size = PyTuple_GET_SIZE(items)
    put_length(o, n, size)
    if element.kind <= UINT32:
        p = room(o, size * element.width)
        for i in range(size):
            if not put_integer(element.kind, PyTuple_GetItemOf(<PyObject*>items, i), p):
                refuse()
            p += element.width
    elif element.kind == STRUCT:
        for i in range(size):
            write_struct(element, PyTuple_GetItemOf(<PyObject*>items, i), o)
    else:
        for i in range(size):
            write(element, PyTuple_GetItemOf(<PyObject*>items, i), o)
    return 0


cdef inline PyObject* attribute(Node* n, PyObject* name, Py_ssize_t slot, PyObject* message) except NULL:
    """Return an attribute of a message, as a borrowed reference."""
    cdef PyObject* value
    if n.by_slot:
        value = (<PyObject**>(<char*>message + slot))[0]
        if value == NULL:
            refuse()
        return value
    held = getattr(<object>message, <object>name)  # the frozen message keeps the reference
    return <PyObject*>held


cdef int write_struct(Node* n, PyObject* message, Output* o) except -1:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Field* stop
    cdef uint8_t* p
    if <PyObject*>Py_TYPE(message) != n.message_class:
        refuse()
    while f < end:
        if f.run:  # one check of the room for all of them
            p = room(o, f.run_width)
            stop = f + f.run
            while f < stop:
                if not put_fixed(f.kind, attribute(n, f.name, f.slot, message), p):
                    refuse()
                p += f.width
                f += 1
        else:
            write(f.node, attribute(n, f.name, f.slot, message), o)
            f += 1
    cdef PyObject* unknown = attribute(n, <PyObject*>UNKNOWN_TAGS, n.unknown, message)
    if n.tags >= 0:
        if unknown == Py_None and has_defaults(n, end, message):
            room(o, 1)[0] = 0
        else:
            write_tags(n, message, <object>unknown, o)
    elif unknown != Py_None and not (PyBytes_CheckExact(unknown) and PyBytes_SizeOf(unknown) == 0):
        refuse()
    f = end + max(n.tags, 0)
    end = f + n.absent
    while f < end:
        if not f.ignorable and not holds_default(f, attribute(n, f.name, f.slot, message)):
            refuse()
        f += 1
    return 0


cdef inline bint holds_default(Field* f, PyObject* value) except -1:
    """Whether a value equals the default of its field. It is kept alive while Python code compares it."""
    if value == f.default:
        return True
    held = <object>value
    return is_default(held, <object>f.default)


cdef inline bint has_defaults(Node* n, Field* f, PyObject* message) except -1:
    """Whether all tagged fields of a message hold their defaults, compared by identity."""
    cdef int i
    for i in range(n.tags):
        if attribute(n, f[i].name, f[i].slot, message) != f[i].default:
            return False
    return True


cdef int write_tags(Node* n, PyObject* message, object unknown, Output* o) except -1:
    """Write the tagged section, sorted by tag: unknown fields, and known fields that differ from their defaults.

    Values are kept alive here: Python code compares them, and may take them from their slots.
    """
    cdef object tags = unknown, value
    cdef Field* f = n.fields + n.count
    cdef Output section
    cdef Small small
    cdef Cursor c
    cdef uint32_t count = 0
    cdef int i
    cdef int64_t last = -1
    begin(&section, &small)
    try:
        aim(&c, NULL, 0)
        if tags is not None:
            if type(tags) is not bytes:
                refuse()
            stand(&c, tags, 0)
        for i in range(n.tags):
            value = <object>attribute(n, f[i].name, f[i].slot, message)
            if not is_default(value, <object>f[i].default):
                count += put_unknown_tags(n, &c, &last, f[i].tag, &section)
                write_tag(&f[i], <PyObject*>value, &section)
                count += 1
        count += put_unknown_tags(n, &c, &last, HIGHEST_TAG + 1, &section)
        put_unsigned_varint(o, count)
        put(o, section.data, section.size)
    finally:
        release(&section)
    return 0


cdef uint32_t put_unknown_tags(Node* n, Cursor* c, int64_t* last, int64_t below, Output* o) except? 0xFFFFFFFF:
    """Copy the unknown tags below `below`; return their number."""
    cdef uint32_t count = 0
    cdef int64_t tag
    cdef const uint8_t* start
    while c.at < c.end:
        start = c.at
        tag = unsigned_varint(c)
        if tag >= below and below <= HIGHEST_TAG:
            c.at = start
            break
        if tag <= last[0] or tag > HIGHEST_TAG or known_tag(n, tag) >= 0 or tag in <object>n.foreign:
            refuse()
        last[0] = tag
        take(c, unsigned_varint(c))
        put(o, start, c.at - start)
        count += 1
    return count


cdef int write_tag(Field* f, PyObject* value, Output* o) except -1:
    cdef Output section
    cdef Small small
    begin(&section, &small)
    try:
        write(f.node, value, &section)
        put_unsigned_varint(o, <uint32_t>f.tag)
        if section.size > LONGEST:
            refuse()
        put_unsigned_varint(o, <uint32_t>section.size)
        put(o, section.data, section.size)
    finally:
        release(&section)
    return 0
