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


cdef inline int add_checks(Run* run, const uint8_t* p, Py_ssize_t size, Py_ssize_t at, Py_ssize_t count) except -1:
    """Add bytes at a position of a row, which all rows of the run have."""
    cdef Py_ssize_t i
    for i in range(at, at + count):
        if run.checks < MOST_CHECKS:
            run.at[run.checks], run.wanted[run.checks] = <uint16_t>i, <uint8_t>byte_at(p, size, i)
            run.checks += 1
    return 0


cdef inline Py_ssize_t count_like(Run* run, Cursor* c, Py_ssize_t limit) noexcept:
    """Return how many of the next rows belong to a run."""
    cdef const uint8_t* p = c.at
    cdef Py_ssize_t count = 0
    if run.stride == 0:
        return 0
    limit = min(limit, (c.end - c.at) // run.stride)
    while count < limit:
        if differs(p, run.at, run.wanted, run.checks):
            break
        count += 1
        p += run.stride
    return count


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
    cdef Py_ssize_t i
    if kind == INT32:
        for i in range(rows):
            (<uint32_t*>q)[i] = <uint32_t>integer(INT32, p + i * stride)
    elif kind == BOOLEAN:
        for i in range(rows):
            q[i] = boolean(p + i * stride)
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
        copy(q, p, size)
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
                (<uint32_t*>q)[j] = <uint32_t>integer(INT32, p + j * 4)
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
