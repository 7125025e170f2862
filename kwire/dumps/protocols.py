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
    # ConnectRequest: 44 or 45 bytes with protocol version 0, then an id, a timeout, a session and 16 bytes
    # of password; ConnectResponse: 36 or 37 with version, timeout, session, password
    "ZooKeeper": re.compile(
        rb"\x00\x00\x00(?:[\x2c\x2d]\x00{4}[\x00-\xff]{20}|[\x24\x25]\x00{4}[\x00-\xff]{12})\x00\x00\x00\x10"
    ),
    "ZooKeeper's four-letter words": re.compile(rb"(?:ruok|stat|srvr|mntr|conf|cons|envi|isro|dump|wchs)\n?\Z"),
}
# name -> the first bytes of some packet, where a capture begins in the middle
LATER_BYTES = {
    # a row of records of application data
    TLS: re.compile(rb"[\x14-\x17]\x03[\x01-\x04][\x00-\x41]"),
    # a ping, its answer, an event, the end of a session; a request: xid, operation, a path with its length in front
    "ZooKeeper": re.compile(
        rb"\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b|\x00\x00\x00\x10\xff\xff\xff\xfe[\x00-\xff]{8}\x00{4}"
        rb"|\x00\x00[\x00-\xff]{2}\xff{12}\x00{4}|\x00\x00\x00\x08[\x00-\xff]{4}\xff\xff\xff\xf5"
        rb"|\x00\x00[\x00-\xff]{6}\x00\x00\x00[\x01-\x16]\x00\x00[\x00-\xff]{2}/"
    ),
}
# An answer of ZooKeeper's: xid, zxid (an epoch, and a count), and an error that is none or negative.
ZOOKEEPER_ANSWER = re.compile(rb"[\x00-\xff]{12}(?!\x00{4})[\x00-\xff]{4}(?:\x00{4}|\xff\xff\xff[\x80-\xff])")


def protocol_of(data: bytes | bytearray, *, middle: bool = False) -> str | None:
    """Name the protocol of a stream by its first bytes, or with `middle` by those of some packet; None if unknown.

    >>> protocol_of(bytes.fromhex("16030100c8010000c40303")), protocol_of(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    patterns = LATER_BYTES if middle else FIRST_BYTES
    return next((name for name, pattern in patterns.items() if pattern.match(data)), None)
