"""`parse_records` splits bytes into batches of any magic, and verifies their checksums; `build_batch` encodes records.

Only headers are parsed here; `record_layouts_and_checksums` and `legacy_message_sets` read the records of a batch on
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypedDict, TypeVar, Unpack, overload
from zlib import crc32

import msgspec

from .. import native
from ..errors import (
    BadBatchLength,
    BadChecksum,
    BadLength,
    CutBatch,
    DecodeError,
    EncodeError,
    NotInVersion,
    OutOfRange,
    UnknownMagic,
    WrongType,
    excerpt,
)
from ..wire import INT8, INT16, INT32, INT64, UINT32, Integer, Writer, bytes_of
from ..wire.primitives import int32, unsigned_varint
from .compression import LIMIT, NAMES, deflate
from .legacy_message_sets import read_message
from .record_layouts_and_checksums import (
    BATCH,
    CHECKED_FROM,
    COMPRESSION,
    CONTROL,
    DELETE_HORIZON,
    LEAST_LENGTH,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MESSAGE,
    MESSAGES,
    RECORD,
    TRANSACTIONAL,
    UP_TO_MAGIC,
    BatchHeader,
    MessageFields,
    PlacedReader,
    Record,
    RecordFields,
    RecordHeader,
    UndecodableRecords,
    Walk,
    crc32c,
    hex32,
    int64,
    magic_at,
    read_batch,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

Item = TypeVar("Item", covariant=True)


class Records(Generic[Item]):
    """An iterator over the records of a batch; created by `RecordBatch.records`.

    Attributes:
        faults: the faults so far, with salvage only.
    """

    def __init__(self, batch: RecordBatch, *, salvage: bool, limit: int) -> None:
        walk = Walk(batch, salvage=salvage, limit=limit)
        self.faults: list[DecodeError] = walk.faults
        self._items = self._read(walk)

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item: Item = next(self._items)
        return item

    def _read(self, walk: Walk) -> Iterator[Any]:
        try:
            yield from (read_message if walk.batch.magic < 2 else read_batch)(walk)
        except DecodeError as error:
            yield walk.failed(walk.unread, error)


class RecordBatch(BatchHeader, frozen=True, kw_only=True):
    """The header of a batch, and its bytes.

    In magic 0 and 1 every message is a batch, and a compressed message contains other messages. Fields that these
    magics do not have are -1, Kafka's value for a missing number. The header of a compressed message has only its last
    offset: its `base_offset` and `record_count` are None, and must be determined from its records.

    Attributes:
        base_offset, last_offset: the offsets of the first and last record, including records that compaction has
            removed.
        length: the length field: the size of the batch without its first twelve bytes.
        crc: the checksum field; a wrong checksum is reported in `faults`.
        attributes: compression, timestamp type and so on as bits; see the properties.
        last_offset_delta, base_timestamp: the fields of magic 2; the latter may be the delete horizon.
        max_timestamp: the field of the header; for magic 1, the timestamp of the message.
        data: all bytes of the batch.
        position, index: the offset in the parsed bytes, and the number of preceding batches.
        faults: the faults of header and checksum that salvage tolerated.
    """

    def __repr__(self) -> str:
        """Return a one-line description."""
        base = "" if self.base_offset is None else f"{self.base_offset} to "
        where = f"magic {self.magic}, offset {base}{self.last_offset}"
        return f"<RecordBatch {where}, {self.compression}, {len(self.data)} bytes>"

    def sequence(self, record: Record) -> int:
        """Return the sequence number of a record of this batch; -1 if it has none."""
        if self.base_sequence < 0 or self.base_offset is None:
            return -1
        delta = record.offset - self.base_offset
        sequence = self.base_sequence + delta
        # Sequence numbers wrap to 0 after the highest; for a negative delta, the sum overflows as in Kafka.
        return int32(sequence - 2**31) if delta < 0 or sequence >= 2**31 else sequence

    def is_whole(self, *, salvage: bool = False, limit: int = LIMIT) -> bool:
        """Whether all records can be decoded and have consecutive offsets; faster than decoding them.

        Args:
            salvage: accept what Kafka tolerates too, as `tolerant_records` does.
            limit: the maximum decompressed size of the records, in bytes.

        Raises:
            DecodeError: a record cannot be read.
            MissingExtra: the compression needs a library that is not installed.
        """
        if native.ENGINE == "native" and self._is_whole_natively(salvage, limit):
            return True
        records = self.tolerant_records(limit=limit) if salvage else self.records(limit=limit)
        first = self.base_offset or 0
        return [int64(record.offset - first) for record in records] == list(range(self.record_count or 0))

    def _is_whole_natively(self, salvage: bool, limit: int) -> bool:
        """Whether the native engine accepts the records; it leaves what is unusual to `records`."""
        count = self.record_count or 0
        if self.magic != 2 or count <= 0:
            return False
        if not self.compression_id:
            return native.records_are_whole(self.data, BATCH.size, count)
        walk = Walk(self, salvage=salvage, limit=limit)
        return native.records_are_whole(walk.inflated(self.data[BATCH.size :], BATCH.size).data, 0, count)

    def tolerant_records(self, *, limit: int = LIMIT) -> Iterator[Record]:
        """Decode the records as a broker does: what Kafka tolerates, such as a varint of more bytes than its value
        needs, is no error.

        Args:
            limit: the maximum decompressed size of the records, in bytes.

        Raises:
            DecodeError: Kafka could not read a record either.
            MissingExtra: the compression needs a library that is not installed.
        """
        for record in self.records(salvage=True, limit=limit):
            if isinstance(record, UndecodableRecords):
                raise record.error
            yield record

    @overload
    def records(self, *, salvage: Literal[False] = False, limit: int = LIMIT) -> Records[Record]: ...

    @overload
    def records(self, *, salvage: bool, limit: int = LIMIT) -> Records[Record | UndecodableRecords]: ...

    def records(self, *, salvage: bool = False, limit: int = LIMIT) -> Records[Record | UndecodableRecords]:
        """Decompress and decode the records.

        Args:
            salvage: yield undecodable records too, and collect what Kafka tolerates as faults.
            limit: the maximum decompressed size of the records, in bytes.

        Returns:
            An iterator over the records. In strict mode it raises a DecodeError at the first fault; with salvage it
            yields `UndecodableRecords`, continues after them, and collects faults in the list `faults`.

        Raises:
            MissingExtra: the compression needs a library that is not installed; raised in salvage too.
        """
        return Records(self, salvage=salvage, limit=limit)


def read_header(data: bytes, position: int, index: int) -> RecordBatch:
    """Parse the header of a complete batch of magic 2; for the arguments see the attributes of `RecordBatch`."""
    base, length, epoch, magic, crc, attributes, last, base_time, max_time, *producer, count = BATCH.unpack_from(data)
    return RecordBatch(
        base_offset=base,
        last_offset=int64(base + last),
        length=length,
        magic=magic,
        crc=crc,
        attributes=attributes,
        partition_leader_epoch=epoch,
        last_offset_delta=last,
        base_timestamp=base_time,
        max_timestamp=max_time,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        record_count=count,
        data=data,
        position=position,
        index=index,
    )


def read_message_header(data: bytes, position: int, index: int) -> RecordBatch:
    """Parse the header of a complete message of magic 0 or 1; for the arguments see `RecordBatch`."""
    last, length, crc, magic, attributes = MESSAGE.unpack_from(data)
    single = not attributes & COMPRESSION
    return RecordBatch(
        base_offset=last if single else None,
        last_offset=last,
        length=length,
        magic=magic,
        crc=crc,
        attributes=attributes,
        max_timestamp=int.from_bytes(data[18:26], "big", signed=True) if magic else -1,
        record_count=1 if single else None,
        data=data,
        position=position,
        index=index,
    )


HIGHEST = 2**31 - 1  # bytes of a batch


class Batches(Generic[Item]):
    """An iterator over the batches in some bytes; created by `parse_records`.

    Attributes:
        rest: the bytes after the last complete batch; empty until the end is reached.
        faults: a `CutBatch` if `rest` is not empty. Faults of one batch are in that batch.
    """

    def __init__(self, data: bytes, *, salvage: bool, may_be_cut: bool, check_crcs: bool) -> None:
        self.rest: bytes = b""
        self.faults: list[DecodeError] = []
        self._data, self._at, self._index = data, 0, 0
        self._salvage, self._may_be_cut, self._check_crcs = salvage, may_be_cut, check_crcs

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        """Return the next batch; in strict mode raise its first fault."""
        start = self._at
        try:
            stop = self._stop(start)
            if stop is None:
                self._finish(start)
                raise StopIteration
            self._at = stop
            item: Any = self._batch(start, stop)
        except DecodeError as error:
            if not self._salvage:
                self._at = len(self._data)
                raise
            item = UndecodableRecords(self._data[start : self._at], error.with_traceback(None))
        self._index += 1
        batch: Item = item
        return batch

    def _stop(self, start: int) -> int | None:
        """Return the end of the batch that starts here; None if it is missing or incomplete."""
        left = len(self._data) - start
        if left < LOG_OVERHEAD:
            return None
        length = int.from_bytes(self._data[start + 8 : start + 12], "big", signed=True)
        size = LOG_OVERHEAD + length
        if length < LEAST_LENGTH[0]:
            self._at = len(self._data)
            self._refuse(start, "length", BadBatchLength, 8, found=length, need=LEAST_LENGTH[0])
        if left < UP_TO_MAGIC:
            return None
        magic = magic_at(self._data, start)
        if magic not in LEAST_LENGTH:
            self._at = start + size if size <= left else len(self._data)
            self._refuse(start, "magic", UnknownMagic, 16, found=magic)
        if size > HIGHEST:  # the sum overflows in Kafka
            self._at = len(self._data)
            self._refuse(start, "length", BadLength, 8, found=length, need=size, have=left)
        return start + size if size <= left else None

    def _finish(self, start: int) -> None:
        """Record an incomplete last batch; in strict mode raise an error, unless `may_be_cut` allows it."""
        if start == len(self._data):
            return
        self.rest = self._data[start:]
        self._at = len(self._data)
        need = LOG_OVERHEAD
        if len(self.rest) >= LOG_OVERHEAD:
            need += int.from_bytes(self.rest[8:LOG_OVERHEAD], "big", signed=True)
        reader = self._reader(self.rest, start, salvage=self._salvage or self._may_be_cut)
        reader.fault(CutBatch, 0, need=need, have=len(self.rest), raw=self.rest)
        self.faults += reader.faults

    def _batch(self, start: int, stop: int) -> RecordBatch:
        """Read the header of a batch, and check the checksum."""
        data = self._data[start:stop]
        if len(data) < LOG_OVERHEAD + LEAST_LENGTH[data[16]]:
            facts = {"found": len(data) - LOG_OVERHEAD, "need": LEAST_LENGTH[data[16]]}
            self._refuse(start, "length", BadBatchLength, 8, **facts)
        return read_whole(data, start, self._index, salvage=self._salvage, check_crc=self._check_crcs)

    def _reader(self, data: bytes, base: int, *, salvage: bool) -> PlacedReader:
        return PlacedReader(data, base, ("batches", self._index), salvage=salvage)

    def _refuse(self, start: int, field: str, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        reader = self._reader(self._data[start : self._at], start, salvage=self._salvage)
        reader.refuse_field(field, kind, offset, **facts)


def read_whole(
    data: bytes, position: int = 0, index: int = 0, *, salvage: bool = False, check_crc: bool = True
) -> RecordBatch:
    """Read the header of one complete batch, and verify its checksum.

    Args:
        data: the bytes of the batch, as many as its length field and its magic require.
        position, index: see `RecordBatch`.
        salvage: also return a batch with a wrong checksum, with the fault.
        check_crc: whether to verify the checksum.

    Raises:
        BadChecksum: the checksum is wrong, in strict mode; `partial` is the batch.
    """
    magic = data[16]
    batch = (read_header if magic == 2 else read_message_header)(data, position, index)
    checked = data[CHECKED_FROM[magic] :]
    right = (crc32c if magic == 2 else crc32)(checked) if check_crc else batch.crc
    if right == batch.crc:
        return batch
    reader = PlacedReader(data, position, ("batches", index), salvage=salvage)
    try:
        reader.fault_field("crc", BadChecksum, 17 if magic == 2 else 12, found=(hex32(batch.crc), hex32(right)))
    except DecodeError as error:
        error.partial = batch
        raise
    return msgspec.structs.replace(batch, faults=tuple(reader.faults))


@overload
def parse_records(
    data: Buffer, *, salvage: Literal[False] = False, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch]: ...


@overload
def parse_records(
    data: Buffer, *, salvage: bool, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch | UndecodableRecords]: ...


def parse_records(
    data: Buffer, *, salvage: bool = False, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch | UndecodableRecords]:
    """Read the record batches in some bytes: the `records` of Produce and Fetch, a log segment, a snapshot.

    Args:
        data: batches of magic 2, messages of magic 0 and 1, and any mix of them.
        salvage: yield undecodable records too, and collect what Kafka tolerates as faults.
        may_be_cut: accept a truncated last batch, as in Fetch responses, also in strict mode.
        check_crcs: whether to verify the checksums of the batches.

    Returns:
        An iterator over the batches; only their headers are parsed, and `RecordBatch.records` decodes the records. Its
        `rest` and `faults` describe a truncated last batch. In strict mode it raises a DecodeError at the first fault;
        in salvage mode it yields `UndecodableRecords` instead and continues after them if possible.

    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(7, 1700000000000, b"key", b"value")])
    >>> [(batch.last_offset, list(batch.records())) for batch in parse_records(data)]
    [(7, [Record(offset=7, timestamp=1700000000000, key=b'key', value=b'value', headers=(), attributes=0, \
create_timestamp=None)])]
    """
    return Batches(bytes_of(data), salvage=salvage, may_be_cut=may_be_cut, check_crcs=check_crcs)


# Magic 0 has no timestamps; that is not an error.
_TIMESTAMP_TYPES = {0: ("NoTimestampType", "CreateTime"), 1: ("CreateTime", "LogAppendTime")}
# The attribute bits that are separate fields.
_NAMED = {0: COMPRESSION, 1: COMPRESSION | LOG_APPEND_TIME, 2: 0x7F}
_NUMBERS = "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence", "attributes"
_NUMBERS_OR_NONE = "base_offset", "last_offset", "base_timestamp", "max_timestamp", "delete_horizon"
# Fields that magic 0 and 1 do not have, and the values that mean they are missing.
_ONLY_MAGIC_2 = {
    "partition_leader_epoch": -1,
    "base_timestamp": None,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "is_transactional": False,
    "is_control": False,
    "delete_horizon": None,
}
# Fields of the wrapper message of magic 0 and 1.
_ONLY_AROUND = dict.fromkeys(("base_offset", "last_offset", "max_timestamp"))


class BatchFields(TypedDict, total=False):
    """Options of `build_batch`. The default of numbers is Kafka's value for "none"."""

    timestamp_type: str
    base_offset: int | None
    last_offset: int | None
    partition_leader_epoch: int
    base_timestamp: int | None
    max_timestamp: int | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    is_control: bool
    delete_horizon: int | None
    attributes: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `build_batch`, and values derived from them."""

    records: tuple[Record, ...]
    magic: int
    compression: str
    timestamp_type: str = "CreateTime"
    base_offset: int | None = None
    last_offset: int | None = None
    partition_leader_epoch: int = -1
    base_timestamp: int | None = None
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon: int | None = None
    attributes: int = 0

    def checked(self) -> Plan:
        """Return the plan; raise an EncodeError for an invalid one."""
        if self.magic not in (0, 1, 2):
            self.wrong("0, 1 or 2", self.magic, "magic")
        names = NAMES if self.magic == 2 else NAMES[:4]
        if self.compression not in names:
            self.wrong(" or ".join(names), self.compression, "compression")
        types = _TIMESTAMP_TYPES[min(self.magic, 1)]
        if self.timestamp_type not in types:
            self.wrong(" or ".join(types), self.timestamp_type, "timestamp_type")
        for name in _NUMBERS + _NUMBERS_OR_NONE:
            value = getattr(self, name)
            if value is not None or name in _NUMBERS:
                self._check_number(value, name)
        for index, record in enumerate(self.records):
            self._check_record(record, index)
        if self.magic < 2:
            self._check_lost()
        return self

    def _check_record(self, record: Any, index: int) -> None:
        if type(record) is not Record:
            self.wrong("a Record", record, "records", index)
        self._check_number(record.offset, "records", index, "offset")
        self._check_number(record.timestamp, "records", index, "timestamp")
        if record.create_timestamp is not None:
            self._check_number(record.create_timestamp, "records", index, "create_timestamp")
        self._check_number(record.attributes, "records", index, "attributes")
        if self.magic < 2 and record.headers:
            self._lost(record.headers, 2, "records", index, "headers")
        if self.magic < 1 and record.timestamp != -1:
            self._lost(record.timestamp, 1, "records", index, "timestamp")

    def _check_lost(self) -> None:
        nones = _ONLY_MAGIC_2 if self.codec else _ONLY_MAGIC_2 | _ONLY_AROUND
        for name, none in nones.items():
            if getattr(self, name) != none:
                self._lost(getattr(self, name), 2, name)
        if self.codec and not self.records:
            self.wrong("one record at least", "none", "records")

    def _check_number(self, value: Any, *path: str | int, node: Integer = INT64) -> None:
        if type(value) is not int:
            self.wrong(node.type_name, value, *path)
        if not node.low <= value <= node.high:
            self._refuse(OutOfRange(need=node.type_name, found=excerpt(value), low=node.low, high=node.high), path)

    def wrong(self, need: str, found: Any, *path: str | int) -> NoReturn:
        """Raise an error about a value of the wrong type."""
        self._refuse(WrongType(need=need, found=f"{type(found).__name__} {excerpt(found)}"), path)

    def _lost(self, found: Any, first: int, *path: str | int) -> NoReturn:
        self._refuse(NotInVersion(found=excerpt(found, 60), first=first), path)

    def _refuse(self, error: EncodeError, path: tuple[str | int, ...]) -> NoReturn:
        error.segments, error.message, error.version = path, "RecordBatch", self.magic
        raise error

    def writer(self, *path: str | int) -> Writer:
        """Return a writer whose errors start with this path."""
        writer = Writer("RecordBatch", self.magic)
        writer.path.extend(path)
        return writer

    @property
    def codec(self) -> int:
        """The compression's number."""
        return NAMES.index(self.compression)

    @property
    def first_offset(self) -> int:
        """The base offset."""
        if self.base_offset is not None:
            return self.base_offset
        return self.records[0].offset if self.records else 0

    @property
    def end_offset(self) -> int:
        """The last offset."""
        if self.last_offset is not None:
            return self.last_offset
        return self.records[-1].offset if self.records else self.first_offset

    @property
    def appended(self) -> bool:
        """Whether the broker assigns the records' timestamps."""
        return self.magic > 0 and self.timestamp_type == "LogAppendTime"

    def written_timestamp(self, record: Record) -> int:
        """Return the timestamp to write for a record: the producer's timestamp, if known."""
        return record.timestamp if record.create_timestamp is None else record.create_timestamp

    def first_timestamp(self) -> int:
        """Return the base timestamp."""
        for given in (self.delete_horizon, self.base_timestamp):
            if given is not None:
                return given
        return self.written_timestamp(self.records[0]) if self.records else -1

    def highest_timestamp(self) -> int:
        """Return the max timestamp."""
        if self.max_timestamp is not None:
            return self.max_timestamp
        return max((record.timestamp for record in self.records), default=-1)

    def bits(self, attributes: int | None = None, *, inside: bool = False) -> int:
        """Return the attributes of the batch, or of a message with its own bits; `inside` a wrapper without
        compression."""
        bits = (self.attributes if attributes is None else attributes | self.attributes) & ~_NAMED[self.magic]
        bits |= (0 if inside else self.codec) | (LOG_APPEND_TIME if self.appended else 0)
        bits |= (TRANSACTIONAL if self.is_transactional else 0) | (CONTROL if self.is_control else 0)
        return bits | (0 if self.delete_horizon is None else DELETE_HORIZON)

    def headers(self, index: int) -> tuple[RecordHeader, ...]:
        """Return the headers of a record; any pairs are accepted."""
        headers: list[RecordHeader] = []
        for number, header in enumerate(self.records[index].headers):
            if not isinstance(header, tuple | list) or len(header) != 2:
                self.wrong("a name and a value", header, "records", index, "headers", number)
            headers.append(RecordHeader(*header))
        return tuple(headers)


def build_batch(
    records: Iterable[Record], *, magic: int = 2, compression: str = "none", **fields: Unpack[BatchFields]
) -> bytes:
    """Build a record batch; for magic 0 and 1 a message set, with one message per record or one compressed message.

    Args:
        records: in the order of their offsets.
        magic: 0, 1 or 2; only 2 has record headers and the fields from `partition_leader_epoch` on.
        compression: `none`, `gzip`, `snappy`, `lz4` or (magic 2) `zstd`.
        timestamp_type: `CreateTime`, or `LogAppendTime` for the broker's times; magic 0 has no times.
        base_offset, last_offset: the first and last offset; needed if compaction has removed their records.
        partition_leader_epoch, producer_id, producer_epoch, base_sequence: fields of the header; -1 by default.
        base_timestamp: the time that the records' times are relative to, in ms since 1970; by default the first
            record's time.
        max_timestamp: the highest time of the records, in ms since 1970; computed by default.
        is_transactional, is_control, delete_horizon: attributes; the delete horizon replaces the base timestamp.
        attributes: further attribute bits.

    Returns:
        The bytes, with lengths and checksum.

    Raises:
        EncodeError: a value does not fit, or this magic cannot represent it; with its path.
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch
    >>> build_batch([Record(0, key=b"k", value=b"v")], magic=0).hex(" ", 4)
    '00000000 00000000 00000010 1fecd70a 00000000 00016b00 00000176'
    """
    if isinstance(records, Record):
        raise TypeError("an iterable of records is needed, not one Record: [record]")
    plan = Plan(records=tuple(records), magic=magic, compression=compression, **fields).checked()
    return _build_batch(plan) if magic == 2 else _build_set(plan)


def _build_batch(plan: Plan) -> bytes:
    base_timestamp = plan.first_timestamp()
    body = b"".join(_record(plan, index, base_timestamp) for index in range(len(plan.records)))
    if plan.codec and body:  # an empty batch consists of the header only
        body = deflate(plan.compression, body)
    writer = plan.writer()
    writer.child("base_offset", INT64, plan.first_offset)
    writer.child("length", INT32, len(body) + LEAST_LENGTH[2])
    writer.child("partition_leader_epoch", INT32, plan.partition_leader_epoch)
    writer.child("magic", INT8, 2)
    writer.child("crc", UINT32, 0)
    writer.child("attributes", INT16, plan.bits())
    writer.child("last_offset_delta", INT32, int64(plan.end_offset - plan.first_offset))
    writer.child("base_timestamp", INT64, base_timestamp)
    writer.child("max_timestamp", INT64, plan.highest_timestamp())
    writer.child("producer_id", INT64, plan.producer_id)
    writer.child("producer_epoch", INT16, plan.producer_epoch)
    writer.child("base_sequence", INT32, plan.base_sequence)
    writer.child("record_count", INT32, len(plan.records))
    checked = bytes(writer.out[CHECKED_FROM[2] :]) + body
    writer.out[17 : CHECKED_FROM[2]] = crc32c(checked).to_bytes(4, "big")
    return bytes(writer.out[: CHECKED_FROM[2]]) + checked


def _record(plan: Plan, index: int, base_timestamp: int) -> bytes:
    record = plan.records[index]
    fields = RecordFields(
        record.attributes,
        int64(plan.written_timestamp(record) - base_timestamp),
        int64(record.offset - plan.first_offset),
        record.key,
        record.value,
        plan.headers(index),
    )
    writer = plan.writer("records", index)
    RECORD._build(fields, writer, None, "")
    size = len(writer.out)
    return unsigned_varint(2 * size) + writer.out


def _build_set(plan: Plan) -> bytes:
    """Build consecutive messages; to compress them, put them into a wrapper message."""
    relative = plan.first_offset if plan.codec and plan.magic else 0
    messages = []
    for index, record in enumerate(plan.records):
        timestamp = plan.written_timestamp(record) if plan.codec else record.timestamp
        fields = MessageFields(record.key, record.value, timestamp)
        bits = plan.bits(record.attributes, inside=True)
        messages.append(_message(plan, record.offset - relative, bits, fields, "records", index))
    body = b"".join(messages)
    if not plan.codec:
        return body
    value = deflate(plan.compression, body, magic=plan.magic)
    return _message(plan, plan.end_offset, plan.bits(), MessageFields(None, value, plan.highest_timestamp()))


def _message(plan: Plan, offset: int, bits: int, fields: MessageFields, *path: str | int) -> bytes:
    writer = plan.writer(*path)
    writer.child("magic", INT8, plan.magic)
    writer.child("attributes", INT8, bits)
    MESSAGES[plan.magic]._build(fields, writer, None, "")
    checked = bytes(writer.out)
    writer.out.clear()
    writer.child("offset", INT64, offset)
    writer.child("length", INT32, len(checked) + CHECKED_FROM[0] - LOG_OVERHEAD)
    writer.child("crc", UINT32, crc32(checked))
    return bytes(writer.out) + checked
