# Where the parts of a record are: the one place of the engine that knows the layouts of `record_layouts.py`.
#
# What is refused here is read again by the reference, which explains it or tolerates it.

cdef enum:
    BATCH_SIZE = 61        # the header of a batch of magic 2, up to and including the number of records
    CHECKED_BATCH = 21     # where the bytes begin that its checksum covers
    CHECKED_MESSAGE = 16   # the same in a message of magic 0 or 1
    LEAST_MESSAGE = 14     # the length field of a message of magic 0 with neither key nor value; 8 more in magic 1
    BEFORE_LENGTH = 12     # offset and length of each magic; the length counts the bytes that follow it
    COMPRESSED = 7
    APPEND_TIME = 8

cdef struct ByteRange:
    Py_ssize_t start
    int64_t size           # -1 is null

cdef struct RecordParts:
    int64_t attributes
    int64_t timestamp      # of magic 2: the delta
    int64_t offset         # of magic 2: the delta
    ByteRange key, value
    Py_ssize_t headers     # where the first header begins
    int64_t header_count


cdef inline bint locate_bytes(
    const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t least, ByteRange* s
) noexcept nogil:
    """Locate bytes after their length, a varint; -1 is null if `least` allows it."""
    if not zigzag(data, stop, at, &s.size) or s.size < least or s.size > stop - at[0]:
        return False
    s.start = at[0]
    at[0] += max(<int64_t>0, s.size)
    return True


cdef inline bint locate_header(
    const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, ByteRange* name, ByteRange* value
) noexcept nogil:
    return locate_bytes(data, stop, at, 0, name) and locate_bytes(data, stop, at, -1, value)


cdef inline bint locate_record(const uint8_t* data, Py_ssize_t end, Py_ssize_t* at, RecordParts* r) noexcept nogil:
    """Locate the parts of a record of magic 2 and move behind it. Names of headers are not checked to be UTF-8."""
    cdef ByteRange name, value
    cdef int64_t size, i
    cdef Py_ssize_t here = at[0], stop
    if not zigzag(data, end, &here, &size) or size < 1 or size > end - here:
        return False
    stop = here + size
    if not fixed(INT8, 1, data, stop, &here, &r.attributes) or not zigzag(data, stop, &here, &r.timestamp):
        return False
    if not zigzag(data, stop, &here, &r.offset) or r.offset != <int32_t>r.offset:
        return False
    if not locate_bytes(data, stop, &here, -1, &r.key) or not locate_bytes(data, stop, &here, -1, &r.value):
        return False
    if not zigzag(data, stop, &here, &r.header_count) or r.header_count < 0 or r.header_count > (stop - here) >> 1:
        return False
    r.headers = here
    for i in range(r.header_count):
        if not locate_header(data, stop, &here, &name, &value):
            return False
    at[0] = here
    return here == stop


cdef inline bint locate_int32_bytes(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, ByteRange* s) noexcept nogil:
    """Locate bytes after their length, an int32; -1 is null."""
    if not fixed(INT32, 4, data, stop, at, &s.size) or s.size < -1 or s.size > stop - at[0]:
        return False
    s.start = at[0]
    at[0] += max(<int64_t>0, s.size)
    return True


cdef bint locate_message(
    const uint8_t* data, Py_ssize_t end, Py_ssize_t* at, int magic, bint checked, RecordParts* r
) noexcept nogil:
    """Locate the parts of a message of magic 0 or 1 that is not compressed, and move behind it.

    `checked` is whether its checksum was compared before.
    """
    cdef int64_t size, crc, found
    cdef Py_ssize_t start = at[0], stop
    if not fixed(INT64, 8, data, end, at, &r.offset) or not fixed(INT32, 4, data, end, at, &size):
        return False
    if size < 0 or size > end - at[0]:
        return False
    stop = at[0] + size
    if not fixed(UINT32, 4, data, stop, at, &crc) or not fixed(INT8, 1, data, stop, at, &found) or found != magic:
        return False
    if not fixed(INT8, 1, data, stop, at, &r.attributes) or r.attributes & COMPRESSED:
        return False
    if not checked and crc32_from(0, data + start + CHECKED_MESSAGE, stop - start - CHECKED_MESSAGE) != <uint32_t>crc:
        return False
    r.timestamp, r.headers, r.header_count = -1, stop, 0
    if magic and not fixed(INT64, 8, data, stop, at, &r.timestamp):
        return False
    if not locate_int32_bytes(data, stop, at, &r.key) or not locate_int32_bytes(data, stop, at, &r.value):
        return False
    return at[0] == stop
