"""Builds a batch again from its records, to compare it with the original.

Compressors may write different bytes for the same records, so compressed batches are compared after decompression.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....codecs.compression.compression_types import inflate
from ....codecs.records import LIMIT, Record, RecordBatch, build_batch
from ....codecs.records.record_layouts import BATCH, MESSAGE

_SAME = (
    "base_offset last_offset partition_leader_epoch base_timestamp max_timestamp producer_id producer_epoch "
    "base_sequence is_transactional is_control delete_horizon"
).split()
_CRC = {0: (12, 16), 1: (12, 16), 2: (17, 21)}


class RebuiltBatch(NamedTuple):
    """The original and the rebuilt bytes; `inside` is true if they are decompressed records."""

    was: bytes
    again: bytes
    inside: bool = False


def rebuild_batch(batch: RecordBatch, *, limit: int = LIMIT) -> RebuiltBatch:
    """Build a batch again from its decoded records.

    Args:
        batch: the batch, with its bytes.
        limit: the maximum decompressed size of its records, in bytes.

    Returns:
        The bytes to compare: the batches, or the decompressed records if the batches differ only in the compressed
        part.

    Raises:
        DecodeError: the records cannot be read.
        EncodeError: a decoded value cannot be encoded.
        MissingExtra: the compression needs a library that is not installed.

    >>> from kwire import Record, build_batch, parse_records
    >>> compared = rebuild_batch(next(parse_records(build_batch([Record(7, key=b"k")], compression="gzip"))))
    >>> compared.was == compared.again, compared.inside
    (True, False)
    """
    records: list[Record] = list(batch.records(limit=limit))
    again = build_batch(records, **_build_arguments(batch))
    if not batch.compression_id or not records or again == batch.data:
        return RebuiltBatch(batch.data, again)
    if _cut_header(batch.data, batch.magic) != _cut_header(again, batch.magic):
        return RebuiltBatch(batch.data, again)
    return RebuiltBatch(
        _decompress_records(batch, batch.data, limit), _decompress_records(batch, again, limit), inside=True
    )


def _build_arguments(batch: RecordBatch) -> dict[str, Any]:
    common = {"magic": batch.magic, "compression": batch.compression or "", "timestamp_type": batch.timestamp_type}
    common["attributes"] = batch.attributes
    if batch.magic == 2:
        return common | {name: getattr(batch, name) for name in _SAME}
    return common | ({"last_offset": batch.last_offset} if batch.compression_id else {})


def _cut_header(data: bytes, magic: int) -> bytes:
    """Return the header without length and checksum, which depend on the compressed bytes."""
    crc = _CRC[magic]
    return data[:8] + data[12 : crc[0]] + data[crc[1] : BATCH.size if magic == 2 else MESSAGE.size + 8 * magic]


def _decompress_records(batch: RecordBatch, data: bytes, limit: int) -> bytes:
    payload = data[BATCH.size :]
    if batch.magic < 2:
        key = MESSAGE.size + 8 * batch.magic
        size = int.from_bytes(data[key : key + 4], "big", signed=True)
        payload = data[key + 8 + max(size, 0) :]
    return inflate(batch.compression or "", payload, magic=batch.magic, limit=limit).data
