# Pairs usual requests with their responses.

cdef enum:
    MOST_IN_FLIGHT = 65536

cdef struct SentRequest:
    PyObject* header           # as an object, if one was created
    PyObject* call
    int64_t correlation_id, now, frame

NO_CALLS = {}  # for a connection whose calls only the general path processes
cdef object _header_class = None


cdef object header_of(CallState call, const SentRequest* request):
    """Create the header of a request."""
    global _header_class
    if _header_class is None:
        from kwire.protocol.headers.header import Header
        _header_class = Header
    header = _header_class(True, call, request.correlation_id, number_or_none(request.now))
    if request.frame >= 0:
        header.number(request.frame)
    return header


cdef class InFlight:
    """The headers of the newest requests without a response, oldest first; each is created on demand."""

    cdef SentRequest* ring
    cdef Py_ssize_t room, begin, size

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.size):
            self.let_go(self.at(i))
        PyMem_Free(self.ring)

    cdef inline SentRequest* at(self, Py_ssize_t index) noexcept:
        return self.ring + (self.begin + index) % self.room

    cdef int let_go(self, SentRequest* request) except -1:
        if request.header != NULL:
            Py_DECREF(request.header)
        if request.call != NULL:
            Py_DECREF(request.call)
        return 0

    cdef SentRequest* next(self) except NULL:
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
        cdef SentRequest* ring = <SentRequest*>PyMem_Malloc(room * sizeof(SentRequest))
        if ring == NULL:
            raise MemoryError
        for i in range(self.size):
            ring[i] = self.at(i)[0]
        PyMem_Free(self.ring)
        self.ring, self.room, self.begin = ring, room, 0
        return 0

    cdef int drop(self) except -1:
        """Drop the oldest request."""
        cdef SentRequest request = self.ring[self.begin]
        self.begin = (self.begin + 1) % self.room
        self.size -= 1
        return self.let_go(&request)

    cdef int ask(self, CallState call, int64_t correlation_id, int64_t now, int64_t frame) except -1:
        cdef SentRequest* request = self.next()
        request.header, request.call, request.correlation_id = NULL, Py_NewRef(<PyObject*>call), correlation_id
        request.now, request.frame = now, frame
        return 0

    @property
    def entries(self):
        """The requests, from which `go_on` continues: as headers where they were created, else as tuples."""
        cdef SentRequest* request
        cdef list entries = []
        cdef Py_ssize_t at
        for at in range(self.size):
            request = self.at(at)
            if request.header != NULL:
                entries.append(<object>request.header)
            else:
                entries.append((<object>request.call, request.correlation_id, number_or_none(request.now), request.frame))
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
        cdef SentRequest* request = self.next()
        request.header, request.call, request.correlation_id, request.now = Py_NewRef(<PyObject*>header), NULL, correlation_id, NONE
        request.frame = -1

    cdef object header(self, Py_ssize_t index):
        """Return the header of a request. Creating it runs Python code, which may change this object."""
        cdef SentRequest sent = self.at(index)[0]
        cdef CallState call
        if sent.header != NULL:
            return <object>sent.header
        call = <CallState>sent.call
        made = header_of(call, &sent)
        if index < self.size and memcmp(self.at(index), &sent, sizeof(SentRequest)) == 0:
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

    cdef CallState pair_plain(self, const Captured* frame, int64_t number, SentRequest* sent):
        """Pair a usual frame; `number` may be -1. Return its call, and store the request of a response in `sent`,
        without references. Return None if the general path must process the frame."""
        cdef const uint8_t* p = bytes_of_frame(frame)
        cdef CallState call
        if not frame.is_request:
            return self.answered(p, frame.size, sent)
        call = self.call_in(p, frame.size)
        if call is None or not call.surely_answered(p, frame.size):
            return None
        self.in_flight.ask(call, int32_at(p, frame.size, 8), frame.now, number)
        return call

    cdef CallState answered(self, const uint8_t* p, Py_ssize_t size, SentRequest* sent):
        """Process the response to the oldest request and return its call; None if the general path must process it."""
        cdef InFlight waiting = self.in_flight
        cdef CallState call
        cdef SentRequest* request
        cdef int64_t correlation_id
        if size < 8 or not waiting.size or self._doubt is not None:
            return None
        request, correlation_id = waiting.at(0), int32_at(p, size, 4)
        if request.header != NULL or request.correlation_id != correlation_id:
            return None
        if waiting.size > 1 and waiting.at(1).correlation_id == correlation_id:
            return None
        call = <CallState>request.call
        if not call.is_plain and begins(p, size, 8, call.refused):
            return None
        sent[0] = request[0]
        waiting.drop()
        return call
