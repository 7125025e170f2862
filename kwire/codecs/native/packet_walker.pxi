# Extracts the frames of Kafka connections from the packets of a pcap or pcapng file in the usual case: Ethernet and
# similar link layers, IP without options, TCP in order, responses in the order of requests. Everything else is left to
# the general path (`kwire.capture`), packet by packet and frame by frame, with the same state.

cdef enum:
    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16
    EVERY = 256                # packets between two checks of all buffers
    MOST_HEADS = 4096          # stored first bytes of requests


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
        cdef const uint8_t* base = address_of(data)
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
                    self.last_seconds = self.number(base, there, at)
                    self.take(&packet, out)
                    at = packet.after
        finally:
            self.portion = None
        return at

    cdef bint is_usual(self, Packet* packet) except -1:
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
            key = copied(packet.key, packet.key_size, 0, packet.key_size)
            taken = self.is_other is not None and self.is_other(key)
            if not taken and packet.flags & (FIN | SYN | RST | ACK) == SYN and not packet.count:
                taken = self.take_syn(key, packet)
        taken_paths.packets_taken += taken
        taken_paths.packets_left += not taken
        if not taken:
            state.packets -= 1
            key = copied(packet.key, packet.key_size, 0, packet.key_size)
            payload = copied(packet.payload, packet.count, 0, packet.count)
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
        if is_equal(address_of(known), PyBytes_GET_SIZE(known), key, size):
            stream = <StreamState>self.cached_streams[slot]
            if stream.connection is not None and stream.connection.calm:  # it is still open
                return stream
        known = copied(key, size, 0, size)
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
        cdef const uint8_t* p = packet.payload
        cdef Py_ssize_t count = packet.count, size, client
        cdef bytes head = None
        if count >= CLIENT_ID:
            size, client = uint32_at(p, count, 0), uint16_at(p, count, CLIENT_ID - 2)
            if client <= min(count - CLIENT_ID, size - 10) and size <= LONGEST_FRAME:
                head = copied(p, count, 4, 8) + copied(p, count, CLIENT_ID - 2, CLIENT_ID + client)
        if head is not None and head in self.heads:
            self.streams.converse(stream.connection, stream.side, copied(p, count, 4, 12), count)
            return 0
        self.streams.recognise(stream.connection, stream.side, copied(p, count, 0, count))
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
