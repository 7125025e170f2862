# Rows of frames for Arrow. A usual row holds numbers, and references to its connection and call. Its Python objects are
# created only when a caller asks for the row; columns are written directly to the buffers of Arrow arrays.

cdef struct FrameRow:
    PyObject* held             # its bytes, or NULL if they are not kept; if `call` is NULL, a `Row`
    PyObject* connection
    PyObject* call
    Py_ssize_t size
    int64_t offset, now
    int32_t correlation_id
    bint is_request

cdef enum RowField:            # the fields of `frame_rows.Row`
    ROW_OFFSET, ROW_DATA, ROW_TIME, ROW_ENDS, ROW_ASKED, ROW_API, ROW_CORRELATION_ID, ROW_CLIENT_ID, ROW_FAULT


cdef type row_class = None       # None: usual rows cannot be read one by one


def use_rows(type row not None):
    """Create rows as objects of this class from now on, a NamedTuple."""
    global row_class
    if not issubclass(row, tuple) or len(row._fields) != ROW_FAULT + 1:
        raise ValueError("a row has nine values")
    row_class = row


cdef class FrameRows:
    """Rows of frames, in order: a sequence of `frame_rows.Row`s, each created on demand. A call appends a row.

    Args:
        keeps_bytes: whether rows hold the bytes of usual frames; otherwise they hold only the size.
    """

    cdef FrameRow* items
    cdef Py_ssize_t count, room
    cdef Py_ssize_t others     # rows that are objects
    cdef public bint keeps_bytes
    cdef readonly Py_ssize_t size  # of all frames, in bytes

    def __cinit__(self, bint keeps_bytes=True):
        self.keeps_bytes = keeps_bytes

    def __dealloc__(self):
        self.cut(0)
        PyMem_Free(self.items)

    cdef int cut(self, Py_ssize_t start) except -1:
        """Remove the rows from `start` on. A finaliser may change this object meanwhile."""
        cdef FrameRow row
        while self.count > start:
            self.count -= 1
            row = self.items[self.count]
            self.size -= row.size
            self.others -= row.call == NULL
            if row.held != NULL:
                Py_DECREF(row.held)
            if row.call != NULL:
                Py_DECREF(row.call)
                Py_DECREF(row.connection)
        return 0

    cdef FrameRow* next(self) except NULL:
        """Return the address of the next row; `count` does not include it yet."""
        cdef FrameRow* items
        cdef Py_ssize_t room = self.room * 2 + 16
        if self.count == self.room:
            items = <FrameRow*>PyMem_Realloc(self.items, room * sizeof(FrameRow))
            if items == NULL:
                raise MemoryError
            self.items, self.room = items, room
        return self.items + self.count

    cdef int put(self, FrameBatch batch, const Captured* captured, PairingState connection, CallState call) except -1:
        """Add the row of a usual frame."""
        cdef object data = batch.data_of(captured) if self.keeps_bytes else None
        cdef FrameRow* row = self.next()
        row.held = Py_NewRef(<PyObject*>data) if self.keeps_bytes else NULL
        row.connection, row.call = Py_NewRef(<PyObject*>connection), Py_NewRef(<PyObject*>call)
        row.size, row.offset, row.now, row.is_request = captured.size, captured.offset, captured.now, captured.is_request
        row.correlation_id = int32_at(bytes_of_frame(captured), captured.size, 8 if captured.is_request else 4)
        self.count += 1
        self.size += row.size
        return 0

    def append(self, row not None):
        """Add a row."""
        cdef FrameRow* entry
        cdef Py_ssize_t size
        if not isinstance(row, tuple) or PyTuple_GET_SIZE(row) != ROW_FAULT + 1:
            raise ValueError("a row has nine values")
        size = len(row[ROW_DATA])  # may run Python code, so that the address is fetched afterwards
        entry = self.next()
        entry.size = size
        entry.held, entry.connection, entry.call = Py_NewRef(<PyObject*>row), NULL, NULL
        self.count += 1
        self.size += entry.size
        self.others += 1

    def __call__(self, row not None):
        self.append(row)

    def __iadd__(self, several):
        for row in list(several) if several is self else several:
            self.append(row)
        return self

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t at):
        at += self.count if at < 0 else 0
        if not 0 <= at < self.count:
            raise IndexError("there are not so many rows")
        return self.row(at)

    def __iter__(self):
        cdef Py_ssize_t at = 0
        while at < self.count:  # which may change between two rows, as that of a list
            yield self.row(at)
            at += 1

    cdef object row(self, Py_ssize_t at):
        """Return a row as an object. `ends` may run Python code, so that the row is copied first."""
        cdef FrameRow entry = self.items[at]
        cdef CallState call
        if entry.call == NULL:
            return <object>entry.held
        if row_class is None:
            raise RuntimeError("the class of rows is unknown before use_rows")
        call, connection = <CallState>entry.call, <object>entry.connection
        data = None if entry.held == NULL else <object>entry.held
        ends = connection.ends
        row = owned(new_tuple(<PyTypeObject*>row_class, ROW_FAULT + 1))
        put_value(row, ROW_OFFSET, entry.offset)
        put_value(row, ROW_DATA, data)
        put_value(row, ROW_TIME, number_or_none(entry.now))
        put_value(row, ROW_ENDS, ends)
        put_value(row, ROW_ASKED, entry.is_request)
        put_value(row, ROW_API, call.api)
        put_value(row, ROW_CORRELATION_ID, entry.correlation_id)
        put_value(row, ROW_CLIENT_ID, call.client_id)
        put_value(row, ROW_FAULT, None)
        PyObject_GC_UnTrack(<PyObject*>row)  # as in `new_captured_frame`
        return row

    def clear(self):
        """Remove all rows."""
        self.cut(0)

    def take(self, Py_ssize_t start=0):
        """Remove the rows from `start` on, and return them."""
        cdef FrameRows taken = FrameRows(self.keeps_bytes)
        cdef Py_ssize_t at, size = 0
        if not 0 <= start <= self.count:
            raise IndexError("there are not so many rows")
        if start == 0:
            self.items, taken.items = taken.items, self.items
            self.count, taken.count, self.room, taken.room = 0, self.count, 0, self.room
            self.size, taken.size, self.others, taken.others = 0, self.size, 0, self.others
            return taken
        for at in range(start, self.count):
            taken.copy(self.items + at)
        self.cut(start)
        return taken

    cdef int copy(self, const FrameRow* other) except -1:
        """Add a copy of a row."""
        cdef FrameRow* row = self.next()
        row[0] = other[0]
        if row.held != NULL:
            Py_NewRef(row.held)
        if row.call != NULL:
            Py_NewRef(row.call)
            Py_NewRef(row.connection)
        self.count += 1
        self.size += row.size
        self.others += row.call == NULL
        return 0

    def parts(self, Py_ssize_t most_rows, Py_ssize_t most_bytes):
        """Divide the rows into parts; a part ends when it has `most_rows` rows or `most_bytes` bytes.

        Returns:
            For each part, the index of its first row, and a copy of its rows.
        """
        cdef FrameRows part = None
        cdef list found = []
        cdef Py_ssize_t at = 0
        while at < self.count:
            if part is None:
                part = FrameRows(self.keeps_bytes)
                found.append((at, part))
                continue  # an allocation may have run a finaliser
            part.copy(self.items + at)
            at += 1
            if part.size >= most_bytes or part.count >= most_rows:
                part = None
        return found

    def faults(self):
        """Return the faults by the indices of their rows."""
        cdef Py_ssize_t at = 0
        cdef dict found = {}
        while self.others and at < self.count:
            if self.items[at].call == NULL:
                fault = (<object>self.items[at].held)[ROW_FAULT]
                if fault is not None:
                    found[at] = fault
            at += 1
        return found

    def offsets(self):
        """Return the offsets as int64: the validity bits (None if all are valid), and the values."""
        return self.column(ROW_OFFSET, 8, None)

    def sizes(self):
        """Return the sizes in bytes as int32, in the form of `offsets`."""
        return self.column(ROW_DATA, 4, None)

    def times(self, convert):
        """Return the times in microseconds as int64, in the form of `offsets`; `convert` is for unusual rows."""
        return self.column(ROW_TIME, 8, convert)

    def directions(self):
        """Return whether each row is a request, as int8, or null if that is unknown, in the form of `offsets`."""
        return self.column(ROW_ASKED, 1, None)

    def correlation_ids(self):
        """Return the correlation ids as int32, in the form of `offsets`."""
        return self.column(ROW_CORRELATION_ID, 4, None)

    cdef tuple column(self, RowField field, int width, convert):
        """Return a column of fixed width."""
        cdef Output data, valid
        cdef Py_ssize_t at = 0
        cdef int64_t value
        cdef bint has_nulls = False
        begin(&data, NULL)
        begin(&valid, NULL)
        try:
            while at < self.count:  # `convert` is Python code
                value = self.value(self.items + at, field, convert)
                at += 1
                has_nulls |= value == NONE
                room(&valid, 1)[0] = value != NONE
                value = 0 if value == NONE else value
                if width == 4 and value != <int32_t>value:
                    raise OverflowError("a number in a row exceeds 32 bits")
                store(width, value, room(&data, width))
            return pack_bits(taken(&valid, VALUES)) if has_nulls else None, taken(&data, VALUES)
        finally:
            release(&data)
            release(&valid)

    cdef int64_t value(self, const FrameRow* row, RowField field, convert) except? -1:
        """Return a number of a row; NONE for null."""
        if field == ROW_DATA:
            return row.size
        if row.call == NULL:
            item = (<object>row.held)[field]
            return none_or_number(item if convert is None else convert(item))
        if field == ROW_OFFSET:
            return row.offset
        if field == ROW_ASKED:
            return row.is_request
        if field == ROW_CORRELATION_ID:
            return row.correlation_id
        # 64-bit nanoseconds are within the range of the calendar; C rounds to zero
        return NONE if row.now == NONE else row.now // 1000 - (row.now % 1000 < 0)

    def calls(self):
        """Return the distinct pairs of api and client id, and for each row the index of its pair, as int32."""
        cdef dict known = {}
        index = self.distinct(True, known)
        return [(call.api, call.client_id) if isinstance(call, CallState) else call for call in known], index

    def ends(self):
        """Return the distinct endpoints of connections, and for each row the index of its endpoints, as int32."""
        cdef dict known = {}
        index = self.distinct(False, known)
        return [ends.ends if isinstance(ends, PairingState) else ends for ends in known], index

    cdef tuple distinct(self, bint calls, dict known):
        """Number the distinct calls or connections; return the number of each row, in the form of `offsets`."""
        cdef Output data
        cdef Py_ssize_t at = 0
        cdef FrameRow* row
        cdef PyObject* newest = NULL
        cdef PyObject* shared
        cdef int32_t number = 0
        begin(&data, NULL)
        try:
            while at < self.count:  # keys are compared by Python code
                row = self.items + at
                at += 1
                shared = row.call if calls else row.connection
                if row.call == NULL or shared != newest:  # most rows have the call or connection of the row before
                    if row.call != NULL:
                        key = <object>shared
                    elif calls:
                        key = (<object>row.held)[ROW_API], (<object>row.held)[ROW_CLIENT_ID]
                    else:
                        key = (<object>row.held)[ROW_ENDS]
                    number = known.setdefault(key, len(known))
                    newest = shared
                (<int32_t*>room(&data, 4))[0] = number
            return None, taken(&data, VALUES)
        finally:
            release(&data)
