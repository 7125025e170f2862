# Pairs usual requests with their responses.

cdef enum:
    MOST_IN_FLIGHT = 65536

cdef struct Asked:
    PyObject* header           # as an object, if one was created
    PyObject* call
    int64_t correlation_id, now, frame

NO_CALLS = {}  # for a connection whose calls only the general path processes
cdef object _header_class = None


cdef object header_of(CallState call, const Asked* one):
    """Create the header of a request."""
    global _header_class
    if _header_class is None:
        from kwire.protocol.headers.header import Header
        _header_class = Header
    header = _header_class(True, call, one.correlation_id, number_or_none(one.now))
    if one.frame >= 0:
        header.number(one.frame)
    return header


cdef class InFlight:
    """The headers of the newest requests without a response, oldest first; each is created on demand."""

    cdef Asked* ring
    cdef Py_ssize_t room, begin, size

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.size):
            self.let_go(self.at(i))
        PyMem_Free(self.ring)

    cdef inline Asked* at(self, Py_ssize_t index) noexcept:
        return self.ring + (self.begin + index) % self.room

    cdef int let_go(self, Asked* one) except -1:
        if one.header != NULL:
            Py_DECREF(one.header)
        if one.call != NULL:
            Py_DECREF(one.call)
        return 0

    cdef Asked* next(self) except NULL:
        """Return the address of the next entry."""
        while self.size == self.room:  # again if a finaliser of the dropped request has added one
            if self.room == MOST_IN_FLIGHT:
                self.drop()
            else:
                self.widen()
        self.size += 1
        return self.at(self.size - 1)

    cdef int widen(self) except -1:
        cdef Py_ssize_t room = min(max(4, self.room * 4), MOST_IN_FLIGHT), i
        cdef Asked* ring = <Asked*>PyMem_Malloc(room * sizeof(Asked))
        if ring == NULL:
            raise MemoryError
        for i in range(self.size):
            ring[i] = self.at(i)[0]
        PyMem_Free(self.ring)
        self.ring, self.room, self.begin = ring, room, 0
        return 0

    cdef int drop(self) except -1:
        """Drop the oldest request."""
        cdef Asked one = self.ring[self.begin]
        self.begin = (self.begin + 1) % self.room
        self.size -= 1
        return self.let_go(&one)

    cdef int ask(self, CallState call, int64_t correlation_id, int64_t now, int64_t frame) except -1:
        cdef Asked* one = self.next()
        one.header, one.call, one.correlation_id = NULL, Py_NewRef(<PyObject*>call), correlation_id
        one.now, one.frame = now, frame
        return 0

    @property
    def entries(self):
        """The requests, from which `go_on` continues: as headers where they were created, else as tuples."""
        cdef Asked* one
        cdef list entries = []
        cdef Py_ssize_t at
        for at in range(self.size):
            one = self.at(at)
            if one.header != NULL:
                entries.append(<object>one.header)
            else:
                entries.append((<object>one.call, one.correlation_id, number_or_none(one.now), one.frame))
        return entries

    def go_on(self, entries):
        """Continue with the requests of another process."""
        for entry in entries:
            if type(entry) is tuple:
                self.ask(<CallState?>entry[0], entry[1], none_or_number(entry[2]), entry[3])
            else:
                self.append(entry)

    def append(self, header):
        """Add a request."""
        cdef int64_t correlation_id = none_or_number(header.correlation_id)
        cdef Asked* one = self.next()
        one.header, one.call, one.correlation_id, one.now = Py_NewRef(<PyObject*>header), NULL, correlation_id, NONE
        one.frame = -1

    cdef object header(self, Py_ssize_t index):
        """Return the header of a request. Creating it runs Python code, which may change this object."""
        cdef Asked asked = self.at(index)[0]
        cdef CallState call
        if asked.header != NULL:
            return <object>asked.header
        call = <CallState>asked.call
        made = header_of(call, &asked)
        if index < self.size and memcmp(self.at(index), &asked, sizeof(Asked)) == 0:
            self.at(index).header = Py_NewRef(<PyObject*>made)
        return made

    def popleft(self):
        """Remove the oldest request."""
        if not self.size:
            raise IndexError("no request is in flight")
        header = self.header(0)
        if self.size:
            self.drop()
        return header

    def __getitem__(self, Py_ssize_t at):
        at += self.size if at < 0 else 0
        if not 0 <= at < self.size:
            raise IndexError("there are not so many requests in flight")
        return self.header(at)

    def __iter__(self):
        cdef Py_ssize_t at = 0
        while at < self.size:  # which may change between two items, as that of a list
            yield self.header(at)
            at += 1

    def __len__(self):
        return self.size


cdef class CallState:
    """The properties that requests have in common; for the attributes see `headers.Call`."""

    cdef public object api, client_id, note, _downgraded
    cdef public bytes client, refused
    cdef public tuple answered
    cdef public Py_ssize_t start
    cdef public int version
    cdef public bint is_plain, is_answered

    cdef bint surely_answered(self, const uint8_t* p, Py_ssize_t size):
        """Whether the first bytes after the client id show that the broker will send a response."""
        if self.is_answered:
            return True
        for prefix in self.answered:
            if begins(p, size, self.start, prefix):
                return True
        return False


cdef class PairingState:
    """The state of a connection of Kafka's protocol; for the attributes see `connection.ConnectionState`.

    Pairs usual frames as `Connection.pair` does; all other frames are left to that method.
    """

    cdef public object apis, answers, group, mechanism, _doubt, _ids, call, note
    cdef public dict _calls, _known
    cdef public bytes _client
    cdef public InFlight in_flight
    cdef public bint authenticating, expects_tokens, lossy
    cdef public int64_t tokens

    def __cinit__(self, *arguments, **named):
        self.in_flight, self._client = InFlight(), b""
        self._known = self._calls = NO_CALLS

    cdef CallState call_in(self, const uint8_t* p, Py_ssize_t size):
        """Return the call of a request; None if the general path must process it."""
        cdef PyObject* call = NULL
        cdef bytes frame
        if size < LEAST_REQUEST:
            return None
        if begins(p, size, LEAST_REQUEST, self._client):
            call = PyDict_GetItem(self._calls, int32_at(p, size, 4))
        if call == NULL:
            frame = copied(p, size, 0, size)
            return (<object>self)._known_call(frame, int32_at(p, size, 4))
        return <CallState?>call

    cdef CallState pair_plain(self, const Captured* one, int64_t number, Asked* asked):
        """Pair a usual frame; `number` may be -1. Return its call, and store the request of a response in `asked`,
        without references. Return None if the general path must process the frame."""
        cdef const uint8_t* p = bytes_of_frame(one)
        cdef CallState call
        if not one.asked:
            return self.answered(p, one.size, asked)
        call = self.call_in(p, one.size)
        if call is None or not call.surely_answered(p, one.size):
            return None
        self.in_flight.ask(call, int32_at(p, one.size, 8), one.now, number)
        return call

    cdef CallState answered(self, const uint8_t* p, Py_ssize_t size, Asked* asked):
        """Process the response to the oldest request and return its call; None if the general path must process it."""
        cdef InFlight waiting = self.in_flight
        cdef CallState call
        cdef Asked* one
        cdef int64_t correlation_id
        if size < 8 or not waiting.size or self._doubt is not None:
            return None
        one, correlation_id = waiting.at(0), int32_at(p, size, 4)
        if one.header != NULL or one.correlation_id != correlation_id:
            return None
        if waiting.size > 1 and waiting.at(1).correlation_id == correlation_id:
            return None
        call = <CallState>one.call
        if not call.is_plain and begins(p, size, 8, call.refused):
            return None
        asked[0] = one[0]
        waiting.drop()
        return call
