"""xxHash of 32 bits, the checksum of lz4 frames."""

from __future__ import annotations

from typing import Any

from .. import native

_MASK = 0xFFFFFFFF
_PRIMES = 2654435761, 2246822519, 3266489917, 668265263, 374761393


def xxh32(data: bytes) -> int:
    """Return the xxHash32 of bytes, with seed 0.

    >>> hex(xxh32(b"")), hex(xxh32(b"Nobody inspects the spammish repetition"))
    ('0x2cc5d05', '0xe2293b2f')
    """
    return native.xxh32(data) if native.ENGINE == "native" else xxh32_in_python(data)


def xxh32_in_python(data: bytes) -> int:
    """Return the xxHash32 of bytes without the engine: about 10 MB per second.

    >>> hex(xxh32_in_python(b"Nobody inspects the spammish repetition"))
    '0xe2293b2f'
    """
    prime1, prime2, prime3, prime4, prime5 = _PRIMES
    whole = len(data) // 16 * 16
    value = _stripes(memoryview(data)[:whole].cast("I")) if whole else prime5
    value += len(data)
    at = whole
    while at + 4 <= len(data):
        value = _rotate_left(value + int.from_bytes(data[at : at + 4], "little") * prime3, 17) * prime4
        at += 4
    for byte in data[at:]:
        value = _rotate_left(value + byte * prime5, 11) * prime1
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
            lanes[lane] = _rotate_left(lanes[lane] + words[at + lane] * prime2, 13) * prime1 & _MASK
    return sum(_rotate_left(value, bits) for value, bits in zip(lanes, (1, 7, 12, 18), strict=True))


def _rotate_left(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK
