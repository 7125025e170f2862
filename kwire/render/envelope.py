"""The JSON of one frame, its shape fixed (version 1); `kwire.dumps.envelope` is the way back:

    {"kwire": 1, "type": "request", "source": {...}, "header": {...}, "payload": {...}}

What a container cannot know is left out. An undecodable frame has `error` and `raw`; a salvaged one `faults`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import DecodeError
from ..frames import Request, Response, Undecodable
from ..json import UNKNOWN_TAGS, to_json
from ..json import unknown_tags_json as tags_to_json
from .style import escape

Result = Request | Response | Undecodable


def envelope(result: Result) -> dict[str, Any]:
    """Return the JSON object of a frame, as plain values. Offsets count from the frame's size field."""
    members: dict[str, Any] = {"kwire": 1, "type": _type(result), "source": _source(result)}
    header = _header(result)
    if header:
        members["header"] = header
    if isinstance(result, Undecodable):
        return {**members, "error": error_json(result.error), "raw": result.frame.data.hex()}
    if isinstance(result, Response) and result.codec.version != result.api_version:
        members["payloadVersion"] = result.codec.version
    members["payload"] = to_json(result.codec.schema, result.message)
    if result.faults:
        members["faults"] = [{**error_json(fault), "raw": fault.raw.hex()} for fault in result.faults]
    return members


def json_line(result: Result) -> str:
    """Return the JSON of a frame on one line, safe for a terminal."""
    return escape(msgspec.json.encode(envelope(result)).decode())


def error_json(error: DecodeError) -> dict[str, Any]:
    """Return an error as JSON: class, message, offset, path, need, have."""
    members = {
        "class": type(error).__name__,
        "message": str(error),
        "offset": error.offset,
        "path": error.path,
        "need": error.need,
        "have": error.have,
    }
    return {name: value for name, value in members.items() if value is not None}


def _type(result: Result) -> str:
    return "undecodable" if isinstance(result, Undecodable) else result.codec.spec.type


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
        members["apiVersion"] = codec.version if isinstance(result, Undecodable) else result.api_version
    elif hasattr(header, "request_api_key"):
        members["apiKey"], members["apiVersion"] = header.request_api_key, header.request_api_version
    correlation = getattr(header, "correlation_id", None) if isinstance(result, Undecodable) else result.correlation_id
    if correlation is not None:
        members["correlationId"] = correlation
    if hasattr(header, "client_id"):
        members["clientId"] = header.client_id
    if header is not None and header.unknown_tags:
        members[UNKNOWN_TAGS] = tags_to_json(header.unknown_tags)
    return members
