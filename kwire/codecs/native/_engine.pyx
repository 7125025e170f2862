# cython: language_level=3, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# cython: embedsignature.format=clinic, nonecheck=True
"""The native interpreter: one walk over a table of nodes decodes, encodes, writes JSON text, and skips.

It does not explain errors: bytes that it does not accept raise `Declined`, and the reference execution then decodes the
same bytes and raises the error with path, offset and reason. All bytes are read through `take` and written through
`room`, the only two functions that check bounds. A count is compared with the remaining bytes before memory is
allocated for it. Tables are immutable, so threads share them without a lock.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject, Py_TPFLAGS_HAVE_GC
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.math cimport floor, rint
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

import msgspec

# Objects are passed as pointers where this avoids reference counting, which took a fifth of the time. As in CPython's C
# API, a returned `PyObject*` is a new reference, and an argument is a borrowed one.
cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_NewRef(PyObject*)
    void Py_DECREF(PyObject*)
    PyTypeObject* Py_TYPE(PyObject*)
    Py_ssize_t Py_REFCNT(PyObject*)
    PyObject* PyBytes_New "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL
    PyObject* PyFloat_FromDouble(double) except NULL
    PyObject* PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors) except NULL
    PyObject* PyTuple_Make "PyTuple_New"(Py_ssize_t size) except NULL
    bint PyTuple_CheckExact(PyObject*)
    Py_ssize_t PyTuple_SizeOf "PyTuple_GET_SIZE"(PyObject* items)
    PyObject* PyTuple_GetItemOf "PyTuple_GET_ITEM"(PyObject* items, Py_ssize_t at)
    void PyTuple_Put "PyTuple_SET_ITEM"(PyObject* items, Py_ssize_t at, PyObject* item)
    object PyUnicode_DecodeUTF8Of "PyUnicode_DecodeUTF8"(const char* text, Py_ssize_t size, const char* errors)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    Py_ssize_t PyBytes_SizeOf "PyBytes_GET_SIZE"(PyObject*)
    const char* PyBytes_DataOf "PyBytes_AS_STRING"(PyObject*)
    double PyFloat_AS_DOUBLE(PyObject*)
    bint PyType_HasFeature(PyTypeObject* cls, unsigned long feature)
    bint PyBytes_CheckExact(PyObject*)
    bint PyFloat_Check(PyObject*)
    bint PyLong_CheckExact(object)
    bint PyUnicode_CheckExact(PyObject*)
    void PyObject_GC_UnTrack(PyObject*)
    PyObject* PyDict_GetItem(object, object)
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member

cdef extern from "c_helpers.h":
    uint16_t be16 "kwire_be16"(const uint8_t* p) noexcept nogil
    uint32_t be32 "kwire_be32"(const uint8_t* p) noexcept nogil
    uint32_t le32 "kwire_le32"(const uint8_t* p) noexcept nogil
    uint64_t be64 "kwire_be64"(const uint8_t* p) noexcept nogil
    void put_be "kwire_put_be"(uint8_t* p, uint64_t v, int n) noexcept nogil
    int text_has "kwire_text_has"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    bint is_printable "kwire_is_printable"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    PyObject* new_integer "kwire_new_integer"(int64_t v) except NULL
    bint integer_of "kwire_value"(PyObject* v, int64_t* value) noexcept
    const char* utf8_of "kwire_utf8"(PyObject* v, Py_ssize_t* size) except NULL
    bint same_bytes "kwire_same"(const uint8_t* p, const uint8_t* q, Py_ssize_t n) noexcept nogil
    uint32_t hash_of "kwire_hash"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    PyObject* new_struct "kwire_new_struct"(PyTypeObject* cls) except NULL
    PyObject* new_text "kwire_new_text"(const uint8_t* p, Py_ssize_t n) except NULL
    int32_t signed32 "kwire_signed32"(uint32_t v) noexcept nogil
    const uint32_t KWIRE_SOURCES
    int64_t signed64 "kwire_signed64"(uint64_t v) noexcept nogil


SOURCES = KWIRE_SOURCES  # see `fingerprint`


class Declined(Exception):
    """Bytes or values that are left to the reference execution."""


cdef struct Paths:         # see `path_counts`
    int64_t bodies_read, bodies_decoded, bodies_written, bodies_encoded, texts_begun, texts_written
    int64_t columns_filled, columns_left
    int64_t packets_taken, packets_left
    int64_t frames_counted, frames_left, lines_written, lines_left, rows_added, rows_left
    int64_t batches_checked, batches_left

cdef Paths taken_paths


def path_counts():
    """Return how often work was done here, and how often it was left to the general path; for tests.

    Each pair counts one kind of work since the engine was loaded, approximately where threads run without the GIL:
    bodies decoded and encoded, JSON texts of bodies, bodies in columns, packets, frames that were counted, lines of
    frames, rows of frames, and batches of records that were checked. Of a body that is decoded again by the reference
    after it was refused here, the first attempt counts as left.
    """
    cdef Paths* one = &taken_paths
    return {
        "decode": (one.bodies_decoded, one.bodies_read - one.bodies_decoded),
        "encode": (one.bodies_encoded, one.bodies_written - one.bodies_encoded),
        "json": (one.texts_written, one.texts_begun - one.texts_written),
        "columns": (one.columns_filled, one.columns_left),
        "packets": (one.packets_taken, one.packets_left),
        "frames": (one.frames_counted, one.frames_left),
        "lines": (one.lines_written, one.lines_left),
        "rows": (one.rows_added, one.rows_left),
        "batches": (one.batches_checked, one.batches_left),
    }


cdef int refuse() except -1:
    """Raise Declined. A call compiles to less code than the statement, so that the compiler inlines the callers."""
    raise Declined


cdef enum Kind:  # integers first, so that `kind <= UINT32` means an integer
    INT8, INT16, INT32, INT64, UINT16, UINT32, BOOLEAN, FLOAT64, UUID, STRING, BYTES, ARRAY, STRUCT, NULLABLE_STRUCT

KINDS = {
    "b": INT8, "h": INT16, "i": INT32, "q": INT64, "H": UINT16, "I": UINT32, "boolean": BOOLEAN, "float64": FLOAT64,
    "uuid": UUID, "string": STRING, "bytes": BYTES, "array": ARRAY, "struct": STRUCT, "nullable struct": NULLABLE_STRUCT,
}

# The bytes of a value of each kind of fixed size.
cdef int* WIDTHS = [1, 2, 4, 8, 2, 4, 1, 8, 16]

cdef tuple EMPTY = ()
cdef str UNKNOWN_TAGS = "unknown_tags"
cdef int64_t HIGHEST_TAG   # from `kwire.codecs.wire`, like the next names: imported with the first table, to start quickly
cdef object _is_default, NodeRow, FieldRow
cdef enum:
    LONGEST = 2147483646  # the largest compact length (KIP-482)

cdef struct Field

cdef struct Node:  # see `table.NodeRow`
    int kind
    int width
    bint nullable
    bint tagged_marker
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

cdef struct Field:  # see `table.FieldRow`
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

cdef struct Seen:  # an array of integers that was read and belongs to the current message
    const uint8_t* start
    PyObject* items
    int size
    int kind

cdef enum:
    SEEN = 256

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    Seen* seen             # NULL, or a hash table of arrays (see `hash_of`), which is uninitialised while `mask` is 0
    Seen* last             # the newest entry
    uint32_t mask

cdef enum:
    SMALL = 1024

cdef struct Output:
    uint8_t* data          # `small`, or allocated memory
    Py_ssize_t size
    Py_ssize_t capacity
    Py_ssize_t expected    # estimate of the final size, from the previous output
    uint8_t* small         # the caller's memory for short outputs, or NULL

cdef struct Small:         # for most messages, avoids the allocation: 20 % of the time to encode a Heartbeat
    uint8_t[SMALL] bytes


cdef inline void aim(Cursor* c, const uint8_t* p, Py_ssize_t size) noexcept:
    """Move to the beginning of some bytes."""
    c.at, c.end, c.seen, c.last, c.mask = p, p + size, NULL, NULL, 0


cdef inline int stand(Cursor* c, bytes data, Py_ssize_t start) except -1:
    """Move to a position of some bytes."""
    if start < 0 or start > PyBytes_GET_SIZE(data):
        raise Declined
    aim(c, <const uint8_t*>PyBytes_AS_STRING(data) + start, PyBytes_GET_SIZE(data) - start)
    return 0


cdef inline Py_ssize_t place(Cursor* c, bytes data) noexcept:
    """Return the current position."""
    return c.at - <const uint8_t*>PyBytes_AS_STRING(data)


cdef inline const uint8_t* take(Cursor* c, Py_ssize_t count) except NULL:
    """Return a pointer to the next bytes and advance: all bytes are read through this."""
    cdef const uint8_t* at = c.at
    if <size_t>(c.end - at) < <size_t>count:  # a negative count is a huge one here
        refuse()
    c.at = at + count
    return at


cdef inline uint8_t* room(Output* o, Py_ssize_t count) except NULL:
    """Return a pointer to room for the next bytes: all bytes are written through this."""
    if <size_t>(o.capacity - o.size) <= <size_t>count:  # never NULL, which would mean an exception
        grow(o, count)  # refuses a negative count, which is a huge one here
    o.size += count
    return o.data + o.size - count


cdef inline void begin(Output* o, Small* small) noexcept:
    o.data = o.small = small.bytes if small != NULL else NULL
    o.size = o.expected = 0
    o.capacity = SMALL if small != NULL else 0


cdef inline void release(Output* o) noexcept:
    if o.data != o.small:
        PyMem_Free(o.data)


cdef int grow(Output* o, Py_ssize_t count) except -1:
    cdef Py_ssize_t capacity
    cdef void* data
    if count < 0 or count > PY_SSIZE_T_MAX // 4 or o.capacity > PY_SSIZE_T_MAX // 4:
        raise MemoryError
    capacity = max(o.capacity * 2 + count + 64, o.expected)
    if o.data == o.small:
        data = PyMem_Malloc(capacity)
        if data != NULL and o.size:
            memcpy(data, o.small, o.size)
    else:
        data = PyMem_Realloc(o.data, capacity)
    if data == NULL:
        raise MemoryError
    o.data, o.capacity = <uint8_t*>data, capacity
    return 0


cdef inline int put(Output* o, const void* data, Py_ssize_t count) except -1:
    if count:
        memcpy(room(o, count), data, count)
    return 0


include "json_text.pxi"


cdef inline uint32_t unsigned_varint(Cursor* c) except? 0xFFFFFFFF:
    """Read an unsigned varint (KIP-482) in its shortest form; refuse longer forms."""
    cdef uint64_t value = take(c, 1)[0]
    cdef uint8_t byte
    cdef int shift = 7
    if value < 128:
        return <uint32_t>value
    value &= 127
    while True:
        byte = take(c, 1)[0]
        value |= <uint64_t>(byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise Declined
    if byte == 0 or value > 0xFFFFFFFFU:
        raise Declined
    return <uint32_t>value


cdef inline Py_ssize_t length(Node* n, Cursor* c) except -2:
    """Read a length or a count; -1 is null. Refuse one that exceeds the remaining bytes."""
    cdef int64_t size
    if n.width or c.at == c.end or not 0 < c.at[0] < 128:
        return longer_length(n, c)
    size = take(c, 1)[0] - 1  # most lengths
    if size > n.longest or size * n.least > c.end - c.at:
        refuse()
    return size


cdef Py_ssize_t longer_length(Node* n, Cursor* c) except -2:
    """Read a length in any other form than a compact length of one byte."""
    cdef int64_t size
    if n.width == 0:
        size = <int64_t>unsigned_varint(c) - 1
    elif n.width == 2:
        size = <int16_t>be16(take(c, 2))
    else:
        size = signed32(be32(take(c, 4)))
    if size < 0:
        if size != -1 or not n.nullable:
            refuse()
        return -1
    if size > n.longest or size * n.least > c.end - c.at:
        refuse()
    return size


cdef inline int put_unsigned_varint(Output* o, uint32_t value) except -1:
    while value > 127:
        room(o, 1)[0] = <uint8_t>(value & 127 | 128)
        value >>= 7
    room(o, 1)[0] = <uint8_t>value
    return 0


cdef inline int put_length(Output* o, Node* n, Py_ssize_t size) except -1:
    if n.width or size < 0 or size > 126 or size > n.longest:
        return put_longer_length(o, n, size)
    room(o, 1)[0] = <uint8_t>(size + 1)  # most lengths
    return 0


cdef int put_longer_length(Output* o, Node* n, Py_ssize_t size) except -1:
    """Write a length in any other form than a compact length of one byte."""
    if size < 0 and not n.nullable or size > n.longest:
        refuse()
    if n.width == 0:
        put_unsigned_varint(o, <uint32_t>(size + 1))
    else:
        put_be(room(o, n.width), <uint64_t>size, n.width)
    return 0


cdef inline int64_t integer(int kind, const uint8_t* p) noexcept nogil:
    if kind == INT32:
        return signed32(be32(p))
    if kind == INT16:
        return <int16_t>be16(p)
    if kind == INT64:
        return signed64(be64(p))
    if kind == INT8:
        return <int8_t>p[0]
    if kind == UINT16:
        return be16(p)
    return be32(p)


cdef inline double float64(const uint8_t* p) noexcept nogil:
    cdef uint64_t bits = be64(p)
    cdef double value
    memcpy(&value, &bits, 8)
    return value


cdef inline bint boolean(uint8_t byte) except -1:
    if byte > 1:
        refuse()
    return byte


cdef inline void fill(PyObject* message, Py_ssize_t slot, PyObject* value) noexcept:
    """Move a reference that the caller owns to an empty slot."""
    (<PyObject**>(<char*>message + slot))[0] = value


cdef inline object owned(PyObject* made):
    """Return an owned reference as an object whose references Cython counts."""
    result = <object>made
    Py_DECREF(made)
    return result


cdef bint present(Node* n, Cursor* c) except -1:
    """Read the marker of a nullable struct (KIP-893): int8 -1 or 1; in a tagged field an unsigned varint 0 or 1."""
    cdef uint8_t marker = take(c, 1)[0]
    if marker == 1:
        return True
    if marker != (0 if n.tagged_marker else 255):
        raise Declined
    return False


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


include "decode.pxi"


cdef class NodeTable:
    """The nodes of a message at one version, from the rows of `table.node_table`.

    Args:
        nodes: `NodeRow`s; the first is the message.
        fields: `FieldRow`s.
    """

    cdef Node* nodes
    cdef Field* fields
    cdef int node_count, field_count
    cdef tuple rows        # keeps the objects alive to which the table points

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
        for i in range(self.field_count):
            self.set_field(&self.fields[i], self.rows[1][i])
        for i in range(self.node_count):
            self.check_node(&self.nodes[i])

    def __dealloc__(self):
        PyMem_Free(self.nodes)
        PyMem_Free(self.fields)

    cdef int set_node(self, Node* n, row) except -1:
        n.kind, n.width, n.nullable, n.tagged_marker = KINDS[row.kind], row.width, row.nullable, row.tagged_marker
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

    cdef inline object bytes_of(self, PyObject* message):
        cdef Output o
        cdef Small small
        taken_paths.bodies_written += 1
        begin(&o, &small)
        try:
            write(self.nodes, message, &o)
            taken_paths.bodies_encoded += 1
            return PyBytes_FromStringAndSize(<const char*>o.data, o.size)
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
            return PyBytes_FromStringAndSize(<const char*>o.data, o.size)
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

    def encode(self, message):
        """Encode a message."""
        return self.bytes_of(<PyObject*>message)

    def json(self, bytes data not None, Py_ssize_t start=0):
        """Return the JSON text, in UTF-8, of the body from a position to the end of the bytes."""
        return self.json_of(data, start, False)


@cython.auto_pickle(False)  # so that the codec's own `__reduce__` is used
@cython.binding(False)
@cython.embedsignature(True)
cdef class NativeMethods:
    """Native methods of a codec; this class precedes `Codec` in the bases of its class.

    They avoid the call of a Python function: 75 ns, a third of the time to decode a Heartbeat. For unusual arguments or
    contents, they call the codec's own methods.
    """

    cdef NodeTable table   # None before the first use, or if the codec has another fast path

    cdef inline bint ready(self) except -1:
        if self.table is None:
            path = (<object>self)._fast
            if type(path) is NodeTable:
                self.table = path
        return self.table is not None

    def decode(self, data, *, salvage=False):
        """Decode a body: see `kwire.Codec.decode`."""
        if type(data) is bytes and salvage is False and self.ready():
            try:
                return self.table.message(<bytes>data)
            except (Declined, UnicodeError):
                pass
        return super().decode(data, salvage=salvage)

    def encode(self, message):
        """Encode a message to a body: see `kwire.Codec.encode`."""
        if self.ready():
            try:
                return self.table.bytes_of(<PyObject*>message)
            except (Declined, UnicodeError):
                pass
        return super().encode(message)

    def json_text(self, data, start=0):
        """Turn a body into the text of its JSON form: see `kwire.Codec.json_text`."""
        if type(data) is bytes and type(start) is int and self.ready():
            try:
                return self.table.json_of(<bytes>data, start, True)
            except (Declined, UnicodeError):
                pass
        return super().json_text(data, start)

include "columns.pxi"
include "packet_layouts.pxi"
include "tcp_streams.pxi"
include "pairing.pxi"
include "frame_batch.pxi"


cdef Py_ssize_t slot_of(message_class, name) except -1:
    """Return the offset of a slot in an object, from CPython's member descriptor; 0 if the attribute is no slot."""
    for owner in message_class.__mro__:
        if name in owner.__dict__:
            member = owner.__dict__[name]
            is_slot = type(member).__name__ == "member_descriptor"
            return (<PyMemberDescrObject*><PyObject*>member).d_member.offset if is_slot else 0
    return 0


cdef bint slots_known() except -1:
    """Whether objects filled slot by slot equal objects created by a call of their class; checked once, on import."""
    cdef PyObject* made
    sample = msgspec.defstruct("Sample", [("a", object), ("b", object, None)], frozen=True, gc=False)
    cdef Py_ssize_t a = slot_of(sample, "a"), b = slot_of(sample, "b")
    if not a or not b or a == b or sample.__basicsize__ != max(a, b) + <Py_ssize_t>sizeof(void*):
        return False
    if PyType_HasFeature(<PyTypeObject*>sample, Py_TPFLAGS_HAVE_GC):
        return False
    called = sample(a=(1,), b="x")
    made = new_struct(<PyTypeObject*>sample)
    fill(made, a, Py_NewRef(<PyObject*>called.a))
    fill(made, b, Py_NewRef(<PyObject*>called.b))
    filled = owned(made)
    return filled == called and hash(filled) == hash(called) and repr(filled) == repr(called)


cdef bint SLOTS_KNOWN = slots_known()
USES_SLOTS = bool(SLOTS_KNOWN)


def use_slots(bint wanted):
    """Choose how objects are created and read, for tests: at the offsets of their slots, or by calls of their class."""
    global SLOTS_KNOWN
    SLOTS_KNOWN = wanted and USES_SLOTS
