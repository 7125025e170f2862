# Batches of captured frames: the position, connection, direction and time of each. Python objects are created only for
# frames that are used.

cdef struct Captured:
    PyObject* held             # bytes or a bytearray that contains the frame; if `ends` is NULL, another captured item
    PyObject* ends             # the endpoints of its connection
    Py_ssize_t start, size     # its position in `held`
    int64_t offset, now
    bint asked


cdef inline const uint8_t* bytes_of_frame(const Captured* one) noexcept:
    """Return the bytes of a frame; `FrameBatch.put` has checked its bounds."""
    if PyBytes_CheckExact(one.held):
        return <const uint8_t*>PyBytes_DataOf(one.held) + one.start
    return <const uint8_t*>PyByteArray_AS_STRING(<object>one.held) + one.start


cdef class FrameBatch:
    """Captured frames, in order: a sequence of `CapturedFrame`s and numbers, each created on demand."""

    cdef Captured* items
    cdef Py_ssize_t count, room
    cdef int walks             # loops over the entries, whose addresses must not change meanwhile

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            Py_DECREF(self.items[i].held)
            if self.items[i].ends != NULL:
                Py_DECREF(self.items[i].ends)
        PyMem_Free(self.items)

    cdef Captured* next(self) except NULL:
        """Return the address of the next entry."""
        cdef Captured* items
        cdef Py_ssize_t room = self.room * 2 + 16
        if self.walks:  # as for a bytearray with a view
            raise BufferError("frames cannot be added to a batch while it is read")
        if self.count == self.room:
            items = <Captured*>PyMem_Realloc(self.items, room * sizeof(Captured))
            if items == NULL:
                raise MemoryError
            self.items, self.room = items, room
        self.count += 1
        return self.items + self.count - 1

    cdef int put(self, held, EndsState ends, Py_ssize_t start, Py_ssize_t size, int64_t offset, int64_t now, bint asked) except -1:
        """Add a frame at a position of some bytes: `bytes`, or a `bytearray` that nobody else has."""
        cdef Py_ssize_t there = PyBytes_GET_SIZE(held) if type(held) is bytes else PyByteArray_GET_SIZE(held)
        cdef Captured* one
        if ends is None:
            raise ValueError("a frame has endpoints")
        if start < 0 or size < 0 or start > there - size:
            raise ValueError("the bytes of a frame are not there")
        one = self.next()
        one.held, one.ends = Py_NewRef(<PyObject*>held), Py_NewRef(<PyObject*>ends)
        one.start, one.size, one.offset, one.now, one.asked = start, size, offset, now, asked
        return 0

    def append(self, captured):
        """Add a `CapturedFrame`, or the number of a closed connection."""
        cdef Captured* one
        if type(captured) is tuple:
            ends, asked, offset, now, data, fault, first, _ = captured
            if fault is None and first is not None and type(data) is bytes and isinstance(ends, EndsState) and is_time(now):
                self.put(data, ends, 0, PyBytes_GET_SIZE(data), offset, none_or_number(now), asked)
                return
        one = self.next()
        one.held, one.ends = Py_NewRef(<PyObject*>captured), NULL

    def __iadd__(self, several):
        for captured in list(several) if several is self else several:
            self.append(captured)
        return self

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t at):
        at += self.count if at < 0 else 0
        if not 0 <= at < self.count:
            raise IndexError("there are not so many frames")
        return self.captured(self.items + at)

    def __iter__(self):
        cdef Py_ssize_t at = 0
        while at < self.count:  # which may change between two frames, as that of a list
            yield self.captured(self.items + at)
            at += 1

    def others(self):
        """Return the items that are not complete frames: tuples with a fault, and numbers."""
        cdef Py_ssize_t at
        return [<object>self.items[at].held for at in range(self.count) if self.items[at].ends == NULL]

    cdef object captured(self, const Captured* one):
        cdef const uint8_t* p
        cdef object first, second
        cdef tuple found
        if one.ends == NULL:
            return <object>one.held
        p = bytes_of_frame(one)
        first = signed32(be32(p + 4)) if one.size >= 8 else None
        second = signed32(be32(p + 8)) if one.size >= LEAST_REQUEST else 0
        found = <object>one.ends, one.asked, one.offset, number_or_none(one.now), self.data_of(one), None, first, second
        PyObject_GC_UnTrack(<PyObject*>found)  # it is in no cycle; the collector took a tenth of the time
        return found

    cdef object data_of(self, const Captured* one):
        """Return the bytes of a frame."""
        cdef object data = <object>one.held
        if type(data) is bytes and one.size == PyBytes_SizeOf(one.held):
            return data
        return PyBytes_FromStringAndSize(<const char*>bytes_of_frame(one), one.size)

    def count_frames(self, counter):
        """Count frames; `counter` counts the unusual ones.

        Args:
            counter: has `apis`, the apis of its connections; `begin(ends)`, which returns the connection of a frame;
                `telling`, the first bytes of requests that are passed to `meet(connection, data)`;
                `note(connection, call)`, which returns a `FrameCount`; and `count(captured)`, which counts an unusual
                frame.

        Returns:
            The number of frames that were counted here, their size in bytes, and the `FrameCount`s that changed.
        """
        cdef list counts = []
        cdef int64_t frames = 0, size = 0
        cdef Py_ssize_t at
        cdef Captured* one
        cdef PairingState connection
        apis = counter.apis
        self.walks += 1
        try:
            for at in range(self.count):
                one = self.items + at
                if one.ends == NULL:
                    counter.count(<object>one.held)
                    continue
                connection = connection_of(one, counter, apis)
                if self.counted(one, connection, counter, counts):
                    frames += 1
                    size += one.size
                else:
                    counter.count(self.captured(one))
                    taken_paths.frames_left += 1
        finally:
            self.walks -= 1
        taken_paths.frames_counted += frames
        return frames, size, counts

    def lines(self, writer, Py_ssize_t start, int64_t number, Py_ssize_t most):
        """Write the lines of frames; `writer` writes the unusual ones.

        Args:
            writer: a `CapturedLines` or a `JsonLines`.
            start: the index of the first item.
            number: the number of the next frame in the capture.
            most: the approximate maximum size of the lines in bytes.

        Returns:
            The index of the next item, the number of written frames, their lines, and the exception that interrupted
            writing, or None.
        """
        cdef Py_ssize_t at = start, written = 0, left = 0
        cdef int64_t first = number
        cdef Captured* one
        cdef Output o
        cdef Taken taken = Taken.__new__(Taken)
        cdef bint is_text = writer.is_text
        cdef int64_t day = -1
        if start < 0:
            raise IndexError("frames are counted from 0")
        apis = writer.apis
        begin(&o, NULL)
        self.walks += 1
        try:
            while at < self.count and o.size < most:
                one = self.items + at
                at += 1
                if one.ends == NULL and type(<object>one.held) is not tuple:
                    writer.forget(<object>one.held)
                else:
                    taken.take(self, one, writer, apis, number)
                    if taken.call is None or not (
                        write_text(one, writer, taken, number, &day, &o) if is_text else write_json(one, writer, taken, number, &o)
                    ):
                        o.size, day = written, -1
                        left += 1
                        put_text(&o, writer.rest(self.captured(one), number, taken.connection, taken.header_of(one)))
                    number += 1
                    written = o.size
            return at, number - first, text_in(&o), None
        except KeyboardInterrupt as interrupt:
            o.size = written
            return at, number - first, text_in(&o), interrupt
        finally:
            self.walks -= 1
            taken_paths.lines_written += number - first - left
            taken_paths.lines_left += left
            release(&o)

    def tally(self, tally, int64_t number, double width):
        """Count frames for a report; `tally` counts the unusual ones.

        Args:
            tally: a `CapturedTally`.
            number: the number of the first frame in the capture.
            width: the width of a span of time, in seconds.

        Returns:
            The number of the next frame, the kinds whose counts changed, the number of frames by endpoints, and the
            numbers of responses and of requests by span of time.
        """
        cdef Captured* one
        cdef Py_ssize_t at
        cdef Taken taken = Taken.__new__(Taken)
        cdef list kinds = []
        cdef dict ends = {}
        cdef tuple spans = ({}, {})
        cdef int64_t span, newest = 0
        cdef int64_t[2] seen = [0, 0]
        apis = tally.apis
        self.walks += 1
        try:
            for at in range(self.count):
                one = self.items + at
                if one.ends == NULL and type(<object>one.held) is not tuple:
                    tally.forget(<object>one.held)
                    continue
                taken.take(self, one, tally, apis, number)
                if taken.call is not None and tallied(one, tally, taken, number, kinds):
                    ends[<object>one.ends] = ends.get(<object>one.ends, 0) + 1
                    span = <int64_t>floor(<double>(<object>one.now / BILLION) / width)
                    if span != newest:  # most frames are in the span of the frame before; objects took 10 % of the time
                        add_to_spans(spans, newest, seen)
                        newest = span
                    seen[one.asked] += 1
                    taken_paths.frames_counted += 1
                else:
                    tally.rest(self.captured(one), number, taken.connection, taken.header_of(one))
                    taken_paths.frames_left += 1
                number += 1
        finally:
            self.walks -= 1
        add_to_spans(spans, newest, seen)
        return number, kinds, ends, spans

    def add_rows(self, pairing, dict connections not None, FrameRows rows not None):
        """Add the rows of frames.

        Args:
            pairing: has `take(captured)`, which adds the rows of an unusual frame, and `begin(ends, nanoseconds)`,
                which creates a connection at its first frame.
            connections: number -> connection.
            rows: receives the rows.
        """
        cdef Captured* one
        cdef Py_ssize_t at
        cdef PairingState connection = None
        cdef CallState call
        cdef Asked asked
        cdef int64_t number, newest = NONE
        self.walks += 1
        try:
            for at in range(self.count):
                one = self.items + at
                if one.ends == NULL:
                    newest = NONE
                    if type(<object>one.held) is tuple:
                        pairing.take(<object>one.held)
                        taken_paths.rows_left += 1
                    else:
                        connections.pop(<object>one.held, None)
                    continue
                number = (<EndsState>one.ends).connection
                if number != newest:  # consecutive frames often belong to one connection
                    connection, newest = connections.get(number), number
                if connection is None:
                    connection = pairing.begin(<object>one.ends, number_or_none(one.now))
                call = connection.pair_plain(one, -1, &asked)
                if call is None:
                    pairing.take(self.captured(one))
                    taken_paths.rows_left += 1
                    continue
                taken_paths.rows_added += 1
                if call.api.asks if one.asked else call.api.answers:
                    rows.put(self, one, connection, call)
        finally:
            self.walks -= 1

    cdef bint counted(self, const Captured* one, PairingState connection, counter, list counts) except -1:
        """Count a frame. Return False if it is unusual."""
        cdef const uint8_t* p = bytes_of_frame(one)
        cdef FrameCount count
        cdef CallState call
        cdef Asked asked
        cdef int64_t took
        if one.asked and begins(p, one.size, 4, counter.telling):
            counter.meet(connection, PyBytes_FromStringAndSize(<const char*>p, one.size))
        call = connection.pair_plain(one, -1, &asked)
        if call is None:
            return False
        count = call.note if call.note is not None else counter.note(connection, call)
        if not count.is_listed:
            count.is_listed = True
            counts.append(count)
        if one.asked:
            count.requests += 1
            count.request_bytes += one.size
            return True
        count.responses += 1
        count.response_bytes += one.size
        if asked.now != NONE and one.now != NONE:
            took = one.now - asked.now
            if not -LONGEST_WAIT < took < LONGEST_WAIT:
                count.owner.add_time(took)
                return True
            count.answered += 1
            count.time += took
            count.longest = max(count.longest, took)
        return True


cdef int add_to_spans(tuple spans, int64_t span, int64_t* counts) except -1:
    """Add the numbers of responses and requests in a span of time to `spans`, and reset them."""
    cdef int asked
    cdef dict found
    for asked in range(2):
        if counts[asked]:
            found = spans[asked]
            found[span] = found.get(span, 0) + counts[asked]
            counts[asked] = 0
    return 0


cdef PairingState connection_of(const Captured* one, reader, apis):
    """Return the connection on which a frame arrived."""
    cdef EndsState ends = <EndsState>one.ends
    cdef PairingState connection = ends.note
    return connection if connection is not None and connection.apis is apis else reader.begin(ends)


cdef class Taken:
    """The properties that a frame has from its connection."""

    cdef PairingState connection   # None for an item without a connection
    cdef CallState call            # None if the frame must be decoded in full
    cdef object header             # from `Connection.pair`; None if that was not called
    cdef Asked asked               # the request of a response, without references

    cdef int take(self, FrameBatch batch, const Captured* one, reader, apis, int64_t number) except -1:
        """Add a frame with its number in the capture."""
        self.connection = self.call = self.header = None
        self.asked.now, self.asked.frame = NONE, -1
        if one.ends == NULL:
            return 0
        self.connection = connection_of(one, reader, apis)
        self.call = self.connection.pair_plain(one, number, &self.asked)
        if self.call is None:
            self.header = header = (<object>self.connection).pair(batch.captured(one))
            if one.asked:
                header.number(number)
            request = header if header.is_request else header.request
            if not (header.problem or header.overtaken):
                self.call = header.call
                if request is not None:
                    self.asked.now = none_or_number(request.time)
                    self.asked.frame = -1 if request.frame is None else request.frame
        return 0

    cdef object header_of(self, const Captured* one):
        """Return the header, as `Connection.pair` does: for a response, the header of its request."""
        if self.header is None and self.connection is not None:
            if one.asked:
                self.header = self.connection.in_flight[len(self.connection.in_flight) - 1]
            else:
                self.header = header_of(self.call, &self.asked)
        return self.header


cdef inline KindState kind_of(const Captured* one, reader, CallState call):
    """Return the kind of a frame; None if such frames must be decoded in full."""
    return (call.note if call.note is not None else reader.kinds(call))[one.asked]


cdef bint tallied(const Captured* one, tally, Taken taken, int64_t number, list kinds) except -1:
    """Count a frame for a report; return False if its body must be decoded first."""
    cdef const uint8_t* p = bytes_of_frame(one)
    cdef KindState kind = kind_of(one, tally, taken.call)
    cdef Py_ssize_t start
    cdef Facts facts
    if kind is None or kind.facts is None or one.now == NONE:
        return False
    start = kind.body_start(p, one.size)
    if not start or not kind.facts.find(p + start, one.size - start, &facts):
        return False
    if not kind.count:
        kinds.append(kind)
    kind.count += 1
    kind.size += one.size
    if one.asked:
        meet(one, tally, taken.connection, kind, start)
        return True
    if taken.asked.now != NONE:
        kind.times.append(latency_of(&taken.asked, <double>(<object>one.now / BILLION)))
    if facts.has_error:
        tally.add_errors(kind, PyBytes_FromStringAndSize(<const char*>p + start, one.size - start), number, one.offset)
    return True


cdef int meet(const Captured* one, reader, PairingState connection, KindState kind, Py_ssize_t start) except -1:
    """Store the client of a request with its connection."""
    if one.asked and not same_client(connection.call, kind.call):
        p = <const char*>bytes_of_frame(one) + start
        reader.meet(connection, kind, PyBytes_FromStringAndSize(p, one.size - start))
    return 0


cdef bint is_time(now):
    """Whether a time is None, or small enough that differences do not overflow."""
    return now is None or -SECOND * SECOND < now < 8 * SECOND * SECOND


cdef bint write_json(const Captured* one, writer, Taken taken, int64_t number, Output* o) except -1:
    """Write the JSON line of a request or response; False if its body must be decoded."""
    cdef KindState kind = kind_of(one, writer, taken.call)
    cdef PairingState connection = taken.connection
    cdef const uint8_t* p = bytes_of_frame(one)
    cdef Py_ssize_t start = 0 if kind is None or one.now < SECOND else kind.body_start(p, one.size)
    cdef tuple texts
    cdef object body = None
    if not start:
        return False
    texts = connection.note if connection.note is not None else writer.begin(<object>one.ends).note
    put_bytes(o, writer.heads[one.asked])
    put_decimal(o, number)
    put(o, b',"offset":', 10)
    put_decimal(o, one.offset)
    put(o, b',"time":', 8)
    time = <object>one.now / BILLION
    put_text(o, repr(time))
    if not one.asked:
        write_link(&taken.asked, time, o)
    put_bytes(o, texts[one.asked])
    put_bytes(o, kind.front)
    put_decimal(o, signed32(be32(p + (8 if one.asked else 4))))
    put_bytes(o, kind.back)
    if not write_body(kind, p + start, one.size - start, o):
        body = writer.body_text(kind, PyBytes_FromStringAndSize(<const char*>p + start, one.size - start))
        if body is None:
            return False
        put_text(o, body)
    put(o, b"}\n", 2)
    meet(one, writer, connection, kind, start)
    return True


cdef int write_link(const Asked* asked, double time, Output* o) except -1:
    """Write the properties of a response that come from its request; `time` is that of the response, in seconds."""
    if asked.now != NONE:
        put(o, b',"latencySeconds":', 18)
        put_float(o, latency_of(asked, time))
    if asked.frame >= 0:
        put(o, b',"requestFrame":', 16)
        put_decimal(o, asked.frame)
    return 0


cdef double latency_of(const Asked* asked, double time) except? -1:
    """Return the time between request and response, as `results.seconds_between` does."""
    return rint((time - <double>(<object>asked.now / BILLION)) * 1e6) / 1e6


cdef bint write_text(const Captured* one, writer, Taken taken, int64_t number, int64_t* day, Output* o) except -1:
    """Write the text line of a request or response; False if its body must be decoded."""
    cdef KindState kind = kind_of(one, writer, taken.call)
    cdef const uint8_t* p = bytes_of_frame(one)
    cdef Py_ssize_t start = 0, line
    cdef Facts facts
    cdef object words = None
    cdef double time
    cdef int64_t seconds, micros
    if kind is not None and kind.facts is not None and one.now >= 0:
        start = kind.body_start(p, one.size)
    if not start or not kind.facts.find(p + start, one.size - start, &facts):
        return False
    if facts.has_error or facts.count > MOST_TOPICS:
        words = writer.read(kind, PyBytes_FromStringAndSize(<const char*>p + start, one.size - start))
        if words is None:
            return False
    elif facts.count and (facts.count > 1 or facts.topics[0].id != NULL):
        words = "", writer.topics([(topic_id(&facts.topics[i]), topic_name(&facts.topics[i])) for i in range(facts.count)])
    meet(one, writer, taken.connection, kind, start)
    time = <double>(<object>one.now / BILLION)
    seconds, micros = <int64_t>floor(time), <int64_t>rint((time - floor(time)) * 1e6)  # as datetime's
    seconds, micros = seconds + micros // 1000000, micros % 1000000
    if seconds // 86400 != day[0]:
        put_text(o, writer.date(time))
        day[0] = seconds // 86400
    put_bytes(o, writer.colour[0])
    line = o.size
    put_padded(number, 0, 5, True, o)
    put(o, b" ", 1)
    put_time_of_day(seconds % 86400, micros, o)
    put_bytes(o, kind.front)
    put_padded(signed32(be32(p + (8 if one.asked else 4))), c'#', 5, False, o)
    put(o, b" ", 1)
    put_padded(one.size, 0, 5, True, o)
    put(o, b" B", 2)
    write_words(one, writer, taken, kind, &facts, words, time, o)
    finish_line(writer, line, o)
    return True


cdef int put_time_of_day(int64_t seconds, int64_t micros, Output* o) except -1:
    """Write a time of day with milliseconds, rounded down, as `line.time_text` does, and a blank."""
    cdef uint8_t* q = room(o, 13)
    q[2] = q[5] = c':'
    q[8], q[12] = c'.', c' '
    put_digits(q, seconds // 3600, 2)
    put_digits(q + 3, seconds // 60 % 60, 2)
    put_digits(q + 6, seconds % 60, 2)
    put_digits(q + 9, micros // 1000, 3)
    return 0


cdef inline void put_digits(uint8_t* q, int64_t value, int count) noexcept:
    while count:
        count -= 1
        q[count] = <uint8_t>(c'0' + value % 10)
        value //= 10


cdef int put_padded(int64_t value, uint8_t sign, int width, bint right, Output* o) except -1:
    """Write a sign (0 for none) and a number, padded to a width."""
    cdef Py_ssize_t start = o.size, size
    if sign:
        room(o, 1)[0] = sign
    put_decimal(o, value)
    size = o.size - start
    if size < width:
        room(o, width - size)
        if right:
            memmove(o.data + start + width - size, o.data + start, size)
        memset(o.data + start + (0 if right else size), c' ', width - size)
    return 0


cdef int write_words(
    const Captured* one, writer, Taken taken, KindState kind, const Facts* facts, object words, double time, Output* o
) except -1:
    """Write the optional words of a line, in the order of its kind."""
    cdef bytes order = kind.order[facts.has_error and not one.asked]
    cdef Py_ssize_t start
    cdef uint8_t word
    for word in order:
        start = o.size
        put(o, b"  ", 2)
        if word == c'E':
            put_text(o, words[0])
        elif word == c'L':
            put_text(o, writer.link(
                latency_of(&taken.asked, time) if taken.asked.now != NONE else None,
                taken.asked.frame if taken.asked.frame >= 0 else None,
            ))
        elif word == c'C':
            put_bytes(o, kind.back)
        elif words is not None:
            put_text(o, words[1])
        elif facts.count:
            put(o, facts.topics[0].name, facts.topics[0].size)
        if o.size == start + 2:
            o.size = start
    return 0


cdef int finish_line(writer, Py_ssize_t start, Output* o) except -1:
    """End a line; its writer shortens one that is too wide, and escapes one that is not printable ASCII."""
    cdef bint is_plain = True
    cdef Py_ssize_t i
    while o.size > start and o.data[o.size - 1] == c' ':
        o.size -= 1
    for i in range(start, o.size):
        is_plain = is_plain and 32 <= o.data[i] < 127
    if not is_plain or o.size - start > <Py_ssize_t>writer.width:
        line = PyUnicode_DecodeUTF8Of(<const char*>o.data + start, o.size - start, b"surrogatepass")
        o.size = start
        put_text(o, writer.fit(line))
    put_bytes(o, writer.colour[1])
    put(o, b"\n", 1)
    return 0


cdef inline bint same_client(CallState met, CallState call):
    """Whether the requests of two calls have the same client id."""
    return met is call or (met is not None and call.is_plain and met.client == call.client)


cdef bint write_body(KindState kind, const uint8_t* p, Py_ssize_t size, Output* o) except -1:
    """Write the JSON text of a body if all of it is printable ASCII; False if it was not written."""
    cdef Py_ssize_t start = o.size
    cdef Cursor c
    cdef Facts facts
    if kind.table is None or kind.facts is not None and not kind.facts.find(p, size, &facts):
        return False
    aim(&c, p, size)
    taken_paths.texts_begun += 1
    try:
        text(kind.table.nodes, &c, o)
    except (Declined, ValueError):
        o.size = start
        return False
    if c.at != c.end or not is_printable(o.data + start, o.size - start):
        o.size = start
        return False
    taken_paths.texts_written += 1
    return True


cdef int put_bytes(Output* o, bytes text) except -1:
    if text is None:
        raise TypeError("a text is missing")
    return put(o, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef int put_text(Output* o, str text) except -1:
    cdef bytes encoded
    if text.isascii():
        return put(o, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))
    encoded = text.encode("utf-8", "surrogatepass")
    return put_bytes(o, encoded)


cdef object text_in(Output* o):
    return PyUnicode_DecodeUTF8Of(<const char*>o.data, o.size, b"surrogatepass") if o.size else ""
