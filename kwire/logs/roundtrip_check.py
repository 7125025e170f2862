"""Checks a batch by building it again and comparing the bytes.

Compressors may choose other bytes for the same, so of compressed records those inside are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..records import LIMIT, Record, RecordBatch, build_batch
from ..records.compression import inflate
from ..records.layouts import BATCH, MESSAGE

_SAME = (
    "base_offset last_offset partition_leader_epoch base_timestamp max_timestamp producer_id producer_epoch "
    "base_sequence is_transactional is_control delete_horizon"
).split()
_CRC = {0: (12, 16), 1: (12, 16), 2: (17, 21)}


class Compared(NamedTuple):
    """Bytes as they were and as they are built again; `inside` says that they are records decompressed."""

    was: bytes
    again: bytes
    inside: bool = False


def rebuild(batch: RecordBatch, *, limit: int = LIMIT) -> Compared:
    """Build a batch again from what it was read to.

    Args:
        batch: with its bytes.
        limit: the most bytes that its records may take once decompressed.

    Returns:
        The bytes to compare: of the batch, or if these agree but for what compression decides, of what is inside.

    Raises:
        DecodeError: the records cannot be read.
        EncodeError: something was read that cannot be written.
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch, parse_records
    >>> compared = rebuild(next(parse_records(build_batch([Record(7, key=b"k")], compression="gzip"))))
    >>> compared.was == compared.again, compared.inside
    (True, False)
    """
    records: list[Record] = list(batch.records(limit=limit))
    again = build_batch(records, **_arguments(batch))
    if not batch.compression_id or not records or again == batch.data:
        return Compared(batch.data, again)
    if _head(batch.data, batch.magic) != _head(again, batch.magic):
        return Compared(batch.data, again)
    return Compared(_inside(batch, batch.data, limit), _inside(batch, again, limit), inside=True)


def _arguments(batch: RecordBatch) -> dict[str, Any]:
    common = {"magic": batch.magic, "compression": batch.compression or "", "timestamp_type": batch.timestamp_type}
    common["attributes"] = batch.attributes
    if batch.magic == 2:
        return common | {name: getattr(batch, name) for name in _SAME}
    return common | ({"last_offset": batch.last_offset} if batch.compression_id else {})


def _head(data: bytes, magic: int) -> bytes:
    """Return the header without what follows from the compressed bytes: length and checksum."""
    crc = _CRC[magic]
    return data[:8] + data[12 : crc[0]] + data[crc[1] : BATCH.size if magic == 2 else MESSAGE.size + 8 * magic]


def _inside(batch: RecordBatch, data: bytes, limit: int) -> bytes:
    payload = data[BATCH.size :]
    if batch.magic < 2:
        key = MESSAGE.size + 8 * batch.magic
        size = int.from_bytes(data[key : key + 4], "big", signed=True)
        payload = data[key + 8 + max(size, 0) :]
    return inflate(batch.compression or "", payload, magic=batch.magic, limit=limit).data
