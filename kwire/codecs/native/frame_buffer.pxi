# Bytes of frames that arrive in parts.

cdef enum:
    LEAST_FRAME = 4            # bytes of a frame's size field, and the smallest size by default
    LONGEST_FRAME = 100 << 20


cdef class FrameBuffer:
    """The bytes of an incomplete frame; for the attributes see `FrameReader`."""

    cdef public Py_ssize_t limit, least, missing, passed, _count, _start
    cdef public bytearray _buffer
    cdef Py_ssize_t room       # allocated in the buffer

    def __cinit__(self, Py_ssize_t limit=LONGEST_FRAME, Py_ssize_t least=LEAST_FRAME):
        self.limit, self.least, self._buffer = limit, least, bytearray()

    cdef bint fits(self, const uint8_t* p, Py_ssize_t count):
        """Whether the next bytes consist of frames with valid sizes; the last frame may be truncated."""
        cdef Py_ssize_t at = self.missing, size
        if at < 0:
            return False
        while at < count:
            if count - at < LEAST_FRAME:
                return False
            size = int32_at(p, count, at)
            if not self.least <= size <= self.limit:
                return False
            at += LEAST_FRAME + size
        return True

    cdef int hold(self, const uint8_t* p, Py_ssize_t count, Py_ssize_t need) except -1:
        """Buffer the next bytes of a frame; at most twice the memory of the bytes received is allocated."""
        if self._buffer is None:
            raise TypeError("the buffer is missing")
        cdef Py_ssize_t held = PyByteArray_GET_SIZE(self._buffer)
        if held + count > self.room:
            self.room = min(need, 2 * (held + count))
            PyByteArray_Resize(self._buffer, self.room)
        append_to(self._buffer, held, p, count)
        return 0

    cdef bytearray release(self):
        """Return the bytes, without a copy unless other references could change them; and begin a new buffer."""
        cdef bytearray frame = self._buffer
        self._buffer, self.room = bytearray(), 0
        return frame if Py_REFCNT(<PyObject*>frame) == 1 else bytearray(frame)
