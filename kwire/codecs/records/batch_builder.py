"""`build_batch` encodes records: a batch of magic 2, or a message set of magic 0 or 1."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from struct import error as PackingError  # noqa: N812
from typing import Any, NoReturn, TypedDict, Unpack
from zlib import crc32

import msgspec

from ...errors import EncodeError, NotInVersion, OutOfRange, WrongType, excerpt
from .. import native
from ..compression.compression_types import NAMES, deflate
from ..wire import INT8, INT16, INT32, INT64, UINT32, Integer, Writer
from ..wire.java_integers import wrap_int64
from ..wire.varints import unsigned_varint
from .crc32c import crc32c
from .record import Record, RecordHeader
from .record_layouts import (
    BATCH,
    CHECKED_FROM,
    COMPRESSION,
    CONTROL,
    DELETE_HORIZON,
    LEAST_LENGTH,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MESSAGES,
    RECORD,
    TRANSACTIONAL,
    UP_TO_MAGIC,
    MessageFields,
    RecordFields,
)

# Magic 0 has no timestamps; that is not an error.
_TIMESTAMP_TYPES = {0: ("NoTimestampType", "CreateTime"), 1: ("CreateTime", "LogAppendTime")}
# The attribute bits that are separate fields.
_NAMED_BITS = {0: COMPRESSION, 1: COMPRESSION | LOG_APPEND_TIME, 2: 0x7F}
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
# The header of magic 2, for errors about its numbers.
_HEADER = (
    ("base_offset", INT64),
    ("length", INT32),
    ("partition_leader_epoch", INT32),
    ("magic", INT8),
    ("crc", UINT32),
    ("attributes", INT16),
    ("last_offset_delta", INT32),
    ("base_timestamp", INT64),
    ("max_timestamp", INT64),
    ("producer_id", INT64),
    ("producer_epoch", INT16),
    ("base_sequence", INT32),
    ("record_count", INT32),
)
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


class BatchPlan(msgspec.Struct, frozen=True, kw_only=True):
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

    def check_options(self, given: Collection[str]) -> None:
        """Raise an EncodeError for an invalid option; `given` are the names of those that are no defaults."""
        if self.magic not in (0, 1, 2):
            self.wrong("0, 1 or 2", self.magic, "magic")
        names = NAMES if self.magic == 2 else NAMES[:4]
        if self.compression not in names:
            self.wrong(" or ".join(names), self.compression, "compression")
        types = _TIMESTAMP_TYPES[min(self.magic, 1)]
        if self.timestamp_type not in types:
            self.wrong(" or ".join(types), self.timestamp_type, "timestamp_type")
        for name in _NUMBERS + _NUMBERS_OR_NONE if given else ():
            value = getattr(self, name)
            if value is not None or name in _NUMBERS:
                self._check_number(value, name)

    def check_records(self) -> None:
        """Raise an EncodeError for an invalid record."""
        for index, record in enumerate(self.records):
            self._check_record(record, index)

    def _check_record(self, record: Any, index: int) -> None:
        if type(record) is not Record:
            self.wrong("a Record", record, "records", index)
        self._check_number(record.offset, "records", index, "offset")
        self._check_number(record.timestamp, "records", index, "timestamp")
        if record.create_timestamp is not None:
            self._check_number(record.create_timestamp, "records", index, "create_timestamp")
        self._check_number(record.attributes, "records", index, "attributes")
        if self.magic < 2 and record.headers:
            self._refuse_loss(record.headers, 2, "records", index, "headers")
        if self.magic < 1 and record.timestamp != -1:
            self._refuse_loss(record.timestamp, 1, "records", index, "timestamp")

    def check_lost(self) -> None:
        """Raise an EncodeError for an option that messages of magic 0 and 1 would lose."""
        nones = _ONLY_MAGIC_2 if self.compression_id else _ONLY_MAGIC_2 | _ONLY_AROUND
        for name, none in nones.items():
            if getattr(self, name) != none:
                self._refuse_loss(getattr(self, name), 2, name)
        if self.compression_id and not self.records:
            self.wrong("one record at least", "none", "records")

    def _check_number(self, value: Any, *path: str | int, node: Integer = INT64) -> None:
        if type(value) is not int:
            self.wrong(node.type_name, value, *path)
        if not node.low <= value <= node.high:
            self._refuse(OutOfRange(need=node.type_name, found=excerpt(value), low=node.low, high=node.high), path)

    def wrong(self, need: str, value: Any, *path: str | int) -> NoReturn:
        """Raise an error about a value of the wrong type."""
        self._refuse(WrongType(need=need, found=f"{type(value).__name__} {excerpt(value)}"), path)

    def _refuse_loss(self, value: Any, first: int, *path: str | int) -> NoReturn:
        self._refuse(NotInVersion(found=excerpt(value, 60), first=first), path)

    def _refuse(self, error: EncodeError, path: tuple[str | int, ...]) -> NoReturn:
        error.segments = path
        error.message = "RecordBatch"
        error.version = self.magic
        raise error

    def writer(self, *path: str | int) -> Writer:
        """Return a writer whose errors start with this path."""
        writer = Writer("RecordBatch", self.magic)
        writer.path.extend(path)
        return writer

    @property
    def compression_id(self) -> int:
        """The number of the compression in the attributes."""
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
    def has_append_time(self) -> bool:
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
        bits = (self.attributes if attributes is None else attributes | self.attributes) & ~_NAMED_BITS[self.magic]
        if not inside:
            bits |= self.compression_id
        if self.has_append_time:
            bits |= LOG_APPEND_TIME
        if self.is_transactional:
            bits |= TRANSACTIONAL
        if self.is_control:
            bits |= CONTROL
        if self.delete_horizon is not None:
            bits |= DELETE_HORIZON
        return bits

    def headers(self, index: int) -> tuple[RecordHeader, ...]:
        """Return the headers of a record; any pairs are accepted."""
        given = self.records[index].headers
        if not isinstance(given, Iterable):
            self.wrong("pairs of a name and a value", given, "records", index, "headers")
        headers: list[RecordHeader] = []
        for number, header in enumerate(given):
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
    plan = BatchPlan(records=tuple(records), magic=magic, compression=compression, **fields)
    plan.check_options(fields)
    return _build_batch(plan) if magic == 2 else _build_message_set(plan)


def _build_batch(plan: BatchPlan) -> bytes:
    base = plan.base_timestamp if plan.delete_horizon is None else plan.delete_horizon
    built = native.build_records(plan.records, plan.base_offset, base) if native.ENGINE == "native" else None
    if built is None:
        plan.check_records()
        base_timestamp = plan.first_timestamp()
        body = b"".join(_build_record(plan, index, base_timestamp) for index in range(len(plan.records)))
        built = body, plan.first_offset, plan.end_offset, base_timestamp, plan.highest_timestamp()
    body, first_offset, end_offset, base_timestamp, highest = built
    if plan.last_offset is not None:
        end_offset = plan.last_offset
    if plan.max_timestamp is not None:
        highest = plan.max_timestamp
    if plan.compression_id and body:  # an empty batch consists of the header only
        body = deflate(plan.compression, body)
    numbers = (
        first_offset,
        len(body) + LEAST_LENGTH[2],
        plan.partition_leader_epoch,
        2,
        0,  # the checksum, which covers what follows it
        plan.bits(),
        wrap_int64(end_offset - first_offset),
        base_timestamp,
        highest,
        plan.producer_id,
        plan.producer_epoch,
        plan.base_sequence,
        len(plan.records),
    )
    try:
        header = BATCH.pack(*numbers)
    except PackingError:
        _refuse_header(plan, numbers)
    checked = header[CHECKED_FROM[2] :]
    crc = crc32c(body, crc32c(checked)).to_bytes(4, "big")
    return b"".join((header[:UP_TO_MAGIC], crc, checked, body))


def _refuse_header(plan: BatchPlan, numbers: tuple[int, ...]) -> NoReturn:
    """Raise the error for the number of a header that does not fit."""
    writer = plan.writer()
    for (name, node), number in zip(_HEADER, numbers, strict=True):
        writer.child(name, node, number)
    raise AssertionError("the header fits")


def _build_record(plan: BatchPlan, index: int, base_timestamp: int) -> bytes:
    record = plan.records[index]
    fields = RecordFields(
        record.attributes,
        wrap_int64(plan.written_timestamp(record) - base_timestamp),
        wrap_int64(record.offset - plan.first_offset),
        record.key,
        record.value,
        plan.headers(index),
    )
    writer = plan.writer("records", index)
    RECORD._build(fields, writer, None, "")
    size = len(writer.out)
    return unsigned_varint(2 * size) + writer.out


def _build_message_set(plan: BatchPlan) -> bytes:
    """Build consecutive messages; to compress them, put them into a wrapper message."""
    built = _build_messages_natively(plan) if native.ENGINE == "native" else None
    if built is None:
        plan.check_records()
    plan.check_lost()
    body, highest = (_build_messages(plan), plan.highest_timestamp()) if built is None else built
    if not plan.compression_id:
        return body
    if plan.max_timestamp is not None:
        highest = plan.max_timestamp
    value = deflate(plan.compression, body, magic=plan.magic)
    return _build_message(plan, plan.end_offset, plan.bits(), MessageFields(None, value, highest))


def _build_messages_natively(plan: BatchPlan) -> tuple[bytes, int] | None:
    if not all(type(record) is Record for record in plan.records[:1]):
        return None
    relative = plan.first_offset if plan.compression_id and plan.magic else 0
    bits = LOG_APPEND_TIME if plan.has_append_time else 0
    mask = ~_NAMED_BITS[plan.magic]
    return native.build_messages(
        plan.records, plan.magic, relative, bool(plan.compression_id), plan.attributes, mask, bits
    )


def _build_messages(plan: BatchPlan) -> bytes:
    relative = plan.first_offset if plan.compression_id and plan.magic else 0
    messages = []
    for index, record in enumerate(plan.records):
        timestamp = plan.written_timestamp(record) if plan.compression_id else record.timestamp
        fields = MessageFields(record.key, record.value, timestamp)
        bits = plan.bits(record.attributes, inside=True)
        messages.append(_build_message(plan, record.offset - relative, bits, fields, "records", index))
    return b"".join(messages)


def _build_message(plan: BatchPlan, offset: int, bits: int, fields: MessageFields, *path: str | int) -> bytes:
    """Build a message of magic 0 or 1; `path` leads to it in errors."""
    writer = plan.writer(*path)
    writer.child("magic", INT8, plan.magic)
    writer.child("attributes", INT8, bits)
    MESSAGES[plan.magic]._build(fields, writer, None, "")
    checked = bytes(writer.out)
    writer.out.clear()
    writer.child("offset", INT64, offset)
    writer.child("length", INT32, len(checked) + CHECKED_FROM[plan.magic] - LOG_OVERHEAD)
    writer.child("crc", UINT32, crc32(checked))
    return bytes(writer.out) + checked
