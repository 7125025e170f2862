"""Whether bytes that did not decode may hold a secret.

Such bytes are hidden completely unless their message is known to contain no secret: they are searched for SASL tokens,
names of sensitive configurations, and complete or truncated messages with secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..codecs.message_codec import Codec
from ..codecs.wire import Reader
from ..errors import DecodeError, Truncated, UnknownVersion
from ..protocol import Request, Response, Undecodable
from ..protocol.frame_spans import read_frame
from ..protocol.message_summary import METADATA_TOPIC, METADATA_TOPIC_ID
from ..protocol.sasl_tokens import seems_token
from ..runtime.lazy_patterns import lazy_pattern
from ..schema.catalog import catalog_for
from ..schema.sensitive_fields import ENVELOPED, SECRET_FIELDS
from .secret_messages import carriers, may_carry, may_carry_in_some_version
from .sensitive_configs import names_sensitive

# Requests with secrets: AlterConfigs, SaslAuthenticate, the four requests for delegation tokens,
# IncrementalAlterConfigs, AlterUserScramCredentials, Envelope.
_KEYS = frozenset((33, 36, 38, 39, 40, 41, 44, 51, 58))
_REQUEST = lazy_pattern(
    rb"(?=(\x00[\x21\x24\x26-\x29\x2c\x33\x3a]\x00[\x00-\x03][\x00-\xff]{4}(?:\x00[\x00-\xff]|\xff\xff)))"
)
_PARTS = lazy_pattern(
    rb"[ny],(?:a=[^,]*)?,[a-z]=|r=[!-~]{8,},s=|c=[A-Za-z0-9+/=]{4,},r=|v=[A-Za-z0-9+/]{20,}|auth=Bearer"
    rb"|\x00[^\x00-\x1f]+\x00[^\x00-\x1f]+\Z"
)
_SECRETS = ENVELOPED | SECRET_FIELDS.keys()
REPLACEMENT = "\ufffd"  # U+FFFD stands for bytes that are not UTF-8, and is printable
FEW = 4  # bytes; values of this size or less are not secrets
NEWER = 16  # versions above the newest known one that a request may have
_LONGEST = 1 << 16  # bytes of a message that are searched; bytes of a secret whose end is missing


def may_hold_secret(result: Undecodable) -> bool:
    """Whether bytes of a frame must be hidden: unless the message is known and nothing indicates a secret."""
    data = result.frame.data
    if is_short(data[4:]):
        return False
    return not _names_other(result) or looks_secret(data) or reads_as_secret(data) or may_leave_secret(result)


def is_doubtful(result: Request | Response) -> bool:
    """Whether a frame that decoded with faults may be another message, with a secret in any field."""
    if result.rest or not result.faults:
        return bool(result.rest)
    data = result.frame.data
    return may_carry(result.codec) or looks_secret(data) or reads_as_secret(data)


def may_leave_secret(result: Request | Response | Undecodable) -> bool:
    """Whether to hide the trailing bytes of a message without secrets, because their meaning is unknown.

    In a frame that did not decode, these are the bytes left over by salvage: strict decoding fails at them, or at an
    earlier fault.
    """
    return not is_short(_salvaged_rest(result) if isinstance(result, Undecodable) else result.rest)


def _salvaged_rest(result: Undecodable) -> bytes:
    data = result.frame.data
    reader = Reader(data, salvage=True)
    try:
        read_frame(reader, result)
    except DecodeError:
        return b""
    return data[reader.pos :]


def looks_secret(data: bytes) -> bool:
    """Whether bytes look like a secret: part of a SASL token, a sensitive configuration, a request.

    >>> looks_secret(bytes.fromhex("00000009 0024 0001")), looks_secret(bytes.fromhex("00000009 0003 0001"))
    (True, False)
    """
    if int.from_bytes(data[4:6], "big") in _KEYS or seems_token(data[4:]) or seems_token(data):
        return True
    if _PARTS.search(data) or names_sensitive(data) or METADATA_TOPIC.encode() in data:
        return True
    return any(_is_request(data, candidate.start()) for candidate in _REQUEST.finditer(data))


def reads_as_secret(data: bytes) -> bool:
    """Whether a complete or truncated frame can be read as a message that contains a secret.

    >>> reads_as_secret(bytes.fromhex("00000012 00000007 0000 ffff 00000006 763d68656c6c"))
    True
    """
    data = data[:_LONGEST]
    for header, codecs in carriers().items():
        reader = Reader(data, 4, salvage=True)
        try:
            header.read(reader)
        except DecodeError:  # nothing of a body is left
            continue
        if any(_reads_as(codec, data, reader.pos) for codec in codecs):
            return True
    return False


def is_short(data: bytes) -> bool:
    """Whether bytes are too few to be a secret."""
    return len(data.strip(b"\0")) <= FEW


def _names_other(result: Undecodable) -> bool:
    """Whether the intended message is known and contains no secrets."""
    codec = result.codec
    if isinstance(result.error, UnknownVersion):
        name, version = result.error.found[:2]
        if name not in catalog_for() or may_carry_in_some_version(name):
            return False
        is_near = 0 <= version <= catalog_for().spec(name).versions.last + NEWER  # rarely true of correlation ids
        return is_near and is_request_header(result.header)
    if codec is None or may_carry(codec) or (codec.name == "FetchResponse" and METADATA_TOPIC_ID in result.frame.data):
        return False
    return is_recognised(result)


def is_recognised(result: Request | Response | Undecodable) -> bool:
    """Whether a message is identified by its name, its request, or a header that random bytes are unlikely to form.

    Args:
        result: a result with a codec.
    """
    frame = result.frame
    header = result.header
    if (
        frame.message is not None
        or isinstance(result, Response)
        or (result.codec and result.codec.spec.type == "response")
    ):
        return True
    return header is not None and (frame.source.direction == "request" or is_request_header(header))


def is_request_header(header: Any) -> bool:
    """Whether random bytes are unlikely to form this header."""
    client = getattr(header, "client_id", None)
    return bool(client and client.isprintable() and REPLACEMENT not in client)


def _is_request(data: bytes, start: int) -> bool:
    """Whether a request header starts at a position, with or without the size before it."""
    length = int.from_bytes(data[start + 8 : start + 10], "big", signed=True)
    client = data[start + 10 : start + 10 + max(length, 0)]
    try:
        is_text = length < 0 or (client.decode().isprintable() and len(client) == min(length, len(data) - start - 10))
    except UnicodeDecodeError:
        return False
    return is_text and (start < 4 or 10 <= int.from_bytes(data[start - 4 : start], "big") < 1 << 24)


def _reads_as(codec: Codec, data: bytes, start: int) -> bool:
    """Whether the bytes from a position on can be read as a complete or truncated body that contains a secret."""
    reader = Reader(data, start, salvage=True)
    try:
        message = codec.read(reader)
    except DecodeError as error:
        return isinstance(error, Truncated) and _ends_behind_secret(error)
    return reader.pos == reader.end and _holds_secret(message)


def _ends_behind_secret(error: Truncated) -> bool:
    """Whether a message is truncated inside or after its secret, and the names before it are text."""
    inside = error.segments[-1:] and error.segments[-1] in _SECRETS and (error.have or 0) > FEW
    return bool(inside or _holds_secret(error.partial)) and _is_printable(error.partial)


def _is_printable(value: Any) -> bool:
    """Whether a value is decoded text with only printable characters."""
    texts = list(_texts(value))
    return any(texts) and all(text.isprintable() for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct | dict | list | tuple):
        for _, member in _members(value):
            yield from _texts(member)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the members of a message, which may be partially decoded, with their names."""
    if isinstance(value, msgspec.Struct):
        return [(name, getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return value.items()
    return [("", member) for member in value] if isinstance(value, list | tuple) else ()


def _holds_secret(value: Any) -> bool:
    """Whether a message, which may be partially decoded, contains a secret."""
    return any(
        _holds_secret(member) or (name in _SECRETS and bool(member) and not is_short(member))
        for name, member in _members(value)
    )
