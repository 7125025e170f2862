# The layout of records of pcap and pcapng, and of the headers of their packets.

cdef enum:
    RECORD_HEADER = 16
    LEAST_BLOCK = 32           # bytes of a pcapng packet block without packet data: its header and trailer
    ENHANCED_PACKET = 6
    LEAST_IPV4 = 20
    IPV6_HEADER = 40
    LEAST_TCP = 20
    LONGEST_PACKET = 1 << 24
    MOST_LINKS = 32            # interfaces of a pcapng file
    RECENT = 1024              # keys that are found without a dictionary; a power of two
    LEAST_CAPACITY = 1024      # packets

cdef struct Link:              # of an interface
    int ip, ethertype          # see `PacketLayouts.describe`
    int64_t ticks, offset

cdef struct Packet:
    int64_t now                # nanoseconds since 1970
    const uint8_t* data        # the captured bytes
    Py_ssize_t captured, length  # the number of these bytes, and of all bytes of the packet
    const Link* link
    const uint8_t* key         # its addresses and ports
    Py_ssize_t key_size
    const uint8_t* payload
    Py_ssize_t count           # of the payload
    Py_ssize_t missing         # bytes of the payload that were not captured
    Py_ssize_t after           # the next record
    uint32_t sequence, acknowledged
    uint8_t flags


cdef bytes turned(bytes key):
    """Return the key of the other direction: two addresses, and two ports."""
    if key is None or PyBytes_GET_SIZE(key) < 12:
        raise ValueError("the key of a connection has two addresses and two ports")
    cdef Py_ssize_t size = (PyBytes_GET_SIZE(key) - 4) // 2
    return key[size:2 * size] + key[:size] + key[2 * size + 2:] + key[2 * size:2 * size + 2]


cdef inline Py_ssize_t slot_of_key(const uint8_t* key, Py_ssize_t size) except -1:
    """Return the place of a key in a table of 1024."""
    cdef uint32_t mixed = (uint32_at(key, size, size - 12) ^ uint32_at(key, size, size - 8)) * 0x9E3779B1U
    return ((mixed ^ uint32_at(key, size, size - 4)) * 0x85EBCA6BU) >> 22


cdef class PacketLayouts:
    """Locates records, packets and segments.

    Attributes:
        lacks_bytes: why reading stopped: true if the next record is incomplete, false if it has another layout.
    """

    cdef int near              # seconds between packets of a pcap file; more shows that a record is damaged
    cdef bint big
    cdef Link[MOST_LINKS] links
    cdef int link_count
    cdef readonly bint lacks_bytes

    def describe(self, bint big, list links not None):
        """Store the format of the file.

        Args:
            big: whether the numbers of the file format are big-endian.
            links: for each interface: the number of bytes before the IP header; the position of the EtherType in them,
                or -1; the ticks per second; and the seconds to add to times. None if only the general path reads the
                interface.
        """
        cdef int64_t ticks, offset
        cdef int ip, ethertype
        self.big, self.link_count = big, 0
        for link in links[:MOST_LINKS]:
            ip, ethertype, ticks, offset = (0, -1, 0, 0) if link is None else link
            is_placed = 0 <= ip <= 256 and (ethertype < 0 or ethertype <= ip - 2)
            if not is_placed or not 0 <= ticks <= SECOND or not -SECOND <= offset <= SECOND:
                raise ValueError("no such link")
            self.links[self.link_count] = Link(ip, ethertype, ticks, offset)
            self.link_count += 1

    cdef inline uint32_t number(self, const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except? 0xFFFFFFFF:
        return uint32_at(p, size, at) if self.big else little_uint32_at(p, size, at)

    cdef bint record(self, const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Packet* packet) except -1:
        """Locate the packet at a position of a pcap file; False if it is incomplete or no other record follows it."""
        cdef const uint8_t* p = part(base, there, at, RECORD_HEADER)
        cdef const uint8_t* then
        self.lacks_bytes = p == NULL
        if p == NULL or not self.link_count or not self.links[0].ticks:
            return False
        packet.captured, packet.length = self.number(p, RECORD_HEADER, 8), self.number(p, RECORD_HEADER, 12)
        if packet.captured > min(packet.length, <Py_ssize_t>LONGEST_PACKET):
            return False
        packet.after = at + RECORD_HEADER + packet.captured
        then = part(base, there, packet.after, RECORD_HEADER)
        self.lacks_bytes = then == NULL
        if then == NULL or not self.follows(p, then):
            return False
        packet.now = self.number(p, RECORD_HEADER, 0) * SECOND + self.number(p, RECORD_HEADER, 4) * (SECOND // self.links[0].ticks)
        packet.data, packet.link = p + RECORD_HEADER, &self.links[0]
        return True

    cdef bint follows(self, const uint8_t* p, const uint8_t* then) except -1:
        """Whether a record may follow another, by the lengths and times in their headers."""
        cdef uint32_t captured = self.number(then, RECORD_HEADER, 8), size = self.number(then, RECORD_HEADER, 12)
        if captured > size or size > LONGEST_PACKET or not self.is_near(self.number(p, RECORD_HEADER, 0), self.number(then, RECORD_HEADER, 0)):
            return False
        return self.number(p, RECORD_HEADER, 4) < self.links[0].ticks and self.number(then, RECORD_HEADER, 4) < self.links[0].ticks

    cdef bint is_near(self, int64_t seconds, int64_t then) noexcept:
        """Whether two packets in succession may have these times."""
        return -self.near <= then - seconds <= self.near

    cdef bint block(self, const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Packet* packet) except -1:
        """Locate the packet at a position of a pcapng file; as `record`."""
        cdef const uint8_t* p = part(base, there, at, LEAST_BLOCK)
        cdef const Link* link
        cdef uint32_t size, number
        cdef uint64_t time
        self.lacks_bytes = p == NULL
        if p == NULL or self.number(p, LEAST_BLOCK, 0) != ENHANCED_PACKET:
            return False
        size, number, packet.captured = self.number(p, LEAST_BLOCK, 4), self.number(p, LEAST_BLOCK, 8), self.number(p, LEAST_BLOCK, 20)
        if size % 4 or not LEAST_BLOCK <= size <= LONGEST_PACKET or number >= <uint32_t>self.link_count:
            return False
        packet.after, packet.length = at + size, self.number(p, LEAST_BLOCK, 24)
        self.lacks_bytes = part(base, there, at, size) == NULL
        if self.lacks_bytes or self.number(p, size, size - 4) != size:
            return False
        link, time = &self.links[number], <uint64_t>self.number(p, LEAST_BLOCK, 12) << 32 | self.number(p, LEAST_BLOCK, 16)
        if packet.captured > size - LEAST_BLOCK or not link.ticks:
            return False
        if time // <uint64_t>link.ticks > <uint64_t>(7 * SECOND):  # the nanoseconds would not fit
            return False
        packet.now = (<int64_t>(time // <uint64_t>link.ticks) + link.offset) * SECOND
        packet.now += <int64_t>(time % <uint64_t>link.ticks) * SECOND // link.ticks
        packet.data, packet.link = p + LEAST_BLOCK - 4, link
        return True

    cdef bint segment_in(self, Packet* packet) except -1:
        """Locate the segment in a packet; False if the packet has another layout."""
        cdef const uint8_t* base = packet.data
        cdef const Link* link = packet.link
        cdef Py_ssize_t there = packet.captured, at = link.ip + LEAST_IPV4, stop, start
        cdef const uint8_t* p = part(base, there, link.ip, LEAST_IPV4)
        cdef int kind
        if p == NULL or not link.ticks:
            return False
        kind = uint16_at(base, there, link.ethertype) if link.ethertype >= 0 else 0
        if byte_at(p, LEAST_IPV4, 0) == 0x45 and (kind == 0x0800 or link.ethertype < 0):
            if uint16_at(p, LEAST_IPV4, 6) & 0x3FFF or byte_at(p, LEAST_IPV4, 9) != 6:
                return False
            packet.key, packet.key_size, stop = p + 12, 12, link.ip + uint16_at(p, LEAST_IPV4, 2)
        elif byte_at(p, LEAST_IPV4, 0) == 0x60 and (kind == 0x86DD or link.ethertype < 0):
            if byte_at(p, LEAST_IPV4, 6) != 6:
                return False
            at = link.ip + IPV6_HEADER
            packet.key, packet.key_size, stop = p + 8, 36, at + uint16_at(p, LEAST_IPV4, 4)
        else:
            return False
        p = part(base, there, at, LEAST_TCP)
        if p == NULL or byte_at(p, LEAST_TCP, 12) < 0x50:
            return False
        start = at + (byte_at(p, LEAST_TCP, 12) >> 4) * 4
        if start > min(stop, there):
            return False
        packet.payload, packet.count = base + start, min(stop, there) - start
        packet.missing = max(0, stop - there)
        packet.sequence, packet.acknowledged, packet.flags = uint32_at(p, LEAST_TCP, 4), uint32_at(p, LEAST_TCP, 8), <uint8_t>byte_at(p, LEAST_TCP, 13)
        return True
