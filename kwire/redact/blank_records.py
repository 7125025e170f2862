"""Blanks the payloads of record batches; sizes stay, and checksums are computed again."""

from __future__ import annotations

import zlib
from struct import Struct

from ..codecs.records.crc32c import crc32c

FILL = ord("x")
HEADER, MAGIC_AT, CRC_AT, ATTRIBUTES_AT = 61, 16, 17, 21  # header fields of batches of magic 2
_INT32, _UINT32, _INT16 = Struct(">i"), Struct(">I"), Struct(">h")
_CODEC, _CONTROL = 0x07, 0x20


def blank_records(data: bytes) -> bytes:
    """Return batches of the same length without their payloads.

    Args:
        data: the content of a `records` field; the last batch may be truncated.

    >>> blank_records(b"no batch")
    b'xxxxxxxx'
    """
    out = bytearray(data)
    start = 0
    while start + MAGIC_AT < len(out):
        length: int = _INT32.unpack_from(out, start + 8)[0]
        stop = min(start + 12 + max(length, 0), len(out))
        whole = start + 12 + length == stop
        if out[start + MAGIC_AT] == 2:
            _blank_batch(out, start, stop, whole)
        elif out[start + MAGIC_AT] < 2:
            _blank_message(out, start, stop, whole)
        else:
            break
        start = stop
    _fill(out, start, len(out))
    return bytes(out)


def _blank_batch(out: bytearray, start: int, stop: int, whole: bool) -> None:
    attributes: int = _INT16.unpack_from(out, start + ATTRIBUTES_AT)[0] if stop - start >= HEADER else 0
    if attributes & _CONTROL and whole:
        return  # commit and abort markers: they have no payload, and readers need them
    body = start + HEADER
    if attributes & _CODEC or not whole:
        _fill(out, body, stop)
    else:
        _blank_record_list(out, body, stop)
    if whole and stop > body:
        _UINT32.pack_into(out, start + CRC_AT, crc32c(bytes(out[start + ATTRIBUTES_AT : stop])))


def _blank_record_list(out: bytearray, start: int, stop: int) -> None:
    """Blank keys, values and headers of the records; blank everything after the first byte that does not parse."""
    position = start
    try:
        while position < stop:
            length, position = _read_varint(out, position, stop)
            end = position + length
            if length < 0 or end > stop:
                raise ValueError
            _blank_record(out, position, end)
            position = end
    except ValueError:
        _fill(out, position, stop)


def _blank_record(out: bytearray, position: int, end: int) -> None:
    position += 1  # attributes
    for _ in ("timestamp", "offset"):
        _, position = _read_varint(out, position, end)
    for _ in ("key", "value"):
        position = _blank(out, position, end)
    count, position = _read_varint(out, position, end)
    for _ in range(count * 2):
        position = _blank(out, position, end)
    _fill(out, position, end)


def _blank(out: bytearray, position: int, end: int) -> int:
    length, position = _read_varint(out, position, end)
    if length > end - position:
        raise ValueError
    _fill(out, position, position + max(length, 0))
    return position + max(length, 0)


def _blank_message(out: bytearray, start: int, stop: int, whole: bool) -> None:
    """Blank a message of magic 0 or 1: offset, size, crc, magic, attributes, [time,] key, value."""
    position = start + 18 + 8 * out[start + MAGIC_AT]
    for _ in ("key", "value"):
        if position + 4 > stop:
            break
        length: int = _INT32.unpack_from(out, position)[0]
        position += 4
        _fill(out, position, min(position + max(length, 0), stop))
        position = min(position + max(length, 0), stop)
    _fill(out, position, stop)
    if whole and stop >= start + MAGIC_AT:
        _UINT32.pack_into(out, start + 12, zlib.crc32(out[start + MAGIC_AT : stop]))


def _read_varint(data: bytearray, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise ValueError("no varint")


def _fill(out: bytearray, start: int, stop: int) -> None:
    out[start:stop] = bytes([FILL]) * max(stop - start, 0)
