# Checks the records of a batch of magic 2 without creating objects.


cdef bint has_ascii_names(const uint8_t* data, Py_ssize_t stop, RecordParts* r) noexcept nogil:
    cdef Py_ssize_t at = r.headers
    cdef ByteRange name, value
    cdef int64_t i
    for i in range(r.header_count):
        if not locate_header(data, stop, &at, &name, &value) or not is_ascii(data + name.start, name.size):
            return False
    return True


def records_are_whole(bytes data not None, Py_ssize_t start, int64_t count):
    """Whether the bytes from a position on are exactly `count` records, with offset deltas from 0.

    False too for records that only the reference accepts, and for those with names of headers that are not ASCII.
    """
    cdef const uint8_t* bytes_of = address_of(data)
    cdef Py_ssize_t end = PyBytes_GET_SIZE(data), at = start
    cdef RecordParts r
    cdef int64_t i
    if start < 0 or start > end or count < 0:
        return False
    with nogil:
        for i in range(count):
            if not locate_record(bytes_of, end, &at, &r) or r.offset != i or not has_ascii_names(bytes_of, at, &r):
                at = -1
                break
    taken_paths.batches_checked += at == end
    taken_paths.batches_left += at != end
    return at == end
