# Checks the records of a batch of magic 2 without creating objects. The reference reads a refused batch again, and
# explains the error.


cdef inline bint skip_bytes(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t least) noexcept nogil:
    """Skip a length and the bytes that it counts; -1 is null if `least` allows it."""
    cdef int64_t size
    if not zigzag(data, stop, at, &size) or size < least or size > stop - at[0]:
        return False
    at[0] += max(<int64_t>0, size)
    return True


cdef bint header_is_whole(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at) noexcept nogil:
    """Skip a header whose name is ASCII."""
    cdef Py_ssize_t start
    cdef int64_t size
    if not zigzag(data, stop, at, &size) or size < 0 or size > stop - at[0]:
        return False
    start, at[0] = at[0], at[0] + size
    return is_ascii(data + start, size) and skip_bytes(data, stop, at, -1)


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
    cdef const uint8_t* bytes_of = address_of(data)
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
