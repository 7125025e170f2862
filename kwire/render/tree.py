"""Writes decoded frames, and records of logs, as trees of fields."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import hexdump

from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..capture.logs.log_reader import LogReader
from ..codecs import Codec
from ..errors import DecodeError, KwireError
from ..internal import ControlRecord, FramedRecord, decode_assignment, decode_subscription
from ..internal.topic_records import Embedded, codec_of
from ..protocol import Request, Response, Result, SaslMessage, Token, Undecodable
from ..protocol.framing import NoFrame, NotKafka
from ..values import Value, kind_of
from ..wire import Content, Field, Integer, Struct, content_of, split_tags
from .json_objects import HEADER, sender_of, token_text
from .record_text import Entry, RecordLines, bytes_text, control_name, disk_fields, parts_of, safe, time_text
from .style import PLAIN, Style, escape
from .value_text import count_text, duration_text, error_lines, name_of, value_text

MOST = 1000  # lines of one field
CONSUMER = "consumer"  # the protocol type of groups whose bytes can be decoded

# (message, field) -> how to parse its bytes
_MEMBERS: dict[tuple[str, str], Callable[[bytes], Embedded]] = {
    ("JoinGroupRequest", "metadata"): decode_subscription,
    ("JoinGroupResponse", "metadata"): decode_subscription,
    ("SyncGroupRequest", "assignment"): decode_assignment,
    ("SyncGroupResponse", "assignment"): decode_assignment,
    ("DescribeGroupsResponse", "member_metadata"): decode_subscription,
    ("DescribeGroupsResponse", "member_assignment"): decode_assignment,
}
_RECORDS = frozenset(
    [
        ("ProduceRequest", "records"),
        ("FetchResponse", "records"),
        ("ShareFetchResponse", "records"),
        ("FetchSnapshotResponse", "unaligned_records"),
    ]
)


def member_data(message: str, field: str, value: Any, protocol: str | None) -> Embedded | None:
    """Return the subscription or assignment in a field; None if there is none.

    Args:
        message: the message that contains the field.
        field: the attribute of the field.
        value: the bytes of the field.
        protocol: the protocol type of the group; None if the message does not contain it.

    >>> from kwire.internal import encode_subscription, subscription_of
    >>> data = encode_subscription(subscription_of(["orders"]))
    >>> member_data("JoinGroupRequest", "metadata", data, "consumer").message.topics
    ('orders',)
    """
    read = _MEMBERS.get((message, field))
    if read is None or protocol not in (CONSUMER, None) or not isinstance(value, bytes) or not value:
        return None
    try:
        found = read(value)
    except KwireError:
        return None
    return None if found.rest and protocol is None else found


def record_lines(message: str, field: str, value: Any, topic: str | None, style: Style) -> Iterator[str]:
    """Yield the lines of the records in a field; yield nothing if the field contains no records.

    Args:
        message, field, value: as for `member_data`.
        topic: the topic of the records, if known.
        style: colours and width.
    """
    if (message, field) not in _RECORDS or not isinstance(value, bytes) or not value:
        return
    lines = RecordLines(style)
    found = _lines(LogReader([value], topic=topic), lines)
    yield from islice(found, MOST)
    if next(found, None) is not None:
        yield style.paint("dim", "... and more; kwire decode --jsonl has all bytes, kwire.parse_records all records")


def _lines(log: LogReader, lines: RecordLines) -> Iterator[str]:
    for item in log:
        try:
            for entry in item.entries() if isinstance(item, LogBatch) else [item]:
                yield from lines.lines(entry)
        except KwireError as error:  # for example, a compression library is missing
            yield lines.style.paint("warning", f"! {error}")


def indented(style: Style, depth: int) -> Style:
    """Return a style for lines at this depth of a tree."""
    return replace(style, width=max(style.width - 2 * depth, 40))


ROW = 16
SHOWN = 4 * ROW  # bytes of an undecodable frame


def title(result: Result) -> str:
    """Describe a frame in one line: `Metadata v12 request, correlation 3, client "me", 49 bytes, frame 0 at 0`."""
    parts = [_what(result)]
    if not isinstance(result, Request | Response):
        correlation = getattr(result.header, "correlation_id", None)
    else:
        correlation = result.correlation_id
    if correlation is not None:
        parts.append(f"correlation {correlation}")
    if isinstance(result, Request) and result.header is not None:
        client = getattr(result.header, "client_id", None)
        parts.append("no client id" if client is None else f"client {value_text(client)}")
    size = getattr(result.frame.fault, "count", None)
    parts.append(count_text(len(result.frame.data) if size is None else size, "byte"))
    source = result.frame.source
    if source.offset is not None:
        parts.append(f"frame {source.frame} at {source.offset}")
    if isinstance(result, Response) and result.latency is not None:
        request = "its request" if result.request_frame is None else f"frame {result.request_frame}"
        parts.append(f"{duration_text(result.latency)} after {request}")
    return ", ".join(parts)


def is_note(result: Result) -> bool:
    """Return whether a result is only a note: missing bytes, or a stream of another protocol."""
    return isinstance(result, Undecodable) and (not result.frame.data or isinstance(result.error, NotKafka))


def note(result: Result) -> str:
    """Return the note: its text, and its connection."""
    assert isinstance(result, Undecodable)
    source = result.frame.source
    ends = (source.client, source.broker) if source.direction == "request" else (source.broker, source.client)
    return str(result.error) + (f" ({ends[0]} to {ends[1]})" if source.client else "")


def tree(result: Result, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of a frame: a title, one line per field, then faults and trailing bytes."""
    if is_note(result):
        yield style.paint("dim", escape(note(result)))
        return
    yield style.paint("error" if isinstance(result, Undecodable) else "title", escape(title(result)))
    if isinstance(result, Undecodable):
        yield from _undecodable(result, style)
        return
    if isinstance(result, Token):
        yield f"  {escape(token_text(result.content))}"
        return
    look = _Look(result.codec.name, style, getattr(result.message, "protocol_type", None) or None)
    yield from _struct(result.codec.schema, result.message, 1, look)
    yield from _faults(result.faults, style)
    yield from _inside(result, style)


def _inside(result: Request | Response, style: Style) -> Iterator[str]:
    """Yield the lines of the message nested in a message, below it."""
    inside = result.inside
    if isinstance(inside, SaslMessage):
        yield f"  {escape(token_text(inside))}"
    elif inside is not None:
        if isinstance(result, Request):
            principal, host = sender_of(result.message)
            yield escape(f"  forwarded for {principal or 'an unknown principal'} from {host}:")
        else:
            yield "  forwarded answer:"
        yield from (f"    {line}" for line in tree(inside, style))


def fields(codec: Codec, message: Any, depth: int, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of a message's fields, at a depth of a tree."""
    yield from _struct(codec.schema, message, depth, _Look(codec.name, style))


def _what(result: Result) -> str:
    if isinstance(result, Token):
        return f"SASL token from the {'client' if result.from_client else 'broker'}"
    if isinstance(result, Undecodable) and isinstance(result.frame.fault, NoFrame):
        return "no frame"
    if isinstance(result, Undecodable):
        name = f", it looks like {result.codec.name} v{result.codec.version}" if result.codec else ""
        return f"{'undecodable' if result.is_failure else 'incomplete'} frame{name}"
    spec = result.codec.spec
    if spec.type not in ("request", "response"):
        return f"{spec.name} v{result.codec.version}"
    words = f"{spec.api_name} v{result.api_version} {spec.type}"
    return words + (f" (answered in v{result.codec.version})" if result.codec.version != result.api_version else "")


class _Look(NamedTuple):
    """The message to render, the style, and the types of the bytes in its fields."""

    message: str
    style: Style
    protocol: str | None = None  # the protocol type of the group
    topic: str | None = None


def _struct(node: Struct, value: Any, depth: int, look: _Look) -> Iterator[str]:
    tagged = node.tagged.fields.values() if node.tagged else ()
    topic = getattr(value, "topic", None) or getattr(value, "name", None)
    look = look._replace(topic=topic if isinstance(topic, str) else look.topic)
    for field in node.all_fields:
        held = getattr(value, field.name)
        if field not in tagged or held != field.default:
            kind = kind_of(look.message, node.message_class.__name__, field.json_name)
            yield from _field(field, held, depth, look, kind)
    for tag, data in split_tags(value.unknown_tags):
        yield _line(f"unknown_tags[{tag}]", value_text(data), depth, look.style)


def _field(field: Field, value: Any, depth: int, look: _Look, kind: type[Value] | None) -> Iterator[str]:
    content = content_of(field.subcon)
    inner = content.struct
    if value is None or inner is None:
        yield _line(str(field.name), _inline(content, value, look.style, kind), depth, look.style)
        yield from _held(str(field.name), value, depth + 1, look)
    elif not content.is_array:
        yield "  " * depth + look.style.paint("name", f"{field.name}:")
        yield from _struct(inner, value, depth + 1, look)
    else:
        yield _line(str(field.name), count_text(len(value)) if value else "[]", depth, look.style)
        for index, item in enumerate(value):
            yield "  " * (depth + 1) + look.style.paint("dim", f"{field.name}[{index}]")
            yield from _struct(inner, item, depth + 2, look)


def _held(name: str, value: Any, depth: int, look: _Look) -> Iterator[str]:
    """Yield the decoded content of a field's bytes, below the field."""
    indent, data = "  " * depth, member_data(look.message, name, value, look.protocol)
    codec = None if data is None else codec_of(data)
    if data is not None and codec is not None:
        yield f"{indent}{look.style.paint('dim', f'{data.name} v{data.version}')}"
        yield from fields(codec, data.message, depth + 1, look.style)
    style = indented(look.style, depth)
    yield from (indent + line for line in record_lines(look.message, name, value, look.topic, style))


def _inline(content: Content, value: Any, style: Style, kind: type[Value] | None) -> str:
    type_name = content.node.type_name
    if content.is_array and value is not None:
        return "[" + ", ".join(value_text(item, type_name, 200) for item in value) + "]"
    text = value_text(value, type_name, max(style.width - 20, 40))
    return text if value is None or not isinstance(content.node, Integer) else f"{text} {name_of(kind, value)}".rstrip()


def _line(name: str, text: str, depth: int, style: Style) -> str:
    return f"{'  ' * depth}{style.paint('name', f'{name}:')} {style.paint('value', text)}"


def _faults(faults: tuple[DecodeError, ...], style: Style) -> Iterator[str]:
    for fault in faults:
        yield "  " + style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))


def _undecodable(result: Undecodable, style: Style) -> Iterator[str]:
    for line in error_lines(result.error, style):
        yield f"  {line}"
    if result.error.partial:
        text = f"decoded so far: {escape(_partial(result.error.partial))}"
        yield from textwrap.wrap(
            text, style.width - 4, initial_indent="  ", subsequent_indent="    ", max_lines=12, break_on_hyphens=False
        )
    if result.hidden:
        yield f"  [hidden] ({count_text(result.hidden, 'byte')}); --show-secrets shows them"
    else:
        yield from _window(result.frame.data, result.error.offset, style)


def _window(raw: bytes, offset: int, style: Style) -> Iterator[str]:
    """Show the bytes around an offset, and point at it."""
    first = max(offset // ROW - 1, 0) * ROW
    for start in range(first, min(first + SHOWN, len(raw) + 1), ROW):
        row = hexdump.dump(raw[start : start + ROW], size=2, sep=" ").lower()
        yield f"  {style.paint('dim', f'{start:08x}')}  {row}".rstrip()
        if start <= offset < start + ROW:
            yield " " * (12 + 3 * (offset - start)) + style.paint("error", "^ here")
    more = len(raw) - first - SHOWN
    if more > 0:
        yield f"  ... and {count_text(more, 'byte')} more; kwire explain shows all of them"


def _partial(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_partial(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_partial, value)) + "]"
    return value_text(value) if not isinstance(value, tuple) else f"({', '.join(map(_partial, value))})"


_TIMES = {"base_timestamp", "max_timestamp", "delete_horizon"}
WIDTH = 2000  # characters of a key or value


class RecordTree:
    """Writes the records of logs as trees; tracks the current batch."""

    def __init__(self, style: Style = PLAIN) -> None:
        self.style = style
        self._place: tuple[str, int] | None = None

    def lines(self, entry: Entry) -> Iterator[str]:
        """Yield the lines of a record, of bytes that could not be read, or of a batch without records."""
        if isinstance(entry, DiskEntry):
            yield from self._disk(entry)
            return
        batch = entry if isinstance(entry, LogBatch) else entry.batch
        if isinstance(batch, LogBatch) and (batch.file, batch.header.position) != self._place:
            self._place = batch.file, batch.header.position
            yield from self._batch(batch)
        if isinstance(entry, LogRecord):
            yield from self._record(entry)
        elif isinstance(entry, LogBytes):
            yield from self._bytes(entry)

    def _disk(self, entry: DiskEntry) -> Iterator[str]:
        yield self.style.paint("title", f"{entry.kind}, entry {entry.index} at {entry.position}")
        for name, text in disk_fields(entry):
            yield self._line(name, text, 1)
        for fault in entry.faults:
            yield "  " + self.style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))

    def _batch(self, batch: LogBatch) -> Iterator[str]:
        header = batch.header
        of = f" of {batch.topic}" if batch.topic else ""
        yield self.style.paint(
            "title", f"batch {header.index}{of}, at {header.position}, {count_text(len(header.data), 'byte')}"
        )
        for name in HEADER.values():
            value = getattr(header, name)
            if value is not None:
                time = f" ({time_text(value)})" if name in _TIMES and value >= 0 else ""
                yield self._line(name, f"{value_text(value) if not isinstance(value, str) else value}{time}", 1)
        for fault in batch.faults:
            yield "  " + self.style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))

    def _record(self, entry: LogRecord) -> Iterator[str]:
        record, message = entry.record, entry.message
        word = f", {control_name(message)}" if isinstance(message, ControlRecord) else ""
        yield "  " + self.style.paint("dim", f"record {record.offset}, {time_text(record.timestamp)}{word}")
        if record.create_timestamp is not None:
            yield self._line("create time", time_text(record.create_timestamp), 2)
        key, value = (None, None) if message is None else parts_of(message)
        if not isinstance(message, FramedRecord):
            yield from self._part("key", record.key, key)
        yield from self._part("value", record.value, value)
        for name, data in record.headers:
            yield self._line(f"header {value_text(name)}", safe(bytes_text(data, WIDTH)), 2)
        if entry.fault is not None:
            yield "    " + self.style.paint("warning", escape(f"! {type(entry.fault).__name__}: {entry.fault}"))

    def _part(self, name: str, data: bytes | None, embedded: Embedded | None) -> Iterator[str]:
        codec = None if embedded is None else codec_of(embedded)
        if embedded is None or codec is None:
            unknown = f"{embedded.name or 'unknown type'} v{embedded.version}: " if embedded is not None else ""
            yield self._line(name, safe(unknown + bytes_text(data, WIDTH)), 2)
            return
        yield self._line(name, f"{embedded.name} v{embedded.version}", 2)
        yield from fields(codec, embedded.message, 3, self.style)
        if embedded.rest:
            yield self._line("rest", value_text(embedded.rest), 3)

    def _bytes(self, entry: LogBytes) -> Iterator[str]:
        if entry.error is None:
            yield self.style.paint("dim", f"{count_text(entry.count, 'zero')} at {entry.position}: allocated ahead")
            return
        indent = "  " if entry.batch else ""
        yield indent + self.style.paint("error", f"undecodable: {count_text(entry.count, 'byte')} at {entry.position}")
        for line in error_lines(entry.error, self.style):
            yield f"{indent}  {line}"
        yield f"{indent}  {value_text(entry.data)}"

    def _line(self, name: str, text: str, depth: int) -> str:
        return f"{'  ' * depth}{self.style.paint('name', f'{name}:')} {self.style.paint('value', text)}"
