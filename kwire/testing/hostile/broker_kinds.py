"""The kinds of hostile brokers: what each sends instead of the sound response to a request.

A kind is a generator: it takes an `Exchange` (the request, and the response of a sound broker) and yields steps. It
knows neither sockets nor time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from ...broker.request_frames import ServedRequest, write_response
from ...codecs.message_codec import Codec, codec_in
from ...messages import ApiVersionsResponse, FindCoordinatorResponse
from ...schema.catalog import Catalog
from ...values import ErrorCode
from .steps import End, Step

MOST = 2**31 - 1  # of int32
HUGE_COUNT = b"\xff\xff\xff\xff\x0f"  # an unsigned varint: 4,294,967,295
DRIP_SIZE = 64 << 20  # bytes that a dripping broker promises
SIZE_AND_CORRELATION = 8  # bytes before the rest of the header
MANY = 3000  # brokers
BROKER_ARRAYS = ("brokers", "coordinators")


@dataclass(frozen=True)
class Exchange:
    """A request, and the response of a sound broker.

    Attributes:
        request: the request.
        response: the response message of a sound broker.
        number: how many requests came before, on all connections.
        catalog: the specs.
        rng: the random generator.
    """

    request: ServedRequest
    response: Any
    number: int
    catalog: Catalog
    rng: Random

    @property
    def frame(self) -> bytes:
        """The frame of the sound response."""
        return self.encode(self.response)

    @property
    def codec(self) -> Codec:
        """The codec of the sound response."""
        return codec_in(self.catalog, type(self.response).__name__, self.request.version)

    @property
    def correlation_id(self) -> bytes:
        """The correlation id as bytes."""
        return struct.pack(">i", self.request.correlation_id)

    def encode(self, message: Any) -> bytes:
        """Return the frame of a response message."""
        return write_response(self.request, message, self.catalog)

    def with_count(self, span_type: str) -> bytes:
        """Return the frame up to its first count, with a count of billions instead; the sound frame if it has none.

        Args:
            span_type: what is counted, as in `kwire explain`: `array` or `tag count`.
        """
        frame = self.frame
        body = self.codec.encode(self.response)
        counts = [span for span in self.codec.trace(body) if span_type in span.type]
        if not counts:
            return frame
        count = struct.pack(">i", MOST) if counts[0].type == "array" else HUGE_COUNT
        return build_frame(frame[4 : len(frame) - len(body) + counts[0].start] + count)


def build_frame(data: bytes) -> bytes:
    """Return a frame with these bytes after its size."""
    return struct.pack(">i", len(data)) + data


Answer = Callable[[Exchange], Iterator[Step]]


@dataclass(frozen=True)
class BrokerKind:
    """A kind of hostile broker.

    Attributes:
        name: the name at the command line.
        does: what it does.
        sound: what a sound client then does.
        answer: yields the steps that answer a request.
    """

    name: str
    does: str
    sound: str
    answer: Answer


BROKER_KINDS: dict[str, BrokerKind] = {}


def _register(name: str, does: str, sound: str) -> Callable[[Answer], Answer]:
    def add(answer: Answer) -> Answer:
        BROKER_KINDS[name] = BrokerKind(name, does, sound, answer)
        return answer

    return add


# 1. Bytes that are no response.


@_register("silent", "never answers", "ends the request at its deadline")
def _silent(exchange: Exchange) -> Iterator[Step]:
    yield from ()


@_register("drip", "claims a frame of 64 MiB, and sends one byte a second", "ends the request at its deadline")
def _drip(exchange: Exchange) -> Iterator[Step]:
    yield struct.pack(">i", DRIP_SIZE) + exchange.correlation_id
    for _ in range(DRIP_SIZE - 4):
        yield 1.0
        yield b"\0"


@_register("stall", "sends half of the response, then nothing", "ends the request at its deadline")
def _stall(exchange: Exchange) -> Iterator[Step]:
    yield exchange.frame[: len(exchange.frame) // 2]


@_register("truncate", "closes after half of the response", "reports that the connection broke; may try again")
def _truncate(exchange: Exchange) -> Iterator[Step]:
    yield exchange.frame[: len(exchange.frame) // 2]
    yield End.CLOSE


@_register("close", "closes the connection instead of answering", "reports it, or tries again until its deadline")
def _close(exchange: Exchange) -> Iterator[Step]:
    yield End.CLOSE


@_register("reset", "resets the connection instead of answering", "reports it, or tries again until its deadline")
def _reset(exchange: Exchange) -> Iterator[Step]:
    yield End.RESET


@_register("huge", "claims a frame of 2,147,483,647 bytes", "refuses the size; allocates nothing for it")
def _huge(exchange: Exchange) -> Iterator[Step]:
    yield struct.pack(">i", MOST) + exchange.correlation_id


@_register("negative-size", "claims a frame of -1 bytes", "refuses the size, and closes")
def _negative_size(exchange: Exchange) -> Iterator[Step]:
    yield struct.pack(">i", -1) + exchange.correlation_id


@_register("http", "answers as a web server does", "says that this is not Kafka")
def _http(exchange: Exchange) -> Iterator[Step]:
    yield b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    yield End.CLOSE


@_register("tls-alert", "answers with an alert of TLS", "says that the listener wants TLS")
def _tls_alert(exchange: Exchange) -> Iterator[Step]:
    yield bytes.fromhex("15030300020246")
    yield End.CLOSE


# 2. Frames that are not the response to this request.


@_register("garbage", "sends random bytes as the body, in a frame of the right size", "refuses the body, and closes")
def _garbage(exchange: Exchange) -> Iterator[Step]:
    size = len(exchange.frame) - SIZE_AND_CORRELATION
    yield exchange.frame[:SIZE_AND_CORRELATION] + exchange.rng.randbytes(size)


@_register("endless", "repeats the response for ever", "refuses the second response; does not keep what it gets")
def _endless(exchange: Exchange) -> Iterator[Step]:
    frame = exchange.frame
    while True:
        yield frame


@_register("twice", "sends each response twice", "refuses the second response, and closes")
def _twice(exchange: Exchange) -> Iterator[Step]:
    yield exchange.frame * 2


@_register("wrong-correlation", "answers with another correlation id", "refuses the response, and closes")
def _wrong_correlation(exchange: Exchange) -> Iterator[Step]:
    other = struct.pack(">i", exchange.request.correlation_id ^ 0x40000000)
    yield exchange.frame[:4] + other + exchange.frame[SIZE_AND_CORRELATION:]


@_register("wrong-body", "sends the body of another api", "refuses the body")
def _wrong_body(exchange: Exchange) -> Iterator[Step]:
    codec = codec_in(exchange.catalog, "FindCoordinatorResponse", 2)
    body = codec.encode(FindCoordinatorResponse(error_message="not what you asked for", host="127.0.0.1", port=9092))
    yield build_frame(exchange.correlation_id + body)


@_register("counts", "claims billions of elements in the first array", "refuses the count; allocates nothing for it")
def _counts(exchange: Exchange) -> Iterator[Step]:
    yield exchange.with_count("array")


@_register("deep-tags", "claims billions of tagged fields", "refuses the count; allocates nothing for it")
def _deep_tags(exchange: Exchange) -> Iterator[Step]:
    yield exchange.with_count("tag count")


@_register("bad-text", "puts bytes that are not UTF-8 into names", "refuses the name, or shows it escaped")
def _bad_text(exchange: Exchange) -> Iterator[Step]:
    yield exchange.frame.replace(b"127.0.0.1", b"\xff\xfe\x1b]0;\x80\xc0\xaf")


# 3. Responses that decode, and lie.


@_register("errors", "puts UNKNOWN_SERVER_ERROR wherever an error code can be", "reports the error")
def _errors(exchange: Exchange) -> Iterator[Step]:
    yield exchange.encode(_replace_everywhere(exchange.response, "error_code", int(ErrorCode.UNKNOWN_SERVER_ERROR)))


@_register("retriable", "puts LEADER_NOT_AVAILABLE wherever an error code can be", "tries again until its deadline")
def _retriable(exchange: Exchange) -> Iterator[Step]:
    yield exchange.encode(_replace_everywhere(exchange.response, "error_code", int(ErrorCode.LEADER_NOT_AVAILABLE)))


@_register("no-such-error", "puts the error code 12345 wherever one can be", "reports the number as unknown")
def _no_such_error(exchange: Exchange) -> Iterator[Step]:
    yield exchange.encode(_replace_everywhere(exchange.response, "error_code", 12345))


@_register("throttle", "asks clients to wait 24 days (throttle time)", "waits at most until its deadline")
def _throttle(exchange: Exchange) -> Iterator[Step]:
    yield exchange.encode(_replace_everywhere(exchange.response, "throttle_time_ms", MOST))


@_register("wrong-versions", "ApiVersions lists impossible ranges", "says that it shares no version with the broker")
def _wrong_versions(exchange: Exchange) -> Iterator[Step]:
    if not isinstance(exchange.response, ApiVersionsResponse):
        yield exchange.frame
        return
    ranges = (5, 1), (-32768, -1), (32767, 32767), (-1, 32767)
    rows = [
        msgspec.structs.replace(api, min_version=low, max_version=high)
        for number, api in enumerate(exchange.response.api_keys)
        for low, high in (ranges[number % len(ranges)],)
    ]
    yield exchange.encode(msgspec.structs.replace(exchange.response, api_keys=tuple(rows)))


@_register("no-versions", "answers each ApiVersions with UNSUPPORTED_VERSION", "gives up after version 0 (KIP-511)")
def _no_versions(exchange: Exchange) -> Iterator[Step]:
    if isinstance(exchange.response, ApiVersionsResponse):
        changes = {"api_keys": (), "error_code": int(ErrorCode.UNSUPPORTED_VERSION)}
        yield exchange.encode(msgspec.structs.replace(exchange.response, **changes))
    else:
        yield exchange.frame


@_register(
    "bad-host", "names brokers with hosts that are no names, and ports that are none", "says which address is bad"
)
def _bad_host(exchange: Exchange) -> Iterator[Step]:
    hosts = ("a..b", "x" * 64, "", "\x1b]0;title\x07\u202e", "localhost\0.example", "no such host", "." * 300)
    ports = (9092, 0, -1, 70_000, MOST)
    addresses = [(host, port) for host in hosts for port in (9092, -1)] + [("127.0.0.1", port) for port in ports[1:]]
    yield exchange.encode(_with_brokers(exchange.response, addresses))


@_register("many-brokers", "names 3,000 brokers, which do not listen", "connects to few; ends at its deadline")
def _many_brokers(exchange: Exchange) -> Iterator[Step]:
    addresses = [(f"127.77.{number >> 8}.{number & 255}", 1) for number in range(MANY)]
    yield exchange.encode(_with_brokers(exchange.response, addresses))


@_register("fickle", "names other brokers in each response", "keeps no connection or listener for those of the past")
def _fickle(exchange: Exchange) -> Iterator[Step]:
    addresses = [(f"127.78.{exchange.number >> 8 & 255}.{exchange.number & 255}", port) for port in (1, 2, 3)]
    yield exchange.encode(_with_brokers(exchange.response, addresses))


@_register(
    "odd-ids", "sends negative and doubled ids of brokers and partitions", "refuses them, or shows them as they are"
)
def _odd_ids(exchange: Exchange) -> Iterator[Step]:
    message = exchange.response
    for name, value in (("leader_id", MOST), ("controller_id", -7), ("partition_index", -1), ("leader_epoch", -9)):
        message = _replace_everywhere(message, name, value)
    doubled = {
        name: 2 * getattr(message, name)
        for name in ("brokers", "topics")
        if getattr(message, name, None) and not hasattr(message, "cursor")
    }
    yield exchange.encode(msgspec.structs.replace(message, **doubled))


def _replace_everywhere(value: Any, name: str, new: int) -> Any:
    """Return a message with a field replaced wherever it occurs, at any depth."""
    if isinstance(value, tuple):
        return tuple(_replace_everywhere(element, name, new) for element in value)
    if not isinstance(value, msgspec.Struct):
        return value
    changes = {field: _replace_everywhere(getattr(value, field), name, new) for field in value.__struct_fields__}
    if name in changes:
        changes[name] = new
    return msgspec.structs.replace(value, **changes)


def _with_brokers(message: Any, addresses: list[tuple[str, int]]) -> Any:
    """Return a response whose arrays of brokers name other addresses; the first broker of a response stays."""
    changes: dict[str, Any] = {}
    for array in BROKER_ARRAYS:
        rows = getattr(message, array, None)
        if rows and hasattr(rows[0], "host"):
            key = "broker_id" if hasattr(rows[0], "broker_id") else "node_id"
            changes[array] = rows[:1] + tuple(
                msgspec.structs.replace(rows[0], **{key: 1000 + number, "host": host, "port": port})
                for number, (host, port) in enumerate(addresses)
            )
    if getattr(message, "host", ""):  # FindCoordinator up to version 3
        changes.update(host=addresses[0][0], port=addresses[0][1])
    return msgspec.structs.replace(message, **changes)
