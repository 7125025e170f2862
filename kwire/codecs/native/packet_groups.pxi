# Packets grouped by connection, for a shuffle (`kwire.arrow.ranges.packet_scan`).

cdef struct Grouped:           # a packet in its group
    Py_ssize_t place, size     # of its record
    int64_t now
    Py_ssize_t next            # the next packet of the group

cdef struct RecentKey:
    const uint8_t* key         # in the data
    Py_ssize_t size, number    # of the key, and of its group

cdef struct GroupState:
    Py_ssize_t first, last, count, size


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
        cdef const uint8_t* base = address_of(data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(data), group
        cdef Packet packet
        self.data, self.keys, self.known, self.count, self.end = data, [], {}, 0, start
        memset(self.recent, 0, sizeof(self.recent))
        while self.end < stop and self.packet_at(base, there, &packet):
            if not self.blocks:
                if not packet.captured or (before is not None and not self.is_near(before, self.number(base, there, self.end))):
                    break
                self.seconds, before = self.number(base, there, self.end), None  # each record is near the next one
            if self.segment_in(&packet):
                group = self.group_of(packet.key, packet.key_size)
            else:
                found = other(copied(packet.data, packet.captured, 0, packet.captured), packet.link - self.links, packet.length)
                group = -1 if found is None else self.group_of_key(found)
            self.add(group, &packet)
            self.end = packet.after
        return 0

    def times(self):
        """Return the times of the records in nanoseconds, as 64-bit integers."""
        cdef bytes times = PyBytes_FromStringAndSize(NULL, self.count * sizeof(int64_t))
        cdef Py_ssize_t at
        for at in range(self.count):
            set_int64(times, at, self.packets[at].now)
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
                found.append(self.group(&self.groups[at], self.keys[at], times, passed))
            self.data, self.keys, self.known, self.count = None, [], {}, 0
        finally:
            self.is_busy = False
        return found

    cdef tuple group(self, const GroupState* group, bytes key, bytes times, int64_t passed):
        cdef bytes places = PyBytes_FromStringAndSize(NULL, group.count * sizeof(int64_t))
        cdef bytes sizes = PyBytes_FromStringAndSize(NULL, group.count * sizeof(int64_t))
        cdef bytes records = PyBytes_FromStringAndSize(NULL, group.size)
        cdef int64_t now, first = 0, last = 0
        cdef Py_ssize_t at = group.first, number = 0, size = 0
        cdef Grouped* packet
        while at >= 0:
            packet = &self.packets[at]
            now = int64_in(times, at)
            first = now if at == group.first else min(first, now)
            last = now if at == group.first else max(last, now)
            set_int64(places, number, passed + packet.place)
            set_int64(sizes, number, packet.size)
            set_bytes(records, size, self.data, packet.place, packet.size)
            number += 1
            size += packet.size
            at = packet.next
        return key, first, last, places, sizes, records

    cdef inline bint packet_at(self, const uint8_t* base, Py_ssize_t there, Packet* packet) except -1:
        if self.blocks:
            return self.block(base, there, self.end, packet)
        return self.record(base, there, self.end, packet)

    cdef int add(self, Py_ssize_t number, const Packet* packet) except -1:
        """Add a record to a group, or to none if the number is -1."""
        cdef GroupState* group
        cdef Grouped* grouped
        if self.count == self.capacity:
            self.packets = <Grouped*>grown(self.packets, &self.capacity, sizeof(Grouped))
        grouped = &self.packets[self.count]
        grouped.place, grouped.size, grouped.now, grouped.next = self.end, packet.after - self.end, packet.now, -1
        if number >= 0:
            group = &self.groups[number]
            if group.count:
                self.packets[group.last].next = self.count
            else:
                group.first = self.count
            group.last = self.count
            group.count += 1
            group.size += grouped.size
        self.count += 1
        return 0

    cdef Py_ssize_t group_of(self, const uint8_t* key, Py_ssize_t size) except -1:
        """Return the number of the group of a key, of either direction."""
        cdef RecentKey* packet = &self.recent[slot_of_key(key, size)]
        if not is_equal(packet.key, packet.size, key, size):
            packet.number = self.group_of_key(copied(key, size, 0, size))
            packet.key, packet.size = key, size
        return packet.number

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
