# What frames of one call have in common, and the properties that a frame has from its connection.


cdef class KindState:
    """The requests or the responses of a call; for the attributes see `header_reader.Kind`."""

    cdef public CallState call
    cdef public object codec
    cdef public bint is_request, tagged
    cdef public bytes front, back
    cdef public NodeTable table
    cdef public BodyFacts facts, learns
    cdef public int64_t count, size
    cdef public list times
    cdef public tuple order
    cdef public object test, row
    cdef public dict answers       # answers of `test` by endpoints; None if it reads more of a frame than these
    cdef public bint reads_body

    cdef Py_ssize_t body_start(self, const uint8_t* p, Py_ssize_t size):
        """Return where the body of a frame starts; 0 if its header is incomplete or has tagged fields."""
        cdef Py_ssize_t start = self.call.start if self.is_request else 8
        if start < 0 or not self.tagged:
            return start if 0 <= start <= size else 0
        return start + 1 if start < size and byte_at(p, size, start) == 0 else 0


cdef inline KindState kind_of(const Captured* frame, reader, CallState call):
    """Return the kind of a frame; None if such frames must be decoded in full."""
    return (call.note if call.note is not None else reader.kinds(call))[frame.is_request]


cdef PairingState connection_of(const Captured* frame, reader, apis):
    """Return the connection on which a frame arrived."""
    cdef EndsState ends = <EndsState>frame.ends
    cdef PairingState connection = ends.note
    return connection if connection is not None and connection.apis is apis else reader.begin(ends)


cdef class Taken:
    """The properties that a frame has from its connection."""

    cdef PairingState connection   # None for an item without a connection
    cdef CallState call            # None if the frame must be decoded in full
    cdef object header             # from `Connection.pair`; None if that was not called
    cdef SentRequest sent               # the request of a response, without references
    cdef Facts facts               # of a body that was read

    def __cinit__(self):
        begin_facts(&self.facts)

    def __dealloc__(self):
        release_facts(&self.facts)

    cdef int take(self, FrameBatch batch, const Captured* frame, reader, apis, int64_t number) except -1:
        """Add a frame with its number in the capture."""
        self.connection = self.call = self.header = None
        self.sent.now, self.sent.frame = NONE, -1
        if frame.ends == NULL:
            return 0
        self.connection = connection_of(frame, reader, apis)
        self.call = self.connection.pair_plain(frame, number, &self.sent)
        if self.call is None:
            self.header = header = (<object>self.connection).pair(batch.captured(frame))
            if frame.is_request:
                header.number(number)
            request = header if header.is_request else header.request
            if not (header.problem or header.overtaken):
                self.call = header.call
                if request is not None:
                    self.sent.now = none_or_number(request.time)
                    self.sent.frame = -1 if request.frame is None else request.frame
        return 0

    cdef object header_of(self, const Captured* frame):
        """Return the header, as `Connection.pair` does: for a response, the header of its request."""
        if self.header is None and self.connection is not None:
            if frame.is_request:
                self.header = self.connection.in_flight[len(self.connection.in_flight) - 1]
            else:
                self.header = header_of(self.call, &self.sent)
        return self.header


cdef int meet(const Captured* frame, reader, PairingState connection, KindState kind, Py_ssize_t start) except -1:
    """Store the client of a request with its connection."""
    if frame.is_request and not same_client(connection.call, kind.call):
        reader.meet(connection, kind, copied(bytes_of_frame(frame), frame.size, start, frame.size))
    return 0


cdef inline bint same_client(CallState met, CallState call):
    """Whether the requests of two calls have the same client id."""
    return met is call or (met is not None and call.is_plain and met.client == call.client)
