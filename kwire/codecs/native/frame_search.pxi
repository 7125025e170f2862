# Where the next frame may start in bytes after a gap. Most positions are ruled out here; what is left is judged by
# `kwire.capture.kafka.frame_recognition`, whose rules these are.

cdef enum:
    UNKNOWN_HEADER = -1        # see `FrameRecogniser.header` for the others
    NO_HEADER = 0
    SHORT_HEADER = 1
    WEAK_HEADER = 2
    BETTER_HEADER = 3          # FAIR or STRONG
    LEAST_SIZE = 8             # of a request
    FAR = 4096
    NEAR = 16
    LONGEST_UNLIKELY = 1 << 20

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
    return client_id_at(p, size, at + CLIENT_ID, min(<Py_ssize_t>client, there - CLIENT_ID), client > there - CLIENT_ID)


cdef int client_id_at(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, Py_ssize_t count, bint is_cut) except -2:
    """Return how much the available bytes resemble a client id: text without control characters."""
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
    return SHORT_HEADER if is_cut else BETTER_HEADER


cdef inline bint may_look(Py_ssize_t at, packets, int64_t* looks) except -1:
    """Take an examined position from the budget, unless a packet starts there."""
    if at in packets:
        return True
    looks[0] -= 1
    return looks[0] >= 0


def next_request(
    bytearray data not None, Py_ssize_t at, Py_ssize_t end, set packets not None, list waiting not None,
    set keys not None, dict headers not None, int64_t looks
):
    """Return the next position in a range at which a request may start, or -1; and the rest of the budget of positions.

    Args:
        data, at, end: the bytes, and the range.
        packets: the positions at which packets start.
        waiting: receives unlikely candidates that need more bytes: that number, the position, and 0.
        keys: the api keys of requests.
        headers: the header versions by api key and version; None for unknown ones.
        looks: how many positions inside of packets may be examined.
    """
    cdef const uint8_t* p = part_of(data, 0, PyByteArray_GET_SIZE(data))
    cdef Py_ssize_t size = PyByteArray_GET_SIZE(data), stop
    cdef int64_t length, before
    cdef uint32_t call
    cdef int header
    if at < 0:
        raise IndexError("positions are counted from 0")
    end = min(end, size - 7)
    while at < end:
        length, call = uint32_at(p, size, at), uint32_at(p, size, at + 4)
        if LEAST_FRAME <= length < LARGEST_START and not call & 0xFF80FFC0U:
            before = looks
            if may_look(at, packets, &looks):
                header = header_at(p, size, at, keys, headers)
                stop = at + 4 + length
                if header == WEAK_HEADER and (
                    4 + length > LONGEST_UNLIKELY
                    or (stop <= size and stop not in packets and header_at(p, size, stop, keys, headers) == NO_HEADER)
                ):
                    header = NO_HEADER
                if header == SHORT_HEADER:
                    waiting.append((size + 1, at, 0))
                elif header == WEAK_HEADER and stop > size:
                    waiting.append((stop, at, 0))
                elif header != NO_HEADER:
                    return at, before
        at += 1
    return -1, looks


def next_response(
    bytearray data not None, Py_ssize_t at, Py_ssize_t end, set packets not None, list waiting not None,
    dict in_flight not None, answered, newest, reserved, int64_t looks
):
    """Return the next position in a range at which a response may start, or -1; and the rest of the budget of positions.

    Args:
        data, at, end, packets, waiting, looks: see `next_request`.
        in_flight, answered, newest: see `AwaitedResponses`.
        reserved: the first correlation id with which clients authenticate again.
    """
    cdef const uint8_t* p = part_of(data, 0, PyByteArray_GET_SIZE(data))
    cdef Py_ssize_t size = PyByteArray_GET_SIZE(data), stop
    cdef int64_t length, number, before, lowest = NONE, highest = none_or_number(newest), limit = reserved
    cdef uint8_t[8192] halves  # a bit for each first half of a correlation id
    cdef bint is_in_front
    memset(halves, 0 if newest is not None else 255, sizeof(halves))
    if at < 0:
        raise IndexError("positions are counted from 0")
    if highest != NONE:
        lowest = highest if answered is None else <int64_t>answered
        for number in (min(lowest, highest) - FAR, min(lowest, highest), highest, highest + FAR, limit):
            mark_half(halves, max(<int64_t>0, number) >> 16 & 0xFFFF)
        for key in in_flight:
            mark_half(halves, uint16_at(address_of(key), PyBytes_GET_SIZE(key), 0))
    end = min(end, size - 7)
    while at < end:
        length, number = uint32_at(p, size, at), uint32_at(p, size, at + 4)
        if LEAST_FRAME <= length < LARGEST_START and halves[number >> 19] >> (number >> 16 & 7) & 1:
            before = looks
            if may_look(at, packets, &looks) and length <= LONGEST_FRAME:
                stop = at + 4 + length
                is_awaited = copied(p, size, at + 4, at + 8) in in_flight
                if not is_awaited and length <= LONGEST_UNLIKELY:
                    is_in_front = at in packets and not any([at + step in packets for step in (1, 2, 3, 5, 6, 7)])
                    is_awaited = may_be(number, FAR if is_in_front else NEAR, lowest, highest, limit)
                if is_awaited and stop > size and at not in packets:
                    waiting.append((stop, at, 0))
                elif is_awaited and (
                    stop > size
                    or stop in packets
                    or may_follow(p, size, stop, in_flight, lowest, highest, limit)
                ):
                    return at, before
        at += 1
    return -1, looks


cdef inline void mark_half(uint8_t* halves, int half) noexcept:
    halves[half >> 3] |= 1 << (half & 7)


cdef inline bint may_be(int64_t number, int64_t distance, int64_t lowest, int64_t highest, int64_t reserved) noexcept:
    """Whether a correlation id may belong to a request that was not captured."""
    return highest == NONE or number >= reserved or lowest - distance <= number <= highest + distance


cdef bint may_follow(
    const uint8_t* p, Py_ssize_t size, Py_ssize_t at, dict in_flight, int64_t lowest, int64_t highest, int64_t reserved
) except -1:
    """Whether a response may start at a position, as far as its header has arrived."""
    if size - at >= 4 and not LEAST_FRAME <= <int64_t>uint32_at(p, size, at) <= LONGEST_FRAME:
        return False
    if size - at < 8 or copied(p, size, at + 4, at + 8) in in_flight:
        return True
    return may_be(uint32_at(p, size, at + 4), FAR, lowest, highest, reserved)
