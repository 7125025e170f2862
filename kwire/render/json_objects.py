"""Builds the JSON objects of frames and of log records, format version 1.

`kwire.capture.request_log` reads the objects of frames.

Each record is self-contained, so that `jq` needs no state:

    {"kwire": 1, "type": "record", "source": {...}, "topic": "__consumer_offsets", "batch": {...},
     "offset": 7, "timestamp": 1700000000000, "key": ..., "value": ..., "headers": [...]}

`key` and `value` are null, {"text"}, {"base64"}, or decoded: {"name", "version", "payload"}. The type is "batch" for a
batch without records, "zeros" for zeros, "undecodable" for undecodable bytes, and "diskEntry" for an entry of a file
beside the segments.
"""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..codecs.json import UNKNOWN_TAGS
from ..codecs.json import unknown_tags_json as tags_to_json
from ..errors import DecodeError
from ..internal import ControlRecord, FramedRecord, principal_of
from ..protocol import Request, Response, Result, SaslMessage, Token, Undecodable
from ..protocol.framing import NotKafka
from ..records import RecordBatch
from ..schema.sensitive_fields import HIDDEN, Hidden
from .record_text import Entry, bytes_json, control_name, embedded_json, parts_of
from .style import escape
from .value_text import count_text, value_text


def token_text(content: SaslMessage, *, short: bool = False) -> str:
    """Describe the content of a SASL token.

    Args:
        content: the token.
        short: whether to show only the user, for a line.

    >>> token_text(SaslMessage("PLAIN", "credentials", 15, {"user": "alice"}))
    'SASL PLAIN credentials, 15 bytes, user "alice"'
    """
    words = f"{content.mechanism or 'an unknown mechanism'} {content.phase}"
    if short:
        user = content.fields.get("user")
        return words if user is None else f"{words} {user}"
    words = f"SASL {words}"
    parts = [f"{name} {value_text(value)}" for name, value in content.fields.items()]
    return ", ".join([words, count_text(content.size, "byte"), *parts])


def token_json(content: SaslMessage) -> dict[str, Any]:
    """Return a token as JSON: mechanism, phase, size in bytes, parts; a hidden part becomes an object with its size."""
    parts = {name: _part(value) for name, value in content.fields.items()}
    return {"mechanism": content.mechanism, "phase": content.phase, "size": content.size, "parts": parts}


def sender_of(envelope: Any) -> tuple[str | None, str]:
    """Return the principal and the address of the client whose request an envelope contains.

    Args:
        envelope: an `EnvelopeRequest`.

    Returns:
        The principal, such as `User:alice` (None if it is missing or has a custom format), and the address.
    """
    principal = principal_of(envelope)
    message = None if principal is None else principal.message
    address = envelope.client_host_address
    host = str(ipaddress.ip_address(address)) if len(address) in (4, 16) else address.hex()
    return None if message is None else f"{message.type}:{message.name}", host


def _part(value: object) -> object:
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    return value.hex() if isinstance(value, bytes) else value


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


def json_line(result: Result) -> str:
    """Return the JSON of a frame on one line, safe for a terminal."""
    return escape(msgspec.json.encode(envelope(result)).decode())


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
        foreign = isinstance(result.error, NotKafka)
        return "undecodable" if result.is_failure else "foreign" if foreign else "incomplete"
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


HEADER = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "recordCount": "record_count",
    "magic": "magic",
    "crc": "crc",
    "attributes": "attributes",
    "compression": "compression",
    "timestampType": "timestamp_type",
    "baseTimestamp": "base_timestamp",
    "maxTimestamp": "max_timestamp",
    "deleteHorizon": "delete_horizon",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "baseSequence": "base_sequence",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
}


def record_envelope(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of a record, of bytes that could not be read, or of a batch without records."""
    if isinstance(entry, LogBytes):
        return _bytes(entry)
    if isinstance(entry, DiskEntry):
        return _disk(entry)
    batch = entry if isinstance(entry, LogBatch) else entry.batch
    members: dict[str, Any] = {"kwire": 1, "type": "batch" if entry is batch else "record"}
    members["source"] = _batch_source(batch.file, batch.header)
    if isinstance(entry, LogRecord):
        members["source"]["record"] = entry.index
    if batch.topic is not None:
        members["topic"] = batch.topic
    members["batch"] = batch_json(batch)
    return members if isinstance(entry, LogBatch) else {**members, **_record(entry)}


def record_json_line(entry: Entry) -> str:
    """Return the JSON of `record_envelope` on one line, safe for a terminal."""
    return escape(msgspec.json.encode(record_envelope(entry)).decode())


def batch_json(batch: LogBatch) -> dict[str, Any]:
    """Return the header of a batch, its size, and its faults."""
    header = batch.header
    members: dict[str, Any] = {name: getattr(header, attribute) for name, attribute in HEADER.items()}
    members = {"size": len(header.data), **{name: value for name, value in members.items() if value is not None}}
    return {**members, "faults": [_fault(fault) for fault in batch.faults]} if batch.faults else members


def _record(entry: LogRecord) -> dict[str, Any]:
    record, message = entry.record, entry.message
    members: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    if record.create_timestamp is not None:
        members["createTimestamp"] = record.create_timestamp
    if isinstance(message, ControlRecord):
        members["control"] = control_name(message)
    elif message is not None:
        members["recordType"] = message.type
    key, value = (None, None) if message is None else parts_of(message)
    members["key"] = bytes_json(record.key) if key is None else embedded_json(key)
    members["value"] = bytes_json(record.value) if value is None else embedded_json(value)
    if isinstance(message, FramedRecord):
        members["frameVersion"] = message.frame_version
    members["headers"] = [{"key": name, "value": bytes_json(value)} for name, value in record.headers]
    if entry.fault is not None:
        members["faults"] = [_fault(entry.fault)]
    return members


def _disk(entry: DiskEntry) -> dict[str, Any]:
    source = {"file": entry.file, "offset": entry.position, "entry": entry.index}
    is_named = isinstance(entry.value, dict)  # named as in the file
    fields = {name if is_named else _camel_case(name): value for name, value in entry.fields.items()}
    members = {"kwire": 1, "type": "diskEntry", "source": source, "kind": entry.kind, "fields": fields}
    return {**members, "faults": [_fault(fault) for fault in entry.faults]} if entry.faults else members


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _bytes(entry: LogBytes) -> dict[str, Any]:
    source = _batch_source(entry.file, entry.batch) if entry.batch else {"file": entry.file, "offset": entry.position}
    members: dict[str, Any] = {"kwire": 1, "type": "zeros" if entry.error is None else "undecodable", "source": source}
    if entry.error is None:
        return {**members, "count": entry.count}
    raw = {HIDDEN: entry.count} if isinstance(entry.data, Hidden) else entry.data.hex()
    return {**members, "error": error_json(entry.error), "raw": raw}


def _batch_source(file: str, batch: RecordBatch) -> dict[str, Any]:
    return {"file": file, "offset": batch.position, "batch": batch.index}


def _fault(fault: DecodeError) -> dict[str, Any]:
    return {**error_json(fault), "raw": fault.raw.hex()}
