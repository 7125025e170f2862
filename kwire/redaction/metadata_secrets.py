"""Finds records of the KRaft metadata log that hold secrets: SCRAM credentials, and configs that are passwords.

The log travels in Fetch and FetchSnapshot, each of its records behind three varints (KIP-631).
"""

from __future__ import annotations

from typing import Any

from ..codecs import codec_in
from ..errors import KwireError
from ..records import RecordBatch, parse_records
from ..sensitive_fields import is_sensitive
from ..spec.catalog import catalog_for
from ..wire import UNSIGNED_VARINT, Reader

TOPIC, TOPIC_ID = "__cluster_metadata", bytes(15) + b"\x01"
MESSAGES = frozenset(("FetchResponse", "FetchSnapshotResponse"))
RECORDS = frozenset(("records", "unaligned_records"))
_CREDENTIALS, _CONFIG = "UserScramCredentialRecord", "ConfigRecord"


def is_of_metadata_log(message: Any) -> bool:
    """Whether an answer to Fetch or FetchSnapshot is about the metadata log."""
    topics = getattr(message, "responses", None) or getattr(message, "topics", None) or ()
    return any(_name(topic) == TOPIC or getattr(topic, "topic_id", None) == TOPIC_ID for topic in topics)


def _name(topic: Any) -> str | None:
    name: str | None = getattr(topic, "topic", None) or getattr(topic, "name", None)
    return name


def holds_secrets(records: bytes) -> bool:
    """Whether a part of the metadata log holds a secret, or cannot be read.

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
    """Whether a record of the metadata log holds a secret, or cannot be read as far as that needs.

    Args:
        value: the record's value: a frame of KIP-631.

    >>> is_secret_record(bytes.fromhex("01 09 00" + 16 * "ab" + "00")), is_secret_record(b"\\xff")
    (False, True)
    """
    spec = catalog_for().spec
    reader = Reader(bytes(value))
    try:
        _, kind, version = (reader.child(name, UNSIGNED_VARINT) for name in ("frame_version", "type", "version"))
        if kind != spec(_CONFIG).api_key:
            return bool(kind == spec(_CREDENTIALS).api_key)
        return is_sensitive(str(codec_in(catalog_for(), _CONFIG, version).read(reader).name))
    except KwireError:
        return True
