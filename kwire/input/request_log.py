"""Converts log lines that contain requests and responses as JSON to frames.

Supported are the request logs of brokers from Kafka 2.7 on (with or without a log4j prefix, also as rows collected from
them), the lines of Kroxylicious' protocol logger, and the lines of `kwire decode --jsonl`. Fields that a log omits
(records) become empty, with a remark. Lines of other kinds are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..caches import lazy_pattern
from ..codecs import codec_in
from ..codecs.json import UNKNOWN_TAGS
from ..codecs.json import unknown_tags as tags_from_json
from ..errors import DumpError, EncodeError, HiddenValue, KwireError, MissingField, WrongType, json_problem
from ..protocol import LIMIT, Frame, Source, encode_request, encode_response
from ..protocol.framing import BegunBefore, Fragment, Gap, NoFrame, PassedOver
from ..sensitive_fields import HIDDEN
from ..spec.catalog import Catalog

FAULTS: dict[Any, type[NoFrame]] = {kind.__name__: kind for kind in (BegunBefore, Fragment, Gap, PassedOver)}


def open_envelope(members: Any, catalog: Catalog) -> bytes:
    """Convert the JSON object of a frame to the bytes of the frame.

    Args:
        members: the object that `kwire.envelope` returns; `source` is optional.
        catalog: the specs to use.

    Raises:
        EncodeError, UnknownMessage, UnsupportedVersion: with the position in the JSON.
    """
    return envelope_frame(members, catalog).data


def envelope_frame(members: Any, catalog: Catalog) -> Frame:
    """Convert the JSON object of a frame to a frame with `message` and `version` set.

    Arguments and errors are those of `open_envelope`.
    """
    if not isinstance(members, dict):
        raise WrongType(need="an object with type, header and payload", found=f"{members!r}"[:60])
    if members.get("type") in ("undecodable", "incomplete", "token"):
        return Frame(_raw(members), source_of(members), fault=_fault(members))
    header = need(members, "header", dict)
    api_key, version = need(header, "apiKey", int, "header"), need(header, "apiVersion", int, "header")
    version = members.get("payloadVersion", version)
    kind = need(members, "type", str)
    spec = catalog.find(api_key, kind, version)
    if spec is None:
        found = f"{kind} of api key {api_key} version {version}"
        raise WrongType(need="a known type, apiKey and apiVersion", found=found, segments=["header"])
    message = codec_in(catalog, spec.name, version).from_json(need(members, "payload", dict))
    common = {
        "correlation_id": need(header, "correlationId", int, "header"),
        "header_tags": tags_from_json(header.get(UNKNOWN_TAGS, [])),
        "catalog": catalog,
    }
    if kind == "request":
        data = encode_request(message, version, client_id=header.get("clientId"), **common)
    else:
        data = encode_response(message, version, **common)
    source = source_of(members)
    return Frame(data, replace(source, direction=source.direction or kind), message=spec.name, version=version)


def _fault(members: dict[str, Any]) -> NoFrame | None:
    """Return the fault of bytes that are not a frame, as reported by their container; None if there is none."""
    error = members.get("error")
    if not isinstance(error, dict) or error.get("class") not in FAULTS:
        return None
    count = error.get("count")
    count = count if isinstance(count, int) and count >= 0 else None
    return FAULTS[error["class"]](count)


def source_of(members: dict[str, Any]) -> Source:
    """Return the original source of a frame, without malformed members."""
    source = members.get("source")
    if not isinstance(source, dict):
        return Source()
    kinds = {"file": str, "frame": int, "offset": int, "time": int | float, "client": str, "broker": str}
    kinds |= {"connection": int, "direction": str}
    return Source(**{name: source[name] for name, kind in kinds.items() if isinstance(source.get(name), kind)})


def need(members: dict[str, Any], name: str, kind: type[Any], inside: str = "") -> Any:
    """Return a member of an object. Raises EncodeError if it is missing or of another kind."""
    path = [inside, name] if inside else [name]
    if name not in members:
        raise MissingField(segments=path)
    value = members[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise WrongType(need=f"a {kind.__name__}", found=f"{value!r}"[:60], segments=path)
    return value


def _raw(members: dict[str, Any]) -> bytes:
    if isinstance(members.get("raw"), dict) and HIDDEN in members["raw"]:
        raise HiddenValue(segments=["raw"])
    try:
        return bytes.fromhex(need(members, "raw", str))
    except ValueError:
        raise WrongType(need="hex", found="something else", segments=["raw"]) from None


# Kafka logs the size of records instead of the records: JSON name in the log -> name of the field.
SIZES = {
    "recordsSizeInBytes": "records",
    "recordSetSizeInBytes": "records",  # Fetch, up to Kafka 2.8
    "unalignedRecordsSizeInBytes": "unalignedRecords",
}
MOST_ERRORS = 100  # that are kept
_COMPLETED = "Completed request:"
_OBJECT = lazy_pattern(r'\{ ?"(?:isForwarded|requestHeader|request_header|header|kwire|broker|connection)" ?:')
_CONNECTION = lazy_pattern(r"(.+:\d+)-(.+:\d+)-\d+(?:-\d+)?")


@dataclass
class Notes:
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

        >>> Notes(Counter({"lines are not requests": 2})).texts()
        ['2 lines are not requests']
        """
        return [f"{count} {text}" for text, count in self.remarks.items()]


def looks_like_log(head: str) -> bool:
    """Whether a text begins like a supported log.

    >>> looks_like_log('[2024-05-01] DEBUG Completed request:{"isForwarded":false'), looks_like_log("00 01")
    (True, False)
    """
    if head.lstrip().startswith('{"type":"Buffer"'):  # as Node.js writes bytes
        return False
    return head.lstrip().startswith("{") or _COMPLETED in head or _OBJECT.search(head) is not None


def lines_in(portions: Iterator[bytes], file: str) -> Iterator[bytes]:
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
            begun, size = [others[-1]], len(others[-1])
    yield b"".join(begun)


def log_frames(lines: Iterable[bytes], file: str, catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    """Read the frames of a log.

    Args:
        lines: the lines of the log.
        file: the name of the log, for sources and errors.
        catalog: the specs to use.
        notes: collects omitted fields and invalid lines.

    Yields:
        The request of each line, and its response if it was logged.

    Raises:
        DumpError: a line is not JSON or not a message (raised at the end, for the first such line), or there was no
            request.
    """
    count = 0
    for count, frame in enumerate(readable_frames(lines, file, catalog, notes), 1):  # noqa: B007
        yield frame
    if notes.errors:
        first, more = notes.errors[0], f"; {notes.broken - 1} more lines cannot be read" if notes.broken > 1 else ""
        raise DumpError(first.problem + more, file=file, line=first.line, hint=first.hint)
    if not count:
        what = "; ".join(notes.texts()) or "there is nothing in it"
        raise DumpError(f"no request in JSON: {what}", file=file, hint="brokers log JSON from Kafka 2.7 on")


def readable_frames(lines: Iterable[bytes], file: str, catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    """Read the frames of a log as `log_frames` does; lines that cannot be read are only recorded in `notes`."""
    count = 0
    for number, line in enumerate(lines, 1):
        try:
            members = _members(line.decode("utf-8-sig", "replace"), file, number, notes)
            found = [] if members is None else list(frames_of(members, catalog, notes))
        except KwireError as error:
            notes.refuse(error, file, number)
            continue
        for frame in found:
            yield replace(frame, source=replace(frame.source, file=file, frame=count, offset=None))
            count += 1


def frames_of(members: Any, catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    """Convert one JSON object of a log to frames.

    Args:
        members: a broker's line, a row collected from one, a line of Kroxylicious, or of kwire.
        catalog: the specs to use.
        notes: collects omitted fields.

    Raises:
        EncodeError: the object has another form, or does not match the message; with the path in the JSON.
    """
    for keys, opener in SHAPES:
        if isinstance(members, dict) and keys <= members.keys():
            yield from opener(members, catalog, notes)
            return
    raise WrongType(need="a logged request, or an object with header and payload", found=f"{members!r}"[:60])


def _members(line: str, file: str, number: int, notes: Notes) -> Any:
    """Find the JSON object of a line; None if there is none."""
    start = _OBJECT.search(line)
    begin = start.start() if start else line.find("{") if line.lstrip().startswith("{") else -1
    if begin < 0:
        if line.strip():
            kind = "of requests in the text form of Kafka before 2.7" if _COMPLETED in line else "without a request"
            notes.remarks[f"lines {kind} were left out"] += 1
        return None
    try:
        return json.JSONDecoder().raw_decode(line, begin)[0]
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "") or json_problem(error)
        hint = "each object must be on one line; kwire encode also reads indented ones"
        raise DumpError(f"not valid JSON: {what}", file=file, line=number, hint=hint) from None


def _text(members: dict[str, Any], catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    notes.remarks["lines of requests in the text form of Kafka before 2.7 were left out"] += 1
    yield from ()


def _own(members: dict[str, Any], catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    if members.get("type") == "foreign":
        notes.remarks["streams of other protocols were left out"] += 1
        return
    yield envelope_frame(members, catalog)


def _broker(members: dict[str, Any], catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    """Convert one line of a request log: header, request and response, and the connection's endpoints."""
    header_name = "requestHeader" if "requestHeader" in members else "request_header"
    header = need(members, header_name, dict)
    names = ("requestApiKey", "requestApiVersion", "correlationId")
    key, version, correlation = (need(header, name, int, header_name) for name in names)
    source = _source(members.get("connection"))
    if members.get("isForwarded") or (members.get("more") or {}).get("isForwarded"):
        notes.remarks["requests came inside an Envelope, which is not in the log"] += 1
    asked = _payload(need(members, "request", dict), notes)
    yield _request(catalog, key, version, asked, correlation, header.get("clientId"), source)
    answer = members.get("response")
    if isinstance(answer, dict):
        yield _response(catalog, key, version, _payload(answer, notes), correlation, source)
    else:
        notes.remarks["requests without a response in the log"] += 1


def _kroxylicious(members: dict[str, Any], catalog: Catalog, notes: Notes) -> Iterator[Frame]:
    header = need(members, "header", dict)
    key, kind = _api_key(need(header, "apiKey", object, "header"), catalog), need(header, "type", str, "header")
    version, correlation = (need(header, name, int, "header") for name in ("apiVersion", "correlationId"))
    payload = _payload(need(members, "payload", dict), notes)
    if kind.casefold() == "request":
        yield _request(catalog, key, version, payload, correlation, header.get("clientId"), source_of(members))
    else:
        yield _response(catalog, key, version, payload, correlation, source_of(members))


# members of an object -> the parser of its writer's format; the first match applies
SHAPES: tuple[tuple[set[str], Callable[[dict[str, Any], Catalog, Notes], Iterator[Frame]]], ...] = (
    ({"requestHeader"}, _broker),
    ({"request_header"}, _broker),
    ({"kwire"}, _own),
    ({"type", "header"}, _own),
    ({"header", "payload"}, _kroxylicious),
    ({"text", "stage"}, _text),
)


def _request(
    catalog: Catalog, key: int, version: int, payload: Any, correlation: int, client: Any, source: Source
) -> Frame:
    name = _message(catalog, key, "request", version)
    message = codec_in(catalog, name, version).from_json(payload)
    data = encode_request(message, version, correlation_id=correlation, client_id=client, catalog=catalog)
    return Frame(data, replace(source, direction="request"), message=name, version=version)


def _response(catalog: Catalog, key: int, version: int, payload: Any, correlation: int, source: Source) -> Frame:
    name = _message(catalog, key, "response", version)
    try:
        message = codec_in(catalog, name, version).from_json(payload)
    except EncodeError:
        if name != "ApiVersionsResponse":  # KIP-511: refused in version 0
            raise
        version = 0
        message = codec_in(catalog, name, version).from_json(payload)
    data = encode_response(message, version, correlation_id=correlation, catalog=catalog)
    return Frame(data, replace(source, direction="response"), message=name, version=version)


def _message(catalog: Catalog, key: int, kind: str, version: int) -> str:
    spec = catalog.find(key, kind, version)
    if spec is None:
        found = f"{kind} of api key {key} version {version}"
        raise WrongType(need="a known api key and version", found=found, segments=["header"])
    return spec.name


def _api_key(value: Any, catalog: Catalog) -> int:
    """Return the key of an api, given its key or its name in capitals."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    wanted = f"{value}".replace("_", "").casefold() + "request"
    for name, (_, key) in catalog.heads().items():
        if name.casefold() == wanted and key is not None:
            return key
    raise WrongType(need="an api key or the name of an api", found=f"{value!r}"[:60], segments=["header", "apiKey"])


def _payload(value: Any, notes: Notes) -> Any:
    """Return a payload with empty records where the log has only their size."""
    if isinstance(value, list):
        return [_payload(item, notes) for item in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for name, item in value.items():
        if name in SIZES and isinstance(item, int):
            members[SIZES[name]] = ""
            if item:
                notes.remarks["bytes of records are not in the log"] += item
        else:
            members[name] = _payload(item, notes)
    return members


def _source(connection: Any) -> Source:
    """Parse a broker's name of a connection: the broker's endpoint, the client's endpoint, and a number."""
    match = _CONNECTION.fullmatch(connection) if isinstance(connection, str) else None
    return Source(client=match[2], broker=match[1]) if match else Source()
