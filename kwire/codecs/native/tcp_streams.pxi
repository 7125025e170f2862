# Extracts the frames of Kafka connections from the packets of a pcap or pcapng file in the usual case: Ethernet and
# similar link layers, IP without options, TCP in order, responses in the order of requests. Everything else is left to
# the general path (`kwire.capture`), packet by packet and frame by frame, with the same state.

cdef enum:
    LEAST_FRAME = 4            # bytes of a frame's size field, and the smallest size by default
    LONGEST_FRAME = 100 << 20
    LEAST_REQUEST = 12         # bytes of a frame's size, api key, version and correlation id
    CLIENT_ID = 14             # bytes before a client id
    IN_FLIGHT = 1024           # stored requests without a response
    APIS = 32
    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16
    EVERY = 256                # packets between two checks of all buffers
    MOST_HEADS = 4096          # stored first bytes of requests

cdef object BILLION = 1000000000
cdef int64_t RESERVED_IDS = 0x7FFFFFF8
cdef tuple UNSEEN = (-1, -1)
cdef int32_t SASL_HANDSHAKE_0 = 17 << 16  # after which SASL tokens have no header

cdef struct Awaited:
    int32_t api
    int64_t correlation_id

cdef inline object number_or_none(int64_t number):
    return None if number == NONE else number


cdef inline int64_t none_or_number(number) except? -1:
    return NONE if number is None else <int64_t>number


cdef inline tuple numbers_in(const uint8_t* p, Py_ssize_t size):
    """Return the two numbers that follow the size of a frame; None and 0 if they are missing."""
    return signed32(be32(p + 4)) if size >= 8 else None, signed32(be32(p + 8)) if size >= LEAST_REQUEST else 0


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
            size = signed32(be32(p + at))
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
        PyByteArray_Resize(self._buffer, held + count)
        memcpy(PyByteArray_AS_STRING(self._buffer) + held, p, count)
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
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(portion)
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
                self.give(frame, PyByteArray_AS_STRING(frame), 0, PyByteArray_GET_SIZE(frame), position + at, now, out)
        while at < count:
            size = LEAST_FRAME + signed32(be32(p + at))
            if size > count - at:
                cutter.hold(p + at, count - at, size)
                cutter.missing = size - (count - at)
                break
            self.give(portion, <const char*>base, p + at - base, size, position + at + size, now, out)
            at += size
        return True

    cdef int give(self, held, const char* base, Py_ssize_t start, Py_ssize_t size, int64_t stop, int64_t now,
                  FrameBatch out) except -1:
        """Add the frame at a position of some bytes to `out`, and to its connection."""
        cdef const uint8_t* p = <const uint8_t*>base + start
        cdef ConversationState conversation = self.conversation
        cdef bytes frame
        fault = None
        self.cutter.passed += size
        self.cutter._count += 1
        if not (conversation.asks(p, size) if self.asked else conversation.answers(p, size)):
            frame = PyBytes_FromStringAndSize(<const char*>p, size)
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
    cdef public object client_id, recogniser, general
    cdef public ConnectionState connection
    cdef public EndsState ends
    cdef public tuple readers

    def __cinit__(self, recogniser=None, ConnectionState connection=None, int client=0, bytes head not None=b""):
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(head)
        self.newest_id = self.answered_id = NONE
        self.recogniser, self.connection, self.client = recogniser, connection, client
        self.readers = (<object>self).reader(), (<object>self).reader()
        if connection is not None:
            self.ends = (<object>self).ends_class(connection.number, connection.key, client)
        if PyBytes_GET_SIZE(head) >= 8:
            self.note_api(signed32(be32(p)))
            if signed32(be32(p + 4)) >= 0 and be32(p + 4) < RESERVED_IDS:
                self.newest_id = be32(p + 4)

    def __dealloc__(self):
        PyMem_Free(self.ring)

    def cut_in_order(self):
        """Split both directions into frames here, as long as their segments arrive in order."""
        cdef StreamState one = self.connection.halves[self.client], other = self.connection.halves[1 - self.client]
        one.conversation, one.cutter, one.asked = self, self.readers[1], True
        other.conversation, other.cutter, other.asked = self, self.readers[0], False

    @property
    def newest(self):
        return number_or_none(self.newest_id)

    @newest.setter
    def newest(self, number):
        self.newest_id = none_or_number(number)

    @property
    def answered(self):
        return number_or_none(self.answered_id)

    @answered.setter
    def answered(self, number):
        self.answered_id = none_or_number(number)

    @property
    def awaited(self):
        """The number of awaited responses."""
        return self.size

    @property
    def apis(self):
        """The api keys and versions of requests, as in headers; at most the first `APIS`."""
        return [signed_bytes(self.api_numbers[index]) for index in range(self.api_count)]

    def expected(self, int most):
        """Return the api (key and version as one number) and correlation id of at most `most` next responses."""
        cdef int index = 0
        cdef Awaited* one
        found = []
        while index < min(most, self.size):
            one = self.ring + (self.begin + index) % self.room
            found.append((one.api, number_or_none(one.correlation_id)))
            index += 1
        return found

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
        cdef Awaited* one
        if self.size == self.room:
            if self.room == IN_FLIGHT:
                self.drop(1)
            else:
                self.widen()
        one = self.ring + (self.begin + self.size) % self.room
        one.api, one.correlation_id = api, correlation_id
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
        api, correlation_id = signed32(be32(p + 4)), signed32(be32(p + 8))
        if api == SASL_HANDSHAKE_0:
            return False
        if self.client_id is None:
            if count <= CLIENT_ID or CLIENT_ID + be16(p + CLIENT_ID - 2) > count:
                return False
            self.client_id = PyBytes_FromStringAndSize(<const char*>p + CLIENT_ID - 2, 2 + be16(p + CLIENT_ID - 2))
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
        correlation_id = signed32(be32(p + 4))
        if self.ring[self.begin].correlation_id != correlation_id:
            return False
        self.drop(1)
        if 0 <= correlation_id < RESERVED_IDS:
            self.answered_id = correlation_id
        return True


cdef bytes signed_bytes(int32_t number):
    cdef uint8_t[4] raw
    put_be(raw, <uint32_t>number, 4)
    return PyBytes_FromStringAndSize(<const char*>raw, 4)


cdef class EndsState:
    """The connection on which a frame arrived; for the attributes see `framing.Endpoints`."""

    cdef public int64_t connection
    cdef public object key, texts, note
    cdef public int side

    def __cinit__(self, int64_t connection=-1, key=b"", int side=0):
        self.connection, self.key, self.side = connection, key, side


cdef class PacketWalker(PacketLayouts):
    """Walks over the packets of a file.

    Args:
        state: a `ConnectionTable`.
        streams: the general path, a `Streams`. Its method `recognise` receives the first payload of each connection,
            `feed` receives each segment that is not processed here, and `look_around` is called periodically.
        segment: creates a segment for the general path.
        is_other: returns whether another share reads the connection with a new key; None if there are no other shares.
        most: the maximum number of open connections.
        linger: how long a closed connection is kept: for a number of packets; or for a second number of packets if a
            third number of nanoseconds has passed, too.
        near: the maximum time between packets of a pcap file, in seconds; a longer time means a damaged record.
        stray: the maximum jump of a connection's sequence numbers.
        blocks: whether the file is pcapng.

    Attributes:
        seconds: the time of the last packet of a pcap file; None before the first.
    """

    cdef ReassemblerState state
    cdef object streams, segment, is_other
    cdef Py_ssize_t most, linger, linger_late
    cdef int64_t linger_time
    cdef bytes portion         # the part of the file that is being read
    cdef set heads             # api key, version and client id of the first requests of recognised connections
    cdef int stray
    cdef bint blocks
    cdef list cached_keys, cached_streams
    cdef int64_t last_seconds

    def __init__(self, ReassemblerState state not None, streams, segment, is_other, Py_ssize_t most,
                 tuple linger not None, int near, int stray, bint blocks):
        self.state, self.streams, self.segment, self.is_other = state, streams, segment, is_other
        self.linger, self.linger_late, self.linger_time = linger
        self.heads = set()
        self.most, self.near, self.stray, self.blocks, self.last_seconds = most, near, stray, blocks, NONE
        self.cached_keys, self.cached_streams = [b""] * RECENT, [None] * RECENT

    @property
    def seconds(self):
        return number_or_none(self.last_seconds)

    def run(self, bytes data not None, Py_ssize_t start, FrameBatch out not None):
        """Process packets until one has another layout or has not arrived yet.

        Args:
            data, start: bytes of the file, and the position of a record.
            out: receives the captured frames.

        Returns:
            The position of the next record.
        """
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(data), at = start
        cdef Packet packet
        if self.portion is not None:  # called by its own general path
            raise RuntimeError("a walker walks once at a time")
        self.portion, self.lacks_bytes = data, False
        try:
            if self.blocks:
                while self.block(base, there, at, &packet) and self.is_usual(&packet):
                    self.take(&packet, out)
                    at = packet.after
            else:
                while self.record(base, there, at, &packet) and self.is_usual(&packet):
                    self.last_seconds = self.number(base + at)
                    self.take(&packet, out)
                    at = packet.after
        finally:
            self.portion = None
        return at

    cdef bint is_usual(self, Packet* packet) noexcept:
        """Whether a packet was captured completely, and has a segment in a known layout."""
        return packet.captured == packet.length and self.segment_in(packet) and not packet.missing

    cdef int take(self, Packet* packet, FrameBatch out) except -1:
        cdef ReassemblerState state = self.state
        cdef StreamState stream = self.find(packet.key, packet.key_size)
        cdef bint taken
        cdef bytes key = None
        state.packets += 1
        if stream is not None:
            taken = self.is_next(stream, packet) if packet.flags & (FIN | SYN | RST | ACK) == ACK else False
            if taken and packet.count:
                taken = packet.sequence == stream.next_sequence and self.take_payload(stream, packet, out)
                taken = taken or self.take_again(stream, packet)
            elif not taken and not packet.count:
                taken = self.take_flags(stream, packet)
        else:
            key = PyBytes_FromStringAndSize(<const char*>packet.key, packet.key_size)
            taken = self.is_other is not None and self.is_other(key)
            if not taken and packet.flags & (FIN | SYN | RST | ACK) == SYN and not packet.count:
                taken = self.take_syn(key, packet)
        taken_paths.packets_taken += taken
        taken_paths.packets_left += not taken
        if not taken:
            state.packets -= 1
            key = PyBytes_FromStringAndSize(<const char*>packet.key, packet.key_size)
            payload = PyBytes_FromStringAndSize(<const char*>packet.payload, packet.count)
            segment = self.segment(key, packet.sequence, packet.acknowledged, packet.flags, payload, 0, packet.now)
            self.streams.feed(segment, out)
        elif state.packets % EVERY == 0:
            self.end_closed(packet.now, out)
            self.streams.look_around(packet.now, out)
        return 0

    cdef StreamState find(self, const uint8_t* key, Py_ssize_t size):
        """Return the stream of a key, from the cache of calm streams or from the dictionary."""
        cdef Py_ssize_t slot = slot_of_key(key, size)
        cdef bytes known = <bytes>self.cached_keys[slot]
        cdef StreamState stream
        if PyBytes_GET_SIZE(known) == size and memcmp(PyBytes_AS_STRING(known), key, size) == 0:
            stream = <StreamState>self.cached_streams[slot]
            if stream.connection is not None and stream.connection.calm:  # it is still open
                return stream
        known = PyBytes_FromStringAndSize(<const char*>key, size)
        held = PyDict_GetItem(self.state.known, known)
        if held == NULL:
            return None
        stream = <StreamState?>held
        self.cached_keys[slot], self.cached_streams[slot] = known, stream
        return stream

    cdef bint is_next(self, StreamState stream, Packet* packet):
        """Whether a segment acknowledges only data that was seen, on a connection without buffered data."""
        cdef uint32_t behind
        if not stream.connection.calm:
            return False
        behind = packet.acknowledged - <uint32_t>(0 if stream.peer.next_sequence < 0 else stream.peer.next_sequence)
        return not 0 < behind < 0x80000000U

    cdef bint take_payload(self, StreamState stream, Packet* packet, FrameBatch out) except -1:
        """Process the next bytes of a connection; False if they were not processed."""
        if stream.conversation is None:
            if not stream.position and not stream.peer.position:
                self.begin(stream, packet)
            if stream.conversation is None:
                return False
        if not stream.take(self.portion, packet.payload, packet.count, packet.now, out):
            return False
        self.state.read += packet.count
        return True

    cdef int begin(self, StreamState stream, Packet* packet) except -1:
        """Find out, from the first bytes of a connection, whether it is a Kafka connection."""
        cdef const char* p = <const char*>packet.payload
        cdef Py_ssize_t size, client
        cdef bytes head = None
        if packet.count >= CLIENT_ID:
            size, client = be32(packet.payload), be16(packet.payload + CLIENT_ID - 2)
            if client <= min(packet.count - CLIENT_ID, size - 10) and size <= LONGEST_FRAME:
                head = p[4:8] + p[CLIENT_ID - 2:CLIENT_ID + client]
        if head is not None and head in self.heads:
            self.streams.converse(stream.connection, stream.side, p[4:12], packet.count)
            return 0
        self.streams.recognise(stream.connection, stream.side, p[:packet.count])
        if head is not None and stream.conversation is not None and len(self.heads) < MOST_HEADS:
            self.heads.add(head)
        return 0

    cdef int end_closed(self, int64_t now, FrameBatch out) except -1:
        """Drop closed connections as `ConnectionTable` does, as long as no connection has buffered data."""
        cdef ReassemblerState state = self.state
        cdef ConnectionState connection
        cdef StreamState one, other
        cdef dict states = self.streams.states
        cdef int64_t packets
        cdef list ended = []
        if state.stuck or not state.closing:
            return 0
        for number, (connection, since, packets) in state.closing.items():
            is_late = since is not None and now - since > self.linger_time
            if state.packets - packets < (self.linger_late if is_late else self.linger):
                break
            ended.append(connection)
        for connection in ended:
            one, other = connection.halves
            number = connection.number
            is_cut_here = one.conversation is not None or number not in states
            if not (is_cut_here and connection.calm and is_complete(one) and is_complete(other)):
                self.streams.end(connection, out)
                continue
            del state.closing[number], state.open[number]
            del state.known[connection.key], state.known[turned(connection.key)]
            one.leave()
            other.leave()
            if states.pop(number, None) is not None:
                out.append(number)
        return 0

    # The handshake and the end of most connections. Each method changes the state as `tcp_reassembly` does, or refuses
    # the segment.

    cdef bint take_syn(self, bytes key, Packet* packet) except -1:
        cdef ConnectionState connection
        cdef StreamState stream
        if PyDict_Size(self.state.open) >= self.most:
            return False
        connection = self.state.add(key)
        stream = connection.halves[0]
        stream.begin_at(packet.sequence + 1)
        connection.opener = 0
        self.note(connection, packet)
        self.state.stuck[connection.number] = connection
        return True

    cdef bint take_flags(self, StreamState stream, Packet* packet) except -1:
        if packet.flags & (FIN | SYN | RST | ACK) == FIN | ACK:
            return self.take_fin(stream, packet) or self.take_again(stream, packet)
        if packet.flags & (FIN | SYN | RST | ACK) == SYN | ACK:
            return self.take_syn_ack(stream, packet)
        return packet.flags & (FIN | SYN | RST) == RST and self.take_rst(stream, packet)

    cdef bint take_syn_ack(self, StreamState stream, Packet* packet) except -1:
        cdef ConnectionState connection = stream.connection
        cdef StreamState peer = stream.peer
        if connection.packets != 1 or stream.next_sequence != NONE or connection.opener != peer.side:
            return False
        if packet.acknowledged != peer.next_sequence or peer.position or peer.pieces:
            return False
        stream.begin_at(packet.sequence + 1)
        peer.acked = packet.acknowledged
        connection.calm = True
        self.note(connection, packet)
        return True

    cdef bint take_fin(self, StreamState stream, Packet* packet) except -1:
        cdef ConnectionState connection = stream.connection
        cdef StreamState peer = stream.peer
        if not connection.calm or connection.closed or stream.end is not None:
            return False
        if packet.sequence != stream.next_sequence or ahead(packet.acknowledged, peer) > 0:
            return False
        if peer.finished and not (is_between_frames(stream) and is_between_frames(peer)):
            return False  # a frame is truncated
        peer.acknowledge(packet.acknowledged)
        stream.end = stream.position
        stream.sent = max(stream.sent, stream.position)
        stream.finished = True
        stream.next_sequence = <uint32_t>(packet.sequence + 1)
        self.note(connection, packet)
        if peer.end is not None:
            self.close(connection, packet)
        return True

    cdef bint take_rst(self, StreamState stream, Packet* packet) except -1:
        if not stream.connection.calm:
            return False
        self.note(stream.connection, packet)
        self.close(stream.connection, packet)
        return True

    cdef bint take_again(self, StreamState stream, Packet* packet) except -1:
        """Process a segment whose bytes, and FIN, were processed before."""
        cdef int64_t stop = ahead(packet.sequence, stream) + packet.count
        if not stream.connection.calm or not packet.count - self.stray <= stop <= 0:
            return False
        if ahead(packet.acknowledged, stream.peer) > 0 or (packet.flags & FIN and stream.end is None):
            return False
        if stream.end is not None and stream.position > <int64_t>stream.end:
            return False
        stream.peer.acknowledge(packet.acknowledged)
        stream.sent = max(stream.sent, stream.position + stop)
        self.state.read += packet.count
        self.note(stream.connection, packet)
        return True

    cdef int close(self, ConnectionState connection, Packet* packet) except -1:
        connection.closed = True
        if connection.number not in self.state.closing:
            self.state.closing[connection.number] = connection, packet.now, self.state.packets
        return 0

    cdef int note(self, ConnectionState connection, Packet* packet) except -1:
        connection.newest_time, connection.newest = packet.now, self.state.packets
        connection.packets += 1
        if connection.calm and PyDict_Size(self.state.stuck):
            self.state.stuck.pop(connection.number, None)
        return 0

cdef bint is_between_frames(StreamState stream):
    return stream.conversation is None or not stream.cutter.missing


cdef bint is_complete(StreamState stream) except -1:
    """Whether a stream of a calm connection ends without a truncated frame and without a gap."""
    return is_between_frames(stream) and (stream.finished or not (<object>stream).missing() > 0)


cdef inline int64_t ahead(uint32_t sequence, StreamState stream) noexcept:
    """Return the distance of a sequence number from the next expected one; negative if it is before it."""
    return signed32(sequence - <uint32_t>stream.next_sequence)
