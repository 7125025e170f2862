# Values of fixed size, varints, lengths and markers, as Kafka's protocol has them.


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
    cdef int64_t size = next_byte(c)
    if n.width or not 0 < size < 128:
        return longer_length(n, c)
    c.at += 1
    size -= 1  # most lengths
    if size > n.longest or size * n.least > c.end - c.at:
        refuse()
    return size


cdef Py_ssize_t longer_length(Node* n, Cursor* c) except -2:
    """Read a length in any other form than a compact length of one byte."""
    cdef int64_t size
    if n.width == 0:
        size = <int64_t>unsigned_varint(c) - 1
    elif n.width == 2:
        size = integer(INT16, take(c, 2))
    else:
        size = integer(INT32, take(c, 4))
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


cdef bint present(Node* n, Cursor* c) except -1:
    """Read the marker of a nullable struct (KIP-893): int8 -1 or 1; in a tagged field an unsigned varint 0 or 1."""
    cdef uint8_t marker = take(c, 1)[0]
    if marker == 1:
        return True
    if marker != (0 if n.tagged_marker else 255):
        raise Declined
    return False
