# One direction of a TCP connection: order, retransmission and overlap of segments, holes; and the frames cut from it.
#
# Reference: `kwire.capture.tcp.stream_reassembly`, whose methods have the same names.

cdef class StreamState:
    """The state of one direction of a TCP connection; for the attributes see `HalfConnection`."""

    cdef int64_t next_sequence, first_sequence, acked_sequence, excused_sequence, stop
    cdef readonly int64_t position, held, sent
    cdef readonly bint begun, late, finished, opened
    cdef readonly int side
    cdef readonly StreamState peer
    cdef readonly ConnectionState connection
    cdef ConversationState conversation  # set once its frames are extracted here
    cdef FrameBuffer cutter
    cdef GapSplitter known_splitter
    cdef bint is_request                      # whether the frames are requests
    cdef Segments segments        # memory of the pieces
    cdef Buffered** queue         # pieces in order, without overlap: `count` of them from `front` on
    cdef int front, count, room

    def __cinit__(self, int side=0):
        self.side = side
        self.next_sequence = self.first_sequence = self.acked_sequence = self.excused_sequence = self.stop = NONE

    def __dealloc__(self):
        cdef int index
        for index in range(self.front, self.front + self.count):
            free_piece(&self.segments, self.queue[index])
        PyMem_Free(self.queue)

    @property
    def sequence(self):
        return number_or_none(self.next_sequence)

    @property
    def first(self):
        return number_or_none(self.first_sequence)

    @property
    def acked(self):
        return number_or_none(self.acked_sequence)

    @property
    def excused(self):
        return number_or_none(self.excused_sequence)

    @property
    def end(self):
        return number_or_none(self.stop)

    @property
    def pieces(self):
        """The buffered segments: start, stop, data, time, acknowledged sequence number and packet of each."""
        cdef int index
        cdef Buffered* piece
        pieces = []
        for index in range(self.count):
            piece = self.piece(index)
            now = time_of(piece.now, piece.odd_time)
            pieces.append((piece.start, piece.stop, data_of_piece(piece), now, number_or_none(piece.need), piece.packet))
        return pieces

    def __reduce__(self):
        return half_of, (self.connection, self.side)

    cdef tuple state(self):
        """Return everything from which another process goes on."""
        return (
            (self.next_sequence, self.first_sequence, self.acked_sequence, self.excused_sequence, self.stop),
            (self.position, self.held, self.sent, self.begun, self.late, self.finished, self.opened),
            self.conversation, self.cutter, self.is_request, self.pieces or None,
        )

    cdef int go_on(self, tuple state) except -1:
        """Continue from a state."""
        cdef bytes data
        sequences, position, self.conversation, self.cutter, self.is_request, pieces = state
        self.next_sequence, self.first_sequence, self.acked_sequence, self.excused_sequence, self.stop = sequences
        for start, stop, data, now, need, packet in pieces or ():
            self.insert(self.count, start, stop)
            self.piece(self.count - 1).need, self.piece(self.count - 1).packet = none_or_number(need), packet
            self.piece(self.count - 1).now = none_or_number(now) if is_time(now) else ODD_TIME
            if not is_time(now):
                self.piece(self.count - 1).odd_time = Py_NewRef(<PyObject*>now)
            if data is not None:
                if PyBytes_GET_SIZE(data) != stop - start:
                    raise ValueError("a buffered segment has as many bytes as it says")
                set_data(self.piece(self.count - 1), data, 0, None)
        self.position, self.held, self.sent, self.begun, self.late, self.finished, self.opened = position
        return 0

    cdef inline Buffered* piece(self, int index) noexcept:
        return self.queue[self.front + index]

    cdef int leave(self) except -1:
        """Drop the references to other objects, which form a cycle."""
        self.peer = self.connection = self.conversation = self.cutter = self.known_splitter = None
        return 0

    # The start of the stream.

    cdef int begin_at(self, uint32_t sequence) except -1:
        """Set the sequence number of the first byte."""
        if self.next_sequence != NONE:
            self.shift(ahead(sequence, self))
        self.first_sequence = self.next_sequence = sequence
        self.begun = True
        self.advance(0)
        return 0

    cdef int begin_late(self) except -1:
        """Treat the first captured byte as the start of the stream: no SYN will come."""
        cdef int64_t start = self.piece(0).start if self.count else 0
        if self.next_sequence != NONE:
            self.next_sequence = <uint32_t>(self.next_sequence + start)
            self.shift(start)
            self.late = True
            self.advance(0)
        return 0

    cdef int shift(self, int64_t distance) except -1:
        """Count offsets from another byte; drop the bytes before it."""
        cdef int index, kept = 0
        cdef Buffered* piece
        self.begun = True
        for index in range(self.front, self.front + self.count):
            piece = self.queue[index]
            piece.start -= distance
            piece.stop -= distance
            if piece.start < self.position < piece.stop:
                if piece.data != NULL:
                    self.held -= self.position - piece.start
                    piece.at += self.position - piece.start
                piece.start = self.position
            if piece.stop > self.position:
                self.queue[self.front + kept] = piece
                kept += 1
            else:
                self.drop_piece(piece)
        self.count = kept
        self.sent -= distance
        if self.stop != NONE:
            self.stop -= distance
        return 0

    cdef inline int64_t offset_of(self, uint32_t sequence) noexcept:
        """Return the offset of a sequence number; the first one seen has offset 0."""
        if self.next_sequence == NONE:
            self.next_sequence = sequence
        return self.position + ahead(sequence, self)

    cdef inline void acknowledge(self, uint32_t sequence) noexcept:
        """Record a sequence number that the peer has acknowledged."""
        cdef bint is_near = self.offset_of(sequence) - self.position <= WINDOW
        if is_near and (self.acked_sequence == NONE or signed32(sequence - <uint32_t>self.acked_sequence) > 0):
            self.acked_sequence = sequence

    # Buffered segments.

    cdef int put(
        self, int64_t base, int64_t size, int64_t need, Packet* packet, int64_t number, odd_time, bytes held,
        SharedPortion portion
    ) except -1:
        """Buffer the new bytes of a segment that starts at `base`.

        Args:
            held, portion: what contains the payload; None if it was not captured, or is no portion of a file.
        """
        cdef int64_t start = base, stop = base + size, room
        cdef int index
        if self.begun:
            start = max(start, self.position)
        index = self.index_after(start)
        if index:
            start = max(start, self.piece(index - 1).stop)
        while start < stop:
            room = stop
            if index < self.count:
                room = min(stop, self.piece(index).start)
            if room > start:
                self.insert(index, start, room)
                self.piece(index).now, self.piece(index).packet, self.piece(index).need = packet.now, number, need
                if held is not None:
                    set_data(self.piece(index), held, packet.payload - address_of(held) + (start - base), portion)
                    self.held += room - start
                if packet.now == ODD_TIME:
                    self.piece(index).odd_time = Py_NewRef(<PyObject*>odd_time)
                index += 1
            if index == self.count:
                break
            start = max(room, self.piece(index).stop)
            index += 1
        return 0

    cdef int index_after(self, int64_t start) noexcept:
        """Return the index of the first piece that starts after a position."""
        cdef int low = 0, high = self.count, middle
        if high and self.piece(high - 1).start <= start:  # most segments are the newest
            return high
        while low < high:
            middle = (low + high) // 2
            if self.piece(middle).start <= start:
                low = middle + 1
            else:
                high = middle
        return low

    cdef int insert(self, int index, int64_t start, int64_t stop) except -1:
        """Insert an empty piece."""
        cdef Buffered* piece = new_piece(&self.segments)
        cdef int at
        if self.front and index < self.count // 2:
            for at in range(self.front, self.front + index):  # move the pieces before it
                self.queue[at - 1] = self.queue[at]
            self.front -= 1
        else:
            if self.front + self.count == self.room:
                self.widen()
            for at in range(self.front + self.count, self.front + index, -1):
                self.queue[at] = self.queue[at - 1]
        piece.start, piece.stop = start, stop
        self.queue[self.front + index] = piece
        self.count += 1
        self.held += PIECE_COST
        return 0

    cdef int widen(self) except -1:
        """Make room for more pieces, at both ends."""
        cdef int room = 2 * self.count + 16, front = self.count // 2
        cdef Buffered** queue = <Buffered**>PyMem_Malloc(room * sizeof(Buffered*))
        cdef int index
        if queue == NULL:
            raise MemoryError
        for index in range(self.count):
            queue[front + index] = self.piece(index)
        PyMem_Free(self.queue)
        self.queue, self.room, self.front = queue, room, front
        return 0

    cdef Buffered* pull(self) except NULL:
        """Remove and return the next bytes. The caller frees them."""
        cdef Buffered* piece = self.piece(0)
        self.front += 1
        self.count -= 1
        if not self.count:
            self.front = self.room // 2
        elif self.count > 2:  # pieces and their bytes were last used long ago
            prefetch(self.piece(2))
            prefetch(PyBytes_DataOf(self.piece(0).data) + self.piece(0).at if self.piece(0).data != NULL else NULL)
        self.held -= PIECE_COST + (0 if piece.data == NULL else piece.stop - piece.start)
        self.advance(piece.stop - piece.start)
        return piece

    cdef int drop_piece(self, Buffered* piece) except -1:
        """Free a piece that is no longer in the queue."""
        self.held -= PIECE_COST
        if piece.data != NULL:
            self.held -= piece.stop - piece.start
        free_piece(&self.segments, piece)
        return 0

    cdef inline void advance(self, int64_t size) noexcept:
        """Advance in the stream; a FIN takes one sequence number (RFC 9293, section 3.4)."""
        self.position += size
        self.next_sequence = <uint32_t>(self.next_sequence + size)
        if self.begun and self.stop != NONE and self.position >= self.stop and not self.finished:
            self.finished = True
            self.next_sequence = <uint32_t>(self.next_sequence + 1)

    # What is waited for.

    cdef inline bint is_next(self) noexcept:
        return self.begun and self.count and self.piece(0).start == self.position

    cdef inline bint is_ready(self) except -1:
        """Whether the next bytes have arrived, and the data that they acknowledge was returned."""
        return self.is_next() and (
            self.piece(0).need == NONE or self.peer.has_passed(<uint32_t>self.piece(0).need)
        )

    cdef inline bint is_excused(self) except -1:
        """Whether the next bytes have arrived, and waiting for the data that they acknowledge has ended."""
        cdef int64_t need, excused
        if not self.is_next():
            return False
        need, excused = self.piece(0).need, self.peer.excused_sequence
        if need == NONE:
            return True
        return self.peer.begun and excused != NONE and signed32(<uint32_t>need - <uint32_t>excused) <= 0

    cdef inline bint has_passed(self, uint32_t sequence) noexcept:
        """Whether all bytes before a sequence number were returned."""
        return self.begun and self.next_sequence != NONE and ahead(sequence, self) <= 0

    cdef inline void excuse(self, int64_t sequence) noexcept:
        """Stop waiting for bytes before a sequence number."""
        if sequence == NONE:
            return
        if self.excused_sequence == NONE or signed32(<uint32_t>sequence - <uint32_t>self.excused_sequence) > 0:
            self.excused_sequence = sequence

    cdef inline int64_t owed(self) noexcept:
        """The number of bytes that the peer has acknowledged but that were not returned yet."""
        if self.acked_sequence == NONE or self.next_sequence == NONE:
            return 0
        return max(<int64_t>0, ahead(<uint32_t>self.acked_sequence, self))

    cdef inline int64_t hole(self) noexcept:
        """The size of the hole before the first buffered segment."""
        return self.piece(0).start - self.position if self.begun and self.count else 0

    cdef inline int64_t given_up(self) noexcept:
        """The number of bytes in that hole that are no longer waited for."""
        cdef int64_t hole = self.hole()
        if not hole or self.next_sequence == NONE or self.excused_sequence == NONE:
            return 0
        return max(<int64_t>0, min(hole, ahead(<uint32_t>self.excused_sequence, self)))

    cdef inline int64_t given_up_end(self) noexcept:
        """The number of bytes after the last captured one that are no longer waited for."""
        if self.count or not self.begun or self.next_sequence == NONE or self.excused_sequence == NONE:
            return 0
        return max(<int64_t>0, min(self.missing(), ahead(<uint32_t>self.excused_sequence, self)))

    cdef inline int64_t missing(self) noexcept:
        """The number of bytes that were sent after the last returned one, as far as known."""
        cdef int64_t size
        if self.stop != NONE:
            return self.stop - self.position
        size = max(self.owed(), self.sent - self.position)
        return size if size > 1 else 0  # a single number may be a FIN that was not captured

    # Frames.

    cdef bint cut(
        self, bytes held, const uint8_t* p, Py_ssize_t count, int64_t position, int64_t now, FrameBatch out
    ) except -1:
        """Split the next payload into frames; False if it was not processed.

        Args:
            held, p, count: the object that contains the payload, its address in it, and its size.
            position, now: the position of the payload in the stream, and its time.
            out: receives the frames.
        """
        cdef FrameBuffer cutter = self.cutter
        cdef Py_ssize_t start = p - address_of(held)
        cdef Py_ssize_t at = 0, size
        cdef bytearray frame
        if not cutter.fits(p, count):
            return False
        if not cutter.missing:
            cutter.passed = position  # as so far, unless the connection goes on after its end
        else:
            at = min(cutter.missing, count)
            cutter.hold(p, at, PyByteArray_GET_SIZE(cutter._buffer) + cutter.missing)
            cutter.missing -= at
            if not cutter.missing:
                frame = cutter.release()
                size = PyByteArray_GET_SIZE(frame)
                self.give(frame, part_of(frame, 0, size), 0, size, position + at, now, out)
        while at < count:
            size = LEAST_FRAME + int32_at(p, count, at)
            if size > count - at:
                cutter.hold(p + at, count - at, size)
                cutter.missing = size - (count - at)
                break
            self.give(held, part(p, count, at, size), start + at, size, position + at + size, now, out)
            at += size
        return True

    cdef GapSplitter splitter(self):
        """Return what searches for the next frame; None if the general path does."""
        if self.known_splitter is None and self.conversation is not None:
            splitter = (<object>self.conversation)._splitter(self.is_request)
            if type(splitter) is GapSplitter:
                self.known_splitter = splitter
        return self.known_splitter

    cdef int give(
        self, held, const uint8_t* p, Py_ssize_t start, Py_ssize_t size, int64_t stop, int64_t now, FrameBatch out
    ) except -1:
        """Add the frame at a position of some bytes to `out`, and to its connection."""
        cdef ConversationState conversation = self.conversation
        cdef bytes frame
        fault = None
        self.cutter.passed += size
        self.cutter._count += 1
        if not (conversation.asks(p, size) if self.is_request else conversation.answers(p, size)):
            frame = copied(p, size, 0, size)
            fault = conversation.note_request(frame) if self.is_request else conversation.note_response(frame)
            if fault is not None:
                out.append(
                    new_captured_frame(
                        conversation.ends, self.is_request, stop - size, number_or_none(now), frame, fault, p, size
                    )
                )
                return 0
        out.put(held, conversation.ends, start, size, stop - size, now, self.is_request)
        return 0


cdef inline bint is_between_frames(StreamState stream):
    """Whether no bytes of a stream wait for the rest of their frame."""
    return stream.conversation is None or not stream.cutter.missing


cdef inline int64_t ahead(uint32_t sequence, StreamState stream) noexcept:
    """Return the distance of a sequence number from the next expected one; negative if it is before it."""
    return signed32(sequence - <uint32_t>stream.next_sequence)
