# Kafka connections, and the requests on them that have no response.

cdef enum:
    LEAST_REQUEST = 12         # bytes of a frame's size, api key, version and correlation id
    CLIENT_ID = 14             # bytes before a client id
    IN_FLIGHT = 1024           # stored requests without a response
    LOOKED_AT = 64             # requests among which that of a response is searched after a gap
    APIS = 32

cdef int64_t RESERVED_IDS = 0x7FFFFFF8

cdef int32_t SASL_HANDSHAKE_0 = 17 << 16  # after which SASL tokens have no header

cdef struct Awaited:
    int32_t api
    int64_t correlation_id


cdef class ConversationState:
    """A Kafka connection, with the requests without a response; for the attributes see `KafkaConnection` in
    `kwire.capture.kafka.connection_frames`.

    Args:
        recogniser, connection, client, head: the arguments of a `KafkaConnection`.

    Attributes:
        ends: the endpoints of the connection.
        readers: the readers of responses and of requests.
        tokens: whether SASL tokens without a header may follow.
        client_id: the client id of the requests, including its length; None while it is unknown.
        newest, answered: the newest correlation ids of a request and of a response; None before the first.
        general: further state of the general path.
    """

    cdef Awaited* ring
    cdef int room, begin, size
    cdef int32_t[APIS] api_numbers
    cdef int api_count
    cdef int64_t newest_id, answered_id
    cdef public bint tokens
    cdef public int client
    cdef public object client_id, recogniser, general, connection
    cdef public EndsState ends
    cdef public tuple readers

    def __cinit__(self, recogniser=None, connection=None, int client=0, bytes head not None=b""):
        cdef const uint8_t* p = address_of(head)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(head)
        self.newest_id = self.answered_id = NONE
        self.recogniser, self.connection, self.client = recogniser, connection, client
        self.readers = (<object>self).reader(), (<object>self).reader()
        if connection is not None:
            self.ends = (<object>self).ends_class(connection.number, connection.key, client)
        if size >= 8:
            self.note_api(int32_at(p, size, 0))
            if 0 <= int32_at(p, size, 4) < RESERVED_IDS:
                self.newest_id = int32_at(p, size, 4)

    def __dealloc__(self):
        PyMem_Free(self.ring)

    def cut_in_order(self):
        """Split both directions into frames here, as long as their segments arrive in order."""
        cdef StreamState own = self.connection.halves[self.client], other = self.connection.halves[1 - self.client]
        own.conversation, own.cutter, own.is_request = self, self.readers[1], True
        other.conversation, other.cutter, other.is_request = self, self.readers[0], False

    @property
    def newest(self):
        return number_or_none(self.newest_id)

    @newest.setter
    def newest(self, number):
        self.newest_id = correlation_id_or_none(number)

    @property
    def answered(self):
        return number_or_none(self.answered_id)

    @answered.setter
    def answered(self, number):
        self.answered_id = correlation_id_or_none(number)

    @property
    def awaited(self):
        """The number of awaited responses."""
        return self.size

    @property
    def apis(self):
        """The api keys and versions of requests, as in headers; at most the first `APIS`."""
        return [signed_bytes(self.api_numbers[index]) for index in range(self.api_count)]

    def expected(self, int limit):
        """Return the api (key and version as one number) and correlation id of at most `most` next responses."""
        cdef int index = 0
        cdef Awaited* awaited
        pairs = []
        while index < min(limit, self.size):
            awaited = self.ring + (self.begin + index) % self.room
            pairs.append((awaited.api, number_or_none(awaited.correlation_id)))
            index += 1
        return pairs

    def position_of(self, int64_t correlation_id):
        """Return how many awaited responses come before the one with a correlation id; -1 if none has it."""
        cdef int index
        for index in range(self.size):
            if self.ring[(self.begin + index) % self.room].correlation_id == correlation_id:
                return index
        return -1

    def expect(self, int32_t api, correlation_id):
        """Add an awaited response; if there are too many, drop the oldest."""
        self.append(api, none_or_number(correlation_id))

    def settle(self, int count):
        """Remove the oldest `count` awaited responses."""
        self.drop(max(0, count))

    cdef inline void drop(self, int count) noexcept:
        count = min(count, self.size)
        if count:
            self.begin = (self.begin + count) % self.room
            self.size -= count

    def add_api(self, int32_t api):
        """Add an api key and version of a request."""
        self.note_api(api)

    cdef inline void note_api(self, int32_t api) noexcept:
        cdef int index
        for index in range(self.api_count - 1, -1, -1):
            if self.api_numbers[index] == api:
                return
        if self.api_count < APIS:
            self.api_numbers[self.api_count] = api
            self.api_count += 1

    cdef int append(self, int32_t api, int64_t correlation_id) except -1:
        cdef Awaited* own
        if self.size == self.room:
            if self.room == IN_FLIGHT:
                self.drop(1)
            else:
                self.widen()
        own = self.ring + (self.begin + self.size) % self.room
        own.api, own.correlation_id = api, correlation_id
        self.size += 1
        return 0

    cdef int widen(self) except -1:
        cdef int room = min(max(8, self.room * 4), IN_FLIGHT), index
        cdef Awaited* ring = <Awaited*>PyMem_Malloc(room * sizeof(Awaited))
        if ring == NULL:
            raise MemoryError
        for index in range(self.size):
            ring[index] = self.ring[(self.begin + index) % self.room]
        PyMem_Free(self.ring)
        self.ring, self.room, self.begin = ring, room, 0
        return 0

    cdef bint asks(self, const uint8_t* p, Py_ssize_t count) except -1:
        """Process a usual request. Return False if the bytes may be anything else."""
        cdef int32_t api
        cdef int64_t correlation_id
        if count < LEAST_REQUEST or self.tokens:
            return False
        api, correlation_id = int32_at(p, count, 4), int32_at(p, count, 8)
        if api == SASL_HANDSHAKE_0:
            return False
        if self.client_id is None:
            if count <= CLIENT_ID or CLIENT_ID + uint16_at(p, count, CLIENT_ID - 2) > count:
                return False
            self.client_id = copied(p, count, CLIENT_ID - 2, CLIENT_ID + uint16_at(p, count, CLIENT_ID - 2))
        self.note_api(api)
        self.append(api, correlation_id)
        if 0 <= correlation_id < RESERVED_IDS:
            self.newest_id = correlation_id
        return True

    cdef bint answers(self, const uint8_t* p, Py_ssize_t count):
        """Process the next awaited response. Return False if the bytes are anything else."""
        cdef int64_t correlation_id
        if count < 8 or not self.size:
            return False
        correlation_id = int32_at(p, count, 4)
        if self.ring[self.begin].correlation_id != correlation_id:
            return False
        self.drop(1)
        if 0 <= correlation_id < RESERVED_IDS:
            self.answered_id = correlation_id
        return True


    # Which responses may come after a gap; see `AwaitedResponses` in `kwire.capture.kafka.frame_recognition`.

    cdef list apis_of(self, int64_t correlation_id):
        """Return the apis, as in headers, of the requests in flight with a correlation id."""
        cdef list apis = []
        cdef int index
        cdef Awaited* awaited
        for index in range(min(<int>LOOKED_AT, self.size)):
            awaited = self.ring + (self.begin + index) % self.room
            if awaited.correlation_id == correlation_id:
                apis.append(signed_bytes(awaited.api))
        return apis

    cdef bint awaits(self, int64_t correlation_id) noexcept:
        """Whether a request with a correlation id is in flight."""
        cdef int index
        for index in range(min(<int>LOOKED_AT, self.size)):
            if self.ring[(self.begin + index) % self.room].correlation_id == correlation_id:
                return True
        return False

    cdef bint may_be(self, int64_t number, int64_t distance) noexcept:
        """Whether a correlation id, without its sign, may belong to a request that was not captured."""
        cdef int64_t lowest = self.newest_id if self.answered_id == NONE else self.answered_id
        if self.newest_id == NONE or number >= RESERVED_IDS:
            return True
        return lowest - distance <= number <= self.newest_id + distance

    cdef int mark_halves(self, uint8_t* halves) except -1:
        """Set a bit for each first half of a correlation id that a response may have, of 65,536 bits."""
        cdef int64_t lowest = self.newest_id if self.answered_id == NONE else min(self.newest_id, self.answered_id)
        cdef int64_t number
        cdef int index
        memset(halves, 255 if self.newest_id == NONE else 0, 8192)
        if self.newest_id == NONE:
            return 0
        for number in (max(<int64_t>0, lowest - FAR), lowest, self.newest_id, self.newest_id + FAR, RESERVED_IDS):
            mark_half(halves, number >> 16)
        for index in range(min(<int>LOOKED_AT, self.size)):
            number = self.ring[(self.begin + index) % self.room].correlation_id
            if number != NONE:
                mark_half(halves, number >> 16)
        return 0


cdef int64_t correlation_id_or_none(number) except? -1:
    if number is not None and not 0 <= number < RESERVED_IDS:
        raise ValueError("not a correlation id of a usual request")
    return none_or_number(number)


cdef bytes signed_bytes(int32_t number):
    cdef uint8_t[4] raw
    put_be(raw, <uint32_t>number, 4)
    return copied(raw, 4, 0, 4)


cdef class EndsState:
    """The connection on which a frame arrived; for the attributes see `framing.Endpoints`."""

    cdef public int64_t connection
    cdef public object key, texts, note
    cdef public int side

    def __cinit__(self, int64_t connection=-1, key=b"", int side=0):
        self.connection, self.key, self.side = connection, key, side
