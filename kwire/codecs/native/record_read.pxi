# Records as objects, read one by one.

cdef extern from "c_helpers.h":
    void inherit_next "kwire_inherit_next"(PyTypeObject* cls, PyTypeObject* base) noexcept
    PyObject* new_tuple "kwire_new_tuple"(PyTypeObject* cls, Py_ssize_t size) except NULL

cdef enum:
    RECORD_FIELDS = 7
    BATCH_FIELDS = 18

RECORD_NAMES = "offset", "timestamp", "key", "value", "headers", "attributes", "create_timestamp"
BATCH_NAMES = (
    "base_offset", "last_offset", "length", "magic", "crc", "attributes", "partition_leader_epoch", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "record_count", "data",
    "position", "index", "faults",
)

cdef struct RecordSlots:  # in the order of RECORD_NAMES
    Py_ssize_t offset, timestamp, key, value, headers, attributes, create_timestamp

cdef struct BatchSlots:   # in the order of BATCH_NAMES
    Py_ssize_t base_offset, last_offset, length, magic, crc, attributes, partition_leader_epoch, last_offset_delta
    Py_ssize_t base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, record_count, data
    Py_ssize_t position, index, faults


cdef class RecordClasses:
    """The classes of `kwire.codecs.records`, and the slots of their attributes."""

    cdef object record, batch, header
    cdef PyTypeObject* record_type
    cdef PyTypeObject* batch_type
    cdef PyTypeObject* header_type
    cdef RecordSlots of_record
    cdef BatchSlots of_batch

    def __cinit__(self, record, batch, header):
        self.record, self.batch, self.header = record, batch, header
        self.record_type, self.batch_type = <PyTypeObject*>record, <PyTypeObject*>batch
        self.header_type = <PyTypeObject*>header
        find_slots(record, RECORD_NAMES, <Py_ssize_t*>&self.of_record)
        find_slots(batch, BATCH_NAMES, <Py_ssize_t*>&self.of_batch)
        if not issubclass(header, tuple) or header.__slots__ != ():
            raise ValueError("a header is a tuple")


cdef int find_slots(message_class, tuple names, Py_ssize_t* slots) except -1:
    """Find the slots of a struct, which must have these fields only."""
    cdef Py_ssize_t i
    if not issubclass(message_class, msgspec.Struct) or set(message_class.__struct_fields__) != set(names):
        raise ValueError("a struct has other fields")
    if PyType_HasFeature(<PyTypeObject*>message_class, Py_TPFLAGS_HAVE_GC):
        raise ValueError("a struct is tracked by the garbage collector")
    for i in range(len(names)):
        slots[i] = slot_of(message_class, names[i])
        if slots[i] <= 0:
            raise ValueError("a struct has a slot for each of its attributes")
    return 0


cdef RecordClasses record_classes = None  # None: all is left to the general path


def use_records(record=None, batch=None, header=None, *iterators):
    """Read and build records natively from now on, as objects of these classes; without classes no longer.

    Subclasses of the cursors, `iterators`, then find the next item by the engine's own function. Cython's classes have
    `__next__` in their dictionary too, so that CPython looks it up there for a subclass: 60 ns for each record.
    """
    for cursor in iterators:
        if issubclass(cursor, RecordCursor):
            inherit_next(<PyTypeObject*>cursor, <PyTypeObject*>RecordCursor)
        elif issubclass(cursor, BatchCursor):
            inherit_next(<PyTypeObject*>cursor, <PyTypeObject*>BatchCursor)
    global record_classes
    record_classes = RecordClasses(record, batch, header) if record is not None and USES_SLOTS else None


cdef inline object slot_value(object message, Py_ssize_t slot):
    """Return the value of a slot; refuse an empty one."""
    cdef PyObject* value = (<PyObject**>(<char*><PyObject*>message + slot))[0]
    if value == NULL:
        refuse()
    return <object>value


cdef inline int64_t slot_integer(object message, Py_ssize_t slot) except? -1:
    """Return the integer in a slot; refuse another value, and one of more than 64 bits."""
    cdef int64_t value = 0
    held = slot_value(message, slot)
    if not integer_of(<PyObject*>held, &value):
        refuse()
    return value


cdef inline PyObject* bytes_or_none(const uint8_t* data, ByteRange* s) except NULL:
    return new_bytes(data + s.start, s.size) if s.size >= 0 else Py_NewRef(Py_None)


cdef object NOTHING_LEFT = iter(())


@cython.freelist(8)
cdef class RecordCursor:
    """Iterates over the records of a batch; the base of `RecordIterator`, which reads what is refused here.

    Args:
        batch: a `RecordBatch`.
        salvage, limit: see `RecordBatch.records`.
        views: give keys and values as memoryviews.

    Attributes:
        _at, _index: the position of the next record, and the number of records before it.
    """

    cdef readonly object _batch, _limit
    cdef readonly bint _salvage, _views
    cdef readonly Py_ssize_t _at, _index
    cdef public object _walk, _items
    cdef RecordClasses classes   # None: all records are left to the general path
    cdef bytes data
    cdef const uint8_t* bytes    # of the data
    cdef Py_ssize_t end          # their number
    cdef PyTypeObject* record_type
    cdef RecordSlots* slots      # of the classes
    cdef object view             # a memoryview of the data, or None
    cdef Py_ssize_t count        # of records; -1 if they end with the data
    cdef int magic
    cdef bint checked            # whether checksums of messages were compared
    cdef bint appended           # whether the time of the batch takes the place of that of its records
    cdef int64_t base_offset, base_timestamp, append_time

    def __cinit__(self, batch, bint salvage, limit, bint views=False):
        self._batch, self._salvage, self._limit, self._views = batch, salvage, limit, views
        self.count = -1
        try:
            self.aim_at_batch()
        except Declined:  # a batch that has other attributes than one that was read
            self.classes = None

    cdef int aim_at_batch(self) except -1:
        """Read natively from the beginning of a batch that is not compressed."""
        cdef RecordClasses classes = record_classes
        cdef int64_t magic
        if classes is None or Py_TYPE(<PyObject*>self._batch) != classes.batch_type:
            return 0
        magic = slot_integer(self._batch, classes.of_batch.magic)
        if not 0 <= magic <= 2 or slot_integer(self._batch, classes.of_batch.attributes) & COMPRESSED:
            return 0
        self.aim_at(slot_value(self._batch, classes.of_batch.data), BATCH_SIZE if magic == 2 else 0, 0)
        if magic < 2:  # a message that is a batch has a time of its own, and its checksum was compared
            self.checked, self.appended = True, False
        return 0

    cdef int aim_at(self, object data, Py_ssize_t at, int64_t base) except -1:
        cdef RecordClasses classes = record_classes
        cdef BatchSlots* slots = &classes.of_batch
        self._at, self.base_offset = at, base
        self.magic = <int>slot_integer(self._batch, slots.magic)
        self.append_time = slot_integer(self._batch, slots.max_timestamp)
        self.appended = self.magic > 0 and slot_integer(self._batch, slots.attributes) & APPEND_TIME
        if self.magic == 2:
            self.base_timestamp = slot_integer(self._batch, slots.base_timestamp)
            self.base_offset = slot_integer(self._batch, slots.base_offset)
            self.count = slot_integer(self._batch, slots.record_count)
            if self.count < 0:
                refuse()
        if type(data) is not bytes:
            refuse()
        self.data, self.bytes, self.end = data, address_of(<bytes>data), PyBytes_GET_SIZE(<bytes>data)
        self.classes, self.record_type, self.slots = classes, classes.record_type, &classes.of_record
        self.view = memoryview(data) if self._views else None
        return 0

    def _open(self, data, Py_ssize_t at, base=0):
        """Read natively from a position in what the batch's bytes decompress to.

        Args:
            data: the decompressed bytes.
            at: the position of the first record.
            base: what is added to the offsets of messages.
        """
        self._at = at
        if record_classes is None or Py_TYPE(<PyObject*>self._batch) != record_classes.batch_type:
            return
        try:
            self.aim_at(data, at, base)
        except (Declined, OverflowError, TypeError):
            self.classes = None

    def _close(self):
        """Leave all following records to the general path."""
        self.classes = None

    def _advance(self, Py_ssize_t at):
        """Move behind a record that the general path has read."""
        self._at = at
        self._index += 1

    def __iter__(self):
        return self

    def __next__(self):
        if self.classes is not None:
            record = self.take()
            if record is not None:
                return record
            if self._at == self.end and (self.count < 0 or self._index == self.count):
                self.classes, self.data, self._items = None, None, NOTHING_LEFT
                raise StopIteration
        return self._next_generally()

    def _take(self):
        """Return the next record; None if it is left to the general path, and at the end."""
        return self.take() if self.classes is not None else None

    cdef object take(self):
        cdef const uint8_t* data = self.bytes
        cdef Py_ssize_t at = self._at
        cdef RecordParts r
        if self._index >= self.count >= 0 or not 0 <= at <= self.end:
            return None
        if self.magic == 2:
            if not locate_record(data, self.end, &at, &r):
                return None
            r.timestamp = <int64_t>(<uint64_t>self.base_timestamp + <uint64_t>r.timestamp)  # wraps as Java's do
        elif not locate_message(data, self.end, &at, self.magic, self.checked, &r):
            return None
        r.offset = <int64_t>(<uint64_t>self.base_offset + <uint64_t>r.offset)
        record = self.new_record(at, &r) if not r.header_count else self.new_record_with_headers(at, &r)
        if record is None:
            return None
        self._at = at
        self._index += 1
        return record

    cdef object new_record_with_headers(self, Py_ssize_t stop, RecordParts* r):
        try:
            return self.new_record(stop, r)
        except UnicodeError:  # the name of a header
            return None

    cdef inline object new_record(self, Py_ssize_t stop, RecordParts* r):
        cdef PyObject* record = new_struct(self.record_type)
        return owned(finished(record, (<Filling>fill_record)(self, record, stop, r)))


cdef int fill_record(RecordCursor c, PyObject* record, Py_ssize_t stop, RecordParts* r) except -1:
    cdef RecordSlots* slots = c.slots
    fill(record, slots.offset, new_integer(r.offset))
    if c.appended:
        fill(record, slots.timestamp, new_integer(c.append_time))
        fill(record, slots.create_timestamp, new_integer(r.timestamp))
    else:
        fill(record, slots.timestamp, new_integer(r.timestamp))
        fill(record, slots.create_timestamp, Py_NewRef(Py_None))
    fill(record, slots.attributes, new_integer(r.attributes))
    if c._views:
        fill(record, slots.key, view_or_none(c, &r.key))
        fill(record, slots.value, view_or_none(c, &r.value))
    else:
        fill(record, slots.key, bytes_or_none(c.bytes, &r.key))
        fill(record, slots.value, bytes_or_none(c.bytes, &r.value))
    fill(record, slots.headers, new_headers(c, stop, r) if r.header_count else Py_NewRef(<PyObject*>EMPTY))
    return 0


cdef PyObject* view_or_none(RecordCursor c, ByteRange* s) except NULL:
    if s.size < 0:
        return Py_NewRef(Py_None)
    part = c.view[s.start:s.start + s.size]
    return Py_NewRef(<PyObject*>part)


cdef PyObject* new_headers(RecordCursor c, Py_ssize_t stop, RecordParts* r) except NULL:
    cdef PyObject* headers = PyTuple_Make(r.header_count)
    return finished(headers, (<Headers>fill_headers)(c, headers, stop, r.headers))


cdef int fill_headers(RecordCursor c, PyObject* headers, Py_ssize_t stop, Py_ssize_t at) except -1:
    cdef Py_ssize_t i
    cdef ByteRange name, value
    cdef PyObject* header
    for i in range(PyTuple_SizeOf(headers)):
        if not locate_header(c.bytes, stop, &at, &name, &value):
            refuse()
        header = new_tuple(c.classes.header_type, 2)
        PyTuple_Put(headers, i, header)  # which now owns it, whatever fails
        PyTuple_Put(header, 0, new_text(c.bytes + name.start, name.size))
        PyTuple_Put(header, 1, bytes_or_none(c.bytes, &value))
        PyObject_GC_UnTrack(header)
    return 0


# See `finished`, in decode.pxi.
ctypedef int (*Filling)(RecordCursor c, PyObject* record, Py_ssize_t stop, RecordParts* r) noexcept
ctypedef int (*Headers)(RecordCursor c, PyObject* headers, Py_ssize_t stop, Py_ssize_t at) noexcept
