# Writes the values of bodies to the buffers of Arrow arrays.
#
# A level is the message, or an array or struct on the path to the selected rows. Columns of enclosing levels hold
# each value once, with the number of rows below it; the values are repeated when a batch is created.

cdef enum Shape:
    FIXED, BITS, BINARY, LIST, RECORD

cdef enum Action:  # for a field; a number from 0 on is the column to which its value is appended
    SKIP = -1
    DESCEND = -2

SHAPES = {"fixed": FIXED, "bits": BITS, "binary": BINARY, "list": LIST, "record": RECORD}

cdef struct Column:  # see `ColumnTable`
    int shape
    int width
    bint nullable
    int child              # the first child column
    int next               # the next sibling
    Py_ssize_t rows
    Output data            # values; a boolean takes a byte
    Output ends            # int32: 0, then the end of each value
    Output valid           # a byte for each value

cdef struct Mark:
    Py_ssize_t rows, data, ends, valid

cdef struct Step:          # reads a field of a struct, or several adjacent fields of fixed size
    Node* node
    int action
    int width              # bytes of the adjacent fields; 0 for a single field
    int first
    int count              # the range in `parts` of the selected fields

cdef struct Part:
    int kind
    int offset
    Column* column


cdef class ColumnTable:
    """Columns of one message at one version, filled body by body.

    Args:
        table: the nodes of the message.
        columns: (shape, width, nullable, child, next) of each; the first column has the numbers of bodies.
        actions: for each field row, its column, SKIP or DESCEND.
        unknown: for each node row, the column of its unknown tags, or SKIP.
        elements: the column of the rows themselves if they are not structs, else SKIP.
        levels: the number of levels.

    It may be used once at a time: a second use, by another thread or by a value that runs Python code, is an error.
    """

    cdef NodeTable table
    cdef Column* columns
    cdef Mark* marks
    cdef int* actions
    cdef int* unknown
    cdef Step* steps
    cdef int* first_step   # node row -> its first step; its last step is before the first step of the next row
    cdef Part* parts
    cdef int column_count, level_count, elements
    cdef Output* levels    # int64, for each row of a level: the number of rows of the last level up to its end
    cdef Py_ssize_t* level_marks
    cdef Run* runs         # the last run of each level
    cdef readonly Py_ssize_t rows
    cdef Py_ssize_t row_mark
    cdef bint is_busy

    def __cinit__(
        self, NodeTable table not None, list columns, list actions, list unknown, int elements, int levels
    ):
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
        self.runs = <Run*>PyMem_Calloc(levels, sizeof(Run))
        if not (self.steps and self.first_step and self.parts and self.runs):
            raise MemoryError
        for i in range(self.column_count):
            shape, width, nullable, child, next_ = columns[i]
            self.columns[i].shape, self.columns[i].width, self.columns[i].nullable = SHAPES[shape], width, nullable
            self.columns[i].child, self.columns[i].next = self.checked(child), self.checked(next_)
            if not (child == SKIP or child > i) or not (next_ == SKIP or next_ > i) or (shape == "list" and child < 0):
                raise ValueError("a column lies in itself")
            self.begin_ends(&self.columns[i])
        for i in range(len(actions)):
            self.actions[i] = self.checked(actions[i])
        for i in range(len(unknown)):
            self.unknown[i] = self.checked(unknown[i])
        self.checked(elements)
        self.check_levels()
        self.plan_steps()

    cdef int check_levels(self) except -1:
        """Refuse columns whose shape does not match their values: writes would exceed their memory."""
        cdef int i, j, action, descents = 0, depth = 0
        cdef Node* n
        if self.columns[0].shape != FIXED or self.columns[0].width != 8:
            raise ValueError("the first column is of the numbers of bodies")
        for i in range(self.table.node_count):
            n = &self.table.nodes[i]
            for j in range(n.count + max(n.tags, 0) if n.kind == STRUCT else 0):
                action = self.actions[n.fields + j - self.table.fields]
                descents += action == DESCEND
                if action >= 0:
                    self.check_column(action, n.fields[j].node)
            if self.unknown[i] >= 0 and (n.kind != STRUCT or self.columns[self.unknown[i]].shape != BINARY):
                raise ValueError("a column of unknown tags is binary, and of a struct")
        n = &self.table.nodes[0]
        while n.kind == STRUCT and depth < descents:
            n = self.below(n)
            n = n.child if n.kind == ARRAY or n.kind == NULLABLE_STRUCT else n
            depth += 1
        if depth != descents or depth >= self.level_count:
            raise ValueError("one field leads to each level")
        if n.kind != STRUCT:
            if depth != self.level_count - 1 or self.elements < 0:
                raise ValueError("rows that are no structs have a column")
            self.check_column(self.elements, n)
        return 0

    cdef int check_column(self, int at, Node* n) except -1:
        cdef Column* column = &self.columns[at]
        cdef int shape = BINARY, width = column.width
        if n.kind <= UINT32:
            shape, width = FIXED, 4 if n.kind == INT32 else width
        elif n.kind == BOOLEAN:
            shape, width = BITS, 1
        elif n.kind == FLOAT64:
            shape, width = FIXED, 8
        elif n.kind == ARRAY:
            shape = LIST
        elif n.kind == STRUCT or n.kind == NULLABLE_STRUCT:
            shape = RECORD
        if column.shape != shape or column.width != width or width not in (1, 2, 4, 8):
            raise ValueError("a column has another shape than its values")
        if shape == LIST:
            self.check_column(column.child, n.child)
        return 0

    cdef int begin_ends(self, Column* column) except -1:
        if column.shape == BINARY or column.shape == LIST:
            memset(room(&column.ends, 4), 0, 4)
        return 0

    cdef int plan_steps(self) except -1:
        """Join adjacent fields of fixed size, selected or not, so that one check of the bounds suffices for all."""
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
        PyMem_Free(self.runs)

    cdef int checked(self, int column) except -3:
        if not DESCEND <= column < self.column_count:
            raise ValueError("no such column")
        return column

    def feed(self, list bodies not None, list numbers not None, Py_ssize_t start):
        """Append the rows of `bodies[start:]`, each with the number of its body.

        Returns:
            The index of the first refused body, whose rows are omitted; or the number of bodies.
        """
        cdef Cursor c
        cdef Py_ssize_t i
        cdef bytes data
        self.enter()
        try:
            for i in range(start, len(bodies)):
                data = bodies[i]
                if data is None:
                    raise TypeError("a body is bytes")
                stand(&c, data, 0)
                self.mark()
                try:
                    self.level_rows(0, &self.table.nodes[0], 1, &c)
                    if c.at != c.end:
                        raise Declined
                    self.append_number(numbers[i])
                except BaseException as error:
                    self.go_back()
                    if isinstance(error, (Declined, UnicodeDecodeError)):
                        taken_paths.columns_left += 1
                        return i
                    raise
                taken_paths.columns_filled += 1
            return len(bodies)
        finally:
            self.leave()

    def feed_message(self, message, number):
        """Append the rows of a decoded message, or none if it is refused."""
        self.enter()
        self.mark()
        try:
            self.level_value(0, &self.table.nodes[0], message)
            self.append_number(number)
        except BaseException:
            self.go_back()
            raise
        finally:
            self.leave()

    cdef int enter(self) except -1:
        """Begin the only use of the columns, in a free-threaded Python too."""
        cdef bint was_busy
        with cython.critical_section(self):
            was_busy, self.is_busy = self.is_busy, True
        if was_busy:
            raise RuntimeError("a table of columns is used once at a time; give each thread a table of its own")
        return 0

    cdef int leave(self) except -1:
        with cython.critical_section(self):
            self.is_busy = False
        return 0

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

    cdef int level_rows(self, int depth, Node* n, Py_ssize_t count, Cursor* c) except -1:
        """Append rows of a level, and all rows below them; rows with equal lengths are appended column by column."""
        cdef Run* run = &self.runs[depth]
        cdef Py_ssize_t same
        cdef const uint8_t* start
        while count > 0:
            same = count_like(run, c, count)
            if same:
                append_run(run, take(c, same * run.stride), same, self.columns)
                self.end_levels(depth, same)
                run.misses = 0
                count -= same
                continue
            start = c.at
            self.level(depth, n, c)
            count -= 1
            run.misses += 1  # a single different row does not end the run
            if (run.misses > 1 or run.stride == 0) and run.misses & (run.misses - 1) == 0:
                self.lay_out(run, n, start, c.at)
        return 0

    cdef int lay_out(self, Run* run, Node* n, const uint8_t* start, const uint8_t* end) except -1:
        """Store the positions of a row's values, and of the lengths that determine them; nested rows form no run."""
        cdef Py_ssize_t row = n - self.table.nodes
        cdef Step* step = &self.steps[self.first_step[row]]
        cdef Step* last = &self.steps[self.first_step[row + 1]]
        cdef Cursor c
        cdef int i
        aim(&c, start, end - start)
        run.stride = run.pieces = run.checks = 0
        if n.kind != STRUCT or end - start > LONGEST_ROW or row == 0 and self.level_count > 1:
            return 0
        for i in range(max(n.tags, 0)):
            if self.actions[n.fields + n.count + i - self.table.fields] != SKIP:
                return 0
        while step < last:
            if step.width:
                for i in range(step.first, step.first + step.count):
                    add_piece(run, VALUE, self.parts[i].kind, self.parts[i].column, c.at - start + self.parts[i].offset)
                take(&c, step.width)
            elif step.action == DESCEND or not self.lay_out_field(run, step.node, step.action, start, &c):
                return 0
            step += 1
        if n.tags >= 0:
            if not accept(&c, 0):
                return 0
            add_checks(run, start, end - start, c.at - 1 - start, 1)
            if self.unknown[row] >= 0:
                add_piece(run, NULLS, BYTES, &self.columns[self.unknown[row]], 0)
        if c.at == end and run.pieces < MOST_PIECES and run.checks < MOST_CHECKS:
            run.stride = end - start
        return 0

    cdef bint lay_out_field(self, Run* run, Node* n, int action, const uint8_t* start, Cursor* c) except -1:
        cdef const uint8_t* begin = c.at
        cdef Py_ssize_t size
        cdef int operation
        if n.kind != STRING and n.kind != BYTES and (n.kind != ARRAY or n.child.kind > UINT32):
            return False
        size = length(n, c)
        add_checks(run, start, c.end - start, begin - start, c.at - begin)
        operation = NULLS if size < 0 else INTEGERS if n.kind == ARRAY else BLOB
        if action >= 0:
            add_piece(run, operation, n.child.kind if n.kind == ARRAY else n.kind, &self.columns[action], c.at - start)
            run.piece[run.pieces - 1].size = size
        take(c, max(size, 0) * (n.child.width if n.kind == ARRAY else 1))
        return True

    cdef int level(self, int depth, Node* n, Cursor* c) except -1:
        """Append a row of a level, and all rows below it."""
        if n.kind == STRUCT:
            self.members(n, c, depth)
        else:
            self.append(self.elements, n, c)
        return self.end_levels(depth, 1)

    cdef inline int end_levels(self, int depth, Py_ssize_t count) except -1:
        cdef Py_ssize_t i
        if depth == self.level_count - 1:
            self.rows += count
            return 0
        for i in range(count):
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
                    append_fixed(&self.parts[i], p + self.parts[i].offset)
            elif step.action >= 0:
                self.append(step.action, step.node, c)
            else:
                self.member(step.node, step.action, c, depth)
            step += 1
        if n.tags >= 0:
            if accept(c, 0):
                self.tagged_defaults(n, 0)
                self.append_unknown(n, NULL, 0)
            else:
                self.tagged(n, c, depth)
        return 0

    cdef inline int member(self, Node* n, int action, Cursor* c, int depth) except -1:
        if action >= 0:
            self.append(action, n, c)
        elif action == SKIP:
            skip(n, c)
        elif n.kind == ARRAY:
            self.level_rows(depth + 1, n.child, length(n, c), c)
        elif n.kind == NULLABLE_STRUCT:
            if present(n, c):
                self.level_rows(depth + 1, n.child, 1, c)
        else:
            self.level_rows(depth + 1, n, 1, c)
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
            raise Declined
        begin(&unknown, &small)
        try:
            for i in range(count):
                start = c.at
                tag = unsigned_varint(c)
                size = unsigned_varint(c)
                if tag <= last or tag > HIGHEST_TAG:
                    raise Declined
                last, known, value = tag, known_tag(n, tag), c.at
                if known < 0:
                    if tag in <object>n.foreign:
                        raise Declined
                    take(c, size)
                    put(&unknown, start, c.at - start)
                    continue
                f = &n.fields[n.count + known]
                if self.actions[f - self.table.fields] != SKIP:
                    check_not_default(f, size, c)
                self.member(f.node, self.actions[f - self.table.fields], c, depth)
                if c.at - value != size:
                    raise Declined
                seen |= 1ULL << known
            self.tagged_defaults(n, seen)
            self.append_unknown(n, unknown.data, unknown.size)
        finally:
            release(&unknown)
        return 0

    cdef int tagged_defaults(self, Node* n, unsigned long long seen) except -1:
        """Append the defaults of the missing tagged fields."""
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
        return append_binary(&self.columns[column], data, size)

    # A value from bytes.

    cdef int append(self, int at, Node* n, Cursor* c) except -1:
        cdef Column* column = &self.columns[at]
        cdef const uint8_t* p
        cdef Py_ssize_t size
        if n.kind <= UINT32:
            store(column.width, integer(n.kind, take(c, n.width)), room(&column.data, column.width))
        elif n.kind == STRING or n.kind == BYTES:
            size = length(n, c)
            if size < 0:
                return self.append_null(at)
            p = take(c, size)
            if n.kind == STRING:
                check_text(p, size)
            return append_binary(column, p, size)
        elif n.kind == ARRAY:
            size = length(n, c)
            if size < 0:
                return self.append_null(at)
            self.append_elements(column, n.child, size, c)
        elif n.kind == BOOLEAN:
            room(&column.data, 1)[0] = boolean(take(c, 1))
        elif n.kind == UUID:
            return append_binary(column, take(c, 16), 16)
        elif n.kind == STRUCT:
            self.members(n, c, -1)
        elif n.kind == NULLABLE_STRUCT:
            if not present(n, c):
                return self.append_null(at)
            self.members(n.child, c, -1)
        else:
            (<double*>room(&column.data, 8))[0] = float64(take(c, 8))
        return end_value(column)

    cdef int append_elements(self, Column* column, Node* element, Py_ssize_t size, Cursor* c) except -1:
        cdef Column* inner = &self.columns[column.child]
        cdef const uint8_t* p
        cdef uint8_t* q
        cdef Py_ssize_t i
        if element.kind == INT32 and not inner.nullable:  # replicas, ISRs: three quarters of all elements
            p = take(c, size * 4)
            q = room(&inner.data, size * 4)
            for i in range(size):
                (<uint32_t*>q)[i] = <uint32_t>integer(INT32, p + i * 4)
            inner.rows += size
        else:
            for i in range(size):
                self.append(column.child, element, c)
        return put_end(column, inner.rows)

    cdef int append_null(self, int at) except -1:
        append_nulls(self.columns, &self.columns[at], 1)
        return 0

    # A decoded value: the default of a tagged field, or a message that only the reference accepts.

    cdef int level_value(self, int depth, Node* n, object value) except -1:
        if n.kind == STRUCT:
            self.member_values(n, value, depth)
        else:
            self.append_value(self.elements, n, value)
        return self.end_levels(depth, 1)

    cdef int member_values(self, Node* n, object message, int depth) except -1:
        cdef Field* f = n.fields
        cdef int i, action
        for i in range(n.count + max(n.tags, 0)):
            action = self.actions[f + i - self.table.fields]
            self.member_value(f[i].node, action, getattr(message, <object>f[i].name), depth)
        if n.tags >= 0:
            unknown = message.unknown_tags or b""
            self.append_unknown(n, address_of(unknown), PyBytes_GET_SIZE(unknown))
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
        """Return the depth of the level that leads to a node."""
        cdef int depth = 0
        cdef Node* part = &self.table.nodes[0]
        cdef Node* below = self.below(part)
        while below != n:
            part = below.child if below.kind == ARRAY or below.kind == NULLABLE_STRUCT else below
            below = self.below(part)
            depth += 1
        return depth

    cdef Node* below(self, Node* n) except NULL:
        """Return the field of a struct that leads to the level below."""
        cdef Field* f = n.fields
        cdef int i
        for i in range(n.count + max(n.tags, 0)):
            if self.actions[f + i - self.table.fields] == DESCEND:
                return f[i].node
        raise ValueError("one field leads to each level")

    cdef int append_value(self, int at, Node* n, object value) except -1:
        cdef Column* column = &self.columns[at]
        if value is None:
            return self.append_null(at)
        if n.kind <= UINT32:
            store(column.width, value, room(&column.data, column.width))
        elif n.kind == STRING or n.kind == BYTES or n.kind == UUID:
            data = value.encode() if n.kind == STRING else bytes(value)
            return append_binary(column, address_of(data), PyBytes_GET_SIZE(data))
        elif n.kind == ARRAY:
            for item in value:
                self.append_value(column.child, n.child, item)
            put_end(column, self.columns[column.child].rows)
        elif n.kind == BOOLEAN:
            room(&column.data, 1)[0] = bool(value)
        elif n.kind == STRUCT or n.kind == NULLABLE_STRUCT:
            self.member_values(n if n.kind == STRUCT else n.child, value, -1)
        else:
            (<double*>room(&column.data, 8))[0] = value
        return end_value(column)

    # The collected columns.

    cdef int append_number(self, int64_t number) except -1:
        (<int64_t*>room(&self.columns[0].data, 8))[0] = number
        self.columns[0].rows += 1
        return 0

    def take(self):
        """Return the collected columns, and reset them.

        Returns:
            The number of rows; for each level except the last, as int64, the number of rows of the last level up to the
            end of each of its rows; and for each column: its number of rows, a validity byte per row (None if all are
            valid), 0 and the end of each value (None for a fixed size), and the values (a boolean takes a byte).
        """
        cdef int i
        self.enter()
        try:
            rows, self.rows = self.rows, 0
            levels = [taken(&self.levels[i], LEVEL) for i in range(self.level_count - 1)]
            return rows, levels, [self.take_column(&self.columns[i]) for i in range(self.column_count)]
        finally:
            self.leave()

    cdef tuple take_column(self, Column* column):
        cdef Py_ssize_t rows = column.rows
        valid = taken(&column.valid, VALUES) if has_zero(&column.valid) else None
        ends = taken(&column.ends, ENDS) if column.shape == BINARY or column.shape == LIST else None
        self.begin_ends(column)
        column.valid.size = column.rows = 0
        return rows, valid, ends, taken(&column.data, VALUES)


cdef int check_not_default(Field* f, Py_ssize_t size, Cursor* c) except -1:
    """Refuse a tagged field that holds its default, as decoding does."""
    cdef Cursor part = c[0]
    tag_value(f, size, &part)
    return 0


cdef bint has_zero(Output* o) noexcept:
    return o.size > 0 and memchr(o.data, 0, o.size) != NULL
