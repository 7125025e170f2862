# All TCP connections of a capture: which segment belongs to which, and how long each is kept.
#
# Reference: `kwire.capture.tcp.connection_table`, whose methods have the same names.

cdef enum:
    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16
    # As in `kwire.capture.tcp`, which says why (tests/capture/test_native_walk.py compares them):
    EVERY = 256                # packets between two checks of all buffers
    LINGER_PACKETS = 2048
    LINGER_PACKETS_LATE = 128
    STRAY = 1 << 24
    WINDOW = 1 << 30
    PIECE_COST = 160
    PATIENCE = 1024
    PATIENCE_LATE = 64
    PATIENCE_TO_BEGIN = 32

cdef int64_t LINGER = 10 * SECOND
cdef int64_t PATIENCE_TIME = 10 * SECOND


cdef class SegmentTable:
    """Reassembles TCP streams, and cuts those of Kafka connections into frames; for the attributes see
    `ConnectionTable`.

    Args:
        streams: receives what is not processed here: its method `take` receives events.
        limits: a `ReassemblyLimits`.
        events: the classes `Portion`, `StreamGap`, `Unseen`, `Finished` and `Ended`.
    """

    cdef public int64_t packets
    cdef readonly int64_t count, read
    cdef readonly dict known, open, stuck, closing
    cdef readonly object limits
    cdef object streams, portion, gap, unseen, finished, ended
    cdef int64_t most_waiting, most_waiting_together
    cdef Py_ssize_t most
    cdef object odd_time       # the time of the current segment if it is outside of 64 bits
    cdef SharedPortions portions
    cdef bint is_busy, is_finishing

    def __init__(self, streams, limits, tuple events not None):
        self.portion, self.gap, self.unseen, self.finished, self.ended = events
        self.streams, self.limits = streams, limits
        self.most_waiting, self.most_waiting_together = limits.waiting, limits.all_waiting
        self.most = limits.connections
        self.portions = SharedPortions(self.most_waiting_together)
        self.known, self.open, self.stuck, self.closing = {}, {}, {}, {}

    @property
    def state(self):
        """The connections and counts from which `go_on` continues, of values that pickle."""
        return self.packets, self.count, self.read, list(self.open.values()), list(self.stuck), list(self.closing.values())

    def go_on(self, tuple state not None):
        """Continue from the state of another table."""
        cdef ConnectionState connection
        self.packets, self.count, self.read, connections, stuck, closing = state
        for connection in connections:
            self.open[connection.number] = connection
            self.known[turned(connection.key)] = connection.second
            self.known[connection.key] = connection.first
        for number in stuck:
            connection = self.open[number]
            connection.is_stuck = True
            self.stuck[number] = connection
        for entry in closing:
            self.closing[entry[0].number] = entry

    cdef int enter(self) except -1:
        if self.is_busy or self.known is None:  # called by what receives its events
            raise RuntimeError("a table of connections takes one segment at a time")
        self.is_busy = True
        return 0

    def feed(self, segment, FrameBatch out not None):
        """Process the next segment of the capture, a `Segment`."""
        cdef Packet packet
        cdef bytes key = segment.key, payload = segment.payload
        turned(key)  # checks it
        packet.key, packet.key_size = address_of(key), PyBytes_GET_SIZE(key)
        packet.payload, packet.count, packet.missing = address_of(payload), PyBytes_GET_SIZE(payload), segment.missing
        packet.sequence, packet.acknowledged = segment.sequence, segment.acknowledgement
        packet.flags = segment.flags
        self.enter()
        try:
            self.odd_time = segment.nanoseconds
            packet.now = none_or_number(self.odd_time) if is_time(self.odd_time) else ODD_TIME
            self.take(self.stream_of(key), key, &packet, payload, out)
        finally:
            self.is_busy = False

    def finish(self, FrameBatch out not None):
        """End all connections, the oldest first."""
        cdef ConnectionState connection
        self.enter()
        try:
            self.is_finishing = True
            for connection in list(self.open.values()):
                self.end(connection, out)
        finally:
            self.is_busy = self.is_finishing = False

    def look_around(self, now, FrameBatch out not None):
        """End overdue waiting periods and closed connections, and free memory above the limit. Called periodically,
        with the time of the latest packet.
        """
        self.enter()
        try:
            self.odd_time = now
            self.check_all(none_or_number(now) if is_time(now) else ODD_TIME, out)
        finally:
            self.is_busy = False

    cdef StreamState stream_of(self, bytes key):
        """Return the stream of the segments with a key; None if there is none."""
        stream = PyDict_GetItem(self.known, key)
        return None if stream == NULL else <StreamState?>stream

    cdef int take(self, StreamState stream, bytes key, Packet* packet, bytes held, FrameBatch out) except -1:
        """Process the next segment.

        Args:
            stream, key: its stream and its key, one of which may be None.
            packet, held: the segment, and the object that contains its payload.
        """
        self.packets += 1
        self.read += packet.count
        if stream is not None and is_in_order(stream, packet):
            if packet.count:
                self.take_next(stream, packet, held, out)
        else:
            self.take_unusual(stream, key, packet, held, out)
        if self.packets % EVERY == 0:
            self.check_all(packet.now, out)
        return 0

    cdef int take_next(self, StreamState stream, Packet* packet, bytes held, FrameBatch out) except -1:
        """Process the next bytes of a connection without buffered bytes."""
        cdef int64_t position = stream.position
        stream.connection.note_time(packet.now, self.odd_time)
        stream.position += packet.count
        stream.next_sequence = <uint32_t>(packet.sequence + packet.count)
        self.give(stream, held, packet.payload, packet.count, position, packet.now, <PyObject*>self.odd_time, out)
        return 0

    cdef int take_unusual(self, StreamState stream, bytes key, Packet* packet, bytes held, FrameBatch out) except -1:
        cdef ConnectionState connection
        if stream is not None and is_new_connection(stream, packet):
            self.end(stream.connection, out)
            stream = None
        if stream is None:
            key = copied(packet.key, packet.key_size, 0, packet.key_size) if key is None else key
            stream = self.begin_connection(key, out)
        connection = stream.connection
        connection.note_time(packet.now, self.odd_time)
        connection.newest = self.packets
        connection.take(stream, packet, held, self, out)
        if connection.first.held + connection.second.held > self.most_waiting:
            connection.force(False, self, out)
        if connection.calm == connection.is_stuck:  # the dictionary is changed for few packets
            connection.is_stuck = not connection.calm
            if connection.is_stuck:
                self.stuck[connection.number] = connection
            else:
                self.stuck.pop(connection.number, None)
        if connection.closed and connection.number not in self.closing:
            self.closing[connection.number] = connection, connection.last, self.packets
        return 0

    cdef StreamState begin_connection(self, bytes key, FrameBatch out):
        """Begin a connection; `key` is that of its first segment."""
        cdef ConnectionState connection
        if PyDict_Size(self.open) >= self.most:
            idle = sorted([(known.last or 0, number) for number, known in self.open.items()])
            for _, number in idle[:1 + self.most // 16]:
                self.end(self.open[number], out)
        connection = ConnectionState(self.count, key)
        self.open[self.count] = connection
        self.count += 1
        self.known[turned(key)] = connection.second
        self.known[key] = connection.first
        return connection.first

    cdef int end(self, ConnectionState connection, FrameBatch out) except -1:
        """Drop a connection."""
        cdef StreamState first = connection.first, second = connection.second
        cdef bint is_cut_here
        connection.finish(self, out)
        self.known.pop(connection.key, None)
        self.known.pop(turned(connection.key), None)
        for connections in (self.open, self.stuck, self.closing):
            connections.pop(connection.number, None)
        states = self.streams.states
        is_cut_here = first.conversation is not None or connection.number not in states
        if self.is_finishing or not (is_cut_here and is_between_frames(first) and is_between_frames(second)):
            self.streams.take(self.ended(connection), out)
            return 0
        if states.pop(connection.number, None) is not None:
            out.append(connection.number)
        first.leave()
        second.leave()
        return 0

    cdef int check_all(self, int64_t now, FrameBatch out) except -1:
        """Do what `look_around` does."""
        cdef ConnectionState connection
        cdef int64_t held = 0, packets
        cdef list ended = []
        if self.stuck:
            for connection in list(self.stuck.values()):
                if self.packets - connection.newest >= EVERY:
                    connection.settle(now, True, self, out)
            for connection in self.stuck.values():
                held += connection.first.held + connection.second.held
            if held > self.most_waiting_together:
                for connection in list(self.stuck.values()):
                    connection.force(False, self, out)
        for connection, since, packets in self.closing.values():
            if self.packets - packets < LINGER_PACKETS_LATE:
                break  # the rest were closed later
            if self.packets - packets < LINGER_PACKETS and not self.is_past(now, since, LINGER):
                break
            ended.append(connection)
        for connection in ended:
            self.end(connection, out)
        return 0

    # Times, which may be None, or outside of 64 bits.

    cdef bint is_later(self, int64_t now, int64_t then, PyObject* odd_then, int64_t distance) except -1:
        """Whether the current time is later than another by more than a distance; not if one is None."""
        if now == NONE or then == NONE:
            return False
        if now != ODD_TIME and then != ODD_TIME:
            return now - then > distance
        return self.is_past(now, time_of(then, odd_then), distance)

    cdef bint is_past(self, int64_t now, then, int64_t distance) except -1:
        if now == NONE or then is None:
            return False
        return (self.odd_time if now == ODD_TIME else now) - then > distance

    cdef bint is_earlier(self, Buffered* piece, Buffered* other) except -1:
        """Whether a piece has an earlier time than another; None counts as 0."""
        if piece.now == ODD_TIME or other.now == ODD_TIME:
            return (time_of(piece.now, piece.odd_time) or 0) < (time_of(other.now, other.odd_time) or 0)
        return (0 if piece.now == NONE else piece.now) < (0 if other.now == NONE else other.now)

    cdef SharedPortion portion_of(self, Packet* packet, bytes held):
        """Return the portion of a file that contains a payload; None if the payload is not a part of a larger object."""
        return None if packet.count == PyBytes_GET_SIZE(held) else self.portions.portion_of(held)

    # What is returned.

    cdef int give_piece(self, StreamState stream, FrameBatch out) except -1:
        """Return the next buffered bytes of a stream."""
        cdef Buffered* piece = stream.pull()
        cdef int64_t start = piece.start, stop = piece.stop, now = piece.now
        cdef bytes data = None
        cdef Py_ssize_t at = piece.at
        odd_time = None
        if now == ODD_TIME:
            odd_time = <object>piece.odd_time
        if piece.data != NULL:
            data = <bytes>piece.data
        free_piece(&stream.segments, piece)
        if data is None:
            self.give_missing(stream, start, stop - start, time_of(now, <PyObject*>odd_time), out)
        else:
            self.give(stream, data, part_of(data, at, stop - start), stop - start, start, now, <PyObject*>odd_time, out)
        return 0

    cdef int give(
        self, StreamState stream, bytes held, const uint8_t* p, Py_ssize_t size, int64_t position, int64_t now,
        PyObject* odd_time, FrameBatch out
    ) except -1:
        """Return the next bytes of a stream: as frames, or to what reads it."""
        cdef GapSplitter splitter
        if stream.conversation is not None and now != ODD_TIME:
            if stream.cut(held, p, size, position, now, out):
                return 0
            splitter = stream.splitter()
            if splitter is not None:
                return splitter.take(p, size, position, now, out)
        data = held if size == PyBytes_GET_SIZE(held) else copied(p, size, 0, size)
        taken_paths.packets_taken -= 1
        taken_paths.packets_left += 1
        self.streams.take(self.portion(stream.connection, stream.side, position, time_of(now, odd_time), data), out)
        return 0

    cdef int give_missing(self, StreamState stream, int64_t position, int64_t count, now, FrameBatch out) except -1:
        """Return that bytes of a stream are missing; `count` is NONE if their number is unknown."""
        cdef GapSplitter splitter = stream.splitter() if is_time(now) else None
        if splitter is not None:
            return splitter.take_gap(position, count, now, out)
        self.streams.take(self.gap(stream.connection, stream.side, position, now, number_or_none(count)), out)
        return 0

    cdef int give_finished(self, ConnectionState connection, FrameBatch out) except -1:
        """Report that both sides have sent a FIN, and that all data before it was returned."""
        if connection.first.conversation is None or not (
            is_between_frames(connection.first) and is_between_frames(connection.second)
        ):
            self.streams.take(self.finished(connection), out)
        return 0


cdef inline bint is_in_order(StreamState stream, Packet* packet) except -1:
    """Whether a segment is the next in order and acknowledges only data that was seen."""
    cdef uint32_t behind
    if not stream.connection.calm or packet.flags & (FIN | SYN | RST | ACK) != ACK or packet.missing:
        return False
    if packet.count and <int64_t>packet.sequence != stream.next_sequence:
        return False
    behind = packet.acknowledged - <uint32_t>(0 if stream.peer.next_sequence < 0 else stream.peer.next_sequence)
    return not 0 < behind < 0x80000000U


cdef bint is_new_connection(StreamState stream, Packet* packet) except -1:
    """Whether a segment belongs to a later connection of the same port pair."""
    cdef ConnectionState connection = stream.connection
    cdef uint32_t first = packet.sequence + 1
    cdef int64_t distance
    if packet.flags & SYN:
        if stream.first_sequence != NONE:
            if stream.first_sequence != <int64_t>first:
                return True
            return connection.closed and not packet.flags & ACK and stream.position > 0 and stream.opened
        # Close to the sequence numbers seen so far: a SYN that was captured late.
        return stream.begun or (stream.next_sequence != NONE and abs_of(ahead(first, stream)) > WINDOW >> 8)
    if packet.flags & RST:
        return False
    if stream.next_sequence == NONE:
        return connection.closed and stream.peer.next_sequence == NONE
    distance = ahead(packet.sequence, stream)
    if connection.closed:
        return distance > STRAY or (stream.stop != NONE and stream.position + distance > stream.stop + 1)
    if distance < -STRAY or distance > WINDOW:
        return True
    return distance > STRAY and acknowledges_far(stream.peer, packet)


cdef bint acknowledges_far(StreamState peer, Packet* packet):
    if not packet.flags & ACK or peer.next_sequence == NONE:
        return False
    return abs_of(ahead(packet.acknowledged, peer)) > STRAY


cdef inline int64_t abs_of(int64_t number) noexcept nogil:
    return -number if number < 0 else number
