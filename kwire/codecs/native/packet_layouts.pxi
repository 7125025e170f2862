# The layout of records of pcap and pcapng, and of the headers of their packets; and packets grouped by connection, for
# a shuffle (`kwire.arrow.scan.packet_scan`). All bytes are read through `part`.

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

cdef int64_t SECOND = 1000000000
cdef int64_t NONE = -0x7FFFFFFFFFFFFFFF  # stands for Python's None

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

cdef struct Grouped:           # a packet in its group
    Py_ssize_t place, size     # of its record
    int64_t now
    Py_ssize_t next            # the next packet of the group

cdef struct RecentKey:
    const uint8_t* key         # in the data
    Py_ssize_t size, number    # of the key, and of its group

cdef struct GroupState:
    Py_ssize_t first, last, count, size


cdef inline const uint8_t* part(const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Py_ssize_t count) noexcept:
    """Return a pointer to bytes of the file, or NULL if the file is too short. All bytes are read through this."""
    return base + at if at >= 0 and count >= 0 and count <= there - at else NULL


cdef bytes turned(bytes key):
    """Return the key of the other direction: two addresses, and two ports."""
    if key is None or PyBytes_GET_SIZE(key) < 12:
        raise ValueError("the key of a connection has two addresses and two ports")
    cdef Py_ssize_t size = (PyBytes_GET_SIZE(key) - 4) // 2
    return key[size:2 * size] + key[:size] + key[2 * size + 2:] + key[2 * size:2 * size + 2]


cdef inline Py_ssize_t slot_of_key(const uint8_t* key, Py_ssize_t size) noexcept:
    """Return the place of a key in a table of 1024."""
    cdef uint32_t mixed = (be32(key + size - 12) ^ be32(key + size - 8)) * 0x9E3779B1U
    return ((mixed ^ be32(key + size - 4)) * 0x85EBCA6BU) >> 22


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

    cdef inline uint32_t number(self, const uint8_t* p) noexcept:
        return be32(p) if self.big else le32(p)

    cdef bint record(self, const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Packet* packet) noexcept:
        """Locate the packet at a position of a pcap file; False if it is incomplete or no other record follows it."""
        cdef const uint8_t* p = part(base, there, at, RECORD_HEADER)
        cdef const uint8_t* then
        self.lacks_bytes = p == NULL
        if p == NULL or not self.link_count or not self.links[0].ticks:
            return False
        packet.captured, packet.length = self.number(p + 8), self.number(p + 12)
        if packet.captured > min(packet.length, <Py_ssize_t>LONGEST_PACKET):
            return False
        packet.after = at + RECORD_HEADER + packet.captured
        then = part(base, there, packet.after, RECORD_HEADER)
        self.lacks_bytes = then == NULL
        if then == NULL or not self.follows(p, then):
            return False
        packet.now = self.number(p) * SECOND + self.number(p + 4) * (SECOND // self.links[0].ticks)
        packet.data, packet.link = p + RECORD_HEADER, &self.links[0]
        return True

    cdef bint follows(self, const uint8_t* p, const uint8_t* then) noexcept:
        """Whether a record may follow another, by the lengths and times in their headers."""
        cdef uint32_t captured = self.number(then + 8), size = self.number(then + 12)
        if captured > size or size > LONGEST_PACKET or not self.is_near(self.number(p), self.number(then)):
            return False
        return self.number(p + 4) < self.links[0].ticks and self.number(then + 4) < self.links[0].ticks

    cdef bint is_near(self, int64_t seconds, int64_t then) noexcept:
        """Whether two packets in succession may have these times."""
        return -self.near <= then - seconds <= self.near

    cdef bint block(self, const uint8_t* base, Py_ssize_t there, Py_ssize_t at, Packet* packet) noexcept:
        """Locate the packet at a position of a pcapng file; as `record`."""
        cdef const uint8_t* p = part(base, there, at, LEAST_BLOCK)
        cdef const Link* link
        cdef uint32_t size, number
        cdef uint64_t time
        self.lacks_bytes = p == NULL
        if p == NULL or self.number(p) != ENHANCED_PACKET:
            return False
        size, number, packet.captured = self.number(p + 4), self.number(p + 8), self.number(p + 20)
        if size % 4 or not LEAST_BLOCK <= size <= LONGEST_PACKET or number >= <uint32_t>self.link_count:
            return False
        packet.after, packet.length = at + size, self.number(p + 24)
        self.lacks_bytes = part(base, there, at, size) == NULL
        if self.lacks_bytes or self.number(p + size - 4) != size:
            return False
        link, time = &self.links[number], <uint64_t>self.number(p + 12) << 32 | self.number(p + 16)
        if packet.captured > size - LEAST_BLOCK or not link.ticks:
            return False
        if time // <uint64_t>link.ticks > <uint64_t>(7 * SECOND):  # the nanoseconds would not fit
            return False
        packet.now = (<int64_t>(time // <uint64_t>link.ticks) + link.offset) * SECOND
        packet.now += <int64_t>(time % <uint64_t>link.ticks) * SECOND // link.ticks
        packet.data, packet.link = p + LEAST_BLOCK - 4, link
        return True

    cdef bint segment_in(self, Packet* packet) noexcept:
        """Locate the segment in a packet; False if the packet has another layout."""
        cdef const uint8_t* base = packet.data
        cdef const Link* link = packet.link
        cdef Py_ssize_t there = packet.captured, at = link.ip + LEAST_IPV4, stop, start
        cdef const uint8_t* p = part(base, there, link.ip, LEAST_IPV4)
        cdef int kind
        if p == NULL or not link.ticks:
            return False
        kind = be16(base + link.ethertype) if link.ethertype >= 0 else 0
        if p[0] == 0x45 and (kind == 0x0800 or link.ethertype < 0):
            if be16(p + 6) & 0x3FFF or p[9] != 6:
                return False
            packet.key, packet.key_size, stop = p + 12, 12, link.ip + be16(p + 2)
        elif p[0] == 0x60 and (kind == 0x86DD or link.ethertype < 0):
            if p[6] != 6:
                return False
            at = link.ip + IPV6_HEADER
            packet.key, packet.key_size, stop = p + 8, 36, at + be16(p + 4)
        else:
            return False
        p = part(base, there, at, LEAST_TCP)
        if p == NULL or p[12] < 0x50:
            return False
        start = at + (p[12] >> 4) * 4
        if start > min(stop, there):
            return False
        packet.payload, packet.count = base + start, min(stop, there) - start
        packet.missing = max(0, stop - there)
        packet.sequence, packet.acknowledged, packet.flags = be32(p + 4), be32(p + 8), p[13]
        return True


cdef class PacketGroups(PacketLayouts):
    """The packets in a part of a file, grouped by connection.

    Args:
        near: see `PacketWalker`.
        blocks: whether the file is pcapng.

    Attributes:
        count: the number of records.
        end: where the next record begins.
        seconds: the time of the last record of a pcap file.
    """

    cdef bint blocks, is_busy
    cdef bytes data
    cdef readonly Py_ssize_t count, end
    cdef readonly int64_t seconds
    cdef Py_ssize_t capacity, group_capacity
    cdef Grouped* packets
    cdef GroupState* groups
    cdef list keys             # of the groups, in one direction
    cdef dict known            # their numbers, by the keys of both directions
    cdef RecentKey[RECENT] recent

    def __init__(self, int near, bint blocks):
        self.near, self.blocks = near, blocks

    def __dealloc__(self):
        PyMem_Free(self.packets)
        PyMem_Free(self.groups)

    def read(self, bytes data not None, Py_ssize_t start, Py_ssize_t stop, before, other):
        """Read records, up to one that is damaged, incomplete or not followed by another record.

        Args:
            data, start: bytes of the file, and where a record begins.
            stop: where the first record begins that is not needed.
            before: the time of the previous record of a pcap file, in seconds; None if it is unknown.
            other: called with a packet in another layout, the number of its link and its length; returns the key of
                its connection, or None if it has none.

        Returns:
            The number of records.
        """
        self.enter()
        try:
            self.read_records(data, start, stop, before, other)
        finally:
            self.is_busy = False
        return self.count

    cdef int enter(self) except -1:
        """Refuse a second use from within the first: addresses into the data and the groups must not change."""
        if self.is_busy:
            raise RuntimeError("groups of packets are read or taken once at a time")
        self.is_busy = True
        return 0

    cdef int read_records(self, bytes data, Py_ssize_t start, Py_ssize_t stop, before, other) except -1:
        cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(data), group
        cdef Packet packet
        self.data, self.keys, self.known, self.count, self.end = data, [], {}, 0, start
        memset(self.recent, 0, sizeof(self.recent))
        while self.end < stop and self.packet_at(base, there, &packet):
            if not self.blocks:
                if not packet.captured or (before is not None and not self.is_near(before, self.number(base + self.end))):
                    break
                self.seconds, before = self.number(base + self.end), None  # each record is near the next one
            if self.segment_in(&packet):
                group = self.group_of(packet.key, packet.key_size)
            else:
                found = other(packet.data[:packet.captured], packet.link - self.links, packet.length)
                group = -1 if found is None else self.group_of_key(found)
            self.add(group, &packet)
            self.end = packet.after
        return 0

    def times(self):
        """Return the times of the records in nanoseconds, as 64-bit integers."""
        cdef bytes times = PyBytes_FromStringAndSize(NULL, self.count * sizeof(int64_t))
        cdef char* p = PyBytes_AS_STRING(times)
        cdef Py_ssize_t at
        for at in range(self.count):
            memcpy(p + at * sizeof(int64_t), &self.packets[at].now, sizeof(int64_t))
        return times

    def take(self, bytes times not None, int64_t passed):
        """Return the groups: key in one direction, first and last time, positions, sizes, and the records.

        Args:
            times: the times of the records, as `times` returned them or corrected.
            passed: bytes of the file before the data.
        """
        if PyBytes_GET_SIZE(times) != self.count * <Py_ssize_t>sizeof(int64_t):
            raise ValueError("not a time for each record")
        cdef list found = []
        cdef Py_ssize_t at
        self.enter()
        try:
            for at in range(0 if self.data is None else len(self.keys)):
                found.append(self.group(&self.groups[at], self.keys[at], PyBytes_AS_STRING(times), passed))
            self.data, self.keys, self.known, self.count = None, [], {}, 0
        finally:
            self.is_busy = False
        return found

    cdef tuple group(self, const GroupState* group, bytes key, const char* times, int64_t passed):
        cdef bytes places = PyBytes_FromStringAndSize(NULL, group.count * sizeof(int64_t))
        cdef bytes sizes = PyBytes_FromStringAndSize(NULL, group.count * sizeof(int64_t))
        cdef bytes records = PyBytes_FromStringAndSize(NULL, group.size)
        cdef char* place = PyBytes_AS_STRING(places)
        cdef char* size = PyBytes_AS_STRING(sizes)
        cdef char* record = PyBytes_AS_STRING(records)
        cdef const char* base = PyBytes_AS_STRING(self.data)
        cdef int64_t now, first = 0, last = 0, number
        cdef Py_ssize_t at = group.first
        cdef Grouped* packet
        while at >= 0:
            packet = &self.packets[at]
            memcpy(&now, times + at * sizeof(int64_t), sizeof(int64_t))
            first = now if at == group.first else min(first, now)
            last = now if at == group.first else max(last, now)
            number = passed + packet.place
            memcpy(place, &number, sizeof(int64_t))
            number = packet.size
            memcpy(size, &number, sizeof(int64_t))
            memcpy(record, base + packet.place, packet.size)
            place, size, record = place + sizeof(int64_t), size + sizeof(int64_t), record + packet.size
            at = packet.next
        return key, first, last, places, sizes, records

    cdef inline bint packet_at(self, const uint8_t* base, Py_ssize_t there, Packet* packet) noexcept:
        if self.blocks:
            return self.block(base, there, self.end, packet)
        return self.record(base, there, self.end, packet)

    cdef int add(self, Py_ssize_t number, const Packet* packet) except -1:
        """Add a record to a group, or to none if the number is -1."""
        cdef GroupState* group
        cdef Grouped* one
        if self.count == self.capacity:
            self.packets = <Grouped*>grown(self.packets, &self.capacity, sizeof(Grouped))
        one = &self.packets[self.count]
        one.place, one.size, one.now, one.next = self.end, packet.after - self.end, packet.now, -1
        if number >= 0:
            group = &self.groups[number]
            if group.count:
                self.packets[group.last].next = self.count
            else:
                group.first = self.count
            group.last = self.count
            group.count += 1
            group.size += one.size
        self.count += 1
        return 0

    cdef Py_ssize_t group_of(self, const uint8_t* key, Py_ssize_t size) except -1:
        """Return the number of the group of a key, of either direction."""
        cdef RecentKey* one = &self.recent[slot_of_key(key, size)]
        if one.size != size or memcmp(one.key, key, size) != 0:
            one.number = self.group_of_key(PyBytes_FromStringAndSize(<const char*>key, size))
            one.key, one.size = key, size
        return one.number

    cdef Py_ssize_t group_of_key(self, bytes key) except -1:
        cdef PyObject* found = PyDict_GetItem(self.known, key)
        cdef Py_ssize_t number = len(self.keys)
        if found != NULL:
            return <object>found
        if number == self.group_capacity:
            self.groups = <GroupState*>grown(self.groups, &self.group_capacity, sizeof(GroupState))
        memset(&self.groups[number], 0, sizeof(GroupState))
        self.known[key] = self.known[turned(key)] = number
        self.keys.append(key)
        return number


cdef void* grown(void* items, Py_ssize_t* capacity, Py_ssize_t size) except NULL:
    """Return an array with twice the capacity."""
    cdef Py_ssize_t more = max(<Py_ssize_t>LEAST_CAPACITY, 2 * capacity[0])
    cdef void* found = PyMem_Realloc(items, more * size)
    if found == NULL:
        raise MemoryError
    capacity[0] = more
    return found
