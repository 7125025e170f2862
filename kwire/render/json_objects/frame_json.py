"""The JSON object of a frame, format version 1.

`kwire.capture.request_logs.request_log` reads these objects.
"""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from ...codecs.json_writer import UNKNOWN_TAGS
from ...codecs.json_writer import write_unknown_tags as tags_to_json
from ...errors import DecodeError
from ...protocol import Request, Response, Result, SaslMessage, Token, Undecodable
from ...protocol.frames.stream_faults import NotKafka
from ...protocol.message_summary import MessageSummary
from ...protocol.nested import principal_of
from ...schema.sensitive_fields import HIDDEN, Hidden
from ..escaping import compact_json
from ..sasl_token import token_json
from .topic_names_json import named_ids, names_json


def sender_of(envelope: Any) -> tuple[str | None, str]:
    """Return the principal and the address of the client whose request an envelope contains.

    Args:
        envelope: an `EnvelopeRequest`.

    Returns:
        The principal, such as `User:alice` (None if it is missing or has a custom format), and the address; bytes that
        are not an IP address are returned in hex.
    """
    principal = principal_of(envelope)
    message = None if principal is None else principal.message
    address = envelope.client_host_address
    host = str(ipaddress.ip_address(address)) if len(address) in (4, 16) else address.hex()
    return None if message is None else f"{message.type}:{message.name}", host


def envelope(result: Result) -> dict[str, Any]:
    """Return the JSON object of a frame, as plain values, in the format of `kwire decode --jsonl`.

    Args:
        result: a `Request`, `Response`, `Token` or `Undecodable`. Secrets are not masked.

    Returns:
        A dict for `json.dumps`. Offsets in it are relative to the frame's size field.

    >>> import kwire
    >>> request = kwire.encode_request(kwire.messages.ApiVersionsRequest(), 0, correlation_id=7)
    >>> envelope(kwire.decode_request(request))["header"]
    {'apiKey': 18, 'apiName': 'ApiVersions', 'apiVersion': 0, 'correlationId': 7, 'clientId': None}
    """
    if not isinstance(result, Result):
        advice = "; kwire.codec(...).to_json(message) converts a message" if isinstance(result, msgspec.Struct) else ""
        raise TypeError(f"a decoded frame is needed, not {type(result).__name__}{advice}")
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
    """Return the members for the content of a message."""
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


def json_line(result: Result, summary: MessageSummary | None = None) -> str:
    """Return the JSON of a frame on one line, safe for a terminal; with a summary, with the names of its topic ids."""
    members = envelope(result) if summary is None else named_envelope(result, summary)
    return compact_json(members)


def named_envelope(result: Result, summary: MessageSummary) -> dict[str, Any]:
    """Return the JSON object of a frame with a member `names`: the names of topic ids that have none in the frame.

    Args:
        result: the same as for `envelope`.
        summary: knows the names; those in the frame are stored there.
    """
    return envelope(result) | names_json(named_ids(result, summary))


def error_json(error: DecodeError) -> dict[str, Any]:
    """Return an error as JSON: code, class, message, offset, path, need, have; for bytes outside frames, the count."""
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
        if result.is_failure:
            return "undecodable"
        return "foreign" if isinstance(result.error, NotKafka) else "incomplete"
    return "token" if isinstance(result, Token) else result.codec.spec.type


def _source(result: Result) -> dict[str, Any]:
    source = result.frame.source
    members = {name: getattr(source, name) for name in ("file", "frame", "offset", "time")}
    if isinstance(result, Response):
        members |= {"latencySeconds": result.latency, "requestFrame": result.request_frame}
    if isinstance(result, Request):
        members["responseFrame"] = result.response_frame
    members |= {name: getattr(source, name) for name in ("client", "broker", "connection", "direction")}
    return {name: value for name, value in members.items() if value is not None}


def _header(result: Result) -> dict[str, Any]:
    members: dict[str, Any] = {}
    codec = result.codec
    header: Any = result.header
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
    request = result.request if isinstance(result, Response) else header
    if request is not None and hasattr(request, "client_id"):
        members["clientId"] = request.client_id
    if header is not None and header.unknown_tags:
        members[UNKNOWN_TAGS] = tags_to_json(header.unknown_tags)
    return members
