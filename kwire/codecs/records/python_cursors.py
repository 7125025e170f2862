"""Cursors over batches and records in place of the native engine's, for when another engine is used.

A fast path reads valid records; other bytes are left to the layout, which finds the fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire.java_integers import wrap_int64
from .record import Record, RecordHeader
from .record_layouts import LOG_APPEND_TIME


class BatchCursor:
    """Iterates over the batches in some bytes; leaves all of them to `Batches`."""

    def __init__(self, data: bytes, salvage: bool = False, may_be_cut: bool = False, check_crcs: bool = True) -> None:
        self.rest: bytes = b""
        self.faults: list[Any] = []
        self._data = data
        self._at = 0
        self._index = 0
        self._salvage = salvage
        self._may_be_cut = may_be_cut
        self._check_crcs = check_crcs

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._next_generally()  # type: ignore[attr-defined]


class RecordCursor:
    """Iterates over the records of a batch, and reads those of magic 2; leaves all others to `RecordIterator`."""

    def __init__(self, batch: Any, salvage: bool, limit: int, views: bool = False) -> None:
        self._batch = batch
        self._salvage = salvage
        self._limit = limit
        self._views = views
        self._at = 0
        self._index = 0
        self._data = b""
        self._make: Callable[[Any], Record] | None = None
        self._walk: Any = None
        self._items: Any = None

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._next_generally()  # type: ignore[attr-defined]

    def _open(self, data: bytes, at: int, base: int = 0) -> None:
        self._at = at
        if self._batch.magic == 2:
            self._data = data
            self._make = make_reader(self._batch)

    def _close(self) -> None:
        self._make = None

    def _advance(self, at: int) -> None:
        self._at = at
        self._index += 1

    def _take(self) -> Record | None:
        if self._make is None:
            return None
        try:
            fields, stop = read_fast(self._data, self._at)
        except (IndexError, ValueError):
            return None
        self._advance(stop)
        return self._make(fields)


def make_reader(batch: Any) -> Callable[[Any], Record]:
    """Return a function that creates a `Record` of a batch of magic 2 from the fields of a record."""
    base_offset = batch.base_offset or 0
    base_timestamp = batch.base_timestamp
    appended = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None

    def make(fields: Any) -> Record:
        attributes, timestamp_delta, offset_delta, key, value, headers = fields
        offset = base_offset + offset_delta
        timestamp = base_timestamp + timestamp_delta
        if not -(2**63) <= offset < 2**63:
            offset = wrap_int64(offset)
        if not -(2**63) <= timestamp < 2**63:
            timestamp = wrap_int64(timestamp)
        if appended is None:
            return Record(offset, timestamp, key, value, headers, attributes)
        return Record(offset, appended, key, value, headers, attributes, timestamp)

    return make


def read_fast(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a valid record; raise IndexError or ValueError for an invalid one.

    Returns:
        The record's fields in the order of the layout, and the position of its end.
    """
    size, at = _read_varint(data, at)
    stop = at + size
    attributes = data[at] if data[at] < 128 else data[at] - 256
    timestamp_delta, at = _read_varint(data, at + 1)
    offset_delta, at = _read_varint(data, at)
    key, at = _read_bytes(data, at)
    value, at = _read_bytes(data, at)
    count, at = _read_varint(data, at)
    headers = []
    if not 0 <= 2 * count <= stop - at:
        raise ValueError
    for _ in range(count):
        length, at = _read_varint(data, at)
        name = data[at : at + length].decode()
        value_of, at = _read_bytes(data, at + length)
        headers.append(RecordHeader(name, value_of))
        if length < 0:
            raise ValueError
    if at != stop or stop > len(data) or not -(2**31) <= offset_delta < 2**31:
        raise ValueError
    return (attributes, timestamp_delta, offset_delta, key, value, tuple(headers)), stop


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(data, at)
    if size < 0:
        if size < -1:
            raise ValueError
        return None, at
    return data[at : at + size], at + size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the value and the end of a zigzag varint of at most 64 bits, as in Protocol Buffers.

    Raises:
        IndexError: the data ends in it.
        ValueError: it is overlong, or has more than 64 bits.
    """
    byte = data[at]
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value = byte & 127
    shift = 0
    while byte >= 128:
        at += 1
        shift += 7
        byte = data[at]
        value |= (byte & 127) << shift
        if shift > 63:
            raise ValueError
    if byte == 0 or value >> 64:
        raise ValueError
    return (value >> 1) ^ -(value & 1), at + 1
