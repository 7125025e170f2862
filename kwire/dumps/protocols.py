"""What else people speak over TCP: the first bytes by which a stream of another protocol is named."""

from __future__ import annotations

import re

TLS = "TLS"
UNKNOWN = "an unknown protocol"

ZOOKEEPER = "ZooKeeper"
# ConnectRequest: 44 or 45 bytes with protocol version 0, then an id, a timeout, a session and 16 bytes of password.
# ConnectResponse: 36 or 37 bytes with version 0, then a timeout, a session and the password.
_CONNECT = rb"\x00\x00\x00(?:[\x2c\x2d]\x00{4}[\x00-\xff]{20}|[\x24\x25]\x00{4}[\x00-\xff]{12})\x00\x00\x00\x10"
_PING = rb"\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b"
_PING_ANSWER = rb"\x00\x00\x00\x10\xff\xff\xff\xfe[\x00-\xff]{8}\x00{4}"
_EVENT = rb"\x00\x00[\x00-\xff]{2}\xff{12}\x00{4}"
_PATH_REQUEST = (
    rb"\x00\x00[\x00-\xff]{6}\x00\x00\x00[\x01-\x16]\x00\x00[\x00-\xff]{2}/"  # xid, operation, length of path
)

# name -> the first bytes of either side
FIRST_BYTES = {
    # RFC 8446: a record of type handshake or alert, its version, and a length of at most 2^14 + 256
    TLS: re.compile(rb"[\x15\x16]\x03[\x00-\x04][\x00-\x41]"),
    "HTTP": re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|CONNECT|PATCH|TRACE) [/*\w]|HTTP/\d|PRI \* HTTP/2"),
    "SSH": re.compile(rb"SSH-\d"),
    ZOOKEEPER: re.compile(_CONNECT),
    "ZooKeeper's four-letter words": re.compile(rb"(?:ruok|stat|srvr|mntr|conf|cons|envi|isro|dump|wchs)\n?\Z"),
}
# name -> the first bytes of some packet, where a capture begins in the middle
LATER_BYTES = {
    TLS: re.compile(rb"[\x14-\x17]\x03[\x01-\x04][\x00-\x41]"),  # a row of records of application data
    ZOOKEEPER: re.compile(b"|".join([_CONNECT, _PING, _PING_ANSWER, _EVENT, _PATH_REQUEST])),
}
# xid, zxid (an epoch and a count), an error: none or negative
_ZOOKEEPER_ANSWER = re.compile(
    _CONNECT + rb"|[\x00-\xff]{8}\x00\x00[\x00-\xff]{2}(?!\x00{4})[\x00-\xff]{4}(?:\x00{4}|\xff\xff\xff[\x80-\xff])"
)


def protocol_of(data: bytes | bytearray, *, middle: bool = False) -> str | None:
    """Name the protocol of a stream by its first bytes, or with `middle` by those of some packet; None if unknown.

    >>> protocol_of(bytes.fromhex("16030100c8010000c40303")), protocol_of(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    patterns = LATER_BYTES if middle else FIRST_BYTES
    return next((name for name, pattern in patterns.items() if pattern.match(data)), None)


def zookeeper_may_answer(data: bytes | bytearray, position: int) -> bool:
    """Whether what begins at a position reads as an answer of ZooKeeper's; some of Kafka's do too."""
    return _ZOOKEEPER_ANSWER.match(data, position) is not None
