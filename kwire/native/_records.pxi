# Whether the records of a batch of magic 2 are as they should be. No objects are made of them; what is refused here is
# read again in Python, which knows how to explain.

cdef inline bint zigzag(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t* value) noexcept nogil:
    """Read a varint below `stop`; false where it is not there, or longer than 64 bits."""
    cdef uint64_t found = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < stop and shift < 64:
        byte = data[at[0]]
        at[0] += 1
        found |= <uint64_t>(byte & 127) << shift
        if byte < 128:
            value[0] = <int64_t>(found >> 1) ^ -<int64_t>(found & 1)
            return True
        shift += 7
    return False


cdef inline bint skip_bytes(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t least) noexcept nogil:
    """Skip a length and as many bytes; -1, where `least` allows that, is null."""
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


def records_are_whole(bytes data, Py_ssize_t start, int64_t count):
    """Whether bytes, from a place to their end, are as many records, with offset deltas from 0 on."""
    cdef const uint8_t* bytes_of = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t there = PyBytes_GET_SIZE(data), at = start
    cdef int64_t i
    if start < 0 or start > there:
        return False
    with nogil:
        for i in range(count):
            if not record_is_whole(bytes_of, there, &at, i):
                at = -1
                break
    return at == there
