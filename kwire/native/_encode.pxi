# Messages to bytes.


cdef int write(Node* n, PyObject* value, Output* o) except -1:
    cdef Py_ssize_t size
    cdef const char* text
    if n.kind == STRUCT:
        write_struct(n, value, o)
    elif n.kind <= UINT32:
        write_integer(n, value, o)
    elif n.kind == STRING:
        if value == Py_None:
            put_length(o, n, -1)
        else:
            if not PyUnicode_CheckExact(value):
                raise Refused
            text = PyUnicode_AsUTF8AndSize(value, &size)
            if size > n.longest:
                raise Refused
            put_length(o, n, size)
            put(o, text, size)
    elif n.kind == ARRAY:
        write_array(n, value, o)
    elif n.kind == BOOLEAN:
        if value != Py_True and value != Py_False:
            raise Refused
        room(o, 1)[0] = value == Py_True
    elif n.kind == UUID:
        if not PyBytes_CheckExact(value) or PyBytes_SizeOf(value) != 16:
            raise Refused
        put(o, PyBytes_DataOf(value), 16)
    elif n.kind == BYTES:
        if value == Py_None:
            put_length(o, n, -1)
        else:
            if not PyBytes_CheckExact(value):
                raise Refused
            put_length(o, n, PyBytes_SizeOf(value))
            put(o, PyBytes_DataOf(value), PyBytes_SizeOf(value))
    elif n.kind == NULLABLE_STRUCT:
        if n.tagged_marker:
            room(o, 1)[0] = value != Py_None
        else:
            room(o, 1)[0] = 255 if value == Py_None else 1
        if value != Py_None:
            write_struct(n.child, value, o)
    else:
        write_float64(value, o)
    return 0


cdef inline int write_integer(Node* n, PyObject* value, Output* o) except -1:
    cdef int64_t number
    if not PyLong_CheckExactOf(value) and (not PyLong_Check(value) or PyBool_Check(value)):
        raise Refused
    number = <object>value  # as Cython does it, which reads the digits where the headers of Python say how
    if n.kind == INT32:
        if number != <int32_t>number:
            raise Refused
        put_be(room(o, 4), <uint64_t>number, 4)
    elif n.kind == INT16:
        if number != <int16_t>number:
            raise Refused
        put_be(room(o, 2), <uint64_t>number, 2)
    elif n.kind == INT64:
        put_be(room(o, 8), <uint64_t>number, 8)
    else:
        write_rare_integer(n, number, o)
    return 0


cdef int write_rare_integer(Node* n, int64_t number, Output* o) except -1:
    if n.kind == INT8:
        if number != <int8_t>number:
            raise Refused
    elif number < 0 or number >> (8 * n.width):
        raise Refused
    put_be(room(o, n.width), <uint64_t>number, n.width)
    return 0


cdef int write_float64(PyObject* value, Output* o) except -1:
    cdef double number
    cdef uint64_t bits
    if not PyFloat_Check(value):
        raise Refused
    number = PyFloat_AsDouble(value)
    memcpy(&bits, &number, 8)
    put_be(room(o, 8), bits, 8)
    return 0


cdef int write_array(Node* n, PyObject* value, Output* o) except -1:
    cdef tuple items
    cdef Py_ssize_t i, size
    cdef Node* element = n.child
    if value == Py_None:
        put_length(o, n, -1)
        return 0
    if type(<object>value) is tuple:
        items = <tuple>value
    elif type(<object>value) is list:
        items = tuple(<list>value)
    else:
        raise Refused
    size = PyTuple_GET_SIZE(items)
    put_length(o, n, size)
    for i in range(size):
        if element.kind <= UINT32:
            write_integer(element, PyTuple_GetItemOf(<PyObject*>items, i), o)
        elif element.kind == STRUCT:
            write_struct(element, PyTuple_GetItemOf(<PyObject*>items, i), o)
        else:
            write(element, PyTuple_GetItemOf(<PyObject*>items, i), o)
    return 0


cdef inline PyObject* attribute(Node* n, PyObject* name, Py_ssize_t slot, PyObject* message) except NULL:
    """Return what a message holds, borrowed."""
    cdef PyObject* value
    if n.by_slot:
        value = (<PyObject**>(<char*>message + slot))[0]
        if value == NULL:
            raise Refused
        return value
    held = getattr(<object>message, <object>name)  # the message, which is frozen, keeps it
    return <PyObject*>held


cdef int write_struct(Node* n, PyObject* message, Output* o) except -1:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    if <PyObject*>Py_TYPE(message) != n.message_class:
        raise Refused
    cdef PyObject* unknown = attribute(n, <PyObject*>UNKNOWN_TAGS, n.unknown, message)
    while f < end:
        if f.node.kind <= UINT32:
            write_integer(f.node, attribute(n, f.name, f.slot, message), o)
        else:
            write(f.node, attribute(n, f.name, f.slot, message), o)
        f += 1
    if n.tags >= 0:
        if unknown == Py_None and has_defaults(n, end, message):
            room(o, 1)[0] = 0
        else:
            write_tags(n, message, unknown, o)
    elif unknown != Py_None and <object>unknown:
        raise Refused
    f = end + max(n.tags, 0)
    end = f + n.absent
    while f < end:
        if not f.ignorable and not is_default(<object>attribute(n, f.name, f.slot, message), <object>f.default):
            raise Refused
        f += 1
    return 0


cdef inline bint has_defaults(Node* n, Field* f, PyObject* message) except -1:
    """Whether all tagged fields of a message hold their defaults, as most do: the very objects."""
    cdef int i
    for i in range(n.tags):
        if attribute(n, f[i].name, f[i].slot, message) != f[i].default:
            return False
    return True


cdef int write_tags(Node* n, PyObject* message, PyObject* unknown, Output* o) except -1:
    """Write the tagged section, which ascends: known fields that differ from their defaults between unknown ones."""
    cdef Field* f = n.fields + n.count
    cdef Output section
    cdef Small small
    cdef Cursor c
    cdef uint32_t count = 0
    cdef int i
    cdef int64_t last = -1
    cdef PyObject* value
    begin(&section, &small)
    try:
        c.at = c.end = NULL
        if unknown != Py_None:
            if not PyBytes_CheckExact(unknown):
                raise Refused
            c.at = <const uint8_t*>PyBytes_DataOf(unknown)
            c.end = c.at + PyBytes_SizeOf(unknown)
        for i in range(n.tags):
            value = attribute(n, f[i].name, f[i].slot, message)
            if not is_default(<object>value, <object>f[i].default):
                count += put_unknown_tags(n, &c, &last, f[i].tag, &section)
                write_tag(&f[i], value, &section)
                count += 1
        count += put_unknown_tags(n, &c, &last, HIGHEST_TAG + 1, &section)
        put_unsigned_varint(o, count)
        put(o, section.data, section.size)
    finally:
        release(&section)
    return 0


cdef uint32_t put_unknown_tags(Node* n, Cursor* c, int64_t* last, int64_t below, Output* o) except? 0xFFFFFFFF:
    """Copy the unknown tags below one; return how many."""
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
            raise Refused
        last[0] = tag
        take(c, unsigned_varint(c))
        put(o, start, c.at - start)
        count += 1
    return count


cdef int write_tag(Field* f, PyObject* value, Output* o) except -1:
    cdef Output one
    cdef Small small
    begin(&one, &small)
    try:
        write(f.node, value, &one)
        put_unsigned_varint(o, <uint32_t>f.tag)
        if one.size > LONGEST:
            raise Refused
        put_unsigned_varint(o, <uint32_t>one.size)
        put(o, one.data, one.size)
    finally:
        release(&one)
    return 0
