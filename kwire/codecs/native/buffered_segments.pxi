# Where buffered bytes of TCP streams are in memory. They stay in the portion of the file in which they were captured, as
# long as such portions take little memory together: copying them took a quarter of the time of a capture with loss.

cdef enum:
    MOST_PORTIONS = 256        # to which segments refer
    FIRST_BLOCK = 4            # segments for which memory is allocated at once
    LARGEST_BLOCK = 64

cdef int64_t ODD_TIME = NONE + 1  # stands for a time outside of 64 bits

cdef struct Buffered:          # buffered bytes of a stream
    int64_t start, stop        # their positions in it
    int64_t now, packet        # their time, and the number of their packet
    int64_t need               # the sequence number of the other side that they acknowledge; NONE if there is none
    PyObject* data             # bytes that contain them; NULL if the capture truncated them
    Py_ssize_t at              # their position in `data`
    PyObject* odd_time         # their time if `now` is ODD_TIME, else NULL
    PyObject* portion          # the `SharedPortion` of `data`, or NULL
    Buffered* before           # the neighbours in the portion; `after` of unused memory is the next unused one
    Buffered* after

cdef struct Block:             # memory for segments, which follow
    Block* next

cdef struct Segments:          # memory for the buffered segments of a stream
    Block* blocks
    Buffered* unused
    int used


cdef object time_of(int64_t now, PyObject* odd_time):
    """Return a time in nanoseconds as Python's number, or None."""
    return <object>odd_time if now == ODD_TIME and odd_time != NULL else number_or_none(now)


cdef Buffered* new_piece(Segments* segments) except NULL:
    """Return memory for a segment, filled with zeros; segments that arrive together are neighbours."""
    cdef Buffered* piece
    cdef Block* block
    cdef int count = min(<int>LARGEST_BLOCK, max(<int>FIRST_BLOCK, segments.used)), index
    if segments.unused == NULL:
        block = <Block*>PyMem_Malloc(sizeof(Block) + count * sizeof(Buffered))
        if block == NULL:
            raise MemoryError
        block.next, segments.blocks = segments.blocks, block
        piece = <Buffered*>(block + 1)
        for index in range(count):
            piece[index].after = piece + index + 1 if index < count - 1 else NULL
        segments.unused = piece
    piece = segments.unused
    segments.unused = piece.after
    segments.used += 1
    memset(piece, 0, sizeof(Buffered))
    return piece


cdef void free_piece(Segments* segments, Buffered* piece):
    """Free a segment, and all memory with the last one."""
    cdef Block* block
    free_data(piece)
    if piece.odd_time != NULL:
        Py_DECREF(piece.odd_time)
    piece.after, segments.unused = segments.unused, piece
    segments.used -= 1
    if not segments.used:
        while segments.blocks != NULL:
            block = segments.blocks
            segments.blocks = block.next
            PyMem_Free(block)
        segments.unused = NULL


cdef void free_data(Buffered* piece):
    """Drop the references of a segment to its bytes."""
    cdef PyObject* portion = piece.portion
    if portion != NULL:
        (<SharedPortion>portion).remove(piece)
        piece.portion = NULL
        Py_DECREF(portion)
    if piece.data != NULL:
        Py_DECREF(piece.data)
        piece.data = NULL


cdef inline const uint8_t* bytes_of_piece(const Buffered* piece) except NULL:
    return part_of(<object>piece.data, piece.at, piece.stop - piece.start)


cdef bytes data_of_piece(const Buffered* piece):
    """Return the bytes of a segment; None if the capture truncated them."""
    if piece.data == NULL:
        return None
    if piece.stop - piece.start == PyBytes_SizeOf(piece.data):
        return <bytes>piece.data
    return copied(bytes_of_piece(piece), piece.stop - piece.start, 0, piece.stop - piece.start)


cdef int set_data(Buffered* piece, bytes held, Py_ssize_t at, SharedPortion portion) except -1:
    """Set the bytes of a segment, from a position of `held`: as a reference, or as a copy if it is the smaller part."""
    cdef Py_ssize_t size = piece.stop - piece.start
    cdef const uint8_t* p = part_of(held, at, size)
    if portion is not None:
        piece.portion, piece.data, piece.at = Py_NewRef(<PyObject*>portion), Py_NewRef(<PyObject*>held), at
        portion.add(piece)
    elif size == PyBytes_GET_SIZE(held):
        piece.data, piece.at = Py_NewRef(<PyObject*>held), 0
    else:
        piece.data, piece.at = new_bytes(p, size), 0
    return 0


cdef class SharedPortion:
    """A portion of a file to which buffered segments refer."""

    cdef bytes data
    cdef Buffered* first

    cdef void add(self, Buffered* piece) noexcept:
        piece.before, piece.after = NULL, self.first
        if self.first != NULL:
            self.first.before = piece
        self.first = piece

    cdef void remove(self, Buffered* piece) noexcept:
        if piece.before != NULL:
            piece.before.after = piece.after
        else:
            self.first = piece.after
        if piece.after != NULL:
            piece.after.before = piece.before

    cdef int copy_out(self) except -1:
        """Give each segment a copy of its bytes, so that the portion is freed."""
        cdef Buffered* piece
        cdef PyObject* data
        while self.first != NULL:
            piece = self.first
            data = new_bytes(bytes_of_piece(piece), piece.stop - piece.start)
            free_data(piece)
            piece.data, piece.at = data, 0
        return 0


cdef class SharedPortions:
    """The portions of a file to which buffered segments refer.

    Args:
        most: how many bytes they may have together, besides the newest one.
    """

    cdef list portions         # the oldest first
    cdef SharedPortion newest
    cdef int64_t most

    def __cinit__(self, int64_t most):
        self.portions, self.most = [], most

    cdef SharedPortion portion_of(self, bytes held):
        """Return the portion whose bytes these are; if there are too many portions, free the oldest."""
        cdef SharedPortion portion
        cdef int64_t size = 0
        if self.newest is not None and self.newest.data is held:
            return self.newest
        used = []
        for portion in self.portions:
            if portion.first != NULL:
                used.append(portion)
                size += PyBytes_GET_SIZE(portion.data)
        while used and (size > self.most or len(used) >= MOST_PORTIONS):
            portion = <SharedPortion>used.pop(0)
            size -= PyBytes_GET_SIZE(portion.data)
            portion.copy_out()
        self.newest = SharedPortion()
        self.newest.data = held
        used.append(self.newest)
        self.portions = used
        return self.newest
