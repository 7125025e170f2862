# Records to bytes. What is refused here is built again by the reference, which explains it or accepts it.

cdef struct RecordValues:
    int64_t offset, timestamp, attributes
    int64_t written        # the timestamp to write: the producer's, if it is known
    PyObject* key          # borrowed from the record, which is frozen
    PyObject* value
    PyObject* headers


cdef inline PyObject* slot_of_record(PyObject* record, Py_ssize_t slot) except NULL:
    cdef PyObject* value = (<PyObject**>(<char*>record + slot))[0]
    if value == NULL:
        refuse()
    return value


cdef inline int64_t exact_integer(PyObject* value) except? -1:
    """Return an `int` of at most 64 bits; refuse other objects, such as `bool`."""
    cdef int64_t number = 0
    if not PyLong_CheckExact(<object>value) or not integer_of(value, &number):
        refuse()
    return number


cdef int get_values(RecordClasses classes, PyObject* record, RecordValues* v) except -1:
    cdef RecordSlots* slots = &classes.of_record
    cdef PyObject* created
    if Py_TYPE(record) != classes.record_type:
        refuse()
    v.offset = exact_integer(slot_of_record(record, slots.offset))
    v.timestamp = exact_integer(slot_of_record(record, slots.timestamp))
    v.attributes = exact_integer(slot_of_record(record, slots.attributes))
    created = slot_of_record(record, slots.create_timestamp)
    v.written = v.timestamp if created == Py_None else exact_integer(created)
    v.key, v.value = slot_of_record(record, slots.key), slot_of_record(record, slots.value)
    v.headers = slot_of_record(record, slots.headers)
    if not PyTuple_CheckExact(v.headers):
        refuse()
    return 0


cdef inline uint64_t zigzagged(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline int64_t wrapped_difference(int64_t value, int64_t base) noexcept nogil:
    """Subtract as Java does."""
    return <int64_t>(<uint64_t>value - <uint64_t>base)


cdef inline int varint_size(uint64_t value) noexcept nogil:
    cdef int size = 1
    while value > 127:
        value >>= 7
        size += 1
    return size


cdef inline int put_varint(Output* o, uint64_t value) except -1:
    cdef uint8_t* q
    cdef int size
    if value < 128:  # most of them
        room(o, 1)[0] = <uint8_t>value
        return 0
    size = varint_size(value)
    q = room(o, size)
    while value > 127:
        q[0] = <uint8_t>(value & 127 | 128)
        value >>= 7
        q += 1
    q[0] = <uint8_t>value
    return 0


cdef inline int64_t size_of_bytes(PyObject* value) except -2:
    """Return the size of bytes, and -1 for None; refuse what is too long for a length."""
    cdef Py_ssize_t size
    if value == Py_None:
        return -1
    if not PyBytes_CheckExact(value):
        refuse()
    size = PyBytes_SizeOf(value)
    if size > 2147483647:
        refuse()
    return size


cdef inline int64_t written_size(int64_t size) noexcept nogil:
    """Return how many bytes a length and the bytes that it counts take."""
    return varint_size(zigzagged(size)) + max(<int64_t>0, size)


cdef inline int put_nullable_bytes(Output* o, PyObject* value) except -1:
    cdef int64_t size = size_of_bytes(value)
    put_varint(o, zigzagged(size))
    if size > 0:
        put(o, PyBytes_DataOf(value), size)
    return 0


cdef inline PyObject* header_part(RecordClasses classes, PyObject* headers, Py_ssize_t index, int part) except NULL:
    """Return the name or the value of a header, borrowed."""
    cdef PyObject* header = PyTuple_GetItemOf(headers, index)
    if Py_TYPE(header) != classes.header_type and not PyTuple_CheckExact(header) or PyTuple_SizeOf(header) != 2:
        refuse()
    return PyTuple_GetItemOf(header, part)


cdef const char* name_of_header(PyObject* name, Py_ssize_t* size) except NULL:
    if not PyUnicode_CheckExact(name):
        refuse()
    return utf8_of(name, size)


cdef int64_t size_of_headers(RecordClasses classes, PyObject* headers) except -1:
    cdef Py_ssize_t i, size
    cdef int64_t total = 0
    for i in range(PyTuple_SizeOf(headers)):
        name_of_header(header_part(classes, headers, i, 0), &size)
        total += written_size(size) + written_size(size_of_bytes(header_part(classes, headers, i, 1)))
    return total


cdef int put_headers(RecordClasses classes, PyObject* headers, Output* o) except -1:
    cdef Py_ssize_t i, size
    cdef const char* name
    for i in range(PyTuple_SizeOf(headers)):
        name = name_of_header(header_part(classes, headers, i, 0), &size)
        put_varint(o, zigzagged(size))
        put(o, name, size)
        put_nullable_bytes(o, header_part(classes, headers, i, 1))
    return 0


cdef int put_record(RecordClasses classes, RecordValues* v, int64_t first, int64_t base, Output* o) except -1:
    """Write a record of magic 2.

    Args:
        first, base: the offset and the timestamp from which those of the record count.
    """
    cdef int64_t delta = wrapped_difference(v.offset, first), size
    cdef uint64_t time = zigzagged(wrapped_difference(v.written, base))
    cdef Py_ssize_t count = PyTuple_SizeOf(v.headers)
    if delta != <int32_t>delta or v.attributes != <int8_t>v.attributes:
        refuse()
    size = 1 + varint_size(time) + varint_size(zigzagged(delta)) + varint_size(zigzagged(count))
    size += written_size(size_of_bytes(v.key)) + written_size(size_of_bytes(v.value))
    if count:
        size += size_of_headers(classes, v.headers)
    if size > 2147483647:
        refuse()
    put_varint(o, zigzagged(size))
    room(o, 1)[0] = <uint8_t>v.attributes
    put_varint(o, time)
    put_varint(o, zigzagged(delta))
    put_nullable_bytes(o, v.key)
    put_nullable_bytes(o, v.value)
    put_varint(o, zigzagged(count))
    if count:
        put_headers(classes, v.headers, o)
    return 0


def build_records(tuple records not None, base_offset, base_timestamp):
    """Write records of magic 2.

    Args:
        records: `Record`s.
        base_offset, base_timestamp: what they count from; None for those of the first record.

    Returns:
        The bytes, the first and the last offset, the base timestamp and the highest timestamp; None if the reference
        must build them.
    """
    cdef RecordClasses classes = record_classes
    cdef RecordValues v
    cdef Output o
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(records)
    cdef int64_t first = 0, base = -1, highest = -1
    if classes is None:
        return None
    begin(&o, NULL)
    try:
        if count:
            get_values(classes, PyTuple_GetItemOf(<PyObject*>records, 0), &v)
            first, base, highest = v.offset, v.written, v.timestamp
        if base_offset is not None:
            first = exact_integer(<PyObject*>base_offset)
        if base_timestamp is not None:
            base = exact_integer(<PyObject*>base_timestamp)
        o.expected = 64 * count if count < 1 << 20 else 0
        for i in range(count):
            get_values(classes, PyTuple_GetItemOf(<PyObject*>records, i), &v)
            put_record(classes, &v, first, base, &o)
            highest = max(highest, v.timestamp)
        return contents(&o), first, v.offset if count else first, base, highest
    except (Declined, UnicodeError):
        return None
    finally:
        release(&o)


cdef int put_message(RecordValues* v, int64_t offset, int64_t bits, int magic, int64_t time, Output* o) except -1:
    """Write a message of magic 0 or 1 that is not compressed."""
    cdef int64_t key = size_of_bytes(v.key), value = size_of_bytes(v.value)
    cdef int64_t size = LEAST_MESSAGE + 8 * magic + max(<int64_t>0, key) + max(<int64_t>0, value)
    cdef uint8_t* message
    cdef uint8_t* q
    if size > 2147483647 or bits != <int8_t>bits:
        refuse()
    message = q = room(o, BEFORE_LENGTH + size)
    put_be(q, <uint64_t>offset, 8)
    put_be(q + 8, <uint64_t>size, 4)
    q[16], q[17] = <uint8_t>magic, <uint8_t>bits
    q += 18
    if magic:
        put_be(q, <uint64_t>time, 8)
        q += 8
    put_be(q, <uint64_t>key, 4)
    q += 4
    if key > 0:
        copy(q, address_of(<bytes>v.key), key)
        q += key
    put_be(q, <uint64_t>value, 4)
    if value > 0:
        copy(q + 4, address_of(<bytes>v.value), value)
    put_be(message + 12, crc32_from(0, message + CHECKED_MESSAGE, BEFORE_LENGTH + size - CHECKED_MESSAGE), 4)
    return 0


def build_messages(
    tuple records not None, int magic, relative, bint is_inner, int64_t attributes, int64_t mask, int64_t bits
):
    """Write messages of magic 0 or 1.

    Args:
        records: `Record`s.
        magic: 0 or 1.
        relative: the offset that theirs count from.
        is_inner: whether to write the producer's timestamps.
        attributes, mask, bits: attributes to add, those to keep, and those to set then.

    Returns:
        The bytes and the highest timestamp; None if the reference must build them.
    """
    cdef RecordClasses classes = record_classes
    cdef RecordValues v
    cdef Output o
    cdef Py_ssize_t i
    cdef int64_t first, highest = -1
    if classes is None or not 0 <= magic <= 1:
        return None
    begin(&o, NULL)
    try:
        first = exact_integer(<PyObject*>relative)
        for i in range(PyTuple_GET_SIZE(records)):
            get_values(classes, PyTuple_GetItemOf(<PyObject*>records, i), &v)
            if PyTuple_SizeOf(v.headers) or magic == 0 and v.timestamp != -1 or is_out_of_range(v.offset, first):
                refuse()
            put_message(
                &v, v.offset - first, (v.attributes | attributes) & mask | bits, magic,
                v.written if is_inner else v.timestamp, &o,
            )
            highest = v.timestamp if i == 0 else max(highest, v.timestamp)
        return contents(&o), highest
    except Declined:
        return None
    finally:
        release(&o)


cdef inline bint is_out_of_range(int64_t value, int64_t base) noexcept nogil:
    """Whether a difference has more than 64 bits."""
    cdef int64_t difference = wrapped_difference(value, base)
    return (value < base) != (difference < 0)
