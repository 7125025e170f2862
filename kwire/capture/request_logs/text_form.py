"""Parses the text form of a line of a broker's request log (Kafka 0.8 to 2.6): header, bodies as text, times.

Three forms, each as Kafka's classes print themselves: `RequestHeader(apiKey=FETCH, ...) -- {...},response:{...}` from
1.0 on, `{api_key=1,...} -- {...}` before, and `Name: FetchRequest; Version: 2; ...` of the requests that Scala classes
read then.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import WrongType
from ...protocol import Source
from ...runtime.lazy_patterns import lazy_pattern
from ...schema.catalog import Catalog
from .line_times import CompletedAt, times_of

COMPLETED = "Completed request:"
_HEADER = lazy_pattern(
    r"RequestHeader\(apiKey=(?P<name>\w+), apiVersion=(?P<version>\d+), clientId=(?P<client>.*?), "
    r"correlationId=(?P<correlation>-?\d+)\)(?: -- (?P<body>.*))?"
)
_STRUCT = lazy_pattern(
    r"\{api_key=(?P<name>\d+),api_version=(?P<version>\d+),correlation_id=(?P<correlation>-?\d+),"
    r"client_id=(?P<client>.*?)\} -- (?P<body>.*)"
)
_SCALA = lazy_pattern(r"Name: ?(?P<name>\w+); ?Version: ?(?P<version>\d+);")
_SCALA_CORRELATION = lazy_pattern(r"; ?CorrelationId: ?(-?\d+)")
_SCALA_CLIENT = lazy_pattern(r"; ?ClientId: ?(?:Some\((.*?)\)|([^;]*?))(?:;|$)")
_CONNECTION = lazy_pattern(r"(.+:\d+)-(.+:\d+)-\d+(?:-\d+)?|(.+:\d+)-(.+:\d+)")
_NO_RESPONSE = lazy_pattern(r"\{acks=0,|; ?RequiredAcks: ?0;")
# Kafka's Scala classes -> the released message
_FORMER = {
    "TopicMetadata": "Metadata",
    "Producer": "Produce",
    "Offset": "ListOffsets",
    "ConsumerMetadata": "FindCoordinator",
}


class TextLine(NamedTuple):
    """A line in the text form.

    Attributes:
        api: the name of the api, as the line has it, or its key.
        version, correlation_id, client_id: the rest of the header.
        request, response: the bodies as text; None if the line has none that can be read back.
        is_answered: whether a response was sent.
        source: the endpoints of the connection.
        completed: the times.
    """

    api: str
    version: int
    correlation_id: int
    client_id: str | None
    request: str | None
    response: str | None
    is_answered: bool
    source: Source
    completed: CompletedAt


def parse_text_line(line: str, date: float | None) -> TextLine | None:
    """Parse a line; return None if it is not in this form.

    >>> line = "Completed request:{api_key=16,api_version=0,correlation_id=4,client_id=me} -- {} from connection "
    >>> line += "10.0.0.1:9092-10.0.0.2:5000;totalTime:3,requestQueueTime:1,localTime:2"
    >>> parsed = parse_text_line(line, None)
    >>> parsed.api, parsed.correlation_id, parsed.request, parsed.source.client, parsed.completed.times.local
    ('16', 4, '{}', '10.0.0.2:5000', 0.002)
    """
    _, _, text = line.partition(COMPLETED)
    text, _, tail = text.rpartition(";totalTime:")
    text, _, connection = text.rpartition(" from c")
    if not text:
        return None
    parts = dict(part.split(":", 1) for part in f"totalTime:{tail}".split(",") if ":" in part)
    source = parse_connection(connection.removeprefix("onnection ").removeprefix("lient /"))
    completed = CompletedAt(date, times_of(parts))
    is_answered = _NO_RESPONSE.search(text) is None
    match = _HEADER.match(text) or _STRUCT.match(text)
    if match is None:
        return _parse_scala_line(text, is_answered, source, completed)
    body, separator, response = (match["body"] or "").partition(",response:")
    return TextLine(
        match["name"],
        int(match["version"]),
        int(match["correlation"]),
        None if match["client"] == "null" else match["client"],
        body or None,
        response if separator else None,
        is_answered,
        source,
        completed,
    )


def _parse_scala_line(text: str, is_answered: bool, source: Source, completed: CompletedAt) -> TextLine | None:
    """Parse a line of a request that a Scala class has read; its body is not in a form that can be read back."""
    match = _SCALA.match(text)
    correlation = _SCALA_CORRELATION.search(text)
    if match is None or correlation is None:
        return None
    name = match["name"].removesuffix("Request")
    client = _SCALA_CLIENT.search(text)
    client_id = None if client is None else client[1] or client[2] or ""
    version, correlation_id = int(match["version"]), int(correlation[1])
    api = _FORMER.get(name, name)
    return TextLine(api, version, correlation_id, client_id, None, None, is_answered, source, completed)


def parse_connection(connection: object) -> Source:
    """Parse a broker's name of a connection: the broker's endpoint, the client's endpoint, and numbers; in Kafka 0.8
    only the client's endpoint.

    >>> source = parse_connection("127.0.0.1:9092-127.0.0.1:50000-0")
    >>> source.broker, source.client, parse_connection("127.0.0.1:50000").client
    ('127.0.0.1:9092', '127.0.0.1:50000', '127.0.0.1:50000')
    """
    if not isinstance(connection, str):
        return Source()
    match = _CONNECTION.fullmatch(connection)
    if match is not None:
        return Source(client=match[2] or match[4], broker=match[1] or match[3])
    host, _, port = connection.rpartition(":")
    return Source(client=connection) if host and port.isdecimal() else Source()


def api_key_of(value: object, catalog: Catalog) -> int:
    """Return the key of an api, given its key or its name, also in capitals.

    Raises:
        WrongType: there is no such api.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value[:9])
    wanted = f"{value}".replace("_", "").casefold() + "request"
    for name, (_, key) in catalog.heads().items():
        if name.casefold() == wanted and key is not None:
            return key
    raise WrongType(need="an api key or the name of an api", found=f"{value!r}"[:60], segments=["header", "apiKey"])
