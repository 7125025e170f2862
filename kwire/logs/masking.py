"""Masks credentials and passwords in records of Kafka's metadata log.

Records of users are shown as they are; of the metadata log, what cannot be read and may hold a secret is hidden whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from ..codecs.tracing import Span
from ..internal import FramedRecord
from ..internal.versioned_body import codec_of
from ..redaction.masking import mask_error, mask_message, masked
from ..redaction.metadata_secrets import TOPIC, holds_secrets, is_secret_record
from ..redaction.undecodable import looks_secret
from ..sensitive_fields import SECRET_FIELDS, Hidden, is_sensitive
from .log import LogBatch, LogBytes, LogRecord
from .spans import Explained

_UNCLEAR = ("unknown tag", "left over", "not understood")


def mask_record(entry: LogRecord) -> LogRecord:
    """Return a record without secrets; the same one if it holds none.

    The message has `Hidden` values, and the bytes of the record are zeros.
    """
    record = entry.record
    if entry.batch.topic != TOPIC or not is_secret_record(record.value or b""):
        return entry
    blank = msgspec.structs.replace(record, value=bytes(len(record.value or b"")))
    fault = None if entry.fault is None else mask_error(entry.fault)
    return replace(entry, record=blank, message=_sealed(entry.message), fault=fault)


def _sealed(message: Any) -> Any:
    codec = codec_of(message.value) if isinstance(message, FramedRecord) else None
    if codec is None:
        return None
    sealed = mask_message(codec, message.value.message, keep_tags=False)
    return replace(message, value=replace(message.value, message=sealed, rest=b""))


def mask_log_bytes(item: LogBytes, topic: str | None) -> LogBytes:
    """Return bytes that are in no record without what they may hold, if they are of the metadata log or of none.

    Args:
        item: the bytes.
        topic: of the log they are in, empty if it is not known; None where no batch is before them: they may be of no
            log at all.
    """
    if item.error is None or isinstance(item.data, Hidden):
        return item
    if topic not in (TOPIC, None) and not (topic == "" and looks_secret(item.data)):
        return item
    return replace(item, data=Hidden(item.data), error=mask_error(item.error))


def has_secrets(batch: LogBatch) -> bool:
    """Whether a batch of the metadata log holds secrets, or cannot be read."""
    return batch.topic == TOPIC and holds_secrets(batch.header.data)


def mask_explained(explained: Explained, batch: LogBatch) -> Explained:
    """Return explained bytes of a batch without its secrets: `Hidden` values, and zeros for their bytes."""
    if not has_secrets(batch):
        return explained
    names = {span.path.rpartition(".")[0]: str(span.value) for span in explained.spans if span.path.endswith(".name")}
    spans = tuple(_span(span, names) for span in explained.spans)
    return Explained(masked(explained.data, spans), spans)


def _span(span: Span, names: dict[str, str]) -> Span:
    place, _, name = span.path.rpartition(".")
    secret = name in SECRET_FIELDS or (name == "value" and is_sensitive(names.get(place, "")))
    unclear = span.type in _UNCLEAR or span.type.endswith(" records") or (name == "value" and place not in names)
    faults = tuple(map(mask_error, span.faults))
    if not isinstance(span.value, bytes | str) or not (secret or unclear):
        return span._replace(faults=faults)
    return span._replace(value=Hidden(span.value), faults=faults)
