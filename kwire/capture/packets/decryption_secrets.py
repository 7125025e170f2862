"""Tells whether a pcapng has keys of TLS sessions: the decryption secrets blocks of `editcap --inject-secrets`.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html, section 4.7. The keys themselves are read by tshark.
"""

from __future__ import annotations

from pathlib import Path
from struct import unpack_from

SECTION, SECRETS = b"\x0a\x0d\x0d\x0a", 10
LITTLE, BIG = b"\x4d\x3c\x2b\x1a", b"\x1a\x2b\x3c\x4d"  # the byte-order magic of a section
TLS_KEY_LOG = 0x544C534B
MOST_SEARCHED = 1 << 20  # bytes: a block of secrets stands before the packets that it decrypts


def has_tls_keys(path: str | Path) -> bool:
    """Whether the beginning of a pcapng file has keys of TLS sessions. Raises OSError."""
    with Path(path).open("rb") as stream:
        head = stream.read(12)
        return head.startswith(SECTION) and find_tls_keys(head + stream.read(MOST_SEARCHED))


def find_tls_keys(data: bytes) -> bool:
    """Whether one of the blocks at the start of a pcapng has keys of TLS sessions; False for other data.

    >>> find_tls_keys(b"no pcapng"), find_tls_keys(SECTION + (28).to_bytes(4, "little") + LITTLE + bytes(16))
    (False, False)
    """
    order = {LITTLE: "<", BIG: ">"}.get(data[8:12])
    if data[:4] != SECTION or order is None:
        return False
    at = 0
    while at + 16 <= len(data):
        kind, size = unpack_from(order + "II", data, at)
        if kind == SECRETS and unpack_from(order + "I", data, at + 8)[0] == TLS_KEY_LOG:
            return True
        if size < 12 or size % 4:
            return False
        at += size
    return False
