# Counts of frames.

cdef int64_t LONGEST_WAIT = 10000 * SECOND  # so that the sum over a batch of frames does not overflow


cdef class FrameCount:
    """Counts of the frames of one call, until `clear` resets them.

    Args:
        owner: the object to which the counts belong.

    Attributes:
        owner: the argument.
        requests, responses, request_bytes, response_bytes: the numbers of frames, and their sizes in bytes.
        answered, time, longest: the number of known latencies, their sum and their maximum in nanoseconds.
    """

    cdef readonly object owner
    cdef readonly int64_t requests, responses, request_bytes, response_bytes, answered, time, longest
    cdef bint is_listed

    def __cinit__(self, owner):
        self.owner = owner

    def clear(self):
        """Reset the counts."""
        self.requests = self.responses = self.request_bytes = self.response_bytes = 0
        self.answered = self.time = self.longest = 0
        self.is_listed = False


cdef bint tallied(const Captured* frame, tally, Taken taken, int64_t number, list kinds, dict errors) except -1:
    """Count a frame for a report, and its errors in `errors`; return False if its body must be decoded first."""
    cdef const uint8_t* p = bytes_of_frame(frame)
    cdef KindState kind = kind_of(frame, tally, taken.call)
    cdef Py_ssize_t start
    if kind is None or kind.facts is None or frame.now == NONE:
        return False
    start = kind.body_start(p, frame.size)
    if not start or not kind.facts.find(p + start, frame.size - start, &taken.facts):
        return False
    if not kind.count:
        kinds.append(kind)
    kind.count += 1
    kind.size += frame.size
    if frame.is_request:
        meet(frame, tally, taken.connection, kind, start)
        return True
    if taken.sent.now != NONE:
        kind.times.append(latency_of(&taken.sent, <double>(<object>frame.now / BILLION)))
    if taken.facts.error_count:
        add_errors(tally, kind, &taken.facts, number, frame.offset, errors)
    return True


cdef int add_errors(tally, KindState kind, const Facts* facts, int64_t number, int64_t offset, dict errors) except -1:
    """Count error codes by their keys: number, and position of the first."""
    cdef Py_ssize_t i = 0, count
    cdef PyObject* known
    cdef object key, place
    while i < facts.error_count:
        count = i
        while count < facts.error_count and same_error(&facts.errors[i], &facts.errors[count]):
            count += 1
        key = tally.error_key(kind, facts.errors[i].field, facts.errors[i].code)
        known = PyDict_GetItemWithError(errors, key)
        place = (number, offset) if known == NULL else (<tuple><object>known)[1]
        errors[key] = count - i + (0 if known == NULL else (<tuple><object>known)[0]), place
        i = count
    return 0


cdef inline bint same_error(const FoundError* left, const FoundError* other) noexcept:
    return left.field == other.field and left.code == other.code


cdef int add_to_spans(tuple spans, int64_t span, int64_t* counts) except -1:
    """Add the numbers of responses and requests in a span of time to `spans`, and reset them."""
    cdef int direction
    cdef dict facts
    for direction in range(2):
        if counts[direction]:
            facts = spans[direction]
            facts[span] = facts.get(span, 0) + counts[direction]
            counts[direction] = 0
    return 0
