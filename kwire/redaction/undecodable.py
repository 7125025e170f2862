"""Decides whether undecodable bytes may hold a secret: yes, unless their message is known to hold none.

Looks at bytes: at SASL tokens, at names of sensitive configurations, at messages that hold secrets; whole or cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from ..errors import DecodeError
from ..errors.decode import Truncated, UnknownVersion
from ..protocol import Request, Response, Undecodable, spans_for
from ..protocol.sasl import seems_token
from ..sensitive_fields import ENVELOPED, SECRET_FIELDS, names_sensitive
from ..spec.catalog import catalog_for
from ..wire import Reader
from .rules import TOPIC, TOPIC_ID, Carrier, carriers, may_carry, may_carry_in_some_version

# Requests that carry secrets: AlterConfigs, SaslAuthenticate, the four of delegation tokens, IncrementalAlterConfigs,
# AlterUserScramCredentials, Envelope.
_KEYS = frozenset((33, 36, 38, 39, 40, 41, 44, 51, 58))
_REQUEST = re.compile(
    rb"(?=(\x00[\x21\x24\x26-\x29\x2c\x33\x3a]\x00[\x00-\x03][\x00-\xff]{4}(?:\x00[\x00-\xff]|\xff\xff)))"
)
_PARTS = re.compile(
    rb"[ny],(?:a=[^,]*)?,[a-z]=|r=[!-~]{8,},s=|c=[A-Za-z0-9+/=]{4,},r=|v=[A-Za-z0-9+/]{20,}|auth=Bearer"
    rb"|\x00[^\x00-\x1f]+\x00[^\x00-\x1f]+\Z"
)
_SECRETS = ENVELOPED | SECRET_FIELDS.keys()
FEW = 4  # bytes that are no secret
NEWER = 16  # versions behind the newest known one that a request may have
_LONGEST = 1 << 16  # bytes of a message that is looked at; of a secret whose end is missing


def may_hold_secret(result: Undecodable) -> bool:
    """Whether to hide the bytes of a frame: unless it is known what they are, and there is no sign of a secret."""
    data = result.frame.data
    if _is_nothing(data[4:]):
        return False
    return not _names_other(result) or looks_secret(data) or reads_as_secret(data) or may_leave_secret(result)


def is_doubtful(result: Request | Response) -> bool:
    """Whether a frame that decoded with faults may be another message, with a secret in any field."""
    if result.rest or not result.faults:
        return bool(result.rest)
    data = result.frame.data
    return may_carry(result.codec) or looks_secret(data) or reads_as_secret(data)


def may_leave_secret(result: Request | Response | Undecodable) -> bool:
    """Whether to hide the bytes left over behind a message that itself holds no secret: nobody knows what they are.

    Of a frame that did not decode, they are those that salvage leaves: strict decoding refuses it for them, or for an
    earlier fault.
    """
    return not _is_nothing(_salvaged_rest(result) if isinstance(result, Undecodable) else result.rest)


def _salvaged_rest(result: Undecodable) -> bytes:
    last = spans_for(replace(result, spans=()))[-1:]
    return bytes(last[0].value) if last and last[0].type == "left over" else b""


def looks_secret(data: bytes) -> bool:
    """Whether there is a sign of a secret in bytes: part of a SASL token, a sensitive configuration, a request.

    >>> looks_secret(bytes.fromhex("00000009 0024 0001")), looks_secret(bytes.fromhex("00000009 0003 0001"))
    (True, False)
    """
    if int.from_bytes(data[4:6], "big") in _KEYS or seems_token(data[4:]) or seems_token(data):
        return True
    if _PARTS.search(data) or names_sensitive(data) or TOPIC.encode() in data:
        return True
    return any(_is_request(data, found.start()) for found in _REQUEST.finditer(data))


def reads_as_secret(data: bytes) -> bool:
    """Whether a frame, or one that was cut short, can be read as a message that holds a secret.

    >>> reads_as_secret(bytes.fromhex("00000012 00000007 0000 ffff 00000006 763d68656c6c"))
    True
    """
    return any(_reads_as(carrier, data[:_LONGEST]) for carrier in carriers())


def _is_nothing(data: bytes) -> bool:
    return len(data.strip(b"\0")) <= FEW


def _names_other(result: Undecodable) -> bool:
    """Whether it is known which message was meant, and that it is none with secrets."""
    codec = result.codec
    if isinstance(result.error, UnknownVersion):
        name, version = result.error.found[:2]
        if name not in catalog_for() or may_carry_in_some_version(name):
            return False
        is_near = 0 <= version <= catalog_for().spec(name).versions.last + NEWER  # few correlation ids are
        return is_near and is_request_header(result.header)
    if codec is None or may_carry(codec) or (codec.name == "FetchResponse" and TOPIC_ID in result.frame.data):
        return False
    return is_recognised(result)


def is_recognised(result: Request | Response | Undecodable) -> bool:
    """Whether a message is known by its name, by the request that it answers, or by a header that chance does not make.

    Args:
        result: that has a codec.
    """
    frame, header = result.frame, result.header
    if (
        frame.message is not None
        or isinstance(result, Response)
        or (result.codec and result.codec.spec.type == "response")
    ):
        return True
    return header is not None and (frame.source.direction == "request" or is_request_header(header))


def is_request_header(header: Any) -> bool:
    """Whether a header is one that no other bytes are likely to give."""
    client = getattr(header, "client_id", None)
    return bool(client and client.isprintable())


def _is_request(data: bytes, start: int) -> bool:
    """Whether a request header begins here, behind its size unless that is cut off."""
    length = int.from_bytes(data[start + 8 : start + 10], "big", signed=True)
    client = data[start + 10 : start + 10 + max(length, 0)]
    try:
        is_text = length < 0 or (client.decode().isprintable() and len(client) == min(length, len(data) - start - 10))
    except UnicodeDecodeError:
        return False
    return is_text and (start < 4 or 10 <= int.from_bytes(data[start - 4 : start], "big") < 1 << 24)


def _reads_as(carrier: Carrier, data: bytes) -> bool:
    reader = Reader(data, 4, salvage=True)
    try:
        carrier.header.read(reader)
        message = carrier.codec.read(reader)
    except DecodeError as error:
        return isinstance(error, Truncated) and _ends_behind_secret(error)
    return reader.pos == reader.end and _holds_secret(message)


def _ends_behind_secret(error: Truncated) -> bool:
    """Whether a message is cut behind a part of its secret; the names in front of it must be text."""
    inside = error.segments[-1:] and error.segments[-1] in _SECRETS and (error.have or 0) > FEW
    return bool(inside or _holds_secret(error.partial)) and _is_named(error.partial)


def _is_named(value: Any) -> bool:
    """Whether text was decoded, all of it printable."""
    texts = list(_texts(value))
    return any(texts) and all(text.isprintable() for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct | dict | list | tuple):
        for _, held in _members(value):
            yield from _texts(held)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the parts of a message, or of what was decoded of one, with their names."""
    if isinstance(value, msgspec.Struct):
        return [(name, getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return value.items()
    return [("", held) for held in value] if isinstance(value, list | tuple) else ()


def _holds_secret(value: Any) -> bool:
    """Whether a message, or what was decoded of one, has a secret in it."""
    return any(
        _holds_secret(held) or (name in _SECRETS and bool(held) and not _is_nothing(held))
        for name, held in _members(value)
    )
