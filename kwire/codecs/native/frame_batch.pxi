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
    return address_in(one.held, one.start)


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
        cdef Captured* one
        if ends is None:
            raise ValueError("a frame has endpoints")
        part_of(held, start, size)
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
        first = int32_at(p, one.size, 4) if one.size >= 8 else None
        second = int32_at(p, one.size, 8) if one.size >= LEAST_REQUEST else 0
        found = <object>one.ends, one.asked, one.offset, number_or_none(one.now), self.data_of(one), None, first, second
        PyObject_GC_UnTrack(<PyObject*>found)  # it is in no cycle; the collector took a tenth of the time
        return found

    cdef object data_of(self, const Captured* one):
        """Return the bytes of a frame."""
        cdef object data = <object>one.held
        if type(data) is bytes and one.size == PyBytes_SizeOf(one.held):
            return data
        return copied(bytes_of_frame(one), one.size, 0, one.size)

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
        cdef Selection query = writer.selection
        cdef int choice = SELECTED
        cdef bint is_written
        if start < 0:
            raise IndexError("frames are counted from 0")
        apis = writer.apis
        begin(&o, NULL)
        self.walks += 1
        try:
            while at < self.count and o.size < most and (query is None or query.shown < query.limit):
                one = self.items + at
                at += 1
                if one.ends == NULL and type(<object>one.held) is not tuple:
                    writer.forget(<object>one.held)
                    continue
                taken.take(self, one, writer, apis, number)
                if query is not None and taken.call is not None:
                    choice = select(one, writer, taken, number, query, &o)
                is_written = choice != LEFT_TO_PYTHON and taken.call is not None
                if is_written and choice == SELECTED and (query is None or not (query.counts or query.has_rows)):
                    if is_text:
                        is_written = write_text(one, writer, taken, number, &day, &o)
                    else:
                        is_written = write_json(one, writer, taken, number, &o)
                if not is_written:
                    o.size, day = written, -1
                    left += 1
                    put_text(&o, writer.rest(self.captured(one), number, taken.connection, taken.header_of(one)))
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
        cdef Captured* one
        cdef Py_ssize_t at
        cdef Taken taken = Taken.__new__(Taken)
        cdef KindState kind
        cdef bint is_usual
        apis = writer.apis
        self.walks += 1
        try:
            for at in range(self.count):
                one = self.items + at
                if one.ends == NULL and type(<object>one.held) is not tuple:
                    writer.forget(<object>one.held)
                    continue
                taken.take(self, one, writer, apis, number)
                kind = None if taken.call is None else kind_of(one, writer, taken.call)
                is_usual = kind is not None and kind.body_start(bytes_of_frame(one), one.size)
                if not is_usual or (one.asked and not same_client(taken.connection.call, kind.call)):
                    writer.rest(self.captured(one), number, taken.connection, taken.header_of(one))
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
        cdef Captured* one
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
                one = self.items + at
                if one.ends == NULL and type(<object>one.held) is not tuple:
                    tally.forget(<object>one.held)
                    continue
                taken.take(self, one, tally, apis, number)
                if taken.call is not None and tallied(one, tally, taken, number, kinds, errors):
                    ends[<object>one.ends] = ends.get(<object>one.ends, 0) + 1
                    span = <int64_t>floor(<double>(<object>one.now / BILLION) / width)
                    if span != newest:  # most frames are in the span of the frame before; objects took 10 % of the time
                        add_to_spans(spans, newest, seen)
                        newest = span
                    seen[one.asked] += 1
                    taken_paths.frames_counted += 1
                else:
                    if errors:  # in the order of frames
                        tally.add_errors(errors)
                        errors = {}
                    tally.rest(self.captured(one), number, taken.connection, taken.header_of(one))
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
                if rows is not None and (call.api.asks if one.asked else call.api.answers):
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
            counter.meet(connection, copied(p, one.size, 0, one.size))
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
