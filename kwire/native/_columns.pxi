# Bytes to the buffers of Arrow arrays.
#
# A level is the message, or an array or struct on the way to the rows that are wanted. Columns of enclosing levels hold
# each value once, beside how many rows lie below it; they are repeated when a batch is made.

cdef enum Shape:
    FIXED, BITS, BINARY, LIST, RECORD

cdef enum Action:  # what is done with a field; from 0 on: the column it is appended to
    SKIP = -1
    DESCEND = -2

SHAPES = {"fixed": FIXED, "bits": BITS, "binary": BINARY, "list": LIST, "record": RECORD}

cdef struct Column:  # see `ColumnTable`
    int shape
    int width
    bint nullable
    int child              # the first column below
    int next               # the next one beside
    Py_ssize_t rows
    Output data            # values; of booleans a byte each
    Output ends            # int32, a 0 and where each value ends
    Output valid           # a byte each

cdef struct Mark:
    Py_ssize_t rows, data, ends, valid

cdef struct Step:          # of reading a struct: a field, or several in a row that are of a fixed size together
    Node* node
    int action
    int width              # of the several; 0: a single field
    int first
    int count              # which parts of them are wanted

cdef struct Part:
    int kind
    int offset
    Column* column


cdef class ColumnTable:
    """Columns of one message at one version, filled body by body.

    Args:
        table: the nodes of the message.
        columns: (shape, width, nullable, child, next) of each; the first is of the numbers of bodies.
        actions: of each field row its column, SKIP or DESCEND.
        unknown: of each node row the column of its unknown tags, or SKIP.
        elements: the column of the rows themselves where these are no structs, or SKIP.
        levels: how many there are.
    """

    cdef NodeTable table
    cdef Column* columns
    cdef Mark* marks
    cdef int* actions
    cdef int* unknown
    cdef Step* steps
    cdef int* first_step   # by node row; those of a struct go on to the first of the next
    cdef Part* parts
    cdef int column_count, level_count, elements
    cdef Output* levels    # int64: behind each row of a level, how many rows there are of the last
    cdef Py_ssize_t* level_marks
    cdef readonly Py_ssize_t rows
    cdef Py_ssize_t row_mark

    def __cinit__(self, NodeTable table, list columns, list actions, list unknown, int elements, int levels):
        cdef int i
        self.table, self.column_count, self.level_count, self.elements = table, len(columns), levels, elements
        if len(actions) != table.field_count or len(unknown) != table.node_count or levels < 1 or not columns:
            raise ValueError("the columns are of another table")
        self.columns = <Column*>PyMem_Calloc(self.column_count, sizeof(Column))
        self.marks = <Mark*>PyMem_Calloc(self.column_count, sizeof(Mark))
        self.actions = <int*>PyMem_Calloc(len(actions) + 1, sizeof(int))
        self.unknown = <int*>PyMem_Calloc(len(unknown) + 1, sizeof(int))
        self.steps = <Step*>PyMem_Calloc(len(actions) + 1, sizeof(Step))
        self.first_step = <int*>PyMem_Calloc(len(unknown) + 1, sizeof(int))
        self.parts = <Part*>PyMem_Calloc(len(actions) + 1, sizeof(Part))
        self.levels = <Output*>PyMem_Calloc(levels, sizeof(Output))
        self.level_marks = <Py_ssize_t*>PyMem_Calloc(levels, sizeof(Py_ssize_t))
        if not (self.columns and self.marks and self.actions and self.unknown and self.levels and self.level_marks):
            raise MemoryError
        if not (self.steps and self.first_step and self.parts):
            raise MemoryError
        for i in range(self.column_count):
            shape, width, nullable, child, next_ = columns[i]
            self.columns[i].shape, self.columns[i].width, self.columns[i].nullable = SHAPES[shape], width, nullable
            self.columns[i].child, self.columns[i].next = self.checked(child), self.checked(next_)
            self.begin_ends(&self.columns[i])
        for i in range(len(actions)):
            self.actions[i] = self.checked(actions[i])
        for i in range(len(unknown)):
            self.unknown[i] = self.checked(unknown[i])
        self.checked(elements)
        self.plan_steps()

    cdef int begin_ends(self, Column* column) except -1:
        if column.shape == BINARY or column.shape == LIST:
            memset(room(&column.ends, 4), 0, 4)
        return 0

    cdef int plan_steps(self) except -1:
        """Join fields of a fixed size that stand in a row, wanted or not: they are read with one look at the bounds."""
        cdef int i, j, action, steps = 0, parts = 0
        cdef Node* n
        cdef Node* field
        cdef Step* step
        for i in range(self.table.node_count):
            n = &self.table.nodes[i]
            self.first_step[i] = steps
            step = NULL
            for j in range(n.count if n.kind == STRUCT else 0):
                field = n.fields[j].node
                action = self.actions[n.fields + j - self.table.fields]
                if field.kind > UUID or action == DESCEND:
                    self.steps[steps] = Step(field, action, 0, 0, 0)
                    steps += 1
                    step = NULL
                    continue
                if step == NULL:
                    step = &self.steps[steps]
                    step.first = parts
                    steps += 1
                if action >= 0:
                    self.parts[parts] = Part(field.kind, step.width, &self.columns[action])
                    parts += 1
                    step.count += 1
                step.width += field.width
        self.first_step[self.table.node_count] = steps
        return 0

    def __dealloc__(self):
        cdef int i
        if self.columns != NULL:
            for i in range(self.column_count):
                release(&self.columns[i].data)
                release(&self.columns[i].ends)
                release(&self.columns[i].valid)
        if self.levels != NULL:
            for i in range(self.level_count):
                release(&self.levels[i])
        PyMem_Free(self.columns)
        PyMem_Free(self.marks)
        PyMem_Free(self.actions)
        PyMem_Free(self.unknown)
        PyMem_Free(self.steps)
        PyMem_Free(self.first_step)
        PyMem_Free(self.parts)
        PyMem_Free(self.levels)
        PyMem_Free(self.level_marks)

    cdef int checked(self, int column) except -3:
        if not DESCEND <= column < self.column_count:
            raise ValueError("no such column")
        return column

    def feed(self, list bodies not None, list numbers not None, Py_ssize_t start):
        """Append the rows of bodies, from one of them on, each with its number.

        Returns:
            Which body is refused, whose rows are left out; or how many bodies there are.
        """
        cdef Cursor c
        cdef Py_ssize_t i
        cdef bytes data
        for i in range(start, len(bodies)):
            data = bodies[i]
            c.at = <const uint8_t*>PyBytes_AS_STRING(data)
            c.end = c.at + PyBytes_GET_SIZE(data)
            self.mark()
            try:
                self.level(0, &self.table.nodes[0], &c)
                if c.at != c.end:
                    raise Refused
                self.append_number(numbers[i])
            except (Refused, UnicodeDecodeError):
                self.go_back()
                return i
        return len(bodies)

    def feed_message(self, message, number):
        """Append the rows of a decoded message; none of them where it is refused."""
        self.mark()
        try:
            self.level_value(0, &self.table.nodes[0], message)
            self.append_number(number)
        except BaseException:
            self.go_back()
            raise

    cdef void mark(self) noexcept:
        cdef int i
        cdef Column* column
        for i in range(self.column_count):
            column = &self.columns[i]
            self.marks[i] = Mark(column.rows, column.data.size, column.ends.size, column.valid.size)
        for i in range(self.level_count):
            self.level_marks[i] = self.levels[i].size
        self.row_mark = self.rows

    cdef void go_back(self) noexcept:
        cdef int i
        cdef Column* column
        for i in range(self.column_count):
            column = &self.columns[i]
            column.rows, column.data.size = self.marks[i].rows, self.marks[i].data
            column.ends.size, column.valid.size = self.marks[i].ends, self.marks[i].valid
        for i in range(self.level_count):
            self.levels[i].size = self.level_marks[i]
        self.rows = self.row_mark

    cdef int level(self, int depth, Node* n, Cursor* c) except -1:
        """Append a row of a level, and all rows below it."""
        if n.kind == STRUCT:
            self.members(n, c, depth)
        else:
            self.append(self.elements, n, c)
        return self.end_level(depth)

    cdef inline int end_level(self, int depth) except -1:
        if depth == self.level_count - 1:
            self.rows += 1
            return 0
        (<int64_t*>room(&self.levels[depth], 8))[0] = self.rows
        return 0

    cdef int members(self, Node* n, Cursor* c, int depth) except -1:
        """Read a struct: each field is appended, skipped, or leads to the level below."""
        cdef Py_ssize_t row = n - self.table.nodes
        cdef Step* step = &self.steps[self.first_step[row]]
        cdef Step* end = &self.steps[self.first_step[row + 1]]
        cdef const uint8_t* p
        cdef int i
        while step < end:
            if step.width:
                p = take(c, step.width)
                for i in range(step.first, step.first + step.count):
                    self.append_fixed(&self.parts[i], p + self.parts[i].offset)
            elif step.action >= 0:
                self.append(step.action, step.node, c)
            else:
                self.member(step.node, step.action, c, depth)
            step += 1
        if n.tags >= 0:
            if c.at < c.end and c.at[0] == 0:
                c.at += 1
                self.tagged_defaults(n, 0)
                self.append_unknown(n, NULL, 0)
            else:
                self.tagged(n, c, depth)
        return 0

    cdef inline int append_fixed(self, Part* part, const uint8_t* p) except -1:
        """Append a value of a fixed size."""
        cdef Column* column = part.column
        cdef uint8_t* q
        if part.kind == UUID:
            return self.append_binary(column, p, 16)
        q = room(&column.data, column.width)
        if part.kind == INT32:
            (<uint32_t*>q)[0] = be32(p)
        elif part.kind == BOOLEAN:
            if p[0] > 1:
                raise Refused
            q[0] = p[0]
        elif part.kind == FLOAT64:
            (<double*>q)[0] = float64(p)
        else:
            store(column.width, integer(part.kind, p), q)
        return self.end_value(column)

    cdef inline int member(self, Node* n, int action, Cursor* c, int depth) except -1:
        cdef Py_ssize_t i, size
        if action >= 0:
            self.append(action, n, c)
        elif action == SKIP:
            skip(n, c)
        elif n.kind == ARRAY:
            size = length(n, c)
            for i in range(size):
                self.level(depth + 1, n.child, c)
        elif n.kind == NULLABLE_STRUCT:
            if present(n, c):
                self.level(depth + 1, n.child, c)
        else:
            self.level(depth + 1, n, c)
        return 0

    cdef int tagged(self, Node* n, Cursor* c, int depth) except -1:
        """Read a tagged section that is not empty."""
        cdef Py_ssize_t count = unsigned_varint(c), size, i
        cdef int64_t tag, last = -1
        cdef int known
        cdef unsigned long long seen = 0
        cdef const uint8_t* start
        cdef const uint8_t* value
        cdef Field* f
        cdef Output unknown
        cdef Small small
        if count * 2 > c.end - c.at or n.tags > 64:
            raise Refused
        begin(&unknown, &small)
        try:
            for i in range(count):
                start = c.at
                tag = unsigned_varint(c)
                size = unsigned_varint(c)
                if tag <= last or tag > HIGHEST_TAG:
                    raise Refused
                last, known, value = tag, known_tag(n, tag), c.at
                if known < 0:
                    if tag in <object>n.foreign:
                        raise Refused
                    take(c, size)
                    put(&unknown, start, c.at - start)
                    continue
                f = &n.fields[n.count + known]
                if self.actions[f - self.table.fields] != SKIP:
                    check_not_default(f, size, c)
                self.member(f.node, self.actions[f - self.table.fields], c, depth)
                if c.at - value != size:
                    raise Refused
                seen |= 1ULL << known
            self.tagged_defaults(n, seen)
            self.append_unknown(n, unknown.data, unknown.size)
        finally:
            release(&unknown)
        return 0

    cdef int tagged_defaults(self, Node* n, unsigned long long seen) except -1:
        """Append the defaults of the tagged fields that were not there."""
        cdef Field* f = n.fields + n.count
        cdef int i, action
        for i in range(n.tags):
            action = self.actions[f + i - self.table.fields]
            if action != SKIP and not (i < 64 and seen >> i & 1):
                self.member_value(f[i].node, action, <object>f[i].default, -1)
        return 0

    cdef inline int append_unknown(self, Node* n, const uint8_t* data, Py_ssize_t size) except -1:
        cdef int column = self.unknown[n - self.table.nodes]
        if column < 0:
            return 0
        if size == 0:
            return self.append_null(column)
        return self.append_binary(&self.columns[column], data, size)

    # A value out of bytes.

    cdef int append(self, int at, Node* n, Cursor* c) except -1:
        cdef Column* column = &self.columns[at]
        cdef Py_ssize_t size
        if n.kind <= UINT32:
            store(column.width, integer(n.kind, take(c, n.width)), room(&column.data, column.width))
        elif n.kind == STRING or n.kind == BYTES:
            size = length(n, c)
            if size < 0:
                return self.append_null(at)
            if n.kind == STRING:
                check_text(c, size)
            return self.append_binary(column, take(c, size), size)
        elif n.kind == ARRAY:
            size = length(n, c)
            if size < 0:
                return self.append_null(at)
            self.append_elements(column, n.child, size, c)
        elif n.kind == BOOLEAN:
            room(&column.data, 1)[0] = boolean(c)
        elif n.kind == UUID:
            return self.append_binary(column, take(c, 16), 16)
        elif n.kind == STRUCT:
            self.members(n, c, -1)
        elif n.kind == NULLABLE_STRUCT:
            if not present(n, c):
                return self.append_null(at)
            self.members(n.child, c, -1)
        else:
            (<double*>room(&column.data, 8))[0] = float64(take(c, 8))
        return self.end_value(column)

    cdef int append_elements(self, Column* column, Node* element, Py_ssize_t size, Cursor* c) except -1:
        cdef Column* inner = &self.columns[column.child]
        cdef const uint8_t* p
        cdef uint8_t* q
        cdef Py_ssize_t i
        if element.kind == INT32 and not inner.nullable:  # replicas, ISRs: three quarters of what arrays hold
            p = take(c, size * 4)
            q = room(&inner.data, size * 4)
            for i in range(size):
                (<uint32_t*>q)[i] = be32(p + i * 4)
            inner.rows += size
        else:
            for i in range(size):
                self.append(column.child, element, c)
        return self.put_end(column, inner.rows)

    cdef inline int end_value(self, Column* column) except -1:
        if column.nullable:
            room(&column.valid, 1)[0] = 1
        column.rows += 1
        return 0

    cdef inline int append_binary(self, Column* column, const uint8_t* data, Py_ssize_t size) except -1:
        put(&column.data, data, size)
        self.put_end(column, column.data.size)
        return self.end_value(column)

    cdef inline int put_end(self, Column* column, Py_ssize_t end) except -1:
        if end > 2147483647:
            raise Refused
        (<int32_t*>room(&column.ends, 4))[0] = <int32_t>end
        return 0

    cdef int append_null(self, int at) except -1:
        cdef Column* column = &self.columns[at]
        cdef int child = column.child
        if column.shape == BINARY:
            self.put_end(column, column.data.size)
        elif column.shape == LIST:
            self.put_end(column, self.columns[child].rows)
        elif column.shape == RECORD:
            while child >= 0:
                self.append_null(child)
                child = self.columns[child].next
        else:
            memset(room(&column.data, column.width), 0, column.width)
        if column.nullable:
            room(&column.valid, 1)[0] = 0
        column.rows += 1
        return 0

    # A value that was decoded: the default of a tagged field, or a message that the reference accepts alone.

    cdef int level_value(self, int depth, Node* n, object value) except -1:
        if n.kind == STRUCT:
            self.member_values(n, value, depth)
        else:
            self.append_value(self.elements, n, value)
        return self.end_level(depth)

    cdef int member_values(self, Node* n, object message, int depth) except -1:
        cdef Field* f = n.fields
        cdef int i, action
        for i in range(n.count + max(n.tags, 0)):
            action = self.actions[f + i - self.table.fields]
            self.member_value(f[i].node, action, getattr(message, <object>f[i].name), depth)
        if n.tags >= 0:
            unknown = message.unknown_tags or b""
            self.append_unknown(n, <const uint8_t*>PyBytes_AS_STRING(unknown), PyBytes_GET_SIZE(unknown))
        return 0

    cdef int member_value(self, Node* n, int action, object value, int depth) except -1:
        if action >= 0:
            self.append_value(action, n, value)
        elif action == DESCEND and value is not None:
            if depth < 0:
                depth = self.depth_of(n)
            if n.kind == ARRAY:
                for item in value:
                    self.level_value(depth + 1, n.child, item)
            else:
                self.level_value(depth + 1, n.child if n.kind == NULLABLE_STRUCT else n, value)
        return 0

    cdef int depth_of(self, Node* n) except -1:
        """Return how deep the level lies that leads to a node: as many steps as lead down to it."""
        cdef int depth = 0
        cdef Node* one = &self.table.nodes[0]
        cdef Node* below = self.below(one)
        while below != n:
            one = below.child if below.kind == ARRAY or below.kind == NULLABLE_STRUCT else below
            below = self.below(one)
            depth += 1
        return depth

    cdef Node* below(self, Node* n) except NULL:
        """Return the field of a struct that leads to the level below."""
        cdef Field* f = n.fields
        cdef int i
        for i in range(n.count + max(n.tags, 0)):
            if self.actions[f + i - self.table.fields] == DESCEND:
                return f[i].node
        raise Refused

    cdef int append_value(self, int at, Node* n, object value) except -1:
        cdef Column* column = &self.columns[at]
        if value is None:
            return self.append_null(at)
        if n.kind <= UINT32:
            store(column.width, value, room(&column.data, column.width))
        elif n.kind == STRING or n.kind == BYTES or n.kind == UUID:
            data = value.encode() if n.kind == STRING else bytes(value)
            return self.append_binary(column, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        elif n.kind == ARRAY:
            for item in value:
                self.append_value(column.child, n.child, item)
            self.put_end(column, self.columns[column.child].rows)
        elif n.kind == BOOLEAN:
            room(&column.data, 1)[0] = bool(value)
        elif n.kind == STRUCT or n.kind == NULLABLE_STRUCT:
            self.member_values(n if n.kind == STRUCT else n.child, value, -1)
        else:
            (<double*>room(&column.data, 8))[0] = value
        return self.end_value(column)

    # What was collected.

    cdef int append_number(self, int64_t number) except -1:
        (<int64_t*>room(&self.columns[0].data, 8))[0] = number
        self.columns[0].rows += 1
        return 0

    def take_column(self, int at):
        """Take a column: its rows; a byte each for whether it is valid, or None: all are; the ends of values, with a 0
        in front, or None; and the values, of booleans a byte each."""
        cdef Column* column = &self.columns[at]
        cdef Py_ssize_t rows = column.rows
        valid = taken(&column.valid) if has_zero(&column.valid) else None
        ends = taken(&column.ends) if column.shape == BINARY or column.shape == LIST else None
        self.begin_ends(column)
        column.valid.size = column.rows = 0
        return rows, valid, ends, taken(&column.data)

    def take_level(self, int depth):
        """Take how many rows there are of the last level behind each row of this one, as int64; not of the last."""
        return taken(&self.levels[depth])

    def take_rows(self):
        """Take the number of rows."""
        rows, self.rows = self.rows, 0
        return rows


def pack_bits(Memory values):
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
        level: as `ColumnTable.take_level` gives it.
        start, stop: which rows.
    """

    cdef Memory level
    cdef const int64_t* ends
    cdef Py_ssize_t count, first, start, stop

    def __cinit__(self, Memory level, Py_ssize_t start, Py_ssize_t stop):
        self.level, self.ends = level, <const int64_t*>level.output.data
        self.count, self.start, self.stop = level.output.size // 8, start, stop
        if not 0 <= start < stop or self.count == 0 or self.ends[self.count - 1] < stop:
            raise ValueError("there are no such rows")
        self.first = first_behind(self.ends, self.count, start)

    def fixed(self, Memory values, int width):
        """Return values of a fixed size, repeated."""
        cdef Memory memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row = self.start, until
        cdef uint8_t* q = room(&memory.output, (self.stop - self.start) * width)
        if values.output.size < self.count * width:
            raise ValueError("fewer values than rows")
        while row < self.stop:
            until = min(self.ends[i], self.stop)
            repeat_bytes(q, values.output.data + i * width, width, until - row)
            q += width * (until - row)
            row = until
            i += 1
        return memory

    def binary(self, Memory offsets, Memory values):
        """Return values of any size, repeated: their offsets and their bytes."""
        cdef const int32_t* bounds = <const int32_t*>offsets.output.data
        cdef Memory where = Memory.__new__(Memory), memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row = self.start, until, size
        cdef int64_t end = 0
        cdef int32_t* out
        cdef uint8_t* q
        if offsets.output.size < (self.count + 1) * 4 or bounds[self.count] > values.output.size:
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

    def size(self, Memory offsets):
        """Return how many bytes values of any size take when they are repeated."""
        cdef const int32_t* bounds = <const int32_t*>offsets.output.data
        cdef Py_ssize_t i = self.first, row = self.start, until, size = 0
        if offsets.output.size < (self.count + 1) * 4:
            raise ValueError("fewer values than rows")
        while row < self.stop:
            until = min(self.ends[i], self.stop)
            size += (bounds[i + 1] - bounds[i]) * (until - row)
            row = until
            i += 1
        return size

    def index(self):
        """Return which value it is that stands in each row, as int64."""
        cdef Memory memory = Memory.__new__(Memory)
        cdef Py_ssize_t i = self.first, row
        cdef int64_t* out = <int64_t*>room(&memory.output, (self.stop - self.start) * 8)
        for row in range(self.start, self.stop):
            while self.ends[i] <= row:
                i += 1
            out[row - self.start] = i
        return memory


cdef inline void repeat_bytes(uint8_t* q, const uint8_t* p, Py_ssize_t size, Py_ssize_t times) noexcept nogil:
    """Write some bytes so many times: twice as many with each copy, for a copy of few bytes costs a call."""
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
    """Return the first value that ends behind a row."""
    cdef Py_ssize_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > row:
            high = middle
        else:
            low = middle + 1
    return low


cdef int check_not_default(Field* f, Py_ssize_t size, Cursor* c) except -1:
    """Refuse a tagged field that holds its default, as decoding does."""
    cdef Cursor one = c[0]
    tag_value(f, size, &one)
    return 0


cdef inline void store(int width, int64_t value, uint8_t* q) noexcept nogil:
    """Write an integer as this machine has them."""
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


cdef inline int check_text(Cursor* c, Py_ssize_t size) except -1:
    """Refuse what is not UTF-8; ASCII is seen at once."""
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    if size > c.end - c.at:
        raise Refused
    for i in range(size):
        seen |= c.at[i]
    if seen > 127:
        Py_DECREF(PyUnicode_DecodeUTF8(<const char*>c.at, size, NULL))
    return 0


cdef bint has_zero(Output* o) noexcept:
    return memchr(o.data, 0, o.size) != NULL


cdef class Memory:
    """Memory that is given away without a copy: a buffer that frees what it holds."""

    cdef Output output

    def __cinit__(self):
        grow(&self.output, 0)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.output.data, self.output.size, 1, flags)

    def __dealloc__(self):
        release(&self.output)


cdef object taken(Output* o):
    cdef Memory memory = Memory.__new__(Memory)
    if o.data == NULL:
        grow(o, 0)  # pyarrow takes no buffer at NULL
    release(&memory.output)
    memory.output = o[0]
    begin(o, NULL)
    return memory
