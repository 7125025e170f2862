# Packets of a pcap file to the frames of Kafka connections, as long as nothing is unusual: Ethernet and its like, IP
# without options, TCP in order. Whatever else comes is handed to the general path, packet by packet, on the same state.

cdef enum:
    RECORD_HEADER = 16
    LEAST_TCP = 20
    LONGEST_PACKET = 1 << 24
    LEAST_FRAME = 12
    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16

cdef int64_t SECOND = 1000000000

cdef struct Packet:
    Py_ssize_t key, key_size   # where its addresses and ports are
    Py_ssize_t begin, end      # of the payload
    Py_ssize_t after           # the next record
    uint32_t sequence, acknowledged
    uint8_t flags


cdef class StreamState:
    """Where one direction of a TCP connection stands; `dumps.halves.Half` knows the rest.

    Attributes:
        sequence: the sequence number of the next byte awaited, None if none was seen.
        position: its offset in the stream.
        peer: the other direction; `connection` is a `ConnectionState`.
        frames: an `InOrderStream` once it is known that Kafka is spoken, else None.
    """

    cdef public object sequence
    cdef public int64_t position
    cdef public StreamState peer
    cdef public ConnectionState connection
    cdef public InOrderStream frames

    def __init__(self, *arguments):
        """Subclasses have arguments of their own."""


cdef class ConnectionState:
    """What the fast path must know of a TCP connection; `dumps.tcp.Connection` knows the rest.

    Attributes:
        calm: whether nothing waits, both streams have begun, and no gap must be told.
        last: nanoseconds of its newest packet, but for mere acknowledgements; or None.
    """

    cdef public bint calm
    cdef public object last

    def __init__(self, *arguments):
        """Subclasses have arguments of their own."""


cdef class InOrderStream:
    """Cuts the frames of one direction of a Kafka connection out of segments that come in order.

    Args:
        stream: its place.
        cutter: a `FrameReader`, which takes parts of frames.
        note: called with the bytes of a frame and the two numbers behind its size; returns a fault or None.
        ends, asked: what stands in front of each captured frame.
    """

    cdef StreamState stream
    cdef readonly object cutter
    cdef object note, ends, asked

    def __init__(self, StreamState stream not None, cutter, note, ends, asked):
        self.stream, self.cutter, self.note, self.ends, self.asked = stream, cutter, note, ends, asked

    def take(self, bytes data not None, now, list out not None):
        """Take the next bytes, if they are a frame, or end with one, or hold no end of one; False: they were not taken.

        Args:
            data: the payload of a segment.
            now: nanoseconds since 1970.
            out: gets the captured frame, as `frames.said` has them.
        """
        cdef Py_ssize_t count = PyBytes_GET_SIZE(data)
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef StreamState stream = self.stream
        cdef bytes frame = data
        if count >= LEAST_FRAME and not self.cutter.missing and signed32(be32(p)) == count - 4:
            self.cutter.passed += count
        else:
            found = self.cutter.quick(data)
            if found is None:
                return False
            frame = found
        stream.sequence = (<uint32_t>(0 if stream.sequence is None else stream.sequence) + count) & 0xFFFFFFFFU
        stream.position += count
        stream.connection.last = now
        count = PyBytes_GET_SIZE(frame)
        if count:
            p = <const uint8_t*>PyBytes_AS_STRING(frame)
            first = second = None
            second = 0
            if count >= LEAST_FRAME:
                first, second = signed32(be32(p + 4)), signed32(be32(p + 8))
            elif count >= 8:
                first = signed32(be32(p + 4))
            fault = self.note(frame, first, second)
            captured = (self.ends, self.asked, stream.position - count, now, frame, fault, first, second)
            PyObject_GC_UnTrack(<PyObject*>captured)  # millions of them, without cycles: a tenth of the time
            out.append(captured)
        return True


cdef class PacketWalker:
    """Walks over the packets of a pcap file.

    Args:
        swapped: whether the file's own numbers are big-endian.
        tick: nanoseconds in one tick of a record's second number.
        link: bytes in front of IP.
        name: where among them the protocol is named; -1: nowhere.
        near: how many seconds may pass between packets; more shows that a record is damaged.
    """

    cdef bint big
    cdef int tick, link, name, near

    def __init__(self, bint big, int tick, int link, int name, int near):
        self.big, self.tick, self.link, self.name, self.near = big, tick, link, name, near
        if link < 0 or link > 256 or (name >= 0 and name > link - 2):
            raise ValueError("no such link type")

    cdef inline uint32_t number(self, const uint8_t* p) noexcept:
        return be32(p) if self.big else le32(p)

    def run(self, bytes data not None, Py_ssize_t start, Py_ssize_t packets, Py_ssize_t read, Py_ssize_t every,
            dict known not None, is_other, unusual, list out not None):
        """Walk until a packet comes that is laid out otherwise, or is not there yet.

        Args:
            data, start: bytes of the file, and where a record begins.
            packets, read: how many packets and bytes of streams came before.
            every: at each packet whose number is a multiple of it, the general path looks around.
            known: the streams by the key of their segments: addresses and ports.
            is_other: tells whether a connection is left to others, by a key that is not known; None: none is.
            unusual: takes all that the general path must, and returns how many bytes were read then.
            out: gets captured frames.

        Returns:
            Where the next record begins, both counts, and the seconds of the last packet; None: there was none.
        """
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(data), at = start, last = -1
        cdef Packet packet
        cdef StreamState stream
        cdef object payload, now, seconds = None
        if start < 0 or start > there:
            raise ValueError("a position outside of the bytes")
        while self.layout(base, at, there, &packet):
            key = PyBytes_FromStringAndSize(<const char*>base + packet.key, packet.key_size)
            held = PyDict_GetItem(known, key)
            packets += 1
            last = at
            stream = <StreamState>held if held != NULL else None
            if stream is None and is_other is not None and packets % every and is_other(key):
                at = packet.after
                continue
            if stream is not None and packets % every and self.is_next(stream, &packet):
                if packet.begin == packet.end:
                    at = packet.after
                    continue
                if stream.frames is not None and stream.sequence is not None and packet.sequence == stream.sequence:
                    payload = data[packet.begin:packet.end]
                    now = self.time(base + at)
                    if stream.frames.take(payload, now, out):
                        read += packet.end - packet.begin
                        at = packet.after
                        continue
            payload, now = data[packet.begin:packet.end], self.time(base + at)
            read = unusual(stream, key, packet.sequence, packet.acknowledged, packet.flags, payload, now, packets, read, out)
            at = packet.after
        if last >= 0:
            seconds = self.number(base + last)
        return at, packets, read, seconds

    cdef object time(self, const uint8_t* p):
        return <int64_t>self.number(p) * SECOND + <int64_t>self.number(p + 4) * self.tick

    cdef bint is_next(self, StreamState stream, Packet* packet) except -1:
        """Whether a segment acknowledges nothing that was not seen, of a connection in which nothing waits."""
        cdef uint32_t behind
        if packet.flags & (FIN | SYN | RST | ACK) != ACK or not stream.connection.calm:
            return False
        if stream.peer.sequence is None:
            return packet.acknowledged == 0 or packet.acknowledged >= 0x80000000U
        behind = packet.acknowledged - <uint32_t>stream.peer.sequence
        return not 0 < behind < 0x80000000U

    cdef bint layout(self, const uint8_t* base, Py_ssize_t at, Py_ssize_t there, Packet* packet) noexcept:
        """Find the parts of the packet at a position; False: it is laid out otherwise, or is not there."""
        cdef const uint8_t* p
        cdef Py_ssize_t ip = at + RECORD_HEADER + self.link, tcp, left
        cdef uint32_t captured
        if there - at < RECORD_HEADER + self.link + 20 + LEAST_TCP:
            return False
        captured = self.number(base + at + 8)
        if captured > LONGEST_PACKET or captured != self.number(base + at + 12):
            return False
        packet.after = at + RECORD_HEADER + captured
        if there - packet.after < RECORD_HEADER or not self.follows(base + at, base + packet.after):
            return False
        p = base + ip
        if p[0] == 0x45 and self.is_named(base + ip, 0x0800):
            if be16(p + 6) & 0x3FFF or p[9] != 6:
                return False
            tcp, packet.end = ip + 20, ip + be16(p + 2)
            packet.key, packet.key_size = ip + 12, 12
        elif p[0] == 0x60 and self.is_named(base + ip, 0x86DD):
            if p[6] != 6 or there - ip < 40 + LEAST_TCP:
                return False
            tcp, packet.end = ip + 40, ip + 40 + be16(p + 4)
            packet.key, packet.key_size = ip + 8, 36
        else:
            return False
        p = base + tcp
        packet.begin = tcp + (p[12] >> 4) * 4
        if p[12] < 0x50 or packet.begin > packet.end or packet.end > packet.after:
            return False
        packet.sequence, packet.acknowledged, packet.flags = be32(p + 4), be32(p + 8), p[13]
        return True

    cdef inline bint is_named(self, const uint8_t* ip, int protocol) noexcept:
        return self.name < 0 or be16(ip - self.link + self.name) == protocol

    cdef inline bint follows(self, const uint8_t* record, const uint8_t* then) noexcept:
        """Whether a record may follow another, by the lengths and times in their headers."""
        cdef uint32_t captured = self.number(then + 8), size = self.number(then + 12)
        cdef int64_t apart = <int64_t>self.number(then) - <int64_t>self.number(record)
        if captured > size or size > LONGEST_PACKET or not -self.near <= apart <= self.near:
            return False
        return <int64_t>self.number(record + 4) * self.tick < SECOND and <int64_t>self.number(then + 4) * self.tick < SECOND
