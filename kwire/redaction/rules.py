"""The rules of redaction: kinds, their fields, and the messages that carry secrets."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..codecs import Codec, codec_in
from ..codecs.field_plan import Place, leaves, plan_of
from ..errors import KwireError
from ..protocol.headers import header_version_for
from ..protocol.summary import is_topic_field
from ..records import RecordBatch, parse_records
from ..sensitive_fields import ENVELOPED, SECRET_FIELDS, is_sensitive
from ..spec.catalog import WIRE_TYPES, catalog_for
from ..wire import UNSIGNED_VARINT, Reader

TOPIC, TOPIC_ID = "__cluster_metadata", bytes(15) + b"\x01"
METADATA_LOG: frozenset[str | bytes] = frozenset((TOPIC, TOPIC_ID))
MESSAGES = frozenset(("FetchResponse", "FetchSnapshotResponse"))
RECORDS = frozenset(("records", "unaligned_records"))
_CREDENTIALS, _CONFIG_RECORD = "UserScramCredentialRecord", "ConfigRecord"


def is_of_metadata_log(message: Any) -> bool:
    """Whether a response to Fetch or FetchSnapshot is about the metadata log."""
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
    """Whether a record of the metadata log contains a secret, or cannot be decoded far enough to tell.

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


# kind -> why it is taken out
REASONS: dict[str, str] = {
    "records": "keys, values and headers of records are payload; batch headers stay, with their checksums made anew",
    "sasl": "SASL tokens carry passwords and proofs of them",
    "scram": "salts and salted passwords can be used instead of the password",
    "token": "the HMAC of a delegation token is its password",
    "config": "values of configurations hold passwords and paths",
    "group": "subscriptions and assignments of group members carry what their clients like",
    "offset": "the text beside a committed offset is the client's own",
    "metrics": "telemetry of clients",
    "envelope": "a forwarded request may hold anything of the above",
    "text": "error messages repeat names and values",
    "client": "client ids are names of applications",
    "topic": "topic names reveal what a business does",
    "groupid": "group, transaction and member ids are names of applications",
    "host": "names and addresses of machines",
    "rack": "racks are names of places",
    "path": "directories of brokers name machines, disks and people",
    "user": "principals are names of people",
    "unknown": "the content of unknown tags, tails and undecodable frames is unknown",
}
# The same name gets the same pseudonym.
NAMES = frozenset(("client", "topic", "groupid", "host", "rack", "path", "user"))
# Names that consist of other names: racks of several levels (KIP-879), paths, and addresses that Java prints as
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
# Structs whose field `name` is redacted -> the kind.
_NAMED = {
    "ScramCredentialDeletion": "user",
    "ScramCredentialUpsertion": "user",
    "UserName": "user",
    "ClientMetricsResource": "topic",
    "TopologyDescriptionNode": "topic",
}


def kind_for(struct: str, attribute: str, is_text: bool) -> str | None:
    """Return the kind of data in a field of text or bytes; None if the field may stay.

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
    """Whether a message may contain a secret, by its type and by the names in it.

    Args:
        codec: the codec of the message.
        message: the message, or an object with its attributes.
    """
    return may_carry(codec) or (codec.name in MESSAGES and is_of_metadata_log(message))


@cache
def may_carry(codec: Codec) -> bool:
    """Whether a message has a field that may hold a secret."""
    names = _names(codec)
    return bool(names & _ALWAYS) or names >= _CONFIG


@cache
def always_carries(codec: Codec) -> bool:
    """Whether a message has a field that always holds a secret."""
    return bool(_names(codec) & SECRET_FIELDS.keys())


@cache
def may_carry_in_some_version(name: str) -> bool:
    """Whether a message of Kafka has a field that may hold a secret, in any of its versions."""
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
