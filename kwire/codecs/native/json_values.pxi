# Converts the plain values of JSON (dict, list, str, int, float, bool, None) to messages, and messages to them.
#
# Values of other types, such as Hidden or a subclass of dict, are left to `json_reader` and `json_writer`, as are former
# names of fields and unknown tagged fields. Python code may run at any lookup or allocation, and change a dict or a
# list: what is read out of one is kept alive while it is used.

cdef enum:
    NO_SEXTET = 64

cdef uint8_t[256] SEXTETS       # the value of each character of base64
cdef uint8_t[256] URL_SEXTETS   # and of base64url


cdef void fill_sextets(uint8_t* values, const char* alphabet) noexcept:
    cdef int i
    memset(values, NO_SEXTET, 256)
    for i in range(64):
        values[<uint8_t>alphabet[i]] = <uint8_t>i


fill_sextets(SEXTETS, BASE64)
fill_sextets(URL_SEXTETS, BASE64URL)


# JSON to messages.


cdef PyObject* value_of(Node* n, PyObject* value, bint defaults) except NULL:
    """Return the value of a node, as a new reference; the caller keeps the JSON value alive."""
    cdef int64_t number
    if n.kind <= UINT32:
        if not PyLong_CheckExact(<object>value) or not put_fits(n.kind, value):
            refuse()
        return Py_NewRef(value)
    if n.kind == STRING:
        if value == Py_None and not n.nullable or value != Py_None and not PyUnicode_CheckExact(value):
            refuse()
        return Py_NewRef(value)
    if n.kind == ARRAY:
        if value == Py_None and n.nullable:
            return Py_NewRef(Py_None)
        return array_of(n.child, <object>value, defaults)
    if n.kind == STRUCT:
        return struct_of(n, <object>value, defaults)
    if n.kind == NULLABLE_STRUCT:
        return Py_NewRef(Py_None) if value == Py_None else struct_of(n.child, <object>value, defaults)
    if n.kind == BOOLEAN:
        if value != Py_True and value != Py_False:
            refuse()
        return Py_NewRef(value)
    if n.kind == BYTES and value == Py_None and n.nullable:
        return Py_NewRef(Py_None)
    if n.kind == FLOAT64:
        if not PyFloat_CheckExact(<object>value):
            refuse()
        return Py_NewRef(value)
    return bytes_from(n.kind, <object>value)


cdef inline bint put_fits(int kind, PyObject* value) noexcept:
    """Whether an integer is in the range of a kind."""
    cdef uint8_t[8] unused
    return put_integer(kind, value, unused)


cdef PyObject* array_of(Node* element, object items, bint defaults) except NULL:
    cdef PyObject* made
    cdef Py_ssize_t size
    if type(items) is list:
        items = tuple(<list>items)
    elif type(items) is not tuple:
        refuse()
    size = PyTuple_GET_SIZE(items)
    if not size:
        return Py_NewRef(<PyObject*>EMPTY)
    made = PyTuple_Make(size)
    return finished(made, (<Converting>convert_items)(element, items, made, defaults))


ctypedef int (*Converting)(Node* n, object source, PyObject* into, bint defaults) noexcept


cdef int convert_items(Node* element, object items, PyObject* made, bint defaults) except -1:
    cdef Py_ssize_t i
    for i in range(PyTuple_SizeOf(made)):
        PyTuple_Put(made, i, value_of(element, PyTuple_GetItemOf(<PyObject*>items, i), defaults))
    return 0


cdef PyObject* struct_of(Node* n, object members, bint defaults) except NULL:
    cdef PyObject* message
    if not n.by_slot or type(members) is not dict:
        refuse()
    message = new_struct(<PyTypeObject*>n.message_class)
    return finished(message, (<Converting>convert_members)(n, members, message, defaults))


cdef int convert_members(Node* n, object members, PyObject* message, bint defaults) except -1:
    """Convert an object's members to the empty slots of a message; refuse missing and other members."""
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Field* end_of_tags = end + max(n.tags, 0)
    cdef Py_ssize_t left = PyDict_Size(members)
    cdef PyObject* item
    while f < end_of_tags:
        item = PyDict_GetItemWithError(members, <object>f.json_name)
        if item != NULL:
            held = <object>item
            fill(message, f.slot, value_of(f.node, item, defaults))
            left -= 1
        elif f < end and not defaults:
            refuse()
        else:
            fill(message, f.slot, Py_NewRef(f.default))
        f += 1
    if left:
        refuse()
    fill_defaults(f, f + n.absent, message)
    fill(message, n.unknown, Py_NewRef(Py_None))
    return 0


cdef PyObject* bytes_from(int kind, object value) except NULL:
    """Decode base64 in its usual form: of bytes padded to 4 characters, of a uuid 22 characters of base64url."""
    cdef const uint8_t* values = &SEXTETS[0]
    cdef const uint8_t* p
    cdef Py_ssize_t size, i, padding = 0
    cdef int32_t bits
    cdef uint8_t* q
    cdef Output o
    cdef Small small
    if not PyUnicode_CheckExact(<PyObject*>value):
        refuse()
    p = bytes_of_text(<PyObject*>value, &size)
    if kind == UUID:
        values = &URL_SEXTETS[0]
        if size != 22:
            refuse()
    elif size % 4:
        refuse()
    elif size:
        padding = (byte_at(p, size, size - 1) == c'=') + (byte_at(p, size, size - 2) == c'=')
    size -= padding
    begin(&o, &small)
    try:
        q = room(&o, size // 4 * 3)
        for i in range(size // 4):
            bits = sextets_at(p, size, 4 * i, values)
            if bits < 0:
                refuse()
            q[0], q[1], q[2] = <uint8_t>(bits >> 16), <uint8_t>(bits >> 8), <uint8_t>bits
            q += 3
        if size % 4:
            put_last_sextets(values, p, size, &o)
        decoded = contents(&o)
        return Py_NewRef(<PyObject*>decoded)
    finally:
        release(&o)


cdef int put_last_sextets(const uint8_t* values, const uint8_t* p, Py_ssize_t size, Output* o) except -1:
    """Decode the last two or three characters; refuse bits that stand for no byte."""
    cdef int count = <int>(size % 4), i
    cdef uint32_t bits = 0
    cdef uint8_t* q
    for i in range(count):
        bits = bits << 6 | values[byte_at(p, size, size - count + i)]
        if values[byte_at(p, size, size - count + i)] == NO_SEXTET:
            refuse()
    if count == 1 or bits & (0xF if count == 2 else 0x3):
        refuse()
    q = room(o, count - 1)
    q[0] = <uint8_t>(bits >> (4 if count == 2 else 10))
    if count == 3:
        q[1] = <uint8_t>(bits >> 2)
    return 0


# Messages to JSON.


cdef object plain(Node* n, object value):
    """Return the JSON form of a value of a node."""
    if n.kind <= BOOLEAN:
        return value
    if n.kind == STRING:
        if value is not None and not PyUnicode_CheckExact(<PyObject*>value):
            refuse()
        return value
    if n.kind == ARRAY:
        return None if value is None else plain_array(n.child, value)
    if n.kind == STRUCT:
        return plain_struct(n, value)
    if n.kind == NULLABLE_STRUCT:
        return None if value is None else plain_struct(n.child, value)
    if n.kind == FLOAT64:
        if not PyFloat_CheckExact(value) or not is_finite(PyFloat_AS_DOUBLE(<PyObject*>value)):
            refuse()
        return value
    return None if value is None and n.kind == BYTES else plain_base64(n.kind, value)


cdef inline bint is_finite(double number) noexcept:
    return number - number == 0


cdef list plain_array(Node* element, object items):
    cdef list made
    cdef Py_ssize_t i
    if type(items) is list:
        items = tuple(<list>items)
    elif type(items) is not tuple:
        refuse()
    if element.kind <= BOOLEAN:
        return list(<tuple>items)
    made = []
    for i in range(PyTuple_GET_SIZE(items)):
        made.append(plain(element, <object>PyTuple_GetItemOf(<PyObject*>items, i)))
    return made


cdef dict plain_struct(Node* n, object message):
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Field* end_of_tags = end + max(n.tags, 0)
    cdef dict members = {}
    if <PyObject*>Py_TYPE(<PyObject*>message) != n.message_class:
        refuse()
    if attribute(n, <PyObject*>UNKNOWN_TAGS, n.unknown, <PyObject*>message) != Py_None:
        refuse()
    while f < end_of_tags:
        value = <object>attribute(n, f.name, f.slot, <PyObject*>message)
        if f < end or not is_default(value, <object>f.default):
            members[<object>f.json_name] = plain(f.node, value)
        f += 1
    return members


cdef str plain_base64(int kind, object value):
    cdef Output o
    cdef Small small
    if type(value) is not bytes or kind == UUID and PyBytes_GET_SIZE(value) != 16:
        refuse()
    begin(&o, &small)
    try:
        if kind == UUID:
            put_base64(&o, address_of(value), 16, BASE64URL, False)
        else:
            put_base64(&o, address_of(value), PyBytes_GET_SIZE(value), BASE64, True)
        return owned(new_text(o.data + 1, o.size - 2))  # without the quotes
    finally:
        release(&o)
