"""A record with its headers, and bytes that could not be read as one."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...errors import DecodeError


class RecordHeader(NamedTuple):
    """A header of a record. Names may repeat; the value may be None."""

    key: str
    value: bytes | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, in any magic.

    `timestamp` is in milliseconds since 1970; -1 if there is none (magic 0). In a batch with `LogAppendTime` it is the
    broker's timestamp, and `create_timestamp` is the producer's, if it was stored. `attributes` are those of the
    record; magic 2 defines none. Only magic 2 has `headers`.

    >>> import kwire
    >>> data = kwire.build_batch([kwire.Record(7, key=b"k", value=b"v", headers=(kwire.RecordHeader("h", b"x"),))])
    >>> [(record.offset, record.key) for batch in kwire.parse_records(data) for record in batch.records()]
    [(7, b'k')]
    """

    offset: int
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[RecordHeader, ...] = ()
    attributes: int = 0
    create_timestamp: int | None = None


class UndecodableRecords(NamedTuple):
    """Bytes that could not be read as a batch or as a record, in salvage mode. `error.path` shows which."""

    data: bytes
    error: DecodeError
