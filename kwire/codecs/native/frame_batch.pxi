# Batches of captured frames: the position, connection, direction and time of each. Python objects are created only for
# frames that are used.

cdef enum:
    CAPTURED_FIELDS = 8        # of `CapturedFrame`

cdef struct Captured:
    PyObject* held             # bytes or a bytearray that contains the frame; if `ends` is NULL, another captured item
    PyObject* ends             # the endpoints of its connection
    Py_ssize_t start, size     # its position in `held`
    int64_t offset, now
    bint is_request


cdef inline const uint8_t* bytes_of_frame(const Captured* frame) noexcept:
    """Return the bytes of a frame; `FrameBatch.put` has checked its bounds."""
    return address_in(frame.held, frame.start)


cdef type captured_frame = None   # None: frames cannot be read one by one


def use_captured_frames(type frame not None):
    """Create captured frames as objects of this class from now on, a NamedTuple."""
    global captured_frame
    if not issubclass(frame, tuple) or len(frame._fields) != CAPTURED_FIELDS:
        raise ValueError("captured frames are tuples of eight values")
    captured_frame = frame


cdef object new_captured_frame(
    ends, bint is_request, int64_t offset, now, bytes data, fault, const uint8_t* p, Py_ssize_t size
):
    """Create a `CapturedFrame`, with the two numbers that follow the size of the frame at `p`."""
    if captured_frame is None:
        raise RuntimeError("the class of captured frames is unknown before use_captured_frames")
    frame = owned(new_tuple(<PyTypeObject*>captured_frame, CAPTURED_FIELDS))
    put_value(frame, 0, ends)
    put_value(frame, 1, is_request)
    put_value(frame, 2, offset)
    put_value(frame, 3, now)
    put_value(frame, 4, data)
    put_value(frame, 5, fault)
    put_value(frame, 6, int32_at(p, size, 4) if size >= 8 else None)
    put_value(frame, 7, int32_at(p, size, 8) if size >= LEAST_REQUEST else 0)
    PyObject_GC_UnTrack(<PyObject*>frame)  # it is in no cycle; the collector took a tenth of the time
    return frame


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

    cdef int put(self, held, EndsState ends, Py_ssize_t start, Py_ssize_t size, int64_t offset, int64_t now, bint is_request) except -1:
        """Add a frame at a position of some bytes: `bytes`, or a `bytearray` that nobody else has."""
        cdef Captured* item
        if ends is None:
            raise ValueError("a frame has endpoints")
        part_of(held, start, size)
        item = self.next()
        item.held, item.ends = Py_NewRef(<PyObject*>held), Py_NewRef(<PyObject*>ends)
        item.start, item.size, item.offset, item.now, item.is_request = start, size, offset, now, is_request
        return 0

    def append(self, captured):
        """Add a `CapturedFrame`, or the number of a closed connection."""
        cdef Captured* frame
        if isinstance(captured, tuple):
            ends, is_request, offset, now, data, fault, first, _ = captured
            if fault is None and first is not None and type(data) is bytes and isinstance(ends, EndsState) and is_time(now):
                self.put(data, ends, 0, PyBytes_GET_SIZE(data), offset, none_or_number(now), is_request)
                return
        frame = self.next()
        frame.held, frame.ends = Py_NewRef(<PyObject*>captured), NULL

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

    cdef object captured(self, const Captured* frame):
        if frame.ends == NULL:
            return <object>frame.held
        return new_captured_frame(
            <object>frame.ends, frame.is_request, frame.offset, number_or_none(frame.now), self.data_of(frame), None,
            bytes_of_frame(frame), frame.size,
        )

    cdef object data_of(self, const Captured* frame):
        """Return the bytes of a frame."""
        cdef object data = <object>frame.held
        if type(data) is bytes and frame.size == PyBytes_SizeOf(frame.held):
            return data
        return copied(bytes_of_frame(frame), frame.size, 0, frame.size)

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
        cdef Captured* frame
        cdef PairingState connection
        apis = counter.apis
        self.walks += 1
        try:
            for at in range(self.count):
                frame = self.items + at
                if frame.ends == NULL:
                    counter.count(<object>frame.held)
                    continue
                connection = connection_of(frame, counter, apis)
                if self.counted(frame, connection, counter, counts):
                    frames += 1
                    size += frame.size
                else:
                    counter.count(self.captured(frame))
                    taken_paths.frames_left += 1
        finally:
            self.walks -= 1
        taken_paths.frames_counted += frames
        return frames, size, counts

    def lines(self, writer, Py_ssize_t start, int64_t number, Py_ssize_t size_limit):
        """Write the lines of frames; `writer` writes the unusual ones.

        Args:
            writer: a `CapturedLines` or a `JsonLines`.
            start: the index of the first item.
            number: the number of the next frame in the capture.
            size_limit: the approximate maximum size of the lines in bytes.

        Returns:
            The index of the next item, the number of written frames, their lines, and the exception that interrupted
            writing, or None.
        """
        cdef Py_ssize_t at = start, written = 0, left = 0
        cdef int64_t first = number
        cdef Captured* frame
        cdef Output o
        cdef Taken taken = Taken.__new__(Taken)
        cdef bint is_text = writer.is_text
        cdef int64_t day = -1
        cdef Selection query = writer.selection
        cdef int choice = SELECTED
        cdef bint is_written
        if start < 0:
            raise IndexError("frames are counted from 0")
        apis = writer.apis
        begin(&o, NULL)
        self.walks += 1
        try:
            while at < self.count and o.size < size_limit and (query is None or query.shown < query.limit):
                frame = self.items + at
                at += 1
                if frame.ends == NULL and not isinstance(<object>frame.held, tuple):
                    writer.forget(<object>frame.held)
                    continue
                taken.take(self, frame, writer, apis, number)
                if query is not None and taken.call is not None:
                    choice = select(frame, writer, taken, number, query, &o)
                is_written = choice != LEFT_TO_PYTHON and taken.call is not None
                if is_written and choice == SELECTED and (query is None or not (query.counts or query.has_rows)):
                    if is_text:
                        is_written = write_text(frame, writer, taken, number, &day, &o)
                    else:
                        is_written = write_json(frame, writer, taken, number, &o)
                if not is_written:
                    o.size, day = written, -1
                    left += 1
                    put_text(&o, writer.rest(self.captured(frame), number, taken.connection, taken.header_of(frame)))
                elif query is not None and choice == SELECTED:
                    query.shown += 1
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

    def pass_over(self, writer, int64_t number):
        """Pair frames as `lines` does, without their lines; `writer` reads those that change more than its pairing.

        Args:
            writer: a `CapturedLines` or a `JsonLines`.
            number: the number of the first frame in the capture.

        Returns:
            The number of the next frame.
        """
        cdef Captured* frame
        cdef Py_ssize_t at
        cdef Taken taken = Taken.__new__(Taken)
        cdef KindState kind
        cdef bint is_usual
        apis = writer.apis
        self.walks += 1
        try:
            for at in range(self.count):
                frame = self.items + at
                if frame.ends == NULL and not isinstance(<object>frame.held, tuple):
                    writer.forget(<object>frame.held)
                    continue
                taken.take(self, frame, writer, apis, number)
                kind = None if taken.call is None else kind_of(frame, writer, taken.call)
                is_usual = kind is not None and kind.body_start(bytes_of_frame(frame), frame.size)
                if not is_usual or (frame.is_request and not same_client(taken.connection.call, kind.call)):
                    writer.rest(self.captured(frame), number, taken.connection, taken.header_of(frame))
                number += 1
        finally:
            self.walks -= 1
        return number

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
        cdef Captured* frame
        cdef Py_ssize_t at
        cdef Taken taken = Taken.__new__(Taken)
        cdef list kinds = []
        cdef dict ends = {}, errors = {}
        cdef tuple spans = ({}, {})
        cdef int64_t span, newest = 0
        cdef int64_t[2] seen = [0, 0]
        apis = tally.apis
        self.walks += 1
        try:
            for at in range(self.count):
                frame = self.items + at
                if frame.ends == NULL and not isinstance(<object>frame.held, tuple):
                    tally.forget(<object>frame.held)
                    continue
                taken.take(self, frame, tally, apis, number)
                if taken.call is not None and tallied(frame, tally, taken, number, kinds, errors):
                    ends[<object>frame.ends] = ends.get(<object>frame.ends, 0) + 1
                    span = <int64_t>floor(<double>(<object>frame.now / BILLION) / width)
                    if span != newest:  # most frames are in the span of the frame before; objects took 10 % of the time
                        add_to_spans(spans, newest, seen)
                        newest = span
                    seen[frame.is_request] += 1
                    taken_paths.frames_counted += 1
                else:
                    if errors:  # in the order of frames
                        tally.add_errors(errors)
                        errors = {}
                    tally.rest(self.captured(frame), number, taken.connection, taken.header_of(frame))
                    taken_paths.frames_left += 1
                number += 1
        finally:
            self.walks -= 1
        add_to_spans(spans, newest, seen)
        tally.add_errors(errors)
        return number, kinds, ends, spans

    def add_rows(self, pairing, dict connections not None, FrameRows rows):
        """Add the rows of frames.

        Args:
            pairing: has `take(captured)`, which adds the rows of an unusual frame, and `begin(ends, nanoseconds)`,
                which creates a connection at its first frame.
            connections: number -> connection.
            rows: receives the rows; None only to pair the frames.
        """
        cdef Captured* frame
        cdef Py_ssize_t at
        cdef PairingState connection = None
        cdef CallState call
        cdef SentRequest sent
        cdef int64_t number, newest = NONE
        self.walks += 1
        try:
            for at in range(self.count):
                frame = self.items + at
                if frame.ends == NULL:
                    newest = NONE
                    if isinstance(<object>frame.held, tuple):
                        pairing.take(<object>frame.held)
                        taken_paths.rows_left += 1
                    else:
                        connections.pop(<object>frame.held, None)
                    continue
                number = (<EndsState>frame.ends).connection
                if number != newest:  # consecutive frames often belong to one connection
                    connection, newest = connections.get(number), number
                if connection is None:
                    connection = pairing.begin(<object>frame.ends, number_or_none(frame.now))
                call = connection.pair_plain(frame, -1, &sent)
                if call is None:
                    pairing.take(self.captured(frame))
                    taken_paths.rows_left += 1
                    continue
                taken_paths.rows_added += 1
                if rows is not None and (call.api.asks if frame.is_request else call.api.answers):
                    rows.put(self, frame, connection, call)
        finally:
            self.walks -= 1

    cdef bint counted(self, const Captured* frame, PairingState connection, counter, list counts) except -1:
        """Count a frame. Return False if it is unusual."""
        cdef const uint8_t* p = bytes_of_frame(frame)
        cdef FrameCount count
        cdef CallState call
        cdef SentRequest sent
        cdef int64_t took
        if frame.is_request and begins(p, frame.size, 4, counter.telling):
            counter.meet(connection, copied(p, frame.size, 0, frame.size))
        call = connection.pair_plain(frame, -1, &sent)
        if call is None:
            return False
        count = call.note if call.note is not None else counter.note(connection, call)
        if not count.is_listed:
            count.is_listed = True
            counts.append(count)
        if frame.is_request:
            count.requests += 1
            count.request_bytes += frame.size
            return True
        count.responses += 1
        count.response_bytes += frame.size
        if sent.now != NONE and frame.now != NONE:
            took = frame.now - sent.now
            if not -LONGEST_WAIT < took < LONGEST_WAIT:
                count.owner.add_time(took)
                return True
            count.answered += 1
            count.time += took
            count.longest = max(count.longest, took)
        return True
