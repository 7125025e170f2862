# Runs: consecutive rows whose lengths are equal have one stride, and are converted column by column. A row of
# MetadataResponse 1x1000 then takes 26 ns instead of 90 ns field by field. Most arrays consist of such rows.

cdef enum Operation:
    VALUE, BLOB, INTEGERS, NULLS

cdef enum:
    MOST_PIECES = 64
    MOST_CHECKS = 128      # bytes
    LONGEST_ROW = 4096     # bytes; longer rows gain nothing

cdef struct Piece:         # a value that each row has
    int operation
    int kind               # of the value, or of the elements of an array
    Column* column
    int offset
    int size               # bytes, or elements of an array

cdef struct Run:
    int stride             # bytes of a row; 0 if there is no run
    unsigned int misses    # consecutive rows that did not belong to this run
    int pieces
    int checks
    Piece[MOST_PIECES] piece
    uint16_t[MOST_CHECKS] at       # positions of lengths in a row,
    uint8_t[MOST_CHECKS] wanted    # and their bytes


cdef inline void add_piece(Run* run, int operation, int kind, Column* column, Py_ssize_t offset) noexcept:
    if run.pieces < MOST_PIECES:
        run.piece[run.pieces] = Piece(operation, kind, column, <int>offset, 0)
        run.pieces += 1


cdef inline void add_checks(Run* run, const uint8_t* start, const uint8_t* p, Py_ssize_t count) noexcept:
    cdef Py_ssize_t i
    for i in range(count):
        if run.checks < MOST_CHECKS:
            run.at[run.checks], run.wanted[run.checks] = <uint16_t>(p - start + i), p[i]
            run.checks += 1


cdef inline Py_ssize_t count_like(Run* run, Cursor* c, Py_ssize_t most) noexcept:
    """Return how many of the next rows belong to a run."""
    cdef const uint8_t* p = c.at
    cdef Py_ssize_t found = 0
    cdef uint8_t differs
    cdef int i
    if run.stride == 0:
        return 0
    most = min(most, (c.end - c.at) // run.stride)
    while found < most:
        differs = 0
        for i in range(run.checks):
            differs |= p[run.at[i]] ^ run.wanted[i]
        if differs:
            break
        found += 1
        p += run.stride
    return found


cdef int append_run(Run* run, const uint8_t* p, Py_ssize_t rows, Column* columns) except -1:
    """Append rows of a run, whose bounds were checked."""
    cdef Piece* piece
    cdef Column* column
    cdef int i
    for i in range(run.pieces):
        piece = &run.piece[i]
        column = piece.column
        if piece.operation == NULLS:
            append_nulls(columns, column, rows)
            continue
        if piece.operation == INTEGERS:
            append_integers(column, &columns[column.child], piece, p + piece.offset, run.stride, rows)
        elif piece.operation == BLOB or piece.kind == UUID:
            append_blobs(column, piece, p + piece.offset, run.stride, rows)
        else:
            append_values(column, piece.kind, p + piece.offset, run.stride, rows)
        if column.nullable:
            memset(room(&column.valid, rows), 1, rows)
        column.rows += rows
    return 0


cdef int append_values(Column* column, int kind, const uint8_t* p, Py_ssize_t stride, Py_ssize_t rows) except -1:
    cdef int width = column.width
    cdef uint8_t* q = room(&column.data, rows * width)
    cdef uint8_t bits = 0
    cdef Py_ssize_t i
    if kind == INT32:
        for i in range(rows):
            (<uint32_t*>q)[i] = be32(p + i * stride)
    elif kind == BOOLEAN:
        for i in range(rows):
            q[i] = p[i * stride]
            bits |= q[i]
        if bits > 1:
            raise Declined
    elif kind == FLOAT64:
        for i in range(rows):
            (<double*>q)[i] = float64(p + i * stride)
    else:
        for i in range(rows):
            store(width, integer(kind, p + i * stride), q + i * width)
    return 0


cdef int append_blobs(Column* column, Piece* piece, const uint8_t* p, Py_ssize_t stride, Py_ssize_t rows) except -1:
    cdef Py_ssize_t size = 16 if piece.kind == UUID else piece.size, end = column.data.size, i
    cdef int32_t* ends
    cdef uint8_t* q
    if end + size * rows > 2147483647:
        raise Declined
    q, ends = room(&column.data, size * rows), <int32_t*>room(&column.ends, rows * 4)
    for i in range(rows):
        if piece.kind == STRING:
            check_text(p, size)
        memcpy(q, p, size)
        p += stride
        q += size
        end += size
        ends[i] = <int32_t>end
    return 0


cdef int append_integers(
    Column* column, Column* inner, Piece* piece, const uint8_t* p, Py_ssize_t stride, Py_ssize_t rows
) except -1:
    cdef Py_ssize_t size = piece.size, end = inner.rows, i, j
    cdef int source = WIDTHS[piece.kind], width = inner.width
    cdef int32_t* ends
    cdef uint8_t* q
    if end + size * rows > 2147483647:
        raise Declined
    q, ends = room(&inner.data, size * rows * width), <int32_t*>room(&column.ends, rows * 4)
    for i in range(rows):
        if piece.kind == INT32:
            for j in range(size):
                (<uint32_t*>q)[j] = be32(p + j * 4)
        else:
            for j in range(size):
                store(width, integer(piece.kind, p + j * source), q + j * width)
        p += stride
        q += size * width
        end += size
        ends[i] = <int32_t>end
    if inner.nullable and size:
        memset(room(&inner.valid, size * rows), 1, size * rows)
    inner.rows += size * rows
    return 0


cdef int append_nulls(Column* columns, Column* column, Py_ssize_t count) except -1:
    cdef int child = column.child
    cdef int32_t* ends
    cdef int32_t end
    cdef Py_ssize_t i
    if column.shape == BINARY or column.shape == LIST:
        end = <int32_t>(column.data.size if column.shape == BINARY else columns[child].rows)
        ends = <int32_t*>room(&column.ends, count * 4)
        for i in range(count):
            ends[i] = end
    elif column.shape == RECORD:
        while child >= 0:
            append_nulls(columns, &columns[child], count)
            child = columns[child].next
    else:
        memset(room(&column.data, count * column.width), 0, count * column.width)
    if column.nullable:
        memset(room(&column.valid, count), 0, count)
    column.rows += count
    return 0


# A single value.


cdef inline int append_fixed(Part* part, const uint8_t* p) except -1:
    """Append a value of a fixed size."""
    cdef Column* column = part.column
    cdef uint8_t* q
    if part.kind == UUID:
        return append_binary(column, p, 16)
    q = room(&column.data, column.width)
    if part.kind == INT32:
        (<uint32_t*>q)[0] = be32(p)
    elif part.kind == BOOLEAN:
        if p[0] > 1:
            raise Declined
        q[0] = p[0]
    elif part.kind == FLOAT64:
        (<double*>q)[0] = float64(p)
    else:
        store(column.width, integer(part.kind, p), q)
    return end_value(column)


cdef inline int end_value(Column* column) except -1:
    if column.nullable:
        room(&column.valid, 1)[0] = 1
    column.rows += 1
    return 0


cdef inline int append_binary(Column* column, const uint8_t* data, Py_ssize_t size) except -1:
    put(&column.data, data, size)
    put_end(column, column.data.size)
    return end_value(column)


cdef inline int put_end(Column* column, Py_ssize_t end) except -1:
    if end > 2147483647:
        raise Declined
    (<int32_t*>room(&column.ends, 4))[0] = <int32_t>end
    return 0


cdef inline void store(int width, int64_t value, uint8_t* q) noexcept nogil:
    """Write an integer in the byte order of this machine."""
    cdef int8_t byte
    cdef int16_t short_
    cdef int32_t word
    if width == 4:
        word = <int32_t>value
        memcpy(q, &word, 4)
    elif width == 8:
        memcpy(q, &value, 8)
    elif width == 2:
        short_ = <int16_t>value
        memcpy(q, &short_, 2)
    else:
        byte = <int8_t>value
        q[0] = <uint8_t>byte


cdef inline int check_text(const uint8_t* p, Py_ssize_t size) except -1:
    """Refuse text that is not UTF-8; ASCII is recognised first."""
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    for i in range(size):
        seen |= p[i]
    if seen > 127:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>p, size, NULL))
    return 0


# The memory of collected columns, and values of enclosing levels repeated for the rows below them.

cdef enum Content:  # of memory; `Repeat` accepts only a LEVEL, whose ends ascend
    VALUES, ENDS, LEVEL


cdef class Memory:
    """Memory that is exported without a copy: a buffer that frees it."""

    cdef Output output
    cdef int kind

    def __cinit__(self):
        grow(&self.output, 0)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.output.data, self.output.size, 1, flags)

    def __dealloc__(self):
        release(&self.output)


cdef object taken(Output* o, int kind):
    cdef Memory memory = Memory.__new__(Memory)
    if o.data == NULL:
        grow(o, 0)  # pyarrow refuses a buffer at NULL
    release(&memory.output)
    memory.output, memory.kind = o[0], kind
    begin(o, NULL)
    o.expected = memory.output.size + 64  # without it, reallocations took a tenth of the time for many bodies
    return memory


def pack_bits(Memory values not None):
    """Return bytes of 0 and 1 as bits, the least significant first."""
    cdef Memory memory = Memory.__new__(Memory)
    cdef Py_ssize_t i, size = (values.output.size + 7) // 8
    cdef uint8_t* q
    if size:
        q = room(&memory.output, size)
        memset(q, 0, size)
        for i in range(values.output.size):
            q[i >> 3] |= <uint8_t>(values.output.data[i] << (i & 7))
    return memory


cdef class Repeat:
    """Repeats the values of a level for some rows of the last level.

    Args:
        level: a level that `ColumnTable.take` returned.
        start, stop: the range of rows of the last level.
    """

    cdef Memory level
    cdef const int64_t* ends
    cdef Py_ssize_t count, first, start, stop

    def __cinit__(self, Memory level not None, Py_ssize_t start, Py_ssize_t stop):
        self.level, self.ends = level, <const int64_t*>level.output.data
        self.count, self.start, self.stop = level.output.size // 8, start, stop
        if level.kind != LEVEL or not 0 <= start < stop or self.count == 0 or self.ends[self.count - 1] < stop:
            raise ValueError("there are no such rows")
        self.first = first_behind(self.ends, self.count, start)

    def fixed(self, Memory values not None, int width):
        """Return values of a fixed size, repeated."""
        cdef Memory memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row = self.start, until
        cdef uint8_t* q
        if width < 1 or values.output.size // width < self.count:
            raise ValueError("fewer values than rows")
        if self.stop - self.start > 2147483647 // width:
            raise OverflowError("more than 2 GiB in one array")
        q = room(&memory.output, (self.stop - self.start) * width)
        while row < self.stop:
            until = min(self.ends[i], self.stop)
            repeat_bytes(q, values.output.data + i * width, width, until - row)
            q += width * (until - row)
            row = until
            i += 1
        return memory

    def binary(self, Memory offsets not None, Memory values not None):
        """Return values of any size, repeated: their offsets and their bytes."""
        cdef const int32_t* bounds = <const int32_t*>offsets.output.data
        cdef Memory where = Memory.__new__(Memory), memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row = self.start, until, size
        cdef int64_t end = 0
        cdef int32_t* out
        cdef uint8_t* q
        self.check_ends(offsets)
        if bounds[self.count] > values.output.size:
            raise ValueError("fewer values than rows")
        out = <int32_t*>room(&where.output, (self.stop - self.start + 1) * 4)
        out[0] = 0
        while row < self.stop:
            until = min(self.ends[i], self.stop)
            size = bounds[i + 1] - bounds[i]
            if end + size * (until - row) > 2147483647:
                raise OverflowError("more than 2 GiB in one array")
            repeat_bytes(room(&memory.output, size * (until - row)), values.output.data + bounds[i], size, until - row)
            while row < until:
                end += size
                out += 1
                out[0] = <int32_t>end
                row += 1
            i += 1
        return where, memory

    def size(self, Memory offsets not None):
        """Return the size in bytes of repeated values of variable size."""
        cdef const int32_t* bounds = <const int32_t*>offsets.output.data
        cdef Py_ssize_t i = self.first, row = self.start, until, size = 0
        self.check_ends(offsets)
        while row < self.stop:
            until = min(self.ends[i], self.stop)
            size += (bounds[i + 1] - bounds[i]) * (until - row)
            row = until
            i += 1
        return size

    cdef int check_ends(self, Memory offsets) except -1:
        if offsets.kind != ENDS or offsets.output.size < (self.count + 1) * 4:
            raise ValueError("fewer values than rows")
        return 0

    def index(self):
        """Return the index of each row's value, as int64."""
        cdef Memory memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row
        cdef int64_t* out = <int64_t*>room(&memory.output, (self.stop - self.start) * 8)
        for row in range(self.start, self.stop):
            while self.ends[i] <= row:
                i += 1
            out[row - self.start] = i
        return memory


cdef inline void repeat_bytes(uint8_t* q, const uint8_t* p, Py_ssize_t size, Py_ssize_t times) noexcept nogil:
    """Write bytes repeatedly. Each copy doubles the written part, so that few calls are needed."""
    cdef Py_ssize_t i, done
    if size == 0 or times == 0:
        return
    if size == 8:
        for i in range(times):
            memcpy(q + i * 8, p, 8)
    elif size == 4:
        for i in range(times):
            memcpy(q + i * 4, p, 4)
    else:
        memcpy(q, p, size)
        done, times = size, times * size
        while done < times:
            memcpy(q + done, q, min(done, times - done))
            done += done
    return


cdef Py_ssize_t first_behind(const int64_t* ends, Py_ssize_t count, Py_ssize_t row) noexcept:
    """Return the first value that ends after a row."""
    cdef Py_ssize_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > row:
            high = middle
        else:
            low = middle + 1
    return low
