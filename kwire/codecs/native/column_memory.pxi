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
