"""Recognises TLS, HTTP, SSH and ZooKeeper by the first bytes of a stream."""

from __future__ import annotations

from ...runtime.lazy_patterns import lazy_pattern

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
    rb"\x00\x00[\x00-\xff]{6}\x00\x00\x00[\x01-\x16]\x00\x00[\x00-\xff]{2}/"  # xid, operation, length of the path
)
# name -> the first bytes of either side
FIRST_BYTES = {
    # RFC 8446: a record of type handshake or alert, its version, and a length of at most 2^14 + 256
    TLS: lazy_pattern(rb"[\x15\x16]\x03[\x00-\x04][\x00-\x41]"),
    "HTTP": lazy_pattern(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|CONNECT|PATCH|TRACE) [/*\w]|HTTP/\d|PRI \* HTTP/2"),
    "SSH": lazy_pattern(rb"SSH-\d"),
    ZOOKEEPER: lazy_pattern(_CONNECT),
    "ZooKeeper's four-letter words": lazy_pattern(rb"(?:ruok|stat|srvr|mntr|conf|cons|envi|isro|dump|wchs)\n?\Z"),
}
# name -> the first bytes of a packet, for a capture that begins inside the stream
LATER_BYTES = {
    TLS: lazy_pattern(rb"[\x14-\x17]\x03[\x01-\x04][\x00-\x41]"),  # consecutive records of application data
    ZOOKEEPER: lazy_pattern(b"|".join([_CONNECT, _PING, _PING_ANSWER, _EVENT, _PATH_REQUEST])),
}
# xid, zxid (an epoch and a count), an error: none or negative
_ZOOKEEPER_ANSWER = lazy_pattern(
    _CONNECT + rb"|[\x00-\xff]{8}\x00\x00[\x00-\xff]{2}(?!\x00{4})[\x00-\xff]{4}(?:\x00{4}|\xff\xff\xff[\x80-\xff])"
)


def recognise_protocol(data: bytes | bytearray, *, middle: bool = False) -> str | None:
    """Return the protocol of a stream by its first bytes, or with `middle` by the first bytes of a packet; None if
    unknown.

    >>> recognise_protocol(bytes.fromhex("16030100c8010000c40303")), recognise_protocol(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    patterns = LATER_BYTES if middle else FIRST_BYTES
    return next((name for name, pattern in patterns.items() if pattern.match(data)), None)


def zookeeper_may_answer(data: bytes | bytearray, position: int) -> bool:
    """Whether the bytes at a position can be a ZooKeeper response; some Kafka responses can, too."""
    return _ZOOKEEPER_ANSWER.match(data, position) is not None
