"""Selects the frames and records that a command shows: filters for frames, and for the individual records of logs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import Any, TypeVar

from ..capture.logs.batch_spans import explain_batch
from ..capture.logs.checks.batch_rebuild import rebuild_batch
from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..capture.logs.mask_logs import has_secrets, mask_log_bytes, mask_record
from ..display_filter import DisplayFilter, parse_filter, seconds_of
from ..errors import DecodeError, EncodeError
from ..protocol import Frame, Request, Response, Result, Undecodable
from ..protocol.framing import NotKafka
from ..protocol.results import MessageSummary, client_of
from ..render.record_text import batch_text
from ..render.tree import is_note
from ..schema.sensitive_fields import Hidden
from ..spec.catalog import Catalog
from .inputs_and_output import PushedFilter, name_and_version, named_codecs
from .options import UsageError

Test = Callable[[Result], bool]
SINCE_1970 = 100_000_000  # seconds; a smaller number counts from the first frame
Entry = LogRecord | LogBytes | LogBatch
Other = TypeVar("Other")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose frames."""
    group = parser.add_argument_group("which frames")
    group.add_argument("--where", metavar="FILTER", help="frames that match a display filter: 'latency > 20ms'")
    group.add_argument("--api", action="append", metavar="NAME[:VERSION]", help="frames of this api; may be repeated")
    group.add_argument("--client", metavar="GLOB", help="frames of clients with a matching id, such as 'app-*'")
    group.add_argument("--conn", metavar="IP[:PORT]", help="frames of connections with this endpoint")
    group.add_argument("--errors", action="store_true", help="frames with an error code, or undecodable")
    group.add_argument(
        "--from", dest="since", metavar="WHEN", help="frames from a time (ISO, seconds) or frame number on"
    )
    group.add_argument("--to", dest="until", metavar="WHEN", help="frames up to a time or frame number")


def display_filter(options: argparse.Namespace, catalog: Catalog) -> DisplayFilter | None:
    """Return the filter of --where, parsed once per run; None without the option. Raises FilterError."""
    if options.where is not None and "display_filter" not in options:
        options.display_filter = parse_filter(options.where, catalog)
    found: DisplayFilter | None = getattr(options, "display_filter", None)
    return found


def pushed_filter(options: argparse.Namespace, catalog: Catalog) -> PushedFilter | None:
    """Return the part of --where that tests headers, so that frames it excludes are not decoded; None if there is none.

    Raises:
        FilterError: --where is not a valid display filter.
    """
    where = display_filter(options, catalog)
    if where is None or where.messages is None:
        return None
    return PushedFilter(lambda peek: where.may_hold(peek.api_key, bool(peek.is_request), catalog))


def filter_for(options: argparse.Namespace, catalog: Catalog, summary: MessageSummary) -> Test:
    """Return a function that tells whether a frame is shown; call it for all frames, in order.

    Raises:
        UsageError: a time is invalid. UnknownMessage, UnsupportedVersion: --api names nothing. FilterError.
    """
    tests: list[Test] = []
    if options.since is not None or options.until is not None:
        tests.append(Span(options.since, options.until))  # first, because it needs the first frame
    if options.api:
        tests.append(_any([_of_api(text, catalog) for text in options.api]))
    if options.client is not None:
        tests.append(lambda result: fnmatchcase(client_of(result) or "", options.client))
    if options.conn is not None:
        _check_address(options.conn)
        tests.append(lambda result: _is_on(result.frame, options.conn))
    if options.errors:
        tests.append(lambda result: has_error(result, summary))
    if (where := display_filter(options, catalog)) is not None:
        tests.append(where)
    return lambda result: all(test(result) for test in tests)


def has_error(result: Result, summary: MessageSummary) -> bool:
    """Whether a frame is undecodable or has an error code other than 0."""
    if isinstance(result, Undecodable):
        return result.is_failure
    if not isinstance(result, Request | Response):
        return False
    inside = result.inside if isinstance(result.inside, Request | Response) else result
    return any(summary.facts(one.codec, one.message).errors for one in (result, inside))


def _any(tests: list[Test]) -> Test:
    return lambda result: any(test(result) for test in tests)


def _of_api(text: str, catalog: Catalog) -> Test:
    names = {codec.spec.name for codec in named_codecs(text, catalog)}
    version = name_and_version(text)[1]

    def test(result: Result) -> bool:
        inside = getattr(result, "inside", None)
        return is_it(result) or (isinstance(inside, Request | Response) and is_it(inside))

    def is_it(result: Result) -> bool:
        codec = result.codec
        if codec is None or codec.spec.name not in names:
            return False
        return version is None or version in (codec.version, getattr(result, "api_version", None))

    return test


def _check_address(text: str) -> None:
    """Raise UsageError unless a text is an IP address or IP:PORT."""
    for candidate in (text, text.rpartition(":")[0]):
        with suppress(ValueError):
            ip_address(candidate.strip("[]"))
            return
    raise UsageError(f"--conn {text}: write the address of an endpoint, such as 10.0.0.1, 10.0.0.1:9092 or [::1]:9092")


def _is_on(frame: Frame, wanted: str) -> bool:
    """Whether one endpoint of a frame's connection is the wanted one: ip:port, or an IP address alone."""
    ends = (end for end in (frame.source.client, frame.source.broker) if end is not None)
    return any(wanted in (end, end.rpartition(":")[0], end.rpartition(":")[0].strip("[]")) for end in ends)


class Span:
    """Frames from one point to another, both included: times, or frame numbers where there are no times."""

    def __init__(self, since: str | None, until: str | None) -> None:
        self.texts: dict[str, str | None] = {"--from": since, "--to": until}
        self.first: float | None = None
        for option, text in self.texts.items():
            self._point(option, text, 0.0)  # so that an invalid one is reported immediately

    def __call__(self, result: Result) -> bool:
        """Whether a frame is in the span."""
        return self.covers(result.frame.source.time, result.frame.source.frame or 0)

    def covers(self, time: float | None, number: int) -> bool:
        """Whether a time (seconds since 1970) is in the span; without a time, tests the frame number."""
        if time is None:
            low, high = (_number(option, text) for option, text in self.texts.items())
            at: float = number
        else:
            self.first = time if self.first is None else self.first
            low, high = (self._point(option, text, self.first) for option, text in self.texts.items())
            at = time
        return (low is None or at >= low) and (high is None or at <= high)

    def _point(self, option: str, text: str | None, first: float) -> float | None:
        if text is None:
            return None
        try:
            number = float(text)
            return number if number >= SINCE_1970 else first + number
        except ValueError:
            pass
        try:
            return seconds_of(text, _day_of(first))
        except ValueError:
            raise UsageError(
                f"{option} {text}: write a time such as 2026-11-21T09:30:00, seconds, or a frame"
            ) from None


def _day_of(first: float) -> date | None:
    """Return the day (UTC) of the first frame, to which a time of day refers; None if the date is out of range."""
    try:
        return datetime.fromtimestamp(first, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def _number(option: str, text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError(f"{option} {text}: this dump has no times; give a frame number, or an offset") from None


def entries(
    items: Iterator[Other | LogBatch | LogBytes], *, salvage: bool = True, sealed: bool = True
) -> Iterator[Other | Entry]:
    """Yield the records of each batch instead of the batch; yield empty batches and all other items unchanged.

    Args:
        items: the items of `inputs.items`.
        salvage: yield batches and records with faults; otherwise, yield them as unreadable bytes.
        sealed: mask secrets in Kafka's own logs.
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
    """Whether a fault was tolerated in an entry or its batch."""
    if isinstance(entry, LogRecord):
        return entry.fault is not None or bool(entry.batch.faults)
    return isinstance(entry, LogBatch | DiskEntry) and bool(entry.faults)


class LogFilter:
    """Decides whether an entry of a log is shown, by --from, --to and --errors; other filters are a UsageError."""

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
                f"{', '.join(self.senseless)}: not available for records of a log; --from, --to and --errors choose "
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
        return span.first is None and span.covers(None, record.offset)  # among records with times, it is in no span


def log_difference(item: LogBatch | LogBytes) -> dict[str, Any] | None:
    """Return where a batch first differs from its rebuilt bytes; None if they are equal, or for zeros."""
    if isinstance(item, LogBytes):
        what = f"{item.count} bytes at {item.position}"
        reason = str(item.error)
        return (
            None if item.error is None else {"file": item.file, "what": what, "byte": 0, "field": "", "reason": reason}
        )
    common = {"file": item.file, "offset": item.header.position, "what": batch_text(item.header).removeprefix("# ")}
    try:
        compared = rebuild_batch(item.header)
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
        "reason": faults or "a different encoding of the same values" + (", in decompressed records" * compared.inside),
    }


class Ours:
    """Decides which frames are shown.

    A remark about a connection is shown once. Streams of other protocols are omitted, since a summary names them.

    Args:
        foreign: show the streams of other protocols.
    """

    def __init__(self, *, foreign: bool = False) -> None:
        self._foreign = foreign
        self._noted: set[tuple[str, object]] = set()

    def __call__(self, item: object) -> bool:
        """Whether an item is shown; called once for each."""
        if not isinstance(item, Undecodable) or not is_note(item):
            return True
        source = item.frame.source
        key = item.error.code, source.connection if source.connection is not None else source.frame
        if isinstance(item.error, NotKafka):
            return self._foreign
        is_new = key not in self._noted
        self._noted.add(key)
        return is_new


def ours(decoded: Iterable[Other], *, foreign: bool = False) -> Iterator[Other]:
    """Yield the items that `Ours` shows."""
    return filter(Ours(foreign=foreign), decoded)
