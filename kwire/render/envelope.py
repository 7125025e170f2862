"""The JSON of one frame, its shape fixed (version 1); `kwire.dumps.envelope` is the way back:

    {"kwire": 1, "type": "request", "source": {...}, "header": {...}, "payload": {...}}

What a container cannot know is left out. An undecodable frame has `error` and `raw`, and so has what is `incomplete`: a
frame that is cut short, a gap; `error.code` is a stable name. A salvaged frame has `faults`. A SASL token has type
`token`, with `token` and `raw`; a stream of another protocol `foreign`. Beside a payload stands what it carries:
`token`, or `inside`, a forwarded frame. A hidden value is {"_hidden": its size in bytes}.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import DecodeError
from ..frames import Request, Response, Result, SaslMessage, Token, Undecodable
from ..frames.pieces import NotKafka
from ..json import UNKNOWN_TAGS
from ..json import unknown_tags_json as tags_to_json
from ..secrets import HIDDEN, Hidden
from .content import sender_of, token_json
from .style import escape


def envelope(result: Result) -> dict[str, Any]:
    """Return the JSON object of a frame, as plain values. Offsets count from the frame's size field."""
    members: dict[str, Any] = {"kwire": 1, "type": _type(result), "source": _source(result)}
    header = _header(result)
    if header:
        members["header"] = header
    if isinstance(result, Undecodable):
        raw = {HIDDEN: result.hidden} if result.hidden else result.frame.data.hex()
        return {**members, "error": error_json(result.error), "raw": raw}
    if isinstance(result, Token):
        return {**members, "token": token_json(result.content), "raw": _token_raw(result)}
    if isinstance(result, Response) and result.codec.version != result.api_version:
        members["payloadVersion"] = result.codec.version
    members["payload"] = result.codec.jsonable(result.message)
    if result.faults:
        members["faults"] = [{**error_json(fault), "raw": fault.raw.hex()} for fault in result.faults]
    return members | _inside(result)


def _inside(result: Request | Response) -> dict[str, Any]:
    """Return the members that say what a message carries."""
    inside = result.inside
    if isinstance(inside, SaslMessage):
        return {"token": token_json(inside)}
    if inside is None:
        return {}
    if not isinstance(result, Request):
        return {"inside": envelope(inside)}
    principal, host = sender_of(result.message)
    return {"forwarded": {"principal": principal, "clientHost": host}, "inside": envelope(inside)}


def _token_raw(result: Token) -> Any:
    hidden = any(isinstance(value, Hidden) for value in result.content.fields.values())
    return {HIDDEN: result.content.size} if hidden else result.frame.data.hex()


def json_line(result: Result) -> str:
    """Return the JSON of a frame on one line, safe for a terminal."""
    return escape(msgspec.json.encode(envelope(result)).decode())


def error_json(error: DecodeError) -> dict[str, Any]:
    """Return an error as JSON: code, class, message, offset, path, need, have; of bytes in no frame their count."""
    members = {
        "code": error.code,
        "class": type(error).__name__,
        "message": str(error),
        "offset": error.offset,
        "path": error.path,
        "need": error.need,
        "have": error.have,
        "count": getattr(error, "count", None),
    }
    return {name: value for name, value in members.items() if value is not None}


def _type(result: Result) -> str:
    if isinstance(result, Undecodable):
        foreign = isinstance(result.error, NotKafka)
        return "undecodable" if result.is_failure else "foreign" if foreign else "incomplete"
    return "token" if isinstance(result, Token) else result.codec.spec.type


def _source(result: Result) -> dict[str, Any]:
    source = result.frame.source
    names = ("file", "frame", "offset", "time", "client", "broker", "connection", "direction")
    return {name: getattr(source, name) for name in names if getattr(source, name) is not None}


def _header(result: Result) -> dict[str, Any]:
    members: dict[str, Any] = {}
    codec, header = result.codec, result.header
    if codec is not None and codec.spec.api_key is not None:
        members["apiKey"] = codec.spec.api_key
        members["apiName"] = codec.spec.api_name
        members["apiVersion"] = result.api_version if isinstance(result, Request | Response) else codec.version
    elif header is not None and hasattr(header, "request_api_key"):
        members["apiKey"], members["apiVersion"] = header.request_api_key, header.request_api_version
    whole = result if isinstance(result, Request | Response) else header
    correlation = getattr(whole, "correlation_id", None)
    if correlation is not None:
        members["correlationId"] = correlation
    if header is not None and hasattr(header, "client_id"):
        members["clientId"] = header.client_id
    if header is not None and header.unknown_tags:
        members[UNKNOWN_TAGS] = tags_to_json(header.unknown_tags)
    return members
