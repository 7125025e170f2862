# A TCP connection: how long a hole is waited for, and in which order the data of both directions is returned.
#
# Reference: `kwire.capture.tcp.connection`, whose methods have the same names; it explains the rules.

cdef class ConnectionState:
    """A TCP connection; for the attributes see `TcpConnection`."""

    cdef int64_t newest_time
    cdef object odd_time       # the newest time if `newest_time` is ODD_TIME
    cdef readonly int64_t number, newest, packets
    cdef readonly bytes key
    cdef readonly bint calm, closed
    cdef bint is_stuck         # whether the table counts it among those with buffered segments
    cdef StreamState first, second
    cdef int opening_side      # -1 if it is unknown
    cdef int64_t[2] unseen_at

    def __cinit__(self, int64_t number=0, bytes key=b""):
        self.number, self.key, self.newest_time, self.opening_side = number, key, NONE, -1
        self.unseen_at[0] = self.unseen_at[1] = -1
        self.first, self.second = StreamState(0), StreamState(1)
        self.first.peer, self.second.peer = self.second, self.first
        self.first.connection = self.second.connection = self

    @property
    def halves(self):
        return self.first, self.second

    @property
    def opener(self):
        return None if self.opening_side < 0 else self.opening_side

    @property
    def last(self):
        return self.odd_time if self.newest_time == ODD_TIME else number_or_none(self.newest_time)

    @property
    def unseen(self):
        return self.unseen_at[0], self.unseen_at[1]

    @property
    def held(self):
        """The memory of buffered bytes."""
        return self.first.held + self.second.held

    @property
    def is_closing(self):
        """Whether a side has sent FIN or RST."""
        return self.closed or self.first.stop != NONE or self.second.stop != NONE

    def __reduce__(self):
        state = (
            self.last, self.newest, self.packets, self.calm, self.closed, self.opening_side, self.unseen,
            self.first.state(), self.second.state(),
        )
        return ConnectionState, (self.number, self.key), state

    def __setstate__(self, tuple state not None):
        last, self.newest, self.packets, self.calm, self.closed, self.opening_side, unseen, first, second = state
        self.note_time(none_or_number(last) if is_time(last) else ODD_TIME, last)
        self.unseen_at[0], self.unseen_at[1] = unseen
        self.first.go_on(first)
        self.second.go_on(second)

    def release(self):
        """Break reference cycles, so that both directions are freed immediately; collecting them took half the time."""
        self.first.leave()
        self.second.leave()

    def stop_cutting(self):
        """Leave the frames of both directions to the general path."""
        self.first.conversation = self.second.conversation = None
        self.first.known_splitter = self.second.known_splitter = None

    cdef inline bint is_finished(self) except -1:
        """Whether all data of both streams up to their FINs was returned."""
        return self.first.finished and self.second.finished

    cdef inline void note_time(self, int64_t now, odd_time):
        self.newest_time = now
        if now == ODD_TIME:
            self.odd_time = odd_time

    cdef int take(self, StreamState stream, Packet* packet, bytes held, SegmentTable table, FrameBatch out) except -1:
        """Process a segment of one side; return the data that is ready."""
        cdef bint is_open = not self.is_finished()
        cdef StreamState peer = stream.peer
        cdef int64_t need = NONE, start, stop
        cdef bint is_syn = packet.flags & SYN != 0
        cdef SharedPortion portion
        self.note_sequences(stream, packet)
        self.packets += 1
        # 1. RST (section 3.5.3).
        if packet.flags & RST and not packet.count and not packet.missing:
            self.closed = True
        else:
            # 2. The segment's text, after its SYN.
            if packet.flags & ACK:
                need = packet.acknowledged
            start = stream.offset_of(packet.sequence + is_syn)
            stop = start + packet.count + packet.missing
            if packet.count:
                portion = table.portion_of(packet, held)
                stream.put(start, packet.count, need, packet, self.packets, table.odd_time, held, portion)
            if packet.missing:
                start += packet.count
                stream.put(start, packet.missing, need, packet, self.packets, table.odd_time, None, None)
                start -= packet.count
            if not packet.flags & RST and start - stream.position <= WINDOW:
                stream.sent = max(stream.sent, stop)
            # 3. FIN (section 3.6): the stream ends after the text; the other direction may go on (half-closed).
            if packet.flags & FIN and stream.stop == NONE:
                stream.stop = stop
                stream.advance(0)
            if packet.flags & RST or (stream.stop != NONE and peer.stop != NONE):
                self.closed = True
        self.settle(packet.now, False, table, out)
        if is_open and self.is_finished():
            table.give_finished(self, out)
        return 0

    cdef int note_sequences(self, StreamState stream, Packet* packet) except -1:
        """Update the state of both streams from the flags and the sequence and acknowledgement numbers of a segment."""
        cdef StreamState peer = stream.peer
        if packet.flags & SYN:
            stream.opened = True
            if not stream.begun:
                stream.begin_at(packet.sequence + 1)
                self.opening_side = 1 - stream.side if packet.flags & ACK else stream.side
        if not packet.flags & ACK or packet.flags & RST:  # the acknowledgement number of a RST proves nothing
            return 0
        # A SYN-ACK acknowledges only the SYN, and no side acknowledges data before its own first byte.
        if not peer.begun and (packet.flags & SYN or <int64_t>packet.sequence == stream.first_sequence):
            peer.begin_at(packet.acknowledged)
        peer.acknowledge(packet.acknowledged)
        return 0

    cdef int settle(self, int64_t now, bint is_idle, SegmentTable table, FrameBatch out) except -1:
        """Return the data that is ready or overdue; `is_idle` means that no packet has come for a while."""
        cdef StreamState first = self.first, second = self.second
        cdef bint is_first_overdue, is_second_overdue
        if not first.count and not second.count and not first.late and not second.late:
            self.calm = first.begun and second.begun
            return 0
        self.release_ready(False, table, out)
        while True:
            is_first_overdue = self.is_overdue(first, now, is_idle, table)
            is_second_overdue = self.is_overdue(second, now, is_idle, table)
            if not is_first_overdue and not is_second_overdue:
                break
            self.give_up(is_first_overdue, is_second_overdue, is_idle, table, out)
        self.calm = (
            first.begun and second.begun and not (first.count or second.count or first.late or second.late)
        )
        return 0

    cdef bint is_overdue(self, StreamState stream, int64_t now, bint is_idle, SegmentTable table) except -1:
        """Whether the waiting period of one side's buffered bytes is over."""
        cdef Buffered* piece
        cdef int64_t passed, hole, patience
        if not stream.count:
            return False
        piece, hole = stream.piece(0), stream.hole()
        passed = self.packets - piece.packet
        patience = PATIENCE if hole or stream.peer.hole() else PATIENCE_TO_BEGIN
        if stream.begun and stream.owed() < hole:
            # Unacknowledged bytes may still arrive; but if nothing is ever acknowledged, this means nothing.
            return stream.acked_sequence == NONE and passed > patience
        if passed > patience:
            return True
        return (is_idle or passed > PATIENCE_LATE) and table.is_later(now, piece.now, piece.odd_time, PATIENCE_TIME)

    cdef int excuse(self, StreamState stream) except -1:
        """Stop waiting for the data that the first buffered bytes of one side acknowledge."""
        cdef StreamState peer = stream.peer
        cdef int64_t sequence
        if not stream.begun:
            stream.begin_late()
        if not peer.begun:
            peer.begin_late()
        sequence = 0 if stream.next_sequence == NONE else stream.next_sequence
        stream.excuse(<uint32_t>(sequence + stream.hole()))
        peer.excuse(stream.piece(0).need)
        return 0

    cdef int force(self, bint is_over, SegmentTable table, FrameBatch out) except -1:
        """Return all buffered data; `is_over` means that no more packets will come."""
        while self.first.held + self.second.held:
            self.give_up(self.first.count > 0, self.second.count > 0, is_over, table, out)
        return 0

    cdef int give_up(
        self, bint is_first_waiting, bint is_second_waiting, bint is_over, SegmentTable table, FrameBatch out
    ) except -1:
        """Stop waiting for what comes before the first buffered bytes of some sides, and return what is then ready."""
        cdef int64_t held = self.first.held + self.second.held
        if is_first_waiting:
            self.excuse(self.first)
        if is_second_waiting:
            self.excuse(self.second)
        self.release_ready(is_over, table, out)
        if self.first.held + self.second.held == held:  # sequence numbers are inconsistent
            if is_first_waiting:
                self.give_inconsistent(self.first, table, out)
            if is_second_waiting:
                self.give_inconsistent(self.second, table, out)
        return 0

    cdef int give_inconsistent(self, StreamState stream, SegmentTable table, FrameBatch out) except -1:
        """Let the next buffered bytes of a side wait for nothing: no bytes will be what they acknowledge."""
        cdef Buffered* piece = stream.piece(0)
        self.give_gap(stream, stream.hole(), time_of(piece.now, piece.odd_time), table, out)
        stream.piece(0).need = NONE
        return 0

    cdef int finish(self, SegmentTable table, FrameBatch out) except -1:
        """Return all remaining data, and the gaps that are known at the end."""
        cdef StreamState stream
        if self.calm and self.is_finished():
            return 0
        self.force(True, table, out)
        for stream in (self.first, self.second):
            if stream.missing() > 0:
                self.give_gap(stream, stream.missing(), self.last, table, out)
        return 0

    cdef int release_ready(self, bint is_over, SegmentTable table, FrameBatch out) except -1:
        """Return the data that is ready.

        With `is_over`, a gap after all captured bytes of one side is reported before the data of the other side that
        acknowledges it, so that a lost request precedes its response.
        """
        cdef StreamState first = self.first, second = self.second, stream
        cdef bint takes_first, takes_second
        while True:
            self.give_hole(first, table, out)
            self.give_hole(second, table, out)
            takes_first, takes_second = first.is_ready(), second.is_ready()
            if not takes_first and not takes_second:
                if is_over:
                    for stream in (first, second):
                        if stream.given_up_end():
                            self.give_gap(stream, stream.given_up_end(), self.last, table, out)
                takes_first, takes_second = first.is_excused(), second.is_excused()
                if not takes_first and not takes_second:
                    return 0
            stream = first if takes_first else second
            if takes_first and takes_second and table.is_earlier(second.piece(0), first.piece(0)):
                stream = second
            if stream.late:
                self.give_gap(stream, 0, time_of(stream.piece(0).now, stream.piece(0).odd_time), table, out)
            self.give_unseen(stream, table, out)
            table.give_piece(stream, out)

    cdef int give_hole(self, StreamState stream, SegmentTable table, FrameBatch out) except -1:
        """Skip the hole before buffered bytes as far as it is given up."""
        cdef int64_t hole = stream.given_up()
        if hole:
            self.give_gap(stream, hole, time_of(stream.piece(0).now, stream.piece(0).odd_time), table, out)
        return 0

    cdef int give_unseen(self, StreamState stream, SegmentTable table, FrameBatch out) except -1:
        """Report once that the next bytes of a side acknowledge data that was not returned.

        One of the acknowledged bytes may be a FIN.
        """
        cdef StreamState peer = stream.peer
        cdef Buffered* piece = stream.piece(0)
        if piece.need == NONE or peer.has_passed(<uint32_t>(piece.need - 1)):
            return 0
        if self.unseen_at[peer.side] == peer.position:
            return 0
        self.unseen_at[peer.side] = peer.position
        now = time_of(piece.now, piece.odd_time)
        table.streams.take(table.unseen(self, peer.side, peer.position, now), out)
        return 0

    cdef int give_gap(self, StreamState stream, int64_t size, now, SegmentTable table, FrameBatch out) except -1:
        """Skip bytes that will not arrive; buffered bytes from before the first captured byte come first, if any."""
        cdef int64_t position = stream.position
        if stream.late:
            stream.late = False
            table.give_missing(stream, 0, NONE, now, out)
        if size:
            stream.advance(size)
            table.give_missing(stream, position, size, now, out)
        return 0


def half_of(ConnectionState connection not None, int side):
    """Return the stream of one side of a connection, which a pickle of it is made of."""
    return connection.second if side else connection.first
