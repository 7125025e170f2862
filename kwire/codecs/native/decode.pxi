# Converts bytes to messages, and messages to bytes; at the end, checks bodies without creating objects.

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
        return PyBytes_New(<const char*>take(c, size), size) if size >= 0 else Py_NewRef(Py_None)
    if n.kind == NULLABLE_STRUCT:
        return read_struct(n.child, c) if present(n, c) else Py_NewRef(Py_None)
    return read_fixed(n.kind, take(c, n.width))


cdef inline PyObject* read_fixed(int kind, const uint8_t* p) except NULL:
    """Return a value of fixed size, whose bounds were checked."""
    if kind <= UINT32:
        return new_integer(integer(kind, p))
    if kind == BOOLEAN:
        return Py_NewRef(Py_True if boolean(p[0]) else Py_False)
    if kind == UUID:
        return PyBytes_New(<const char*>p, 16)
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
                    fill(message, f.slot, new_integer(signed32(be32(p))))
                else:
                    fill(message, f.slot, read_fixed(f.kind, p))
                p += f.width
                f += 1
        elif f.kind == ARRAY:
            if f.width == 0 and c.at < c.end and c.at[0] == 1:  # most `offlineReplicas` are empty
                c.at += 1
                fill(message, f.slot, Py_NewRef(<PyObject*>EMPTY))
            else:
                fill(message, f.slot, read_array(f.node, c))
            f += 1
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
        return PyBytes_FromStringAndSize(<const char*>unknown.data, unknown.size) if unknown.size else None
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


cdef inline bint put_fixed(int kind, PyObject* value, uint8_t* p) noexcept:
    """Write a value of fixed size to memory with enough room; return whether its type and range are right."""
    if kind <= UINT32:
        return put_integer(kind, value, p)
    if kind == BOOLEAN:
        p[0] = value == Py_True
        return value == Py_True or value == Py_False
    if kind == UUID:
        if not PyBytes_CheckExact(value) or PyBytes_SizeOf(value) != 16:
            return False
        memcpy(p, PyBytes_DataOf(value), 16)
        return True
    return put_float64(value, p)


cdef inline bint put_integer(int kind, PyObject* value, uint8_t* p) noexcept:
    cdef int64_t number
    if not integer_of(value, &number):
        return False
    if kind == INT32:
        put_be(p, <uint64_t>number, 4)
        return number == <int32_t>number
    if kind == INT16:
        put_be(p, <uint64_t>number, 2)
        return number == <int16_t>number
    if kind == INT64:
        put_be(p, <uint64_t>number, 8)
        return True
    if kind == INT8:
        p[0] = <uint8_t>number
        return number == <int8_t>number
    if kind == UINT16:
        put_be(p, <uint64_t>number, 2)
        return number == <uint16_t>number
    put_be(p, <uint64_t>number, 4)
    return number == <uint32_t>number


cdef inline bint put_float64(PyObject* value, uint8_t* p) noexcept:
    cdef double number
    cdef uint64_t bits
    if not PyFloat_Check(value):
        return False
    number = PyFloat_AS_DOUBLE(value)
    memcpy(&bits, &number, 8)
    put_be(p, bits, 8)
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
        c.at = c.end = NULL
        if tags is not None:
            if type(tags) is not bytes:
                refuse()
            c.at = <const uint8_t*>PyBytes_AS_STRING(tags)
            c.end = c.at + PyBytes_GET_SIZE(tags)
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
    cdef Output one
    cdef Small small
    begin(&one, &small)
    try:
        write(f.node, value, &one)
        put_unsigned_varint(o, <uint32_t>f.tag)
        if one.size > LONGEST:
            refuse()
        put_unsigned_varint(o, <uint32_t>one.size)
        put(o, one.data, one.size)
    finally:
        release(&one)
    return 0


# Checks bodies and finds their topics and errors without creating objects; `kwire.protocol.message_summary.make_body_facts` selects
# the fields.

cdef enum Interest:
    ERROR_CODE = 1, TOPIC_NAME, TOPIC_ID

INTERESTS = {"error code": ERROR_CODE, "topic name": TOPIC_NAME, "topic id": TOPIC_ID}

cdef enum:
    MOST_TOPICS = 16

cdef struct Topic:
    const uint8_t* id          # or NULL
    const uint8_t* name
    Py_ssize_t size            # of the name

cdef struct Facts:
    const uint8_t* marks       # of the fields of the table
    Field* fields
    bint has_error             # an error code other than 0
    int count                  # of topics, including those that exceed `topics`
    Topic[MOST_TOPICS] topics


cdef class BodyFacts:
    """The fields of interest in the bodies of a message at a version.

    Args:
        table: the nodes of the message.
        marks: construct field -> one of `INTERESTS`.
        guarded: names and ids of topics; a body that contains one of them must be decoded.
    """

    cdef NodeTable table
    cdef bytes marks
    cdef frozenset guarded

    def __cinit__(self, NodeTable table not None, dict marks not None, frozenset guarded=frozenset()):
        self.table, self.guarded = table, guarded
        self.marks = bytes(INTERESTS[marks[row.source]] if row.source in marks else 0 for row in table.rows[1])
        for i in range(table.node_count):
            self.ask_for_types(&table.nodes[i])

    cdef int ask_for_types(self, Node* n) except -1:
        """Refuse fields of interest whose type is not supported here."""
        cdef const uint8_t* marks = <const uint8_t*>PyBytes_AS_STRING(self.marks)
        cdef Field* f = n.fields
        cdef Node* node
        cdef int i, mark, names = 0, ids = 0, count = n.count + max(n.tags, 0) if n.kind == STRUCT else 0
        for i in range(count):
            mark, node = marks[f - self.table.fields], f.node
            is_array = node.kind == ARRAY
            node = node.child if is_array else node
            if mark == ERROR_CODE and node.kind > UINT32 or mark == TOPIC_NAME and node.kind != STRING:
                raise ValueError("a field of interest has another type")
            if mark == TOPIC_ID and (f.node.kind != UUID or i >= n.count) or mark == TOPIC_NAME and is_array and node.nullable:
                raise ValueError("a field of interest has another type")
            names += 0 if mark != TOPIC_NAME else 2 if is_array else 1
            ids += mark == TOPIC_ID
            f += 1
        if ids and ids + names > 2:
            raise ValueError("the table pairs a topic id with several names")
        return 0

    cdef bint find(self, const uint8_t* p, Py_ssize_t size, Facts* found) except -1:
        """Find the fields of interest of a body; return False if it must be decoded."""
        cdef Cursor c
        aim(&c, p, size)
        found.marks, found.fields = <const uint8_t*>PyBytes_AS_STRING(self.marks), self.table.fields
        found.has_error, found.count = False, 0
        try:
            check(self.table.nodes, &c, found)
        except (Declined, ValueError):
            return False
        return c.at == c.end and not (self.guarded and self.is_guarded(found))

    def of(self, bytes body not None):
        """Return whether a body has an error code, its number of topics, and the id and name of the first topic; or
        None if it must be decoded."""
        cdef Facts found
        cdef int i
        if not self.find(<const uint8_t*>PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body), &found):
            return None
        topics = [(topic_id(&found.topics[i]), topic_name(&found.topics[i])) for i in range(min(found.count, MOST_TOPICS))]
        return found.has_error, found.count, topics

    cdef bint is_guarded(self, const Facts* found) except -1:
        cdef int i
        if found.count > MOST_TOPICS:
            return True
        for i in range(found.count):
            if topic_name(&found.topics[i]) in self.guarded or topic_id(&found.topics[i]) in self.guarded:
                return True
        return False


cdef object topic_name(const Topic* one):
    return PyUnicode_DecodeUTF8Of(<const char*>one.name, one.size, NULL) if one.size else None


cdef object topic_id(const Topic* one):
    return PyBytes_FromStringAndSize(<const char*>one.id, 16) if one.id != NULL else None


cdef int check(Node* n, Cursor* c, Facts* found) except -1:
    """Read a value as `text` does, without writing it."""
    cdef Py_ssize_t size, i
    cdef Node* element
    if n.kind <= UINT32 or n.kind == UUID or n.kind == FLOAT64:
        take(c, n.width)
    elif n.kind == STRUCT:
        check_struct(n, c, found)
    elif n.kind == STRING:
        size = length(n, c)
        if size > 0:
            checked_text(c, size)
    elif n.kind == ARRAY:
        size = length(n, c)
        element = n.child
        if element.kind <= UINT32 or element.kind == UUID:
            take(c, max(size, 0) * element.width)
        else:
            for i in range(size):
                check(element, c, found)
    elif n.kind == BOOLEAN:
        boolean(take(c, 1)[0])
    elif n.kind == BYTES:
        size = length(n, c)
        if size > 0:
            take(c, size)
    elif present(n, c):
        check_struct(n.child, c, found)
    return 0


cdef inline const uint8_t* checked_text(Cursor* c, Py_ssize_t size) except NULL:
    """Return a pointer to UTF-8 text."""
    cdef const uint8_t* p = take(c, size)
    if text_has(p, size) & 1:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))  # raises UnicodeDecodeError if it is not UTF-8
    return p


cdef int check_struct(Node* n, Cursor* c, Facts* found) except -1:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Topic topic
    topic.id, topic.name, topic.size = NULL, NULL, 0
    while f < end:
        if found.marks[f - found.fields]:
            note(f, c, found, &topic)
        else:
            check(f.node, c, found)
        f += 1
    if topic.id != NULL:
        add_topic(found, &topic)
    if n.tags >= 0:
        if c.at < c.end and c.at[0] == 0:
            c.at += 1
        else:
            check_tags(n, c, found)
    return 0


cdef int check_tags(Node* n, Cursor* c, Facts* found) except -1:
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef Cursor one
    cdef Field* f
    cdef Topic topic
    topic.id, topic.name, topic.size = NULL, NULL, 0
    if count * 2 > c.end - c.at:
        raise Declined
    for i in range(count):
        tag = unsigned_varint(c)
        size = unsigned_varint(c)
        known = known_tag(n, tag)
        if tag <= last or tag > HIGHEST_TAG or known < 0 and tag in <object>n.foreign:
            raise Declined
        last = tag
        if known < 0:
            take(c, size)
            continue
        f = &n.fields[n.count + known]
        one = c[0]
        tag_value(f, size, c)
        if found.marks[f - found.fields]:
            note(f, &one, found, &topic)
        else:
            check(f.node, &one, found)
    return 0


cdef int note(Field* f, Cursor* c, Facts* found, Topic* topic) except -1:
    """Read a field of interest; `topic` is the topic of its struct."""
    cdef Node* node = f.node
    cdef bint is_array = node.kind == ARRAY
    cdef Py_ssize_t count = length(node, c) if is_array else 1, i, size
    cdef int mark = found.marks[f - found.fields]
    cdef const uint8_t* p
    node = node.child if is_array else node
    for i in range(count):
        if mark == ERROR_CODE:
            found.has_error |= integer(node.kind, take(c, node.width)) != 0
        elif mark == TOPIC_ID:
            p = take(c, 16)
            topic.id = p if be64(p) or be64(p + 8) else NULL
        else:
            size = length(node, c)
            topic.size = max(size, 0)
            topic.name = checked_text(c, size) if size > 0 else c.at
            if size > 0 or is_array:
                add_topic(found, topic)
    return 0


cdef inline void add_topic(Facts* found, const Topic* topic) noexcept:
    """Add a topic. A topic with an id is added at the end of its struct, because its name may follow the id."""
    if found.count < MOST_TOPICS:
        found.topics[found.count] = topic[0]
    found.count += 1


# Checks the records of a batch of magic 2 without creating objects. The reference reads a refused batch again, and
# explains the error.

cdef inline bint zigzag(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t* value) noexcept nogil:
    """Read a varint before `stop`; false if it is truncated, has more bytes than its value needs, or exceeds 64 bits."""
    cdef uint64_t found = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < stop and shift < 64:
        byte = data[at[0]]
        at[0] += 1
        found |= <uint64_t>(byte & 127) << shift
        if byte < 128:
            if shift and byte == 0 or shift == 63 and byte > 1:
                return False
            value[0] = <int64_t>(found >> 1) ^ -<int64_t>(found & 1)
            return True
        shift += 7
    return False


cdef inline bint skip_bytes(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t least) noexcept nogil:
    """Skip a length and the bytes that it counts; -1 is null if `least` allows it."""
    cdef int64_t size
    if not zigzag(data, stop, at, &size) or size < least or size > stop - at[0]:
        return False
    at[0] += max(<int64_t>0, size)
    return True


cdef bint header_is_whole(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at) noexcept nogil:
    """Skip a header whose name is ASCII."""
    cdef Py_ssize_t i, start
    cdef int64_t size
    if not zigzag(data, stop, at, &size) or size < 0 or size > stop - at[0]:
        return False
    start, at[0] = at[0], at[0] + size
    for i in range(start, at[0]):
        if data[i] >= 128:
            return False
    return skip_bytes(data, stop, at, -1)


cdef bint record_is_whole(const uint8_t* data, Py_ssize_t there, Py_ssize_t* at, int64_t index) noexcept nogil:
    """Skip a record whose offset delta is `index`."""
    cdef int64_t size, value, i
    cdef Py_ssize_t stop
    if not zigzag(data, there, at, &size) or size < 1 or size > there - at[0]:
        return False
    stop = at[0] + size
    at[0] += 1  # attributes
    if not zigzag(data, stop, at, &value) or not zigzag(data, stop, at, &value) or value != index:
        return False
    if not skip_bytes(data, stop, at, -1) or not skip_bytes(data, stop, at, -1):
        return False
    if not zigzag(data, stop, at, &value) or value < 0 or 2 * value > stop - at[0]:
        return False
    for i in range(value):
        if not header_is_whole(data, stop, at):
            return False
    return at[0] == stop


def records_are_whole(bytes data not None, Py_ssize_t start, int64_t count):
    """Whether the bytes from a position on are exactly `count` records, with offset deltas from 0.

    False too for records that only the reference accepts, such as those with names of headers that are not ASCII.
    """
    cdef const uint8_t* bytes_of = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t there = PyBytes_GET_SIZE(data), at = start
    cdef int64_t i
    if start < 0 or start > there or count < 0:
        return False
    with nogil:
        for i in range(count):
            if not record_is_whole(bytes_of, there, &at, i):
                at = -1
                break
    taken_paths.batches_checked += at == there
    taken_paths.batches_left += at != there
    return at == there
