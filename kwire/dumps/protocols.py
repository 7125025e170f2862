"""What else people speak over TCP: the first bytes by which a stream of another protocol is named."""

from __future__ import annotations

import re

TLS = "TLS"
UNKNOWN = "an unknown protocol"

# name -> the first bytes of either side
FIRST_BYTES = {
    # RFC 8446: a record of type handshake or alert, its version, and a length of at most 2^14 + 256
    TLS: re.compile(rb"[\x15\x16]\x03[\x00-\x04][\x00-\x41]"),
    "HTTP": re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|CONNECT|PATCH|TRACE) [/*\w]|HTTP/\d|PRI \* HTTP/2"),
    "SSH": re.compile(rb"SSH-\d"),
    # ConnectRequest: 44 or 45 bytes with protocol version 0, then an id, a timeout, a session and 16 bytes of password
    "ZooKeeper": re.compile(rb"\x00\x00\x00[\x2c\x2d]\x00{4}[\x00-\xff]{20}\x00\x00\x00\x10"),
    "ZooKeeper's four-letter words": re.compile(rb"(?:ruok|stat|srvr|mntr|conf|cons|envi|isro|dump|wchs)\n?\Z"),
}
# Begun in the middle, TLS is a row of records of application data.
TLS_RECORD = re.compile(rb"[\x14-\x17]\x03[\x01-\x04][\x00-\x41]")


def protocol_of(data: bytes | bytearray, *, middle: bool = False) -> str | None:
    """Name the protocol of a stream by its first bytes, or with `middle` by those of some packet; None if unknown.

    >>> protocol_of(bytes.fromhex("16030100c8010000c40303")), protocol_of(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    if middle:
        return TLS if TLS_RECORD.match(data) else None
    return next((name for name, pattern in FIRST_BYTES.items() if pattern.match(data)), None)
