# Splits bytes into record batches.

@cython.freelist(8)
cdef class BatchCursor:
    """Iterates over the batches in some bytes; the base of `Batches`, which reads what is refused here.

    Args:
        data: the bytes.
        salvage, may_be_cut, check_crcs: see `parse_records`.

    Attributes:
        _at, _index: the position of the next batch, and the number of batches before it.
        rest, faults: see `Batches`.
    """

    cdef readonly bytes _data
    cdef public Py_ssize_t _at, _index
    cdef readonly bint _salvage, _may_be_cut, _check_crcs
    cdef public object rest, faults

    def __cinit__(self, bytes data not None, bint salvage=False, bint may_be_cut=False, bint check_crcs=True):
        self._data, self._salvage, self._may_be_cut, self._check_crcs = data, salvage, may_be_cut, check_crcs
        self.rest, self.faults = b"", []

    def __iter__(self):
        return self

    def __next__(self):
        cdef Py_ssize_t size = PyBytes_GET_SIZE(self._data), start = self._at
        if record_classes is not None:
            if start == size:
                raise StopIteration
            batch = usual_batch(self._data, start, start, self._index, self._check_crcs)
            if batch is not None:
                self._at += PyBytes_GET_SIZE(<bytes>slot_value(batch, record_classes.of_batch.data))
                self._index += 1
                return batch
        return self._next_generally()


def read_batch(bytes data not None, Py_ssize_t position, Py_ssize_t index, bint check_crc):
    """Return a batch that fills all of the bytes; None if the general path must read it."""
    if record_classes is None:
        return None
    batch = usual_batch(data, 0, position, index, check_crc)
    return batch if batch is not None and slot_value(batch, record_classes.of_batch.data) is data else None


cdef struct BatchNumbers:  # see `RecordBatch`
    int64_t base_offset, last_offset, length, magic, crc, attributes, partition_leader_epoch, last_offset_delta
    int64_t base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, record_count
    bint is_wrapper        # a compressed message, whose first offset and number of records are unknown


cdef bint locate_batch(
    const uint8_t* data, Py_ssize_t end, Py_ssize_t* at, bint check_crc, BatchNumbers* n
) noexcept nogil:
    """Read the header of a complete batch of any magic, and move behind the batch; false too for a wrong checksum."""
    cdef Py_ssize_t start = at[0]
    cdef int64_t epoch_or_crc
    if not fixed(INT64, 8, data, end, at, &n.base_offset) or not fixed(INT32, 4, data, end, at, &n.length):
        return False
    if n.length > end - at[0] or n.length > 2147483647 - BEFORE_LENGTH:  # the sum overflows in Kafka
        return False
    if not fixed(INT32, 4, data, end, at, &epoch_or_crc) or not fixed(INT8, 1, data, end, at, &n.magic):
        return False
    n.partition_leader_epoch = n.base_timestamp = n.max_timestamp = n.producer_id = n.producer_epoch = -1
    n.base_sequence = -1
    n.last_offset, n.last_offset_delta, n.record_count, n.is_wrapper = n.base_offset, 0, 1, False
    if n.magic == 2:
        if n.length < BATCH_SIZE - BEFORE_LENGTH:
            return False
        n.partition_leader_epoch = epoch_or_crc
        read_batch_header(data + start, n)
    elif n.magic == 0 or n.magic == 1:
        if n.length < LEAST_MESSAGE + 8 * n.magic:
            return False
        n.crc = <uint32_t>epoch_or_crc
        read_message_header(data + start, n)
    else:
        return False
    at[0] = start + BEFORE_LENGTH + n.length
    return not check_crc or is_sound(data + start, BEFORE_LENGTH + n.length, n)


cdef inline void read_batch_header(const uint8_t* header, BatchNumbers* n) noexcept nogil:
    """Read the rest of a header of magic 2, whose 61 bytes are there."""
    n.crc = integer(UINT32, header + 17)
    n.attributes = integer(INT16, header + 21)
    n.last_offset_delta = integer(INT32, header + 23)
    n.base_timestamp = integer(INT64, header + 27)
    n.max_timestamp = integer(INT64, header + 35)
    n.producer_id = integer(INT64, header + 43)
    n.producer_epoch = integer(INT16, header + 51)
    n.base_sequence = integer(INT32, header + 53)
    n.record_count = integer(INT32, header + 57)
    n.last_offset = <int64_t>(<uint64_t>n.base_offset + <uint64_t>n.last_offset_delta)


cdef inline void read_message_header(const uint8_t* header, BatchNumbers* n) noexcept nogil:
    """Read the rest of a header of magic 0 or 1, whose 18 or 26 bytes are there."""
    n.attributes = integer(INT8, header + 17)
    n.is_wrapper = n.attributes & COMPRESSED
    if n.magic:
        n.max_timestamp = integer(INT64, header + 18)


cdef inline bint is_sound(const uint8_t* batch, Py_ssize_t size, BatchNumbers* n) noexcept nogil:
    if n.magic == 2:
        return crc32c_from(0, batch + CHECKED_BATCH, size - CHECKED_BATCH, False) == <uint32_t>n.crc
    return crc32_from(0, batch + CHECKED_MESSAGE, size - CHECKED_MESSAGE) == <uint32_t>n.crc


cdef object usual_batch(bytes data, Py_ssize_t start, Py_ssize_t position, Py_ssize_t index, bint check_crc):
    """Return the batch at a position of the data, or None for what the general path must read."""
    cdef Py_ssize_t at = start
    cdef BatchNumbers n
    cdef PyObject* batch
    if not locate_batch(address_of(data), PyBytes_GET_SIZE(data), &at, check_crc, &n):
        return None
    part = data if at - start == PyBytes_GET_SIZE(data) else copied(address_of(data), PyBytes_GET_SIZE(data), start, at)
    batch = new_struct(record_classes.batch_type)
    return owned(finished(batch, (<Batch>fill_batch)(batch, &record_classes.of_batch, &n, part, position, index)))


# See `finished`, in decode.pxi.
ctypedef int (*Batch)(
    PyObject* batch, BatchSlots* slots, BatchNumbers* n, object part, Py_ssize_t position, Py_ssize_t index
) noexcept


cdef int fill_batch(
    PyObject* batch, BatchSlots* slots, BatchNumbers* n, object part, Py_ssize_t position, Py_ssize_t index
) except -1:
    fill(batch, slots.base_offset, Py_NewRef(Py_None) if n.is_wrapper else new_integer(n.base_offset))
    fill(batch, slots.record_count, Py_NewRef(Py_None) if n.is_wrapper else new_integer(n.record_count))
    fill(batch, slots.last_offset, new_integer(n.last_offset))
    fill(batch, slots.length, new_integer(n.length))
    fill(batch, slots.magic, new_integer(n.magic))
    fill(batch, slots.crc, new_integer(n.crc))
    fill(batch, slots.attributes, new_integer(n.attributes))
    fill(batch, slots.partition_leader_epoch, new_integer(n.partition_leader_epoch))
    fill(batch, slots.last_offset_delta, new_integer(n.last_offset_delta))
    fill(batch, slots.base_timestamp, new_integer(n.base_timestamp))
    fill(batch, slots.max_timestamp, new_integer(n.max_timestamp))
    fill(batch, slots.producer_id, new_integer(n.producer_id))
    fill(batch, slots.producer_epoch, new_integer(n.producer_epoch))
    fill(batch, slots.base_sequence, new_integer(n.base_sequence))
    fill(batch, slots.data, Py_NewRef(<PyObject*>part))
    fill(batch, slots.position, new_integer(position))
    fill(batch, slots.index, new_integer(index))
    fill(batch, slots.faults, Py_NewRef(<PyObject*>EMPTY))
    return 0
