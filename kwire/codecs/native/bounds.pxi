# Memory by address: the only file that reads bytes of the input. `p` points to input, `q` to output.
#
# A body is read by a cursor: `take` checks the bounds of a value, or of several adjacent values of fixed size, and the
# functions that follow it read one of them. Packets and frames are read by `byte_at`, `uint16_at`, `uint32_at` and
# `int32_at`, which take the size of the bytes and check each word. All output goes to what `room` returns.

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
    PyObject* view         # a memoryview of the body, of which records become parts; NULL: they are copied
    const uint8_t* viewed  # where it begins

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


cdef inline const uint8_t* address_of(bytes data) noexcept:
    return <const uint8_t*>PyBytes_AS_STRING(data)


cdef inline void aim(Cursor* c, const uint8_t* p, Py_ssize_t size) noexcept:
    """Move to the beginning of some bytes."""
    c.at, c.end, c.seen, c.last, c.mask, c.view = p, p + size, NULL, NULL, 0, NULL


cdef inline int stand(Cursor* c, bytes data, Py_ssize_t start) except -1:
    """Move to a position of some bytes."""
    if start < 0 or start > PyBytes_GET_SIZE(data):
        raise Declined
    aim(c, address_of(data) + start, PyBytes_GET_SIZE(data) - start)
    return 0


cdef inline Py_ssize_t place(Cursor* c, bytes data) noexcept:
    """Return the current position."""
    return c.at - address_of(data)


cdef inline const uint8_t* take(Cursor* c, Py_ssize_t count) except NULL:
    """Return a pointer to the next bytes and advance: a body is read through this."""
    cdef const uint8_t* at = c.at
    if <size_t>(c.end - at) < <size_t>count:  # a negative count is a huge one here
        refuse()
    c.at = at + count
    return at


cdef inline bint accept(Cursor* c, uint8_t byte) noexcept:
    """Skip the next byte if it is this one; return whether it is."""
    if c.at < c.end and c.at[0] == byte:
        c.at += 1
        return True
    return False


cdef inline uint8_t next_byte(Cursor* c) noexcept:
    """Return the next byte without skipping it; 0 at the end."""
    return c.at[0] if c.at < c.end else 0


# Values of fixed size: `take` has checked their bounds.


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


cdef inline uint64_t bits_of(double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, 8)
    return bits


cdef inline bint boolean(const uint8_t* p) except -1:
    if p[0] > 1:
        refuse()
    return p[0]


cdef PyObject* new_bytes(const uint8_t* p, Py_ssize_t size) except NULL:
    return PyBytes_New(<const char*>p, size)


cdef inline void copy(uint8_t* q, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Copy bytes that were taken to room that was made."""
    memcpy(q, p, size)


cdef inline bint differs(const uint8_t* p, const uint16_t* at, const uint8_t* wanted, int count) noexcept nogil:
    """Whether bytes of a row that was taken, at positions in it, differ from the wanted ones."""
    cdef uint8_t bits = 0
    cdef int i
    for i in range(count):
        bits |= p[at[i]] ^ wanted[i]
    return bits != 0


cdef int check_utf8(const uint8_t* p, Py_ssize_t size, int has) except -1:
    """Raise UnicodeDecodeError if text is not UTF-8; `has` is what `text_has` returned."""
    if has & 1:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))
    return 0


cdef inline int check_text(const uint8_t* p, Py_ssize_t size) except -1:
    """Refuse text that is not UTF-8; ASCII is recognised first."""
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    for i in range(size):
        seen |= p[i]
    if seen > 127:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))
    return 0


# Words of packets and frames: each function checks its bounds.


cdef int read_outside() except -1:
    raise IndexError("bytes are read outside of their bounds")


cdef inline bint is_inside(Py_ssize_t size, Py_ssize_t at, Py_ssize_t count) noexcept nogil:
    return at >= 0 and count >= 0 and count <= size - at


cdef inline const uint8_t* part(const uint8_t* base, Py_ssize_t size, Py_ssize_t at, Py_ssize_t count) noexcept:
    """Return a pointer to bytes of a file, or NULL if the file is too short."""
    return base + at if is_inside(size, at, count) else NULL


cdef const uint8_t* part_of(owner, Py_ssize_t start, Py_ssize_t size) except NULL:
    """Return a pointer to a part of `bytes` or of a `bytearray`."""
    if type(owner) is bytes:
        if is_inside(PyBytes_GET_SIZE(owner), start, size):
            return <const uint8_t*>PyBytes_AS_STRING(owner) + start
    elif is_inside(PyByteArray_GET_SIZE(owner), start, size):
        return <const uint8_t*>PyByteArray_AS_STRING(owner) + start
    raise ValueError("the bytes of a frame are not there")


cdef inline const uint8_t* address_in(PyObject* owner, Py_ssize_t start) noexcept:
    """Return a pointer to a part that `part_of` has checked, and that still has its size."""
    if PyBytes_CheckExact(owner):
        return <const uint8_t*>PyBytes_DataOf(owner) + start
    return <const uint8_t*>PyByteArray_AS_STRING(<object>owner) + start


cdef inline const uint8_t* bytes_of_text(PyObject* text, Py_ssize_t* size) except NULL:
    return <const uint8_t*>utf8_of(text, size)


cdef inline int byte_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except -1:
    if not is_inside(size, at, 1):
        read_outside()
    return p[at]


cdef inline int uint16_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except -1:
    if not is_inside(size, at, 2):
        read_outside()
    return be16(p + at)


cdef inline uint32_t uint32_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except? 0xFFFFFFFF:
    if not is_inside(size, at, 4):
        read_outside()
    return be32(p + at)


cdef inline uint32_t little_uint32_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except? 0xFFFFFFFF:
    if not is_inside(size, at, 4):
        read_outside()
    return le32(p + at)


cdef inline int32_t int32_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except? -1:
    return signed32(uint32_at(p, size, at))


cdef inline uint32_t triple(const uint8_t* p, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return three bytes as one number of 24 bits; missing bytes are 0."""
    if is_inside(size, at, 3):
        return (<uint32_t>p[at] << 16) | (<uint32_t>p[at + 1] << 8) | p[at + 2]
    if is_inside(size, at, 2):
        return (<uint32_t>p[at] << 16) | (<uint32_t>p[at + 1] << 8)
    return <uint32_t>p[at] << 16 if is_inside(size, at, 1) else 0


cdef inline int32_t sextets_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, const uint8_t* values) noexcept nogil:
    """Return four characters as one number of 24 bits; -1 if they are missing, or one has a value above 63."""
    cdef uint8_t first, second, third, fourth
    if not is_inside(size, at, 4):
        return -1
    first, second, third, fourth = values[p[at]], values[p[at + 1]], values[p[at + 2]], values[p[at + 3]]
    if (first | second | third | fourth) > 63:
        return -1
    return first << 18 | second << 12 | third << 6 | fourth


cdef bytes copied(const uint8_t* p, Py_ssize_t size, Py_ssize_t start, Py_ssize_t stop):
    """Return a range of some bytes."""
    if not is_inside(size, start, stop - start):
        read_outside()
    return PyBytes_FromStringAndSize(<const char*>p + start, stop - start)


cdef str text_of(const uint8_t* p, Py_ssize_t size, const char* errors):
    return PyUnicode_DecodeUTF8Of(<const char*>p, size, errors)


cdef inline bint is_equal(const uint8_t* p, Py_ssize_t size, const uint8_t* other, Py_ssize_t other_size) noexcept:
    return size == other_size and memcmp(p, other, size) == 0


cdef inline bint begins(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, bytes prefix) noexcept:
    """Whether bytes continue with a prefix at a position; not with None."""
    if prefix is None:
        return False
    cdef Py_ssize_t count = PyBytes_GET_SIZE(prefix)
    return 0 <= at <= size - count and memcmp(p + at, PyBytes_AS_STRING(prefix), count) == 0


# Values of records: each function reads one before `stop` and moves the position behind it; false if there is none.


cdef inline bint zigzag(const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t* value) noexcept nogil:
    """Read a varint; false too if it has more bytes than its value needs, or exceeds 64 bits."""
    cdef uint8_t byte
    if at[0] < stop and data[at[0]] < 128:  # most of them
        byte = data[at[0]]
        at[0] += 1
        value[0] = <int64_t>(byte >> 1) ^ -<int64_t>(byte & 1)
        return True
    at[0] = longer_zigzag(data, stop, at[0], value)
    return at[0] >= 0


cdef Py_ssize_t longer_zigzag(const uint8_t* data, Py_ssize_t stop, Py_ssize_t at, int64_t* value) noexcept nogil:
    """Return the position behind a varint, or -1. The position is no pointer: callers keep it in a register."""
    cdef uint64_t found = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at < stop and shift < 64:
        byte = data[at]
        at += 1
        found |= <uint64_t>(byte & 127) << shift
        if byte < 128:
            if shift and byte == 0 or shift == 63 and byte > 1:
                return -1
            value[0] = <int64_t>(found >> 1) ^ -<int64_t>(found & 1)
            return at
        shift += 7
    return -1


cdef inline bint fixed(
    int kind, int width, const uint8_t* data, Py_ssize_t stop, Py_ssize_t* at, int64_t* value
) noexcept nogil:
    """Read an integer of a fixed width."""
    if at[0] < 0 or at[0] > stop or width > stop - at[0]:
        return False
    value[0] = integer(kind, data + at[0])
    at[0] += width
    return True


cdef inline bint is_ascii(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        if p[i] >= 128:
            return False
    return True


# Integers of this machine in `bytes`, for tables of packets.


cdef int set_int64(bytes values, Py_ssize_t at, int64_t value) except -1:
    """Store an integer in bytes that were just created."""
    if not is_inside(PyBytes_GET_SIZE(values) // 8, at, 1):
        read_outside()
    memcpy(PyBytes_AS_STRING(values) + at * 8, &value, 8)
    return 0


cdef int64_t int64_in(bytes values, Py_ssize_t at) except? -1:
    cdef int64_t value
    if not is_inside(PyBytes_GET_SIZE(values) // 8, at, 1):
        read_outside()
    memcpy(&value, PyBytes_AS_STRING(values) + at * 8, 8)
    return value


cdef int set_bytes(bytes target, Py_ssize_t at, bytes source, Py_ssize_t start, Py_ssize_t size) except -1:
    """Copy a part of some bytes to bytes that were just created."""
    if not is_inside(PyBytes_GET_SIZE(target), at, size) or not is_inside(PyBytes_GET_SIZE(source), start, size):
        read_outside()
    memcpy(PyBytes_AS_STRING(target) + at, PyBytes_AS_STRING(source) + start, size)
    return 0


# Output.


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


cdef bytes contents(Output* o):
    return PyBytes_FromStringAndSize(<const char*>o.data, o.size)


cdef int append_to(bytearray target, Py_ssize_t at, const uint8_t* p, Py_ssize_t count) except -1:
    """Write bytes to a position of a bytearray, and end it there."""
    PyByteArray_Resize(target, at + count)
    memcpy(PyByteArray_AS_STRING(target) + at, p, count)
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


cdef inline void repeat_bytes(uint8_t* q, const uint8_t* p, Py_ssize_t size, Py_ssize_t times) noexcept nogil:
    """Write bytes repeatedly. Each copy doubles the written part, so that few calls are needed."""
    cdef Py_ssize_t i, done
    if size == 0 or times == 0:
        return
    if size == 8:
        for i in range(times):
            memcpy(q + i * 8, p, 8)
    elif size == 4:
        for i in range(times):
            memcpy(q + i * 4, p, 4)
    else:
        memcpy(q, p, size)
        done, times = size, times * size
        while done < times:
            memcpy(q + done, q, min(done, times - done))
            done += done
    return
