"""`Plan`: all that a batch to be built shall say, with what follows from the records where nothing is said.

Knows the rules of the header's fields; bytes are made in `building`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from ..errors import EncodeError, NotInVersion, WrongType, excerpt
from ..wire import INT64, Integer, Writer
from .compression import NAMES
from .layouts import COMPRESSION, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from .values import Record, RecordHeader

# Magic 0 has no times, and no word is needed to say so.
_TIMESTAMP_TYPES = {0: ("NoTimestampType", "CreateTime"), 1: ("CreateTime", "LogAppendTime")}
# The bits of the attributes that have a name.
_NAMED = {0: COMPRESSION, 1: COMPRESSION | LOG_APPEND_TIME, 2: 0x7F}
_NUMBERS = "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence", "attributes"
_NUMBERS_OR_NONE = "base_offset", "last_offset", "base_timestamp", "max_timestamp", "delete_horizon"
# What magic 0 and 1 have no place for, and its value for none.
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
# What a message of magic 0 and 1 says of those inside it.
_ONLY_AROUND = dict.fromkeys(("base_offset", "last_offset", "max_timestamp"))


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `build_batch`, and what follows from them."""

    records: tuple[Record, ...]
    magic: int
    compression: str
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

    def checked(self) -> Plan:
        """Return the plan; raise an EncodeError for what cannot be built."""
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
        if type(value) is not int or not node.low <= value <= node.high:
            self.wrong(node.type_name, value, *path)

    def wrong(self, need: str, found: Any, *path: str | int) -> NoReturn:
        """Raise that something of another kind is needed."""
        self._refuse(WrongType(need=need, found=f"{type(found).__name__} {excerpt(found)}"), path)

    def _lost(self, found: Any, first: int, *path: str | int) -> NoReturn:
        self._refuse(NotInVersion(found=excerpt(found, 60), first=first), path)

    def _refuse(self, error: EncodeError, path: tuple[str | int, ...]) -> NoReturn:
        error.segments, error.message, error.version = path, "RecordBatch", self.magic
        raise error

    def writer(self, *path: str | int) -> Writer:
        """Return a writer whose errors begin their path so."""
        writer = Writer("RecordBatch", self.magic)
        writer.path.extend(path)
        return writer

    @property
    def codec(self) -> int:
        """The number of the compression."""
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
        """Whether the records' times are the broker's."""
        return self.magic > 0 and self.timestamp_type == "LogAppendTime"

    def written_timestamp(self, record: Record) -> int:
        """Return the time that is written into a record: the producer's, where it is known."""
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
        """Return the attributes of the batch; or of a message with bits of its own, `inside` without compression."""
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
