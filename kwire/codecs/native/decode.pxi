# Converts bytes to messages.

cdef tuple EMPTY = ()


cdef PyObject* read(Node* n, Cursor* c) except NULL:
    cdef Py_ssize_t size
    if n.kind == STRING:
        size = length(n, c)
        return new_text(take(c, size), size) if size >= 0 else Py_NewRef(Py_None)
    if n.kind == ARRAY:
        return read_array(n, c)
    if n.kind == STRUCT:
        return read_struct(n, c)
    if n.kind == BYTES:
        size = length(n, c)
        if c.view != NULL and n.is_records and size >= 0:
            return part_of_view(c, take(c, size), size)
        return new_bytes(take(c, size), size) if size >= 0 else Py_NewRef(Py_None)
    if n.kind == NULLABLE_STRUCT:
        return read_struct(n.child, c) if present(n, c) else Py_NewRef(Py_None)
    return read_fixed(n.kind, take(c, n.width))


cdef PyObject* part_of_view(Cursor* c, const uint8_t* p, Py_ssize_t size) except NULL:
    part = (<object>c.view)[p - c.viewed:p - c.viewed + size]
    return Py_NewRef(<PyObject*>part)


cdef inline PyObject* read_fixed(int kind, const uint8_t* p) except NULL:
    """Return a value of fixed size, whose bounds were checked."""
    if kind <= UINT32:
        return new_integer(integer(kind, p))
    if kind == BOOLEAN:
        return Py_NewRef(Py_True if boolean(p) else Py_False)
    if kind == UUID:
        return new_bytes(p, 16)
    return PyFloat_FromDouble(float64(p))


cdef PyObject* read_array(Node* n, Cursor* c) except NULL:
    cdef Py_ssize_t size = length(n, c)
    cdef Node* element = n.child
    cdef PyObject* items
    if size <= 0:
        return Py_NewRef(Py_None if size < 0 else <PyObject*>EMPTY)
    if element.kind <= UINT32:
        return read_integers(element.kind, element.width, take(c, size * element.width), size, c)
    items = PyTuple_Make(size)
    return finished(items, (<Reading>read_items)(element, c, items))


# `finished` checks a result and releases a partial object. `try` with Cython's objects would change the reference count
# of every struct four times, which takes a tenth of the time.
ctypedef int (*Reading)(Node* n, Cursor* c, PyObject* into) noexcept


cdef inline PyObject* finished(PyObject* made, int result) except NULL:
    """Return the created object; release it if an exception was raised while it was filled."""
    if result < 0:
        Py_DECREF(made)
        return NULL
    if PyTuple_CheckExact(made):
        PyObject_GC_UnTrack(made)  # immutable values cannot form a cycle
    return made


cdef int read_items(Node* element, Cursor* c, PyObject* items) except -1:
    cdef Py_ssize_t i
    if element.kind == STRUCT:
        for i in range(PyTuple_SizeOf(items)):
            PyTuple_Put(items, i, read_struct(element, c))
    else:
        for i in range(PyTuple_SizeOf(items)):
            PyTuple_Put(items, i, read(element, c))
    return 0


cdef PyObject* read_integers(int kind, int width, const uint8_t* p, Py_ssize_t count, Cursor* c) except NULL:
    """Read an array of integers; equal bytes in a message return the same tuple.

    A cluster has few sets of replicas, and nearly every ISR equals one of them. This saves half of the time to decode
    Kafka's MetadataResponses.
    """
    cdef Py_ssize_t size = count * width
    cdef PyObject* items
    if c.seen == NULL or not 4 <= size <= 64:
        items = PyTuple_Make(count)
        return finished(items, (<Integers>read_each)(kind, width, p, items))
    if not c.mask:
        c.mask = 15 if c.end - c.at < 4096 else SEEN - 1
        memset(c.seen, 0, (c.mask + 1) * sizeof(Seen))
        c.last = c.seen
    if not is_same_array(c.last, kind, p, size):  # an ISR usually equals the replicas, which were read just before
        c.last = &c.seen[hash_of(p, size) & c.mask]
        if not is_same_array(c.last, kind, p, size):
            items = PyTuple_Make(count)
            items = finished(items, (<Integers>read_each)(kind, width, p, items))
            c.last.start, c.last.items, c.last.size, c.last.kind = p, items, <int>size, kind
            return items
    return Py_NewRef(c.last.items)


cdef inline bint is_same_array(const Seen* seen, int kind, const uint8_t* p, Py_ssize_t size) noexcept:
    return seen.size == size and seen.kind == kind and same_bytes(p, seen.start, size)


ctypedef int (*Integers)(int kind, int width, const uint8_t* p, PyObject* items) noexcept


cdef int read_each(int kind, int width, const uint8_t* p, PyObject* items) except -1:
    cdef Py_ssize_t i
    for i in range(PyTuple_SizeOf(items)):
        PyTuple_Put(items, i, new_integer(integer(kind, p)))
        p += width
    return 0


cdef PyObject* read_struct(Node* n, Cursor* c) except NULL:
    cdef PyObject* message
    if not n.by_slot:
        return read_struct_by_call(n, c)
    message = new_struct(<PyTypeObject*>n.message_class)
    return finished(message, (<Reading>read_slots)(n, c, message))


cdef int read_slots(Node* n, Cursor* c, PyObject* message) except -1:
    """Read a struct into the empty slots of a message."""
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef const uint8_t* p
    cdef Field* stop
    while f < end:
        if f.run:  # one check of the bounds for all of them
            p = take(c, f.run_width)
            stop = f + f.run
            while f < stop:
                if f.kind == INT32:  # most fields; this avoids the switch over kinds
                    fill(message, f.slot, new_integer(integer(INT32, p)))
                else:
                    fill(message, f.slot, read_fixed(f.kind, p))
                p += f.width
                f += 1
        elif f.kind == ARRAY:
            if f.width == 0 and accept(c, 1):  # most `offlineReplicas` are empty
                fill(message, f.slot, Py_NewRef(<PyObject*>EMPTY))
            else:
                fill(message, f.slot, read_array(f.node, c))
            f += 1
        else:
            fill(message, f.slot, read(f.node, c))
            f += 1
    if n.tags < 0:
        fill(message, n.unknown, Py_NewRef(Py_None))
    elif accept(c, 0):
        fill(message, n.unknown, Py_NewRef(Py_None))
        fill_defaults(f, f + n.tags, message)
    else:
        read_tags(n, c, message)
    end = f + max(n.tags, 0)
    fill_defaults(end, end + n.absent, message)
    return 0


cdef inline void fill_defaults(Field* f, Field* end, PyObject* message) noexcept:
    while f < end:
        fill(message, f.slot, Py_NewRef(f.default))
        f += 1


cdef int read_tags(Node* n, Cursor* c, PyObject* message) except -1:
    """Read a tagged section into the empty slots of a message; missing tags have their defaults."""
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
    """Read a tagged section: store known fields in `values` and set their bits in `seen`; return the unknown ones."""
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef const uint8_t* start
    cdef Output unknown
    cdef Small small
    if count * 2 > c.end - c.at or n.tags > 64:
        refuse()
    begin(&unknown, &small)
    try:
        for i in range(count):
            start = c.at
            tag = unsigned_varint(c)
            size = unsigned_varint(c)
            if tag <= last or tag > HIGHEST_TAG:
                refuse()
            last = tag
            known = known_tag(n, tag)
            if known < 0:
                if tag in <object>n.foreign:
                    refuse()
                take(c, size)
                put(&unknown, start, c.at - start)
            else:
                values[known] = tag_value(&n.fields[n.count + known], size, c)
                seen[0] |= 1ULL << known
        return contents(&unknown) if unknown.size else None
    finally:
        release(&unknown)


cdef object tag_value(Field* f, Py_ssize_t size, Cursor* c):
    """Read a tagged field. One that holds its default is refused: it is legal, but it is encoded to other bytes."""
    cdef const uint8_t* start = c.at
    value = owned(read(f.node, c))
    if c.at - start != size or is_default(value, <object>f.default):
        refuse()
    return value


cdef inline int known_tag(Node* n, int64_t tag) noexcept:
    cdef Field* f = n.fields + n.count
    cdef int i
    for i in range(n.tags):
        if f[i].tag == tag:
            return i
    return -1


cdef PyObject* read_struct_by_call(Node* n, Cursor* c) except NULL:
    """Read a struct by calling its class, if the memory layout of its objects is unknown."""
    cdef Field* f = n.fields
    cdef int i, tags = max(n.tags, 0)
    cdef list values = [None] * tags
    cdef dict members = {}
    cdef unsigned long long seen = 0
    c.seen = NULL  # the class may convert its arguments to other objects
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
