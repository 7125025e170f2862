"""Masks the secrets of a decoded frame for display, and contains the rules for masking and for `Redactor`.

The rules are the kinds of sensitive data, their fields, and the messages that carry secrets.

Sizes and positions stay, so that all output of a masked result is safe: fields, spans, bytes, faults. Undecodable bytes
are hidden completely unless their message is known to contain no secret: they are searched for SASL tokens, names of
sensitive configurations, and complete or truncated messages with secrets.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace as replaced

from ..caches import lazy_pattern
from ..codecs import Codec, Place, Span, Step, codec_in, leaves, plan_of
from ..errors import DecodeError, KwireError, Truncated, UnknownVersion, path_text
from ..protocol import Request, Response, Result, SaslMessage, Token, Undecodable, spans_for
from ..protocol.framing import LIMIT, NotKafka
from ..protocol.headers import header_version_for
from ..protocol.results import is_topic_field
from ..protocol.sasl_tokens import seems_token
from ..records import RecordBatch, parse_records
from ..sensitive_fields import ENVELOPED, SECRET_FIELDS, SECRET_PARTS, Hidden, is_sensitive, names_sensitive
from ..spec.catalog import WIRE_TYPES, catalog_for
from ..wire import UNSIGNED_VARINT, Bytes, Reader, String, Uuid

TOPIC, TOPIC_ID = "__cluster_metadata", bytes(15) + b"\x01"
METADATA_LOG: frozenset[str | bytes] = frozenset((TOPIC, TOPIC_ID))
MESSAGES = frozenset(("FetchResponse", "FetchSnapshotResponse"))
RECORDS = frozenset(("records", "unaligned_records"))
_CREDENTIALS, _CONFIG_RECORD = "UserScramCredentialRecord", "ConfigRecord"


def is_of_metadata_log(message: Any) -> bool:
    """Whether a response to Fetch or FetchSnapshot concerns the metadata log."""
    topics = getattr(message, "responses", None) or getattr(message, "topics", None) or ()
    return any(_name(topic) == TOPIC or getattr(topic, "topic_id", None) == TOPIC_ID for topic in topics)


def _name(topic: Any) -> str | None:
    name: str | None = getattr(topic, "topic", None) or getattr(topic, "name", None)
    return name


def holds_secrets(records: bytes) -> bool:
    """Whether a part of the metadata log contains a secret or cannot be read.

    >>> holds_secrets(b""), holds_secrets(b"a piece of a batch")
    (False, True)
    """
    try:
        for batch in parse_records(records):
            if not isinstance(batch, RecordBatch):
                return True
            if not batch.is_control and any(is_secret_record(record.value or b"") for record in batch.records()):
                return True
    except KwireError:
        return True
    return False


def is_secret_record(value: bytes) -> bool:
    """Whether a record of the metadata log contains a secret, or cannot be decoded far enough to decide.

    Args:
        value: the value of the record: a frame of KIP-631.

    >>> is_secret_record(bytes.fromhex("01 09 00" + 16 * "ab" + "00")), is_secret_record(b"\\xff")
    (False, True)
    """
    spec = catalog_for().spec
    reader = Reader(bytes(value))
    try:
        _, kind, version = (reader.child(name, UNSIGNED_VARINT) for name in ("frame_version", "type", "version"))
        if kind != spec(_CONFIG_RECORD).api_key:
            return bool(kind == spec(_CREDENTIALS).api_key)
        return is_sensitive(str(codec_in(catalog_for(), _CONFIG_RECORD, version).read(reader).name))
    except KwireError:
        return True


# kind -> why it is removed
REASONS: dict[str, str] = {
    "records": "keys, values, headers; batch headers stay, with new checksums",
    "sasl": "SASL tokens carry passwords and proofs of them",
    "scram": "salts and salted passwords can be used instead of the password",
    "token": "the HMAC of a delegation token is its password",
    "config": "values of configurations hold passwords and paths",
    "group": "subscriptions and assignments carry arbitrary data of clients",
    "offset": "the metadata of a committed offset is arbitrary text",
    "metrics": "telemetry of clients",
    "envelope": "a forwarded request may contain any of the above",
    "text": "error messages repeat names and values",
    "client": "client ids are names of applications",
    "topic": "topic names reveal what a business does",
    "groupid": "group, transaction and member ids are names of applications",
    "cluster": "the id of a cluster is unique: it says whose capture this is",
    "host": "names and addresses of machines",
    "rack": "racks are names of places",
    "path": "directories of brokers name machines, disks and people",
    "user": "principals are names of people",
    "unknown": "unknown tags, tails and undecodable frames may hold anything",
}
KEPT = """\
Kept: the names and versions of client software (apache-kafka-java 3.9.0), of
assignors, features, listeners and settings; topic ids and other random UUIDs;
numbers, times and error codes; the addresses and ports of a capture's packets.
"""
# Equal names get equal pseudonyms.
NAMES = frozenset(("client", "topic", "groupid", "cluster", "host", "rack", "path", "user"))
# Names that consist of other names: racks with several levels (KIP-879), paths, and addresses that Java prints as
# /10.0.0.1.
SEPARATORS = {"rack": b"/", "path": b"/", "host": b"/"}

_BYTES = {
    "records": "records",
    "unaligned_records": "records",
    **SECRET_FIELDS,
    "metadata": "group",
    "assignment": "group",
    "member_metadata": "group",
    "member_assignment": "group",
    "metrics": "metrics",
    "request_data": "envelope",
    "response_data": "envelope",
    "request_principal": "user",
    "client_host_address": "host",
}
_TEXTS = {
    "value": "config",
    "metadata": "offset",
    "committed_metadata": "offset",
    "error_message": "text",
    "client_id": "client",
    "cluster_id": "cluster",
    "group_id": "groupid",
    "groups": "groupid",
    "group": "groupid",
    "transactional_id": "groupid",
    "member_id": "groupid",
    "group_instance_id": "groupid",
    "host": "host",
    "v0_host": "host",
    "host_name": "host",
    "client_host": "host",
    "principal": "user",
    "principal_name": "user",
    "owner_principal_name": "user",
    "token_requester_principal_name": "user",
    "token_id": "token",
    "user": "user",
    "resource_name": "topic",
    "leader": "groupid",
    "subscribed_topic_regex": "topic",
    "key": "groupid",
    "coordinator_keys": "groupid",
    "group_ids": "groupid",
    "groups_names": "groupid",
    "instance_id": "groupid",
    "transactional_ids": "groupid",
    "transactional_id_pattern": "groupid",
    "v3_and_below_transactional_id": "groupid",
    "host_filter": "host",
    "rack": "rack",
    "rack_id": "rack",
    "log_dir": "path",
    "path": "path",
    "principal_filter": "user",
    "entity_name": "user",
    "resource_name_filter": "topic",
    "repartition_sink_topics": "topic",
    "sink_topic": "topic",
    "source_topic_regex": "topic",
    "stores": "topic",
    "successors": "topic",
    "acknowledge_error_message": "text",
    "batch_index_error_message": "text",
    "reason": "text",
    "status_detail": "text",
}
# struct whose field `name` is redacted -> the kind
_NAMED = {
    "ScramCredentialDeletion": "user",
    "ScramCredentialUpsertion": "user",
    "UserName": "user",
    "ClientMetricsResource": "topic",
    "TopologyDescriptionNode": "topic",
}


def kind_for(struct: str, attribute: str, is_text: bool) -> str | None:
    """Return the kind of data in a field of text or bytes; None if the field is kept.

    >>> kind_for("PartitionProduceData", "records", False), kind_for("MetadataResponseTopic", "name", True)
    ('records', 'topic')
    """
    if not is_text:
        return _BYTES.get(attribute)
    if is_topic_field(struct, attribute):
        return "topic"
    return _NAMED.get(struct) if attribute == "name" else _TEXTS.get(attribute)


_ALWAYS = ENVELOPED | SECRET_FIELDS.keys()
_CONFIG = frozenset(("name", "value"))


class Carrier(NamedTuple):
    """A message that always contains a secret, and the header before it."""

    codec: Codec
    header: Codec


def may_hold_secrets(codec: Codec, message: Any) -> bool:
    """Whether a message may contain a secret, judging by its type and the names in it.

    Args:
        codec: the codec of the message.
        message: the message, or an object with its attributes.
    """
    return may_carry(codec) or (codec.name in MESSAGES and is_of_metadata_log(message))


@cache
def may_carry(codec: Codec) -> bool:
    """Whether a message has a field that may contain a secret."""
    names = _names(codec)
    return bool(names & _ALWAYS) or names >= _CONFIG


@cache
def always_carries(codec: Codec) -> bool:
    """Whether a message has a field that always contains a secret."""
    return bool(_names(codec) & SECRET_FIELDS.keys())


@cache
def may_carry_in_some_version(name: str) -> bool:
    """Whether a Kafka message has a field that may contain a secret, in any version."""
    versions = catalog_for().spec(name).versions
    return any(may_carry(codec_in(catalog_for(), name, version)) for version in versions)


@cache
def carriers() -> tuple[Carrier, ...]:
    """Return all requests and responses of Kafka that contain a secret in every version."""
    found = []
    for spec in map(catalog_for().spec, catalog_for().names_with(_ALWAYS)):
        for version in spec.versions if spec.type in WIRE_TYPES else ():
            codec, header = codec_in(catalog_for(), spec.name, version), header_version_for(spec, version)
            if header is not None and _names(codec) & _ALWAYS:
                header_name = f"{spec.type.capitalize()}Header"
                found.append(Carrier(codec, codec_in(catalog_for(), header_name, header)))
    return tuple(found)


def _names(codec: Codec) -> set[str]:
    """Return the names of a message's fields that indicate a secret."""
    return {step.name for step in leaves(plan_of(codec, _tells))}


def _tells(place: Place) -> bool | None:
    return place.name in _ALWAYS or place.name in _CONFIG or None


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
FEW = 4  # bytes; values of this size or less are not secrets
NEWER = 16  # versions above the newest known one that a request may have
_LONGEST = 1 << 16  # bytes of a message that are searched; bytes of a secret whose end is missing


def may_hold_secret(result: Undecodable) -> bool:
    """Whether bytes of a frame must be hidden: unless the message is known and nothing indicates a secret."""
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
    """Whether to hide the trailing bytes of a message without secrets, because their meaning is unknown.

    In a frame that did not decode, these are the bytes left over by salvage: strict decoding fails at them, or at an
    earlier fault.
    """
    return not _is_nothing(_salvaged_rest(result) if isinstance(result, Undecodable) else result.rest)


def _salvaged_rest(result: Undecodable) -> bytes:
    last = spans_for(replace(result, spans=()))[-1:]
    return bytes(last[0].value) if last and last[0].type == "left over" else b""


def looks_secret(data: bytes) -> bool:
    """Whether bytes look like a secret: part of a SASL token, a sensitive configuration, a request.

    >>> looks_secret(bytes.fromhex("00000009 0024 0001")), looks_secret(bytes.fromhex("00000009 0003 0001"))
    (True, False)
    """
    if int.from_bytes(data[4:6], "big") in _KEYS or seems_token(data[4:]) or seems_token(data):
        return True
    if _PARTS.search(data) or names_sensitive(data) or TOPIC.encode() in data:
        return True
    return any(_is_request(data, found.start()) for found in _REQUEST.finditer(data))


def reads_as_secret(data: bytes) -> bool:
    """Whether a complete or truncated frame can be read as a message that contains a secret.

    >>> reads_as_secret(bytes.fromhex("00000012 00000007 0000 ffff 00000006 763d68656c6c"))
    True
    """
    return any(_reads_as(carrier, data[:_LONGEST]) for carrier in carriers())


def _is_nothing(data: bytes) -> bool:
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
    if codec is None or may_carry(codec) or (codec.name == "FetchResponse" and TOPIC_ID in result.frame.data):
        return False
    return is_recognised(result)


def is_recognised(result: Request | Response | Undecodable) -> bool:
    """Whether a message is identified by its name, its request, or a header that random bytes are unlikely to form.

    Args:
        result: a result with a codec.
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
    """Whether random bytes are unlikely to form this header."""
    client = getattr(header, "client_id", None)
    return bool(client and client.isprintable())


def _is_request(data: bytes, start: int) -> bool:
    """Whether a request header starts at a position, with or without the size before it."""
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
    """Whether a message is truncated inside or after its secret, and the names before it are text."""
    inside = error.segments[-1:] and error.segments[-1] in _SECRETS and (error.have or 0) > FEW
    return bool(inside or _holds_secret(error.partial)) and _is_named(error.partial)


def _is_named(value: Any) -> bool:
    """Whether a value is decoded text with only printable characters."""
    texts = list(_texts(value))
    return any(texts) and all(text.isprintable() for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct | dict | list | tuple):
        for _, held in _members(value):
            yield from _texts(held)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the members of a message, which may be partially decoded, with their names."""
    if isinstance(value, msgspec.Struct):
        return [(name, getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return value.items()
    return [("", held) for held in value] if isinstance(value, list | tuple) else ()


def _holds_secret(value: Any) -> bool:
    """Whether a message, which may be partially decoded, contains a secret."""
    return any(
        _holds_secret(held) or (name in _SECRETS and bool(held) and not _is_nothing(held))
        for name, held in _members(value)
    )


_DETAILS = "details hidden (may contain secrets); use --show-secrets"
_UNCLEAR = ("unknown tag", "left over", "not understood")


def mask(result: Result) -> Result:
    """Return a result without secrets; the same result if it contains none.

    Args:
        result: a result of a `FrameDecoder`.

    Returns:
        The result with `Hidden` values for secrets, and zeros in the bytes of the frame. In an `Undecodable` that may
        contain a secret, `hidden` counts the bytes that must not be shown, and the error keeps only its numbers.

    >>> import kwire
    >>> message = kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\\\\0alice\\\\0wonder")
    >>> frame = kwire.Frame(kwire.encode_request(message, 1))
    >>> mask(next(kwire.decode_frames([frame]))).message.auth_bytes
    [hidden] (15 bytes)
    """
    if isinstance(result, Undecodable):
        return _undecodable(result)
    if isinstance(result, Token):
        return _token(result)
    if isinstance(result, Response) and not str(getattr(result.request, "client_id", "")).isprintable():
        result = replace(result, request=_anonymous(result.request))  # it may contain bytes of a secret
    if may_hold_secrets(result.codec, result.message):
        return _decoded(result)
    left_over = may_leave_secret(result)
    message = result.frame.data[: len(result.frame.data) - len(result.rest)]
    is_doubted = left_over and (not is_recognised(result) or looks_secret(message))
    if is_doubted or (result.faults and reads_as_secret(result.frame.data)):
        doubted = Undecodable(frame=result.frame, error=result.faults[-1], header=result.header, codec=result.codec)
        return _veiled(replace(doubted, client=result.client, spans=result.spans))
    return _decoded(result) if left_over else result


def _decoded(result: Request | Response) -> Request | Response:
    sealing = _Masking(result.inside)
    message = sealing.message(result.codec, result.message)
    inside = sealing.inside
    if not sealing.found and inside is result.inside and not (result.faults or result.rest):
        return result
    unclear = always_carries(result.codec) or bool(sealing.found or result.faults or result.rest)
    if unclear and message.unknown_tags:
        message = replaced(message, unknown_tags=None)
    spans = tuple(_span(span, sealing.found, unclear) for span in spans_for(result))
    faults = tuple(map(mask_error, result.faults)) if unclear else result.faults
    odd = bool(result.faults or result.rest) or not str(getattr(result.header, "client_id", "")).isprintable()
    return replace(
        result,
        frame=replace(result.frame, data=masked(result.frame.data, spans)),
        header=_anonymous(result.header) if unclear and odd and result.header is not None else result.header,
        message=message,
        inside=inside,
        faults=faults,
        rest=b"" if unclear else result.rest,
        spans=spans,
    )


class _Masking:
    """A traversal of one message; `found` maps paths to secrets."""

    def __init__(self, inside: Any = None) -> None:
        self.found: dict[str, Hidden] = {}
        self.inside = mask_nested(inside)
        # The contents of an envelope are shown decoded; its bytes are shown only if they contain no secret.
        self.hides_inside = inside is None or self.inside is not inside
        self._sensitive = False  # whether the enclosing configuration is sensitive: then its synonyms are too

    def message(self, codec: Codec, value: Any) -> Any:
        """Return a message without its secrets."""
        return self._struct(plan_of(codec, _may_be_secret), value, [])

    def _struct(self, steps: tuple[Step, ...], value: Any, path: list[str | int]) -> Any:
        changes: dict[str, Any] = {}
        around, self._sensitive = self._sensitive, self._sensitive or _is_sensitive(value)
        for step in steps:
            held = getattr(value, step.name)
            if held:
                path.append(step.name)
                kept = self._field(step, held, path)
                path.pop()
                if kept is not held:
                    changes[step.name] = kept
        self._sensitive = around
        return replaced(value, **changes) if changes else value

    def _field(self, step: Step, held: Any, path: list[str | int]) -> Any:
        if not step.steps:
            return self._hide(held, path) if self._is_secret(step.name, held) else held
        if not step.is_array:
            return self._struct(step.steps, held, path)
        items = []
        for index, item in enumerate(held):
            path.append(index)
            items.append(self._struct(step.steps, item, path))
            path.pop()
        return tuple(items) if any(one is not other for one, other in zip(items, held, strict=True)) else held

    def _hide(self, held: bytes | str, path: list[str | int]) -> Hidden:
        hidden = self.found[path_text(path)] = Hidden(held)
        return hidden

    def _is_secret(self, name: str, held: bytes | str) -> bool:
        if name in SECRET_FIELDS:
            return True
        if name == "value":
            return self._sensitive
        if name in RECORDS:
            return isinstance(held, bytes) and holds_secrets(held)
        return name in ENVELOPED and self.hides_inside


def _is_sensitive(config: Any) -> bool:
    """Whether a struct is a configuration that is sensitive according to the broker or to its name."""
    if not hasattr(config, "value"):
        return False
    return bool(getattr(config, "is_sensitive", False)) or is_sensitive(str(getattr(config, "name", "")))


def _may_be_secret(place: Place) -> bool | None:
    may_be = place.name in SECRET_FIELDS or place.name in ENVELOPED or place.name in RECORDS or place.name == "value"
    return (may_be and isinstance(place.node, Bytes | String | Uuid) and not place.is_array) or None


def mask_message(codec: Codec, message: Any, *, keep_tags: bool = True) -> Any:
    """Return a message without its secrets, as `mask` does for a result without faults; not for an Envelope.

    Args:
        codec: the codec of the message.
        message: the decoded message.
        keep_tags: keep unknown tags, which may be secrets, in a message without known secrets.
    """
    sealing = _Masking()
    sealed = sealing.message(codec, message)
    return replaced(sealed, unknown_tags=None) if sealed.unknown_tags and (sealing.found or not keep_tags) else sealed


def mask_nested(inside: Any) -> Any:
    """Mask the nested payload of a message."""
    if isinstance(inside, SaslMessage):
        return _content(inside)
    if isinstance(inside, Undecodable):
        return _veiled(inside)
    return None if inside is None else mask(inside)


def _content(content: SaslMessage) -> SaslMessage:
    fields = {
        name: Hidden(value) if name in SECRET_PARTS and isinstance(value, str | bytes) else value
        for name, value in content.fields.items()
    }
    return replace(content, fields=fields)


def _token(token: Token) -> Token:
    if not SECRET_PARTS & token.content.fields.keys():
        return token
    spans = tuple(
        span._replace(value=Hidden(span.value)) if isinstance(span.value, bytes) else span for span in token.spans
    )
    data = token.frame.data[:4] + bytes(len(token.frame.data) - 4)
    return replace(token, frame=replace(token.frame, data=data), content=_content(token.content), spans=spans)


def _undecodable(result: Undecodable) -> Undecodable:
    frame, size = result.frame, len(result.frame.data)
    if isinstance(frame.fault, NotKafka):
        return replace(result, frame=replace(frame, data=b""), spans=(), hidden=size)
    if not size or not (result.is_private or may_hold_secret(result)):
        return result
    return _veiled(result)


def _veiled(result: Undecodable) -> Undecodable:
    """Return a result that hides the whole frame."""
    frame, size = result.frame, len(result.frame.data)
    # If the header is damaged, the client id may also contain bytes of the secret.
    return replace(
        result,
        frame=replace(frame, data=bytes(size)),
        error=result.error if result.error is frame.fault else mask_error(result.error),
        header=None if result.header is None else _anonymous(result.header),
        spans=(Span(0, size, "", "not understood", Hidden(frame.data)),) if result.spans else (),
        hidden=size,
    )


def _anonymous(header: Any) -> Any:
    fields = {"client_id": None} if hasattr(header, "client_id") else {}
    return replaced(header, unknown_tags=None, **fields)


def mask_error(error: DecodeError) -> DecodeError:
    """Return an error without bytes of the message: its position, sizes, offsets and counts stay.

    >>> from kwire.errors import BadLength
    >>> str(mask_error(BadLength(found=1, need=6, have=0, raw=b"wonder")))
    'length 1 needs 6 bytes, 0 left (offset 0)'
    """
    masked = copy.copy(error)
    masked.raw = masked.rest = b""
    masked.partial, masked.faults = None, ()
    if error.quotes and not (_is_count(error.found) and _is_count(error.need)):
        masked.problem, masked.found, masked.need = _DETAILS, None, None
    return masked


def _is_count(value: Any) -> bool:
    """Whether a value is a size, an offset or a count. A larger number is four bytes of other data."""
    if isinstance(value, tuple):
        return all(map(_is_count, value))
    return value is None or (isinstance(value, int) and abs(value) <= LIMIT)


def _span(span: Span, found: dict[str, Hidden], unclear: bool) -> Span:
    faults = tuple(map(mask_error, span.faults)) if unclear else span.faults
    hidden = found.get(span.path) if isinstance(span.value, bytes | str) else None
    if hidden is None and unclear and span.type in _UNCLEAR and isinstance(span.value, bytes):
        hidden = Hidden(span.value)
    return span._replace(faults=faults) if hidden is None else span._replace(value=hidden, faults=faults)


def masked(data: bytes, spans: tuple[Span, ...]) -> bytes:
    """Return bytes with zeros in place of hidden spans."""
    out = bytearray(data)
    for span in spans:
        if isinstance(span.value, Hidden):
            out[span.stop - span.value.size : span.stop] = bytes(span.value.size)
    return bytes(out)
