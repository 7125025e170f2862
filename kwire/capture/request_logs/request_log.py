"""Converts log lines that contain requests and responses as JSON to frames.

Supported are the request logs of brokers from Kafka 2.7 on (with or without a log4j prefix, also as rows collected from
them; KIP-673, RequestConvertToJson) and in the text form of earlier releases (`text_form`), the lines of Kroxylicious'
protocol logger, and the lines of `kwire decode --jsonl`. Fields that a log omits (records) become empty, with a remark.
Lines of other kinds are counted.

A broker writes a line when it has sent the response: the line's date is the time of the response, and without the
line's total time that of the request. Dates without a zone are taken as UTC, as kwire prints times.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...codecs.message_codec import codec_in
from ...errors import DumpError, EncodeError, KwireError, WrongType, json_problem
from ...protocol import LIMIT, Frame, Source, encode_request, encode_response
from ...protocol.frames.stream_faults import OddLine
from ...runtime.lazy_patterns import lazy_pattern
from ...schema.catalog import Catalog
from ..json_frames import envelope_frame, need_member, read_source
from .line_times import date_in, of_json_line
from .text_form import COMPLETED, TextLine, api_key_of, parse_connection, parse_text_line
from .text_frames import text_frames

# Kafka logs the size of records instead of the records: JSON name in the log -> name of the field.
SIZES = {
    "recordsSizeInBytes": "records",
    "recordSetSizeInBytes": "records",  # Fetch, up to Kafka 2.8
    "unalignedRecordsSizeInBytes": "unalignedRecords",
}
MOST_ERRORS = 100  # that are kept
LEFT_OUT = "bytes of records are not in the log"
_OBJECT = lazy_pattern(r'\{ ?"(?:isForwarded|requestHeader|request_header|header|kwire|broker|connection)" ?:')


@dataclass
class RequestLogNotes:
    """Omitted fields and invalid lines: `remarks` counts them, `errors` are the first errors, of `broken` lines."""

    remarks: Counter[str] = field(default_factory=Counter)
    errors: list[DumpError] = field(default_factory=list)
    broken: int = 0

    def refuse(self, error: KwireError, file: str, line: int) -> None:
        """Record an error, with its line."""
        self.broken += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error if isinstance(error, DumpError) else DumpError(str(error), file=file, line=line))

    def texts(self) -> list[str]:
        """Return the remarks as text.

        >>> RequestLogNotes(Counter({"lines are not requests": 2})).texts()
        ['2 lines are not requests']
        """
        return [f"{count} {text}" for text, count in self.remarks.items()]


def looks_like_request_log(head: str) -> bool:
    """Whether a text begins like a supported log.

    >>> looks_like_request_log('[2024-05-01] DEBUG Completed request:{"isForwarded":false')
    True
    >>> looks_like_request_log("00 01")
    False
    """
    if head.lstrip().startswith('{"type":"Buffer"'):  # as Node.js writes bytes
        return False
    return head.lstrip().startswith("{") or COMPLETED in head or _OBJECT.search(head) is not None


def split_lines(portions: Iterator[bytes], file: str) -> Iterator[bytes]:
    """Yield the lines of a text as they arrive."""
    begun: list[bytes] = []
    size = 0
    for portion in portions:
        first, *others = portion.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LIMIT:
            raise DumpError(f"a line of more than {LIMIT} bytes", file=file, hint="is it a log?")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
            size = len(others[-1])
    yield b"".join(begun)


def read_log_frames(lines: Iterable[bytes], file: str, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    """Read the frames of a log.

    Args:
        lines: the lines of the log.
        file: the name of the log, for sources and errors.
        catalog: the specs to use.
        notes: collects omitted fields and invalid lines.

    Yields:
        The request of each line, and its response if it was logged. A line that cannot be read is a frame without
        bytes, with `OddLine` as its fault; the first of them wait for a request, since without one this is no log.

    Raises:
        DumpError: there was no request (raised at the end).
    """
    is_empty = True
    odd: list[Frame] = []
    for frame in _frames_of_lines(lines, file, catalog, notes):
        is_empty = is_empty and isinstance(frame.fault, OddLine)
        odd.append(frame)
        if not is_empty or len(odd) == MOST_ERRORS:
            yield from odd
            odd.clear()
    if is_empty and notes.errors:
        first = notes.errors[0]
        more = f"; {notes.broken - 1} more lines cannot be read" if notes.broken > 1 else ""
        raise DumpError(first.problem + more, file=file, line=first.line, hint=first.hint)
    if is_empty:
        what = "; ".join(notes.texts()) or "file is empty"
        raise DumpError(f"no request in it: {what}", file=file, hint="is it the log of kafka.request.logger?")


def readable_frames(lines: Iterable[bytes], file: str, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    """Read the frames of a log as `read_log_frames` does; lines that cannot be read are only recorded in `notes`."""
    frames = _frames_of_lines(lines, file, catalog, notes)
    return (frame for frame in frames if not isinstance(frame.fault, OddLine))


def _frames_of_lines(lines: Iterable[bytes], file: str, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    count = 0
    for number, line in enumerate(lines, 1):
        try:
            frames = list(_convert_line(line.decode("utf-8-sig", "replace"), file, number, catalog, notes))
        except KwireError as error:
            notes.refuse(error, file, number)
            problem = f"line {number}: {getattr(error, 'problem', '') if isinstance(error, DumpError) else error}"
            frames = [Frame(b"", fault=OddLine(found=problem))]
        for frame in frames:
            yield replace(frame, source=replace(frame.source, file=file, frame=count, offset=None))
            count += 1


def _convert_line(line: str, file: str, number: int, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    date = date_in(line)
    members = _find_object(line, file, number, notes)
    if members is not None:
        yield from convert_object(members, catalog, notes, date)
        return
    text = parse_text_line(line, date)
    if text is not None:
        yield from _convert_text(text, catalog, notes)
    elif COMPLETED in line:
        raise DumpError("not a request in the text form of Kafka before 2.7", file=file, line=number)
    elif line.strip():
        notes.remarks["lines without a request were left out"] += 1


def convert_object(
    members: Any, catalog: Catalog, notes: RequestLogNotes, date: float | None = None
) -> Iterator[Frame]:
    """Convert one JSON object of a log to frames.

    Args:
        members: a broker's line, a row collected from one, a line of Kroxylicious, or of kwire.
        catalog: the specs to use.
        notes: collects omitted fields.
        date: the date before the object in its line, in seconds since 1970.

    Raises:
        EncodeError: the object has another form, or does not match the message; with the path in the JSON.
    """
    for keys, opener in SHAPES:
        if isinstance(members, dict) and keys <= members.keys():
            yield from opener(members, catalog, notes, date)
            return
    raise WrongType(need="a logged request, or an object with header and payload", found=f"{members!r}"[:60])


def _find_object(line: str, file: str, number: int, notes: RequestLogNotes) -> Any:
    """Find the JSON object of a line; None if there is none."""
    match = _OBJECT.search(line)
    if match is not None:
        begin = match.start()
    elif line.lstrip().startswith("{"):
        begin = line.find("{")
    else:
        return None
    try:
        return json.JSONDecoder().raw_decode(line, begin)[0]
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "") or json_problem(error)
        hint = "each object must be on one line; kwire encode also reads indented ones"
        raise DumpError(f"not valid JSON: {what}", file=file, line=number, hint=hint) from None


def _convert_row(
    members: dict[str, Any], catalog: Catalog, notes: RequestLogNotes, date: float | None
) -> Iterator[Frame]:
    """Convert a row that was collected from a line in the text form."""
    text = members["text"]
    line = parse_text_line(text, of_json_line(members, date).date) if isinstance(text, str) else None
    if line is None:
        raise WrongType(need="a line of a request log", found=f"{text!r}"[:60], segments=["text"])
    connection = members.get("connection")
    yield from _convert_text(line._replace(source=parse_connection(connection)) if connection else line, catalog, notes)


def _convert_text(line: TextLine, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    frames, left_out = text_frames(line, catalog)
    if left_out:
        notes.remarks[LEFT_OUT] += left_out
    yield from frames


def _convert_own(
    members: dict[str, Any], catalog: Catalog, notes: RequestLogNotes, date: float | None
) -> Iterator[Frame]:
    if members.get("type") == "foreign":
        notes.remarks["streams of other protocols were left out"] += 1
        return
    yield envelope_frame(members, catalog)


def _convert_broker(
    members: dict[str, Any], catalog: Catalog, notes: RequestLogNotes, date: float | None
) -> Iterator[Frame]:
    """Convert one line of a request log: header, request and response, and the connection's endpoints."""
    header_name = "requestHeader" if "requestHeader" in members else "request_header"
    header = need_member(members, header_name, dict)
    names = ("requestApiKey", "requestApiVersion", "correlationId")
    key, version, correlation = (need_member(header, name, int, header_name) for name in names)
    source = parse_connection(members.get("connection"))
    completed = of_json_line(members, date)
    if members.get("isForwarded") or (members.get("more") or {}).get("isForwarded"):
        notes.remarks["requests came inside an Envelope, which is not in the log"] += 1
    request = _fill_records(need_member(members, "request", dict), notes)
    received = replace(source, time=completed.asked_at)
    frame = _encode_request(catalog, key, version, request, correlation, header.get("clientId"), received)
    answer = members.get("response")
    if isinstance(answer, dict):
        yield frame
        answered = replace(source, time=completed.date)
        frame = _encode_response(catalog, key, version, _fill_records(answer, notes), correlation, answered)
    else:
        notes.remarks["requests without a response in the log"] += 1
    yield replace(frame, broker_times=completed.times)


def _convert_kroxylicious(
    members: dict[str, Any], catalog: Catalog, notes: RequestLogNotes, date: float | None
) -> Iterator[Frame]:
    header = need_member(members, "header", dict)
    key = api_key_of(need_member(header, "apiKey", object, "header"), catalog)
    kind = need_member(header, "type", str, "header")
    version, correlation = (need_member(header, name, int, "header") for name in ("apiVersion", "correlationId"))
    payload = _fill_records(need_member(members, "payload", dict), notes)
    source = read_source(members)
    source = replace(source, time=date) if source.time is None else source
    if kind.casefold() == "request":
        yield _encode_request(catalog, key, version, payload, correlation, header.get("clientId"), source)
    else:
        yield _encode_response(catalog, key, version, payload, correlation, source)


# members of an object -> the parser of its writer's format; the first match applies
Opener = Callable[[dict[str, Any], Catalog, RequestLogNotes, float | None], Iterator[Frame]]
SHAPES: tuple[tuple[set[str], Opener], ...] = (
    ({"requestHeader"}, _convert_broker),
    ({"request_header"}, _convert_broker),
    ({"kwire"}, _convert_own),
    ({"type", "header"}, _convert_own),
    ({"header", "payload"}, _convert_kroxylicious),
    ({"text", "stage"}, _convert_row),
)


def _encode_request(
    catalog: Catalog, key: int, version: int, payload: Any, correlation: int, client: Any, source: Source
) -> Frame:
    name = _find_message(catalog, key, "request", version)
    message = codec_in(catalog, name, version).from_json(payload)
    data = encode_request(message, version, correlation_id=correlation, client_id=client, catalog=catalog)
    return Frame(data, replace(source, direction="request"), message=name, version=version)


def _encode_response(catalog: Catalog, key: int, version: int, payload: Any, correlation: int, source: Source) -> Frame:
    name = _find_message(catalog, key, "response", version)
    try:
        message = codec_in(catalog, name, version).from_json(payload)
    except EncodeError:
        if name != "ApiVersionsResponse":  # KIP-511: refused in version 0
            raise
        version = 0
        message = codec_in(catalog, name, version).from_json(payload)
    data = encode_response(message, version, correlation_id=correlation, catalog=catalog)
    return Frame(data, replace(source, direction="response"), message=name, version=version)


def _find_message(catalog: Catalog, key: int, kind: str, version: int) -> str:
    spec = catalog.find(key, kind, version)
    if spec is None:
        description = f"{kind} of api key {key} version {version}"
        raise WrongType(need="a known api key and version", found=description, segments=["header"])
    return spec.name


def _fill_records(value: Any, notes: RequestLogNotes) -> Any:
    """Return a payload with empty records where the log has only their size."""
    if isinstance(value, list):
        return [_fill_records(item, notes) for item in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for name, item in value.items():
        if name in SIZES and isinstance(item, int):
            members[SIZES[name]] = ""
            if item:
                notes.remarks[LEFT_OUT] += item
        else:
            members[name] = _fill_records(item, notes)
    return members
