"""Masks the secrets of metadata logs: in records, in bytes outside of records, in explained batches."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ...codecs.tracing import Span
from ...protocol.message_summary import METADATA_TOPIC
from ...protocol.nested import FramedRecord
from ...protocol.nested.versioned_message import embedded_codec
from ...redact.masking import mask_error, mask_message, masked
from ...redact.metadata_log_secrets import holds_secrets, is_secret_record
from ...redact.secret_bytes import looks_secret
from ...redact.sensitive_configs import is_sensitive
from ...schema.sensitive_fields import SECRET_FIELDS, Hidden
from .batch_spans import ExplainedBytes
from .log_batch import LogBatch, LogBytes, LogRecord

_UNCLEAR = ("unknown tag", "left over", "not understood")


def mask_record(entry: LogRecord) -> LogRecord:
    """Return a record without secrets; the same record if it contains none.

    The message has `Hidden` values, and the bytes of the record are zeros.
    """
    record = entry.record
    if entry.batch.topic != METADATA_TOPIC or not is_secret_record(record.value or b""):
        return entry
    blank = msgspec.structs.replace(record, value=bytes(len(record.value or b"")))
    fault = None if entry.fault is None else mask_error(entry.fault)
    return replace(entry, record=blank, message=_mask_framed_record(entry.message), fault=fault)


def _mask_framed_record(message: Any) -> Any:
    codec = embedded_codec(message.value) if isinstance(message, FramedRecord) else None
    if codec is None:
        return None
    sealed = mask_message(codec, message.value.message, keep_tags=False)
    return replace(message, value=replace(message.value, message=sealed, rest=b""))


def mask_log_bytes(item: LogBytes, topic: str | None) -> LogBytes:
    """Return bytes outside of records with hidden content if they belong to the metadata log or to an unknown log.

    Args:
        item: the bytes.
        topic: the topic of the log, empty if unknown; None if no batch precedes the bytes, so that they may not belong
            to a log.
    """
    if item.error is None or isinstance(item.data, Hidden):
        return item
    if topic not in (METADATA_TOPIC, None) and not (topic == "" and looks_secret(item.data)):
        return item
    return replace(item, data=Hidden(item.data), error=mask_error(item.error))


def has_secrets(batch: LogBatch) -> bool:
    """Whether a batch of the metadata log contains secrets or cannot be read."""
    return batch.topic == METADATA_TOPIC and holds_secrets(batch.header.data)


def mask_explained(explained: ExplainedBytes, batch: LogBatch) -> ExplainedBytes:
    """Return an explained batch without its secrets: `Hidden` values, and zeros for their bytes."""
    if not has_secrets(batch):
        return explained
    names = {span.path.rpartition(".")[0]: str(span.value) for span in explained.spans if span.path.endswith(".name")}
    spans = tuple(_mask_span(span, names) for span in explained.spans)
    return ExplainedBytes(masked(explained.data, spans), spans)


def _mask_span(span: Span, names: dict[str, str]) -> Span:
    parent, _, name = span.path.rpartition(".")
    secret = name in SECRET_FIELDS or (name == "value" and is_sensitive(names.get(parent, "")))
    unclear = span.type in _UNCLEAR or span.type.endswith(" records") or (name == "value" and parent not in names)
    faults = tuple(map(mask_error, span.faults))
    if not isinstance(span.value, bytes | str) or not (secret or unclear):
        return span._replace(faults=faults)
    return span._replace(value=Hidden(span.value), faults=faults)
