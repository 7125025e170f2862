"""The values that batches are read to and built from: records, their headers, and what could not be read.

Values only; knows no bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..errors import DecodeError


class RecordHeader(NamedTuple):
    """A header of a record. Names may repeat; the value may be None."""

    key: str
    value: bytes | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, in any magic.

    `timestamp` is in milliseconds since 1970; -1 where there is none (magic 0). In a batch whose times are those of
    the broker (`LogAppendTime`) it is the broker's, and `create_timestamp` what the producer wrote, where that is
    kept. `attributes` are the record's own: none of magic 2 are in use. `headers` exist in magic 2 only.
    """

    offset: int
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[RecordHeader, ...] = ()
    attributes: int = 0
    create_timestamp: int | None = None


class UndecodableRecords(NamedTuple):
    """Bytes that could not be read as a batch or as a record, in salvage. `error.path` says which."""

    data: bytes
    error: DecodeError
