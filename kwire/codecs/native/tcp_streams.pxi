# TCP connections, and their streams split into frames.

cdef enum:
    LEAST_FRAME = 4            # bytes of a frame's size field, and the smallest size by default
    LONGEST_FRAME = 100 << 20

cdef tuple UNSEEN = (-1, -1)


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


cdef class StreamState:
    """The state of one direction of a TCP connection; for the attributes see `tcp_reassembly.Half`."""

    cdef int64_t next_sequence
    cdef public int64_t position, held, sent
    cdef public object first, acked, excused, end
    cdef public list pieces
    cdef public bint begun, late, finished, opened
    cdef public int side
    cdef public StreamState peer
    cdef public ConnectionState connection
    cdef ConversationState conversation  # set once its frames are extracted here
    cdef FrameBuffer cutter
    cdef bint asked                      # whether the frames are requests

    def __cinit__(self, int side=0):
        self.side, self.next_sequence, self.pieces = side, NONE, []

    @property
    def sequence(self):
        return number_or_none(self.next_sequence)

    @sequence.setter
    def sequence(self, number):
        self.next_sequence = none_or_number(number)

    cdef void begin_at(self, uint32_t sequence):
        """Store the sequence number of the first byte, from a SYN of this side."""
        self.opened = self.begun = True
        self.next_sequence = sequence
        self.first = self.next_sequence

    cdef int acknowledge(self, uint32_t sequence) except -1:
        """Store the newest sequence number that the peer has acknowledged."""
        if self.acked is None or signed32(sequence - <uint32_t>self.acked) > 0:
            self.acked = sequence
        return 0

    cdef int leave(self) except -1:
        """Drop the references to other objects, which form a cycle."""
        self.peer = self.connection = self.conversation = self.cutter = None
        return 0

    cdef bint take(self, bytes portion, const uint8_t* p, Py_ssize_t count, int64_t now, FrameBatch out) except -1:
        """Split the payload of the next segment into frames; False if the segment was not processed."""
        cdef FrameBuffer cutter = self.cutter
        cdef Py_ssize_t start = p - address_of(portion)
        cdef int64_t position = self.position
        cdef Py_ssize_t at = 0, size
        cdef bytearray frame
        if not cutter.fits(p, count):
            return False
        self.next_sequence = <uint32_t>(self.next_sequence + count)
        self.position += count
        self.connection.newest_time = now
        if cutter.missing:
            at = min(cutter.missing, count)
            cutter.hold(p, at, PyByteArray_GET_SIZE(cutter._buffer) + cutter.missing)
            cutter.missing -= at
            if not cutter.missing:
                frame = cutter.release()
                size = PyByteArray_GET_SIZE(frame)
                self.give(frame, part_of(frame, 0, size), 0, size, position + at, now, out)
        while at < count:
            size = LEAST_FRAME + int32_at(p, count, at)
            if size > count - at:
                cutter.hold(p + at, count - at, size)
                cutter.missing = size - (count - at)
                break
            self.give(portion, part(p, count, at, size), start + at, size, position + at + size, now, out)
            at += size
        return True

    cdef int give(
        self, held, const uint8_t* p, Py_ssize_t start, Py_ssize_t size, int64_t stop, int64_t now, FrameBatch out
    ) except -1:
        """Add the frame at a position of some bytes to `out`, and to its connection."""
        cdef ConversationState conversation = self.conversation
        cdef bytes frame
        fault = None
        self.cutter.passed += size
        self.cutter._count += 1
        if not (conversation.asks(p, size) if self.asked else conversation.answers(p, size)):
            frame = copied(p, size, 0, size)
            fault = conversation.note_request(frame) if self.asked else conversation.note_response(frame)
            if fault is not None:
                out.append((conversation.ends, self.asked, stop - size, now, frame, fault, *numbers_in(p, size)))
                return 0
        out.put(held, conversation.ends, start, size, stop - size, now, self.asked)
        return 0


cdef class ConnectionState:
    """A TCP connection; for the attributes see `tcp_reassembly.Connection`.

    Args:
        number, key: the number and key of the connection.
        half: creates the state of one direction.
    """

    cdef int64_t newest_time   # set by this path, else NONE
    cdef object general_time   # set by the general path, where times are unbounded
    cdef public int64_t number, newest, packets
    cdef public object key, halves, opener, unseen
    cdef public bint calm, closed

    def __cinit__(self, int64_t number=0, key=b"", half=None):
        cdef StreamState one, other
        self.number, self.key, self.newest_time, self.unseen = number, key, NONE, UNSEEN
        if half is not None:
            one, other = half(0), half(1)
            one.peer, other.peer = other, one
            one.connection = other.connection = self
            self.halves = one, other

    @property
    def last(self):
        return self.general_time if self.newest_time == NONE else self.newest_time

    @last.setter
    def last(self, nanoseconds):
        self.newest_time, self.general_time = NONE, nanoseconds

    def release(self):
        """Break reference cycles, so that both directions are freed immediately; collecting them took half the time."""
        cdef StreamState one, other
        one, other = self.halves
        one.leave()
        other.leave()


cdef class ReassemblerState:
    """All TCP connections of a capture; for the attributes see `tcp.connection_table.ConnectionTable`.

    Of a class that makes connections, `connection_class` and `half_class` make one and its sides.
    """

    cdef public int64_t count, packets, read
    cdef public dict known, open, stuck, closing
    cdef object connection, half

    def __cinit__(self, *arguments, **named):
        self.connection, self.half = type(self).connection_class, type(self).half_class
        self.known, self.open, self.stuck, self.closing = {}, {}, {}, {}

    cpdef ConnectionState add(self, bytes key):
        """Begin a connection; `key` is that of its first segment."""
        cdef ConnectionState connection = self.connection(self.count, key, self.half)
        cdef tuple halves = connection.halves
        self.open[self.count] = connection
        self.count += 1
        self.known[turned(key)] = halves[1]
        self.known[key] = halves[0]
        return connection
