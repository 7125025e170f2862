"""Log segments and snapshots in commands: their records one by one, and which of them are shown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, TypeVar

from ..errors import DecodeError, EncodeError
from ..logs import DiskEntry, LogBatch, LogBytes, LogRecord
from ..logs.checks import rebuild
from ..logs.spans import explain_batch, has_secrets, mask_log_bytes, mask_record
from ..render.record_text import batch_text
from ..sensitive_fields import Hidden
from .filters import Span
from .inputs import UsageError

Entry = LogRecord | LogBytes | LogBatch
Other = TypeVar("Other")


def entries(
    items: Iterator[Other | LogBatch | LogBytes], *, salvage: bool = True, sealed: bool = True
) -> Iterator[Other | Entry]:
    """Yield the records of batches in place of the batches; a batch without records, and all else, as it is.

    Args:
        items: of `inputs.items`.
        salvage: else a batch or record with a fault is given as bytes that could not be read.
        sealed: take secrets out of Kafka's own logs.
    """
    topic = None
    for entry in _opened(items, salvage):
        if isinstance(entry, LogRecord | LogBatch):
            topic = (entry if isinstance(entry, LogBatch) else entry.batch).topic or ""
        if sealed and isinstance(entry, LogRecord):
            yield mask_record(entry)
        elif sealed and isinstance(entry, LogBytes):
            yield mask_log_bytes(entry, topic)
        else:
            yield entry


def _opened(items: Iterator[Other | LogBatch | LogBytes], salvage: bool) -> Iterator[Other | Entry]:
    for item in items:
        if not isinstance(item, LogBatch):
            yield item
        elif item.faults and not salvage:
            data = item.header.data
            yield LogBytes(item.header.position, len(data), data, item.faults[0], item.header, item.file)
        else:
            read = item.entries(salvage=salvage)
            first = next(read, None)
            yield item if first is None else first
            yield from read


def is_bad(entry: Entry | DiskEntry) -> bool:
    """Whether an entry could not be read."""
    return isinstance(entry, LogBytes) and entry.error is not None


def is_faulty(entry: Entry | DiskEntry) -> bool:
    """Whether something was tolerated of an entry or its batch."""
    if isinstance(entry, LogRecord):
        return entry.fault is not None or bool(entry.batch.faults)
    return isinstance(entry, LogBatch | DiskEntry) and bool(entry.faults)


class LogFilter:
    """Tells whether an entry of a log is shown: by --from, --to and --errors; raises a UsageError for other filters."""

    def __init__(self, options: argparse.Namespace) -> None:
        names = {"--api": options.api, "--client": options.client, "--conn": options.conn}
        self.senseless: list[str] = [name for name, value in names.items() if value]
        self.errors: Any = options.errors
        given = options.since is not None or options.until is not None
        self.span: Span | None = Span(options.since, options.until) if given else None

    def __call__(self, entry: Entry | DiskEntry) -> bool:
        """Whether an entry is shown."""
        if self.senseless:
            raise UsageError(
                f"{', '.join(self.senseless)}: records of a log have no such thing; --from, --to and --errors choose "
                "among them"
            )
        if self.errors and not is_bad(entry) and not is_faulty(entry):
            return False
        return self.span is None or self._is_in(entry, self.span)

    def _is_in(self, entry: Entry | DiskEntry, span: Span) -> bool:
        if not isinstance(entry, LogRecord):
            return True  # what could not be read is unknown
        record = entry.record
        if record.timestamp >= 0:
            return span.covers(record.timestamp / 1000, record.offset)
        return span.first is None and span.covers(None, record.offset)  # among records with times it is in no span


def log_difference(item: LogBatch | LogBytes) -> dict[str, Any] | None:
    """Say where a batch and what it is built to again differ first; None if they do not, and for zeros."""
    if isinstance(item, LogBytes):
        what = f"{item.count} bytes at {item.position}"
        reason = str(item.error)
        return (
            None if item.error is None else {"file": item.file, "what": what, "byte": 0, "field": "", "reason": reason}
        )
    common = {"file": item.file, "offset": item.header.position, "what": batch_text(item.header).removeprefix("# ")}
    try:
        compared = rebuild(item.header)
    except DecodeError as error:
        return {**common, "byte": error.offset - item.header.position, "field": error.path, "reason": str(error)}
    except EncodeError as error:
        return {**common, "byte": None, "field": error.path, "reason": str(error)}
    was, again = compared.was, compared.again
    if was == again:
        return None
    byte = next((at for at, (one, other) in enumerate(zip(was, again, strict=False)) if one != other), -1)
    byte = min(len(was), len(again)) if byte < 0 else byte
    explained = explain_batch(item)[compared.inside]
    span = next((one for one in explained.spans if one.start <= byte < one.stop), None) if explained else None
    faults = "; ".join(map(str, item.faults))
    hidden = has_secrets(item)
    return {
        **common,
        "byte": byte,
        "field": span.path if span else "",
        "was": str(Hidden(was[byte:])) if hidden else was[byte : byte + 8].hex(" "),
        "again": str(Hidden(again[byte:])) if hidden else again[byte : byte + 8].hex(" "),
        "reason": faults or "another way to write the same" + (", in decompressed records" * compared.inside),
    }
