# Extracts the frames of Kafka connections from the packets of a pcap or pcapng file with usual headers: Ethernet and
# similar link layers, IP without options. Other packets are left to the general path (`kwire.capture.packets`), and so is
# the start of each connection.

cdef enum:
    MOST_HEADS = 4096          # stored first bytes of requests


cdef class PacketWalker(PacketLayouts):
    """Walks over the packets of a file.

    Args:
        table: the connections.
        streams: a `FrameExtractor`. Its method `recognise` receives the first payload of each connection, and `trim` is
            called periodically.
        is_other: returns whether another share reads the connection with a new key; None if there are no other shares.
        near: the maximum time between packets of a pcap file, in seconds; a longer time means a damaged record.
        blocks: whether the file is pcapng.

    Attributes:
        seconds: the time of the last packet of a pcap file; None before the first.
    """

    cdef SegmentTable table
    cdef object streams, is_other
    cdef bytes portion         # the part of the file that is being read
    cdef set heads             # api key, version and client id of the first requests of recognised connections
    cdef bint blocks
    cdef list cached_keys, cached_streams
    cdef int64_t last_seconds

    def __init__(self, SegmentTable table not None, streams, is_other, int near, bint blocks):
        self.table, self.streams, self.is_other = table, streams, is_other
        self.heads = set()
        self.near, self.blocks, self.last_seconds = near, blocks, NONE
        self.cached_keys, self.cached_streams = [b""] * RECENT, [None] * RECENT

    @property
    def seconds(self):
        return number_or_none(self.last_seconds)

    def run(self, bytes data not None, Py_ssize_t start, FrameBatch out not None, Py_ssize_t stop=PY_SSIZE_T_MAX):
        """Process packets until one has another layout or has not arrived yet.

        Args:
            data, start: bytes of the file, and the position of a record.
            out: receives the captured frames.
            stop: the position in `data` from which on no record is processed.

        Returns:
            The position of the next record.
        """
        cdef const uint8_t* base = address_of(data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(data), at = start
        cdef Packet packet
        if self.table is None:
            raise RuntimeError("a walker has a table of connections")
        self.table.enter()
        self.portion, self.lacks_bytes = data, False
        try:
            if self.blocks:
                while at < stop and self.block(base, there, at, &packet) and self.is_usual(&packet):
                    self.take(&packet, out)
                    at = packet.after
            else:
                while at < stop and self.record(base, there, at, &packet) and self.is_usual(&packet):
                    self.last_seconds = self.number(base, there, at)
                    self.take(&packet, out)
                    at = packet.after
        finally:
            self.portion, self.table.is_busy = None, False
        return at

    cdef bint is_usual(self, Packet* packet) except -1:
        """Whether a packet was captured completely, and has a segment in a known layout."""
        return packet.captured == packet.length and self.segment_in(packet) and not packet.missing

    cdef int take(self, Packet* packet, FrameBatch out) except -1:
        cdef SegmentTable table = self.table
        cdef StreamState stream = self.find(packet.key, packet.key_size)
        cdef bytes key = None
        taken_paths.packets_taken += 1
        if stream is None:
            key = copied(packet.key, packet.key_size, 0, packet.key_size)
        if stream is None and self.is_other is not None and self.is_other(key):
            table.packets += 1
            if table.packets % EVERY == 0:
                table.check_all(packet.now, out)
        else:
            if packet.count and stream is not None and stream.conversation is None:
                self.begin(stream, packet)
            table.take(stream, key, packet, self.portion, out)
        if table.packets % EVERY == 0:
            self.streams.trim(out)
        return 0

    cdef StreamState find(self, const uint8_t* key, Py_ssize_t size):
        """Return the stream of a key, from the cache or from the dictionary; None if there is none."""
        cdef Py_ssize_t slot = slot_of_key(key, size)
        cdef bytes known = <bytes>self.cached_keys[slot]
        cdef StreamState stream
        if is_equal(address_of(known), PyBytes_GET_SIZE(known), key, size):
            stream = <StreamState>self.cached_streams[slot]
            if stream.connection is not None:  # it is still open
                return stream
        known = copied(key, size, 0, size)
        stream = self.table.stream_of(known)
        if stream is not None:
            self.cached_keys[slot], self.cached_streams[slot] = known, stream
        return stream

    cdef int begin(self, StreamState stream, Packet* packet) except -1:
        """Find out, from the first payload of a connection that comes in order, whether it is a Kafka connection."""
        cdef const uint8_t* p = packet.payload
        cdef Py_ssize_t count = packet.count, size, client
        cdef bytes head = None
        if stream.position or stream.peer.position or not is_in_order(stream, packet):
            return 0
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
