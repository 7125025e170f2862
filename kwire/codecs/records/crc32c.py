"""CRC32C (Castagnoli), the checksum of batches: by google-crc32c if it is installed, otherwise by a table."""

from __future__ import annotations

from functools import cache
from typing import Any

_MASK = 0xFFFFFFFF


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
    value: int = _find_fastest()(data)
    return value


def crc32c_by_table(data: bytes) -> int:
    """Return the CRC32C of bytes, without any library.

    >>> hex(crc32c_by_table(b"123456789"))
    '0xe3069283'
    """
    table = _make_table()
    crc = _MASK
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ _MASK


@cache
def _find_fastest() -> Any:
    try:
        from google_crc32c import implementation, value
    except ImportError:
        return crc32c_by_table
    return crc32c_by_table if implementation == "python" else value


@cache
def _make_table() -> tuple[int, ...]:
    entries = range(256)
    for _ in range(8):
        entries = [entry >> 1 ^ (0x82F63B78 if entry & 1 else 0) for entry in entries]  # type: ignore[assignment]
    return tuple(entries)
