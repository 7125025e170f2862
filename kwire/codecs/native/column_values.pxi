# Appends a single value to a column.


cdef inline int append_fixed(Part* part, const uint8_t* p) except -1:
    """Append a value of a fixed size."""
    cdef Column* column = part.column
    cdef uint8_t* q
    if part.kind == UUID:
        return append_binary(column, p, 16)
    q = room(&column.data, column.width)
    if part.kind == INT32:
        (<uint32_t*>q)[0] = be32(p)
    elif part.kind == BOOLEAN:
        if p[0] > 1:
            raise Declined
        q[0] = p[0]
    elif part.kind == FLOAT64:
        (<double*>q)[0] = float64(p)
    else:
        store(column.width, integer(part.kind, p), q)
    return end_value(column)


cdef inline int end_value(Column* column) except -1:
    if column.nullable:
        room(&column.valid, 1)[0] = 1
    column.rows += 1
    return 0


cdef inline int append_binary(Column* column, const uint8_t* data, Py_ssize_t size) except -1:
    put(&column.data, data, size)
    put_end(column, column.data.size)
    return end_value(column)


cdef inline int put_end(Column* column, Py_ssize_t end) except -1:
    if end > 2147483647:
        raise Declined
    (<int32_t*>room(&column.ends, 4))[0] = <int32_t>end
    return 0


cdef inline void store(int width, int64_t value, uint8_t* q) noexcept nogil:
    """Write an integer in the byte order of this machine."""
    cdef int8_t byte
    cdef int16_t short_
    cdef int32_t word
    if width == 4:
        word = <int32_t>value
        memcpy(q, &word, 4)
    elif width == 8:
        memcpy(q, &value, 8)
    elif width == 2:
        short_ = <int16_t>value
        memcpy(q, &short_, 2)
    else:
        byte = <int8_t>value
        q[0] = <uint8_t>byte


cdef inline int check_text(const uint8_t* p, Py_ssize_t size) except -1:
    """Refuse text that is not UTF-8; ASCII is recognised first."""
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    for i in range(size):
        seen |= p[i]
    if seen > 127:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))
    return 0
