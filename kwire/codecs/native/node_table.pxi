# The nodes of a message at one version, as the interpreter walks over them.

cdef enum Kind:  # integers first, so that `kind <= UINT32` means an integer
    INT8, INT16, INT32, INT64, UINT16, UINT32, BOOLEAN, FLOAT64, UUID, STRING, BYTES, ARRAY, STRUCT, NULLABLE_STRUCT

KINDS = {
    "b": INT8, "h": INT16, "i": INT32, "q": INT64, "H": UINT16, "I": UINT32, "boolean": BOOLEAN, "float64": FLOAT64,
    "uuid": UUID, "string": STRING, "bytes": BYTES, "array": ARRAY, "struct": STRUCT, "nullable struct": NULLABLE_STRUCT,
}

# The bytes of a value of each kind of fixed size.
cdef int* WIDTHS = [1, 2, 4, 8, 2, 4, 1, 8, 16]

cdef int64_t HIGHEST_TAG   # from `kwire.codecs.wire`, like the next names: imported with the first table, to start quickly
cdef object _is_default, NodeRow, FieldRow
cdef enum:
    LONGEST = 2147483646  # the largest compact length (KIP-482)

cdef struct Field

cdef struct Node:  # see `node_table.NodeRow`
    int kind
    int width
    bint nullable
    bint tagged_marker
    bint is_records
    Node* child
    int64_t least
    int64_t longest        # the maximum length
    Field* fields          # in wire order, then tagged fields, then fields of other versions
    int count
    int tags
    int absent
    bint by_slot           # objects are filled and read at the offsets of their slots
    PyObject* message_class
    PyObject* foreign
    Py_ssize_t unknown     # the slot of unknown_tags

cdef struct Field:  # see `node_table.FieldRow`
    Node* node
    int kind               # of the node
    int width
    int run                # the number of consecutive fixed-size fields from this one on
    Py_ssize_t run_width   # their bytes
    int tag
    bint ignorable
    Py_ssize_t slot
    PyObject* message_class
    PyObject* name
    PyObject* default
    const char* key        # `,"jsonName":`
    Py_ssize_t key_size
    PyObject* json_name


cdef int know_trees() except -1:
    global HIGHEST_TAG, _is_default, NodeRow, FieldRow
    if NodeRow is None:
        from kwire.codecs.native.node_table import FieldRow as field_row, NodeRow as node_row
        from kwire.codecs.wire.unknown_tags import HIGHEST_TAG as highest_tag
        from kwire.codecs.wire.tagged_fields import is_default
        HIGHEST_TAG, _is_default, FieldRow, NodeRow = highest_tag, is_default, field_row, node_row
    return 0


cdef bint is_default(object value, object default) except -1:
    if value is default:
        return True
    if PyLong_CheckExact(value) and PyLong_CheckExact(default):
        return value == default
    return _is_default(value, default)


cdef class NodeTable:
    """The nodes of a message at one version, from the rows of `table.node_table`.

    Args:
        nodes: `NodeRow`s; the first is the message.
        fields: `FieldRow`s.
    """

    cdef Node* nodes
    cdef Field* fields
    cdef int node_count, field_count
    cdef tuple rows        # these keep the objects alive to which the table points
    cdef list json_names

    def __cinit__(self, nodes, fields):
        cdef int i
        know_trees()
        self.rows = tuple(nodes), tuple(fields)
        self.node_count, self.field_count = len(self.rows[0]), len(self.rows[1])
        if not self.node_count or not all(type(row) is NodeRow for row in self.rows[0]):
            raise ValueError("a table has rows of nodes, one at least")
        if not all(type(row) is FieldRow and type(row.key) is bytes and type(row.name) is str for row in self.rows[1]):
            raise ValueError("fields have names, and keys that are bytes")
        self.nodes = <Node*>PyMem_Calloc(self.node_count + 1, sizeof(Node))
        self.fields = <Field*>PyMem_Calloc(self.field_count + 1, sizeof(Field))
        if self.nodes == NULL or self.fields == NULL:
            raise MemoryError
        for i in range(self.node_count):
            self.set_node(&self.nodes[i], self.rows[0][i])
        self.json_names = [sys.intern(msgspec.json.decode(row.key[1:len(row.key) - 1])) if row.key else "" for row in self.rows[1]]
        for i in range(self.field_count):
            self.set_field(&self.fields[i], self.rows[1][i])
            self.fields[i].json_name = <PyObject*>self.json_names[i]
        for i in range(self.node_count):
            self.check_node(&self.nodes[i])

    def __dealloc__(self):
        PyMem_Free(self.nodes)
        PyMem_Free(self.fields)

    cdef int set_node(self, Node* n, row) except -1:
        n.kind, n.width, n.nullable, n.tagged_marker = KINDS[row.kind], row.width, row.nullable, row.tagged_marker
        n.is_records = row.is_records
        n.least = row.least or LONGEST  # elements of 0 bytes: only a count of 0 is accepted, since no input bounds it
        n.longest = min(row.longest or LONGEST, 32767 if n.width == 2 else LONGEST)
        n.count, n.tags, n.absent = row.size, row.tags, row.absent
        if not (0 <= row.child < self.node_count and 0 <= row.first and n.count >= 0 and n.absent >= 0 and n.tags >= -1):
            raise ValueError("a row points outside of the table")
        if row.first + n.count + max(n.tags, 0) + n.absent > self.field_count:
            raise ValueError("a row points outside of the table")
        n.child, n.fields = &self.nodes[<int>row.child], &self.fields[<int>row.first]
        if n.kind == STRUCT:
            if not (isinstance(row.message_class, type) and issubclass(row.message_class, msgspec.Struct)):
                raise ValueError("the class of a struct is one of msgspec's")
            n.message_class = <PyObject*>row.message_class
            n.foreign = <PyObject*>row.foreign
            n.by_slot = SLOTS_KNOWN and not PyType_HasFeature(<PyTypeObject*>row.message_class, Py_TPFLAGS_HAVE_GC)
            n.unknown = slot_of(row.message_class, "unknown_tags")
        return 0

    cdef int set_field(self, Field* f, row) except -1:
        f.tag, f.ignorable = row.tag, row.ignorable
        if not 0 <= row.node < self.node_count:
            raise ValueError("a row points outside of the table")
        f.node = &self.nodes[<int>row.node]
        f.slot = slot_of(row.message_class, row.name)
        f.message_class, f.name, f.default = <PyObject*>row.message_class, <PyObject*>row.name, <PyObject*>row.default
        f.key, f.key_size = PyBytes_AS_STRING(row.key), PyBytes_GET_SIZE(row.key)
        return 0

    cdef int check_node(self, Node* n) except -1:
        """Refuse a row that would read missing bytes, fill missing slots, or contain itself."""
        cdef Field* f = n.fields
        cdef int i, tags = max(n.tags, 0)
        if n.kind <= UUID and n.width != WIDTHS[n.kind] or UUID < n.kind <= ARRAY and n.width not in (0, 2, 4):
            raise ValueError("a value has another width")
        if n.kind == ARRAY or n.kind == NULLABLE_STRUCT:
            if n.child <= n or n.least < 0 or n.kind == NULLABLE_STRUCT and n.child.kind != STRUCT:
                raise ValueError("a row leads to one that cannot be inside of it")
        if n.kind == STRUCT and n.unknown <= 0:
            raise ValueError("a struct has a slot for each of its attributes, which keeps its value alive")
        for i in range(n.count + tags + n.absent if n.kind == STRUCT else 0):
            if f[i].slot <= 0:
                raise ValueError("a struct has a slot for each of its attributes, which keeps its value alive")
            if f[i].node <= n and i < n.count + tags:
                raise ValueError("a row leads to one that cannot be inside of it")
            if f[i].message_class != n.message_class:
                raise ValueError("a field is of another class than its struct")
        for i in reversed(range(n.count)):
            f[i].kind, f[i].width = f[i].node.kind, f[i].node.width
            if f[i].kind <= UUID:
                f[i].run, f[i].run_width = 1, f[i].width
                if i + 1 < n.count:
                    f[i].run += f[i + 1].run
                    f[i].run_width += f[i + 1].run_width
        return 0

    cdef inline object message(self, bytes data):
        cdef Cursor c
        cdef Seen[SEEN] seen
        taken_paths.bodies_read += 1
        stand(&c, data, 0)
        c.seen = seen
        message = owned(read(self.nodes, &c))
        if c.at != c.end:
            raise Declined
        taken_paths.bodies_decoded += 1
        return message

    def decode_with_views(self, bytes data not None):
        """Decode a body that fills all of the bytes; its records are memoryviews of them."""
        cdef Cursor c
        cdef Seen[SEEN] seen
        view = memoryview(data)
        taken_paths.bodies_read += 1
        stand(&c, data, 0)
        c.seen, c.view, c.viewed = seen, <PyObject*>view, address_of(data)
        message = owned(read(self.nodes, &c))
        if c.at != c.end:
            raise Declined
        taken_paths.bodies_decoded += 1
        return message

    cdef inline object bytes_of(self, PyObject* message):
        cdef Output o
        cdef Small small
        taken_paths.bodies_written += 1
        begin(&o, &small)
        try:
            write(self.nodes, message, &o)
            taken_paths.bodies_encoded += 1
            return contents(&o)
        finally:
            release(&o)

    cdef inline object json_of(self, bytes data, Py_ssize_t start, bint decoded):
        cdef Cursor c
        cdef Output o
        cdef Small small
        taken_paths.texts_begun += 1
        stand(&c, data, start)
        begin(&o, &small)
        try:
            text(self.nodes, &c, &o)
            if c.at != c.end:
                raise Declined
            taken_paths.texts_written += 1
            if decoded:
                return owned(new_text(o.data, o.size))
            return contents(&o)
        finally:
            release(&o)

    def decode(self, bytes data not None):
        """Decode a body that fills all of the bytes."""
        return self.message(data)

    def decode_from(self, bytes data not None, Py_ssize_t start):
        """Decode a body at a position; return the message and the position after it."""
        cdef Cursor c
        cdef Seen[SEEN] seen
        taken_paths.bodies_read += 1
        stand(&c, data, start)
        c.seen = seen
        message = owned(read(self.nodes, &c))
        taken_paths.bodies_decoded += 1
        return message, place(&c, data)

    def decode_many(self, bytes data not None, Py_ssize_t start, Py_ssize_t count):
        """Decode `count` values of the first node's type at a position; return them and the position after them."""
        cdef Cursor c
        cdef list values = []
        cdef Py_ssize_t i
        taken_paths.bodies_read += 1
        stand(&c, data, start)
        for i in range(count):
            values.append(owned(read(self.nodes, &c)))
        taken_paths.bodies_decoded += 1
        return values, place(&c, data)

    def skip_from(self, bytes data not None, Py_ssize_t start):
        """Return the position after the body at a position. Reads only the lengths."""
        cdef Cursor c
        stand(&c, data, start)
        skip(self.nodes, &c)
        return place(&c, data)

    def from_json(self, value, bint defaults):
        """Return the message of a JSON form; `defaults` is whether missing fields have their defaults."""
        return owned(struct_of(self.nodes, value, defaults))

    def to_json(self, message, bint checked):
        """Return the JSON form of a message; `checked` is whether it is refused if it cannot be encoded."""
        cdef Output o
        cdef Small small
        if checked:
            begin(&o, &small)
            try:
                write(self.nodes, <PyObject*>message, &o)
            finally:
                release(&o)
        return plain_struct(self.nodes, message)

    def encode(self, message):
        """Encode a message."""
        return self.bytes_of(<PyObject*>message)

    def json(self, bytes data not None, Py_ssize_t start=0):
        """Return the JSON text, in UTF-8, of the body from a position to the end of the bytes."""
        return self.json_of(data, start, False)
