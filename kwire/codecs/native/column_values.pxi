# Appends a single value to a column.


cdef inline int append_fixed(Part* part, const uint8_t* p) except -1:
    """Append a value of a fixed size."""
    cdef Column* column = part.column
    cdef uint8_t* q
    if part.kind == UUID:
        return append_binary(column, p, 16)
    q = room(&column.data, column.width)
    if part.kind == INT32:
        (<uint32_t*>q)[0] = <uint32_t>integer(INT32, p)
    elif part.kind == BOOLEAN:
        q[0] = boolean(p)
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
