# Frames of one direction of a Kafka connection in which bytes are missing: the next frame after a gap is searched for.
#
# Reference: `kwire.capture.kafka.frame_splitter`, whose methods have the same names; and `feed` and `_note_cuts` of
# `KafkaConnection`.

cdef enum:
    PIECE = 1 << 20            # bytes outside frames are returned in fragments of about this size

cdef str NEXT_BYTES_MISSING = "the next bytes were not captured"
cdef object describe_truncated = None  # `cut_short`, which returns the fault of a truncated frame
cdef object truncated = None, begun_before = None, gap_fault = None, fragment = None, passed_over = None  # faults


def use_stream_faults(cut_short, *faults):
    """Give bytes outside frames these faults from now on.

    Args:
        cut_short: returns the fault of a truncated frame, given its bytes and the reason.
        faults: the classes CutShort, BegunBefore, Gap, Fragment and PassedOver.
    """
    global describe_truncated, truncated, begun_before, gap_fault, fragment, passed_over
    truncated, begun_before, gap_fault, fragment, passed_over = faults
    describe_truncated = cut_short


cdef class GapSplitter:
    """Extracts the frames of one direction; for the methods see `FrameSplitter`.

    Args:
        conversation: the connection.
        is_request: whether this is the direction of requests.
    """

    cdef readonly bint synced
    cdef readonly FrameBuffer reader
    cdef ConversationState conversation
    cdef FrameSearchState search   # while not synchronised
    cdef bint is_request, is_damaged, is_busy
    cdef int64_t boundary          # the start of the next frame, if the frame before it was truncated; or NONE
    cdef bytearray lost            # bytes received while not synchronised
    cdef int64_t lost_at           # the offset of the first of them

    def __cinit__(self, ConversationState conversation=None, bint is_request=False):
        self.conversation, self.is_request, self.synced = conversation, is_request, True
        self.boundary, self.lost = NONE, bytearray()
        if conversation is not None:
            self.reader = conversation.readers[is_request]

    def __reduce__(self):
        position = self.synced, self.is_damaged, number_or_none(self.boundary), self.lost_at
        return GapSplitter, (), (self.conversation, self.is_request, self.reader, self.search, bytes(self.lost), position)

    def __setstate__(self, tuple state not None):
        cdef bytes lost
        if self.is_busy:
            raise RuntimeError("a splitter of frames is in use")
        self.conversation, self.is_request, self.reader, self.search, lost, position = state
        self.synced, self.is_damaged, boundary, self.lost_at = position
        self.boundary, self.lost = none_or_number(boundary), bytearray(lost)

    cdef int enter(self) except -1:
        """Refuse a second use from within the first: bytes must not change."""
        if self.is_busy or self.reader is None or self.reader._buffer is None:
            raise RuntimeError("a splitter of frames takes one event at a time")
        self.is_busy = True
        return 0

    @property
    def buffered(self):
        """The number of bytes that are buffered until more bytes arrive."""
        return self.held() + PyByteArray_GET_SIZE(self.lost)

    def feed(self, bytes data not None):
        """Process the next bytes of the stream; return the frames and fragments that they complete."""
        cdef list cuts = []
        self.enter()
        try:
            self.add(address_of(data), PyBytes_GET_SIZE(data), cuts)
        finally:
            self.is_busy = False
        return cuts

    def begin_at(self, int64_t offset):
        """Start in the middle of the stream."""
        self.enter()
        try:
            self.lose(offset)
        finally:
            self.is_busy = False

    def gap(self, int64_t offset, count):
        """Record missing bytes; the stream continues after them."""
        cdef list cuts = []
        self.enter()
        try:
            self.pass_gap(offset, none_or_number(count), cuts)
        finally:
            self.is_busy = False
        return cuts

    def stop(self, cause):
        """Return the buffered bytes, because the rest will not arrive; `cause` is the reason."""
        cdef list cuts = []
        self.enter()
        try:
            self.end(cause, cuts)
        finally:
            self.is_busy = False
        return cuts

    # From the table of connections, without events.

    cdef int take(self, const uint8_t* p, Py_ssize_t size, int64_t position, int64_t now, FrameBatch out) except -1:
        """Process the next bytes of the stream; add the frames and fragments that they complete to a batch."""
        cdef list cuts = []
        self.enter()
        try:
            if not self.synced:
                self.allow(size)
            elif not self.held() and self.reader.passed + self.reader._start != position:
                self.restart(position)  # the connection goes on after its end, or begins late
            self.add(p, size, cuts)
            self.give(cuts, number_or_none(now), now, out)
        finally:
            self.is_busy = False
        return 0

    cdef int take_gap(self, int64_t position, int64_t count, now, FrameBatch out) except -1:
        """Record missing bytes; `count` is NONE if their number is unknown."""
        cdef list cuts = []
        self.enter()
        try:
            if self.is_request:
                self.conversation.general.is_lossy = True
            self.allow(self.held() + PyByteArray_GET_SIZE(self.lost))
            self.pass_gap(position, count, cuts)
            self.give(cuts, now, none_or_number(now), out)
        finally:
            self.is_busy = False
        return 0

    cdef int allow(self, int64_t count) except -1:
        return (<RecogniserState?>self.conversation.recogniser).allow_bytes(count)

    cdef int give(self, list cuts, time, int64_t now, FrameBatch out) except -1:
        """Update the requests in flight from frames and fragments, and add them to a batch."""
        cdef ConversationState conversation = self.conversation
        cdef bytes data
        cdef const uint8_t* p
        cdef Py_ssize_t size
        cdef int64_t offset
        for offset, data, fault in cuts:
            p, size = address_of(data), PyBytes_GET_SIZE(data)
            is_frame = fault is None
            if is_frame or isinstance(fault, truncated):
                if not (conversation.asks(p, size) if self.is_request else conversation.answers(p, size)):
                    token = (
                        (<object>conversation).note_request(data) if self.is_request
                        else (<object>conversation).note_response(data)
                    )
                    fault = token if fault is None else fault
            elif (
                size == LEAST_FRAME and not self.is_request and not uint32_at(p, size, 0)
                and isinstance(fault, (fragment, passed_over))
            ):
                fault = (<object>conversation)._note_empty_response(fault)
            if fault is None and size >= HEADER:
                out.put(data, conversation.ends, 0, size, offset, now, self.is_request)
            else:
                out.append(
                    new_captured_frame(
                        conversation.ends, self.is_request, offset, time, data, fault, p, size if is_frame else 0
                    )
                )
        return 0

    # The reader of frames, while it is not used by `StreamState`.

    cdef inline Py_ssize_t held(self) except -1:
        """Return the number of bytes of an incomplete frame."""
        return PyByteArray_GET_SIZE(self.reader._buffer) - self.reader._start

    cdef bytes restart(self, int64_t offset):
        """Continue at another position of the stream; return the bytes of the incomplete frame."""
        cdef FrameBuffer reader = self.reader
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(reader._buffer)
        cdef bytes rest = copied(part_of(reader._buffer, 0, size), size, reader._start, size)
        reader._buffer, reader.room = bytearray(), 0
        reader._start = reader.missing = 0
        reader.passed = offset
        return rest

    cdef bint take_frames(self, bytearray data, int64_t offset, list cuts) except -1:
        """Split bytes at an offset of the stream into frames, and buffer the rest; return False at an impossible size."""
        cdef FrameBuffer reader = self.reader
        cdef Py_ssize_t at = 0, end = PyByteArray_GET_SIZE(data), size
        cdef const uint8_t* p = part_of(data, 0, end)
        reader.missing = 0
        while end - at >= LEAST_FRAME:
            size = int32_at(p, end, at)
            if not reader.least <= size <= reader.limit:
                self.lose(offset + at)
                self.lost, self.is_damaged = data, True
                del self.lost[:at]
                return False
            size += LEAST_FRAME
            if size > end - at:
                reader.missing = size - (end - at)
                break
            cuts.append((offset + at, copied(p, end, at, at + size), None))
            reader._count += 1
            at += size
        else:
            reader.missing = -1 if at < end else 0
        reader.passed = offset + at
        reader._start, reader.room = 0, 0
        reader._buffer = bytearray(copied(p, end, at, end))
        return True

    # What `FrameSplitter` does.

    cdef int add(self, const uint8_t* p, Py_ssize_t size, list cuts) except -1:
        cdef FrameBuffer reader = self.reader
        cdef Py_ssize_t at = 0, held
        cdef int64_t offset
        cdef bytearray data
        if not self.synced:
            held = PyByteArray_GET_SIZE(self.lost)
            self.search.note_packet(held)
            append_to(self.lost, held, p, size)
            return self.go_on(cuts)
        offset = reader.passed + reader._start
        if reader.missing > 0 and not reader._start:
            at = min(reader.missing, size)
            reader.hold(p, at, PyByteArray_GET_SIZE(reader._buffer) + reader.missing)
            reader.missing -= at
            if reader.missing:
                return 0
            cuts.append((offset, bytes(reader.release()), None))
            reader._count += 1
            offset += PyBytes_GET_SIZE(cuts[len(cuts) - 1][1])
        data = bytearray(self.restart(offset))
        append_to(data, PyByteArray_GET_SIZE(data), part(p, size, at, size - at), size - at)
        return 0 if self.take_frames(data, offset, cuts) else self.go_on(cuts)

    cdef int pass_gap(self, int64_t offset, int64_t count, list cuts) except -1:
        cdef int64_t resumes = offset + (0 if count == NONE else count)
        self.end(NEXT_BYTES_MISSING, cuts)
        cuts.append((offset, b"", begun_before() if count == NONE else gap_fault(count)))
        if count == NONE or resumes > self.boundary:
            self.boundary = NONE
        self.lose(resumes)
        return self.go_on(cuts)

    cdef int end(self, cause, list cuts) except -1:
        cdef bytes rest
        cdef int64_t offset
        cdef Py_ssize_t start
        while not self.synced and self.boundary == NONE:
            start = self.search.last_resort()
            if start < 0:
                break
            if not self.resume(cuts, start):
                self.go_on(cuts)
        if self.synced:
            offset = self.reader.passed + self.reader._start
            rest = self.restart(offset)
            self.cut_short(cuts, offset, rest, cause)
            self.lose(offset + PyBytes_GET_SIZE(rest))
            if PyBytes_GET_SIZE(rest) >= LEAST_FRAME:
                self.boundary = offset + LEAST_FRAME + uint32_at(address_of(rest), PyBytes_GET_SIZE(rest), 0)
            else:
                self.boundary = NONE
            return 0
        start = self.search.likely_start() if self.boundary == NONE else -1
        self.pass_over(cuts, PyByteArray_GET_SIZE(self.lost) if start < 0 else start)
        rest = bytes(self.lost)
        self.cut_short(cuts, self.lost_at, rest, cause)
        self.lost_at += PyBytes_GET_SIZE(rest)
        self.lost = bytearray()
        self.search = FrameSearchState(self.conversation, self.is_request)
        return 0

    cdef int cut_short(self, list cuts, int64_t offset, bytes rest, cause) except -1:
        """Append a truncated frame to `cuts`."""
        if rest:
            cuts.append((offset, rest, describe_truncated(rest, cause) or passed_over(PyBytes_GET_SIZE(rest))))
        return 0

    cdef int go_on(self, list cuts) except -1:
        """Search for the next frame, and continue there."""
        cdef Py_ssize_t start
        while not self.synced:
            start = self.find_next_frame()
            if start < 0:
                self.pass_over(cuts, self.count_useless())
                return 0
            self.resume(cuts, start)
        return 0

    cdef bint resume(self, list cuts, Py_ssize_t start) except -1:
        """Continue with the frame that starts at this position of the skipped bytes; return False at an impossible size."""
        cdef bytearray data
        self.pass_over(cuts, start)
        data, self.lost = self.lost, bytearray()
        self.synced, self.boundary = True, NONE
        return self.take_frames(data, self.lost_at, cuts)

    cdef int lose(self, int64_t offset) except -1:
        """Search for a frame from an offset on."""
        self.synced = self.is_damaged = False
        self.reader.missing = -1  # nothing else uses the reader until then
        self.lost = bytearray()
        self.lost_at, self.search = offset, FrameSearchState(self.conversation, self.is_request)
        return 0

    cdef Py_ssize_t find_next_frame(self) except -2:
        """Return the start of the next frame in the skipped bytes; -1 if it was not found."""
        if self.boundary == NONE:
            return self.search.look(self.lost)
        return self.boundary - self.lost_at if self.boundary - self.lost_at <= PyByteArray_GET_SIZE(self.lost) else -1

    cdef Py_ssize_t count_useless(self) except -1:
        """Return how many of the skipped bytes can be released; 0 if they are few, so that fragments are large."""
        cdef Py_ssize_t count = PyByteArray_GET_SIZE(self.lost) if self.boundary != NONE else self.search.passed()
        return count if count > PIECE else 0

    cdef int pass_over(self, list cuts, Py_ssize_t count) except -1:
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(self.lost)
        if not count:
            return 0
        data = copied(part_of(self.lost, 0, size), size, 0, count)
        cuts.append((self.lost_at, data, (passed_over if self.is_damaged else fragment)(count)))
        del self.lost[:count]
        self.lost_at += count
        self.search.drop(count)
        return 0
