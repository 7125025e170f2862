"""CRC32C (Castagnoli), the checksum of batches: by the engine, by google-crc32c if it is installed, or by a table."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import native
from ..native import ENGINE

_MASK = 0xFFFFFFFF


def hex32(checksum: int) -> str:
    """Format a checksum as hexadecimal.

    >>> hex32(255)
    '0x000000ff'
    """
    return f"{checksum:#010x}"


def crc32c(data: bytes, crc: int = 0) -> int:
    """Return the CRC32C (Castagnoli) of bytes.

    Args:
        data: the bytes.
        crc: the checksum of the bytes before them.

    >>> hex(crc32c(b"123456789")), hex(crc32c(b"6789", crc32c(b"12345")))
    ('0xe3069283', '0xe3069283')
    """
    value: int = _find_fastest()(data, crc)
    return value


def crc32c_by_table(data: bytes, crc: int = 0) -> int:
    """Return the CRC32C of bytes, without any library.

    >>> hex(crc32c_by_table(b"123456789"))
    '0xe3069283'
    """
    table = _make_table()
    crc ^= _MASK
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ _MASK


@cache
def _find_fastest() -> Any:
    if ENGINE == "native":
        return native.crc32c
    try:
        from google_crc32c import extend, implementation
    except ImportError:
        return crc32c_by_table
    return crc32c_by_table if implementation == "python" else lambda data, crc: extend(crc, data)


@cache
def _make_table() -> tuple[int, ...]:
    entries = range(256)
    for _ in range(8):
        entries = [entry >> 1 ^ (0x82F63B78 if entry & 1 else 0) for entry in entries]  # type: ignore[assignment]
    return tuple(entries)
