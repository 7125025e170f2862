# Where the next frame starts in bytes after a gap: the positions at which one may start, and the checks of each.
#
# Reference: `kwire.capture.kafka.frame_search`, and `judge_request`, `judge_response` and `header` of
# `kwire.capture.kafka.frame_recognition`, which explain the rules. Only bodies are decoded there.

cdef enum:
    UNKNOWN_HEADER = -1        # see `FrameRecogniser.header` for the others
    NO_HEADER = 0
    SHORT_HEADER = 1
    WEAK_HEADER = 2
    FAIR_HEADER = 3
    STRONG_HEADER = 4
    LEAST_SIZE = 8             # of a request
    # As in the reference (tests/capture/kafka/test_frame_recognition.py compares them):
    FAR = 4096
    NEAR = 16
    LONGEST_UNLIKELY = 1 << 20
    PROOFS_AT_FIRST = 256
    BYTES_PER_PROOF = 128
    BYTES_PER_LOOK = 64
    HEADER = 8                 # bytes that are needed to examine a position
    LIKELY = 1
    MOST_LIKELY = 2
    MOST_CANDIDATES = 64       # that wait for more bytes
    MOST_PACKETS = 4096        # whose start is stored

cdef int64_t MOST_BUDGET = 1 << 61       # which no input reaches
cdef int64_t LARGEST_START = 0x07000000  # sizes from here on are no start of a frame: see `_SIZE`


cdef int header_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, set keys, dict headers) except -2:
    """Return how much bytes resemble a request header, as `FrameRecogniser.header`; UNKNOWN_HEADER if it must tell."""
    cdef Py_ssize_t there = size - at
    cdef int64_t length = uint32_at(p, size, at) if there >= 4 else 0
    cdef int client
    if there < 8:
        return NO_HEADER if there >= 4 and not LEAST_SIZE <= length <= LONGEST_FRAME else SHORT_HEADER
    if not LEAST_SIZE <= length <= LONGEST_FRAME:
        return NO_HEADER
    if uint16_at(p, size, at + 4) not in keys:
        return NO_HEADER
    known = PyDict_GetItem(headers, copied(p, size, at + 4, at + 8))
    if known == NULL:
        return UNKNOWN_HEADER
    if known == Py_None:
        return NO_HEADER
    if <object>known == 0:
        return WEAK_HEADER if length == 12 else NO_HEADER
    if there < CLIENT_ID:
        return SHORT_HEADER
    client = <int16_t>uint16_at(p, size, at + 12)
    if client < -1 or length < 10 + client:
        return NO_HEADER
    if client <= 0:
        return WEAK_HEADER
    return client_id_at(
        p, size, at + CLIENT_ID, min(<Py_ssize_t>client, there - CLIENT_ID), client > there - CLIENT_ID,
        STRONG_HEADER if uint16_at(p, size, at + 4) else FAIR_HEADER,
    )


cdef int client_id_at(
    const uint8_t* p, Py_ssize_t size, Py_ssize_t at, Py_ssize_t count, bint is_cut, int likely
) except -2:
    """Return `likely` if the bytes are a client id: text without control characters; SHORT_HEADER if it is cut."""
    cdef Py_ssize_t index
    cdef int byte, follow = 0  # bytes of a character that follow
    cdef bint is_ascii = True
    for index in range(count):
        byte = byte_at(p, size, at + index)
        if byte < 32 or byte == 127 or (follow > 0) != (128 <= byte < 192) or byte > 244:
            # Where the bytes end, a character may be truncated; what precedes it must be text, too.
            is_sure = not is_cut or index <= count - 4 or (is_ascii and byte < 128)
            return NO_HEADER if is_sure else UNKNOWN_HEADER
        if byte >= 192:
            follow = 1 + (byte >= 224) + (byte >= 240)
        elif follow:
            follow -= 1
        is_ascii = is_ascii and byte < 128
    if follow and not is_cut:
        return NO_HEADER
    if not is_ascii:
        return UNKNOWN_HEADER
    return SHORT_HEADER if is_cut else likely


cdef class RecogniserState:
    """What the search for frames shares over all connections of a capture; for the attributes see `FrameRecogniser`."""

    cdef public int64_t proofs, looks
    cdef public set keys
    cdef public dict headers

    cdef int allow_bytes(self, int64_t count) except -1:
        """Increase the budgets of the search in proportion to `count` more bytes."""
        self.proofs = min(self.proofs, MOST_BUDGET) + count // BYTES_PER_PROOF + 1
        self.looks = min(max(self.looks, <int64_t>0), MOST_BUDGET) + count // BYTES_PER_LOOK + 1
        return 0

    cdef inline bint may_look(self, bint starts_packet) noexcept:
        """Take an examined position from the budget, unless a packet starts there."""
        if starts_packet:
            return True
        if self.looks <= 0:
            return False
        self.looks -= 1
        return True

    cdef int header_in(self, bytearray data, Py_ssize_t at) except -2:
        """Return how much the bytes from a position on resemble a request header."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data)
        cdef int header = header_at(part_of(data, 0, size), size, at, self.keys, self.headers)
        return (<object>self).header(data, at) if header == UNKNOWN_HEADER else header


cdef class FrameSearchState:
    """A search for the start of the next frame of a connection; for the attributes see `FrameSearch`."""

    cdef ConversationState conversation
    cdef bint is_request
    cdef Py_ssize_t* packets   # where packets start, ascending
    cdef int count, room       # of packets
    cdef list waiting, confirmed
    cdef Py_ssize_t seen

    def __cinit__(self, ConversationState conversation=None, bint is_request=False):
        self.conversation, self.is_request = conversation, is_request
        self.waiting, self.confirmed = [], []

    def __dealloc__(self):
        PyMem_Free(self.packets)

    def __reduce__(self):
        packets = [self.packets[index] for index in range(self.count)]
        return FrameSearchState, (self.conversation, self.is_request), (packets, self.waiting, self.confirmed, self.seen)

    def __setstate__(self, tuple state not None):
        packets, self.waiting, self.confirmed, self.seen = state
        self.count = 0
        for position in sorted(packets):
            self.note_packet(position)

    cdef int note_packet(self, Py_ssize_t at) except -1:
        """Record that a packet starts at a position, which is the last one so far."""
        cdef int room = 2 * self.room + 8
        cdef Py_ssize_t* packets
        if self.count == MOST_PACKETS:
            return 0
        if self.count == self.room:
            packets = <Py_ssize_t*>PyMem_Realloc(self.packets, room * sizeof(Py_ssize_t))
            if packets == NULL:
                raise MemoryError
            self.packets, self.room = packets, room
        self.packets[self.count] = at
        self.count += 1
        return 0

    cdef bint has_packet(self, Py_ssize_t at) noexcept:
        """Whether a packet starts at a position."""
        cdef int low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.packets[middle] < at:
                low = middle + 1
            else:
                high = middle
        return low < self.count and self.packets[low] == at

    cdef Py_ssize_t look(self, bytearray data) except -2:
        """Return the start of the first frame; -1 if it is not known yet."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data), at = self.seen, start
        cdef uint8_t[8192] halves  # a bit for each first half of a correlation id
        cdef list starts = []
        if self.waiting:
            due = [position for need, position, _ in self.waiting if need <= size]
            self.waiting = [candidate for candidate in self.waiting if candidate[0] > size]
            starts = [position for position in due if self.is_start(data, position)]
        starts += self.confirmed
        self.confirmed = []
        self.seen = max(at, size - HEADER + 1)
        if not starts and at <= size - HEADER:
            if not self.is_request:
                self.conversation.mark_halves(halves)
            while not starts:
                at = self.next_request(data, at) if self.is_request else self.next_response(data, at, halves)
                if at < 0:
                    break
                if self.is_start(data, at):
                    starts.append(at)
                at += 1
        if len(self.waiting) > 1:  # the candidates that need the fewest bytes are kept
            self.waiting.sort()
            del self.waiting[MOST_CANDIDATES:]
        if not starts:
            return -1
        start = min(starts)
        if self.is_inside(start):
            self.confirmed = starts
            return -1
        return start

    cdef Py_ssize_t next_request(self, bytearray data, Py_ssize_t at) except -2:
        """Return the next position at which a request may start, by size, api key and version; or -1."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data)
        cdef const uint8_t* p = part_of(data, 0, size)
        while at <= size - HEADER:
            if (
                LEAST_FRAME <= <int64_t>uint32_at(p, size, at) < LARGEST_START
                and not uint32_at(p, size, at + 4) & 0xFF80FFC0U
            ):
                return at
            at += 1
        return -1

    cdef Py_ssize_t next_response(self, bytearray data, Py_ssize_t at, const uint8_t* halves) except -2:
        """Return the next position at which a response may start, by size and correlation id; or -1."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data)
        cdef const uint8_t* p = part_of(data, 0, size)
        while at <= size - HEADER:
            if (
                LEAST_FRAME <= <int64_t>uint32_at(p, size, at) < LARGEST_START
                and has_half(halves, uint32_at(p, size, at + 4) >> 16)
            ):
                return at
            at += 1
        return -1

    cdef bint is_inside(self, Py_ssize_t position) except -1:
        """Whether a position is inside a likely frame whose end has not arrived."""
        for need, other, likely in self.waiting:
            if likely and other < position < need:
                return True
        return False

    cdef Py_ssize_t last_resort(self) except -2:
        """Return the start of a frame, given that no more bytes will arrive; -1 if no frame starts."""
        return min(self.confirmed) if self.confirmed else -1

    cdef Py_ssize_t likely_start(self) except -2:
        """Return the probable start of a frame if too few bytes have arrived to be sure; otherwise -1."""
        cdef Py_ssize_t start = -1
        for _, position, likely in self.waiting:
            if likely == MOST_LIKELY and (start < 0 or position < start):
                start = position
        return start

    cdef Py_ssize_t passed(self) except -1:
        """Return the number of leading bytes that can no longer start a frame."""
        cdef Py_ssize_t count = self.seen
        for position in self.confirmed:
            count = min(count, <Py_ssize_t>position)
        for _, position, _ in self.waiting:
            count = min(count, <Py_ssize_t>position)
        return count

    cdef int drop(self, Py_ssize_t count) except -1:
        """Record that bytes were removed at the front."""
        cdef int index, kept = 0
        self.seen = max(<Py_ssize_t>0, self.seen - count)
        self.confirmed = [position - count for position in self.confirmed]
        for index in range(self.count):
            if self.packets[index] >= count:
                self.packets[kept] = self.packets[index] - count
                kept += 1
        self.count = kept
        self.waiting = [(need - count, position - count, likely) for need, position, likely in self.waiting]
        return 0

    # Whether a frame starts at a position.

    cdef bint is_start(self, bytearray data, Py_ssize_t at) except -1:
        return self.begins_request(data, at) if self.is_request else self.begins_response(data, at)

    cdef int wait(self, Py_ssize_t need, Py_ssize_t at, int likely) except -1:
        """Decide about a position once more bytes have arrived; see `FrameVerdict`."""
        self.waiting.append((need, at, likely))
        return 0

    cdef bint begins_request(self, bytearray data, Py_ssize_t at) except -1:
        """Do what `FrameRecogniser.judge_request` does."""
        cdef RecogniserState recogniser = <RecogniserState?>self.conversation.recogniser
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data), stop
        cdef int header, follows
        cdef bytes client = self.conversation.client_id
        if not recogniser.may_look(self.has_packet(at)):
            return False
        header = recogniser.header_in(data, at)
        if header == NO_HEADER:
            return False
        stop = at + LEAST_FRAME + uint32_at(part_of(data, 0, size), size, at)
        if header >= FAIR_HEADER and client and begins(part_of(data, 0, size), size, at + LEAST_REQUEST, client):
            return True
        if header != STRONG_HEADER and stop - at > LONGEST_UNLIKELY:
            return False
        if header == SHORT_HEADER:
            self.wait(size + 1, at, 0)
            return False
        if stop > size:
            self.wait(stop, at, MOST_LIKELY if header == STRONG_HEADER and self.has_packet(at) else 0)
            return False
        follows = recogniser.header_in(data, stop)
        if header == STRONG_HEADER and follows == STRONG_HEADER:
            return True
        if follows == NO_HEADER and not self.has_packet(stop):
            return False
        return (<object>recogniser).proves_request(copied(part_of(data, 0, size), size, at, stop))

    cdef bint begins_response(self, bytearray data, Py_ssize_t at) except -1:
        """Do what `FrameRecogniser.judge_response` does."""
        cdef ConversationState conversation = self.conversation
        cdef RecogniserState recogniser = <RecogniserState?>conversation.recogniser
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(data), stop
        cdef const uint8_t* p = part_of(data, 0, size)
        cdef int64_t length = uint32_at(p, size, at), number = uint32_at(p, size, at + 4)
        cdef bint is_in_front, may_be_lost, is_likely
        if not recogniser.may_look(self.has_packet(at)):
            return False
        stop = at + LEAST_FRAME + length
        apis = conversation.apis_of(signed32(<uint32_t>number)) if conversation.awaits(signed32(<uint32_t>number)) else ()
        # A response to a lost request is accepted if it decodes, or if it fills whole packets exactly.
        is_in_front = self.starts_packet(at)
        may_be_lost = length <= LONGEST_UNLIKELY and conversation.may_be(number, FAR if is_in_front else NEAR)
        if length > LONGEST_FRAME or not (apis or may_be_lost):
            return False
        if stop > size:
            is_likely = is_in_front and conversation.may_be(number, NEAR)
            self.wait(stop, at, MOST_LIKELY if apis and self.has_packet(at) else LIKELY * is_likely)
            return False
        if not self.has_packet(stop) and not self.may_follow(p, size, stop):
            return False
        frame = copied(p, size, at, stop)
        if not apis and (is_in_front or recogniser.proofs > PROOFS_AT_FIRST // 2):
            apis = conversation.apis
        for api in apis or ():
            if (<object>recogniser).proves_response(frame, api):
                return True
        return may_be_lost and is_in_front and (stop == size or self.has_packet(stop))

    cdef bint starts_packet(self, Py_ssize_t at) except -1:
        """Whether a packet starts with this header; its size field may be in the packet before."""
        cdef int step
        if not self.has_packet(at):
            return False
        for step in (1, 2, 3, 5, 6, 7):
            if self.has_packet(at + step):
                return False
        return True

    cdef bint may_follow(self, const uint8_t* p, Py_ssize_t size, Py_ssize_t at) except -1:
        """Whether a response may start at a position, as far as its header has arrived."""
        if size - at >= 4 and not LEAST_FRAME <= <int64_t>uint32_at(p, size, at) <= LONGEST_FRAME:
            return False
        if size - at < HEADER or self.conversation.awaits(int32_at(p, size, at + 4)):
            return True
        return self.conversation.may_be(uint32_at(p, size, at + 4), FAR)


cdef inline bint has_half(const uint8_t* halves, uint32_t half) noexcept:
    """Whether a bit is set, by its number of 16 bits."""
    return halves[half >> 3] >> (half & 7) & 1


cdef inline void mark_half(uint8_t* halves, int64_t half) noexcept:
    halves[(half & 0xFFFF) >> 3] |= 1 << (half & 7)
