"""A TCP segment of a packet: the key of its connection, sequence numbers, flags and payload."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address

import msgspec

FIN, SYN, RST, ACK = 1, 2, 4, 16


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A TCP segment.

    `key` holds both addresses, then both ports, source first; `payload` is the captured part of the payload, and
    `missing` is the number of payload bytes that were not captured. `window` is the window field, without the scale
    that the SYN may have announced; None if it was not captured.
    """

    key: bytes
    sequence: int
    acknowledgement: int
    flags: int
    payload: bytes
    missing: int
    nanoseconds: int | None
    window: int | None = None

    @property
    def source(self) -> str:
        """The source as text: `10.0.0.1:9092` or `[::1]:9092`."""
        return format_endpoint(self.key, 0)

    @property
    def target(self) -> str:
        """The target as text, in the format of `source`."""
        return format_endpoint(self.key, 1)


def format_endpoint(key: bytes, index: int) -> str:
    """Format one endpoint of a connection: 0 is the source, 1 the target.

    >>> format_endpoint(bytes([10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 35, 132]), 1)
    '10.0.0.2:9092'
    """
    size = (len(key) - 4) // 2
    address = key[index * size : (index + 1) * size]
    start = 2 * size + 2 * index
    port = int.from_bytes(key[start : start + 2], "big")
    return f"{format_address(address)}:{port}"


@lru_cache(maxsize=4096)
def format_address(address: bytes) -> str:
    """Format an IPv4 or IPv6 address given as bytes.

    >>> format_address(bytes([10, 0, 0, 1])), format_address(bytes(15) + b"\1")
    ('10.0.0.1', '[::1]')
    """
    if len(address) != 4:
        return f"[{IPv6Address(address)}]"
    return ".".join(map(str, address))


def reverse_key(key: bytes) -> bytes:
    """Return the key of the opposite direction."""
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]
