"""Secrets in records of the metadata log: SCRAM credentials and sensitive configurations."""

from __future__ import annotations

from ..codecs.message_codec import codec_in
from ..codecs.records import RecordBatch, parse_records
from ..codecs.wire import Reader
from ..errors import KwireError
from ..protocol.message_summary import METADATA_TOPIC, METADATA_TOPIC_ID
from ..protocol.nested.metadata_log_records import read_frame_head
from ..schema.catalog import catalog_for
from .sensitive_configs import is_sensitive

METADATA_LOG: frozenset[str | bytes] = frozenset((METADATA_TOPIC, METADATA_TOPIC_ID))
RECORDS = frozenset(("records", "unaligned_records"))
_CREDENTIALS, _CONFIG_RECORD = "UserScramCredentialRecord", "ConfigRecord"


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
        _, kind, version = read_frame_head(reader)
        if kind != spec(_CONFIG_RECORD).api_key:
            return bool(kind == spec(_CREDENTIALS).api_key)
        return is_sensitive(str(codec_in(catalog_for(), _CONFIG_RECORD, version).read(reader).name))
    except KwireError:
        return True
