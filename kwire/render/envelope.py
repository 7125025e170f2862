"""The JSON of one frame, its shape fixed (version 1), and back:

    {"kwire": 1, "type": "request", "source": {...}, "header": {...}, "payload": {...}}

What a container cannot know is left out. An undecodable frame has `error` and `raw`; a salvaged one `faults`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..catalog import Catalog
from ..codecs import codec_in
from ..errors import DecodeError, MissingField, WrongType
from ..frames import Request, Response, Undecodable, encode_request, encode_response
from ..json import UNKNOWN_TAGS, to_json
from ..json import unknown_tags as tags_from_json
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


def open_envelope(members: Any, catalog: Catalog) -> bytes:
    """Turn the JSON object of a frame into the bytes of the frame.

    Args:
        members: what `envelope` returns; `source` is not needed.
        catalog: the specs to use.

    Raises:
        EncodeError, UnknownMessage, UnsupportedVersion: with the place in the JSON.
    """
    if not isinstance(members, dict):
        raise WrongType(need="an object with type, header and payload", found=f"{members!r}"[:60])
    if members.get("type") == "undecodable":
        return _raw(members)
    header = _need(members, "header", dict)
    api_key, version = _need(header, "apiKey", int, "header"), _need(header, "apiVersion", int, "header")
    version = members.get("payloadVersion", version)
    kind = _need(members, "type", str)
    spec = catalog.find(api_key, kind, version)
    if spec is None:
        found = f"{kind} of api key {api_key} version {version}"
        raise WrongType(need="a known type, apiKey and apiVersion", found=found, segments=["header"])
    message = codec_in(catalog, spec.name, version).from_json(_need(members, "payload", dict))
    common = {
        "correlation_id": _need(header, "correlationId", int, "header"),
        "header_tags": tags_from_json(header.get(UNKNOWN_TAGS, [])),
        "catalog": catalog,
    }
    if kind == "request":
        return encode_request(message, version, client_id=header.get("clientId"), **common)
    return encode_response(message, version, **common)


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
    names = ("file", "frame", "offset", "time", "client", "broker")
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


def _need(members: dict[str, Any], name: str, kind: type[Any], inside: str = "") -> Any:
    path = [inside, name] if inside else [name]
    if name not in members:
        raise MissingField(segments=path)
    value = members[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise WrongType(need=f"a {kind.__name__}", found=f"{value!r}"[:60], segments=path)
    return value


def _raw(members: dict[str, Any]) -> bytes:
    try:
        return bytes.fromhex(_need(members, "raw", str))
    except ValueError:
        raise WrongType(need="hex", found="something else", segments=["raw"]) from None
