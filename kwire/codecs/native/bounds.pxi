# The only file that reads and writes memory by address: each function checks bounds first, or says who did.

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


cdef inline const uint8_t* part(const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Py_ssize_t count) noexcept:
    """Return a pointer to bytes of the file, or NULL if the file is too short. All bytes are read through this."""
    return base + at if at >= 0 and count >= 0 and count <= there - at else NULL
