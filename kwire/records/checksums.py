"""Computes checksums: CRC32C of record batches, CRC32 of older messages, xxHash32 of LZ4 frames; `batch` verifies them.

CRC32C uses google-crc32c if it is installed, otherwise a table.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from zlib import crc32

__all__ = ["crc32", "crc32c", "crc32c_by_table", "hex32", "xxh32"]

_MASK = 0xFFFFFFFF
_PRIMES = 2654435761, 2246822519, 3266489917, 668265263, 374761393


def hex32(checksum: int) -> str:
    """Format a checksum as hexadecimal.

    >>> hex32(255)
    '0x000000ff'
    """
    return f"{checksum:#010x}"


def crc32c(data: bytes) -> int:
    """Return the CRC32C (Castagnoli) of bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value: int = _fastest()(data)
    return value


def crc32c_by_table(data: bytes) -> int:
    """Return the CRC32C of bytes, without any library.

    >>> hex(crc32c_by_table(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), _MASK
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ _MASK


@cache
def _fastest() -> Any:
    try:
        from google_crc32c import implementation, value
    except ImportError:
        return crc32c_by_table
    return crc32c_by_table if implementation == "python" else value


@cache
def _table() -> tuple[int, ...]:
    entries = range(256)
    for _ in range(8):
        entries = [entry >> 1 ^ (0x82F63B78 if entry & 1 else 0) for entry in entries]  # type: ignore[assignment]
    return tuple(entries)


def xxh32(data: bytes) -> int:
    """Return the xxHash32 of bytes, with seed 0. Only suitable for headers: about 5 MB per second.

    >>> hex(xxh32(b"")), hex(xxh32(b"Nobody inspects the spammish repetition"))
    ('0x2cc5d05', '0xe2293b2f')
    """
    prime1, prime2, prime3, prime4, prime5 = _PRIMES
    whole = len(data) // 16 * 16
    value = _stripes(memoryview(data)[:whole].cast("I")) if whole else prime5
    value += len(data)
    at = whole
    while at + 4 <= len(data):
        value = _rotated(value + int.from_bytes(data[at : at + 4], "little") * prime3, 17) * prime4
        at += 4
    for byte in data[at:]:
        value = _rotated(value + byte * prime5, 11) * prime1
    value &= _MASK
    value = (value ^ value >> 15) * prime2 & _MASK
    value = (value ^ value >> 13) * prime3 & _MASK
    return value ^ value >> 16


def _stripes(words: Any) -> int:
    """Mix all groups of 16 bytes, each as four little-endian numbers."""
    prime1, prime2 = _PRIMES[:2]
    lanes = [prime1 + prime2 & _MASK, prime2, 0, -prime1 & _MASK]
    for at in range(0, len(words), 4):
        for lane in range(4):
            lanes[lane] = _rotated(lanes[lane] + words[at + lane] * prime2, 13) * prime1 & _MASK
    return sum(_rotated(value, bits) for value, bits in zip(lanes, (1, 7, 12, 18), strict=True))


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK
