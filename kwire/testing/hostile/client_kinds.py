"""The kinds of hostile clients: what each sends to a broker.

A kind is a generator of steps, and knows neither sockets nor time. Frames are written by hand where kwire's encoder
refuses what a hostile client sends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from random import Random

from ...messages import ApiVersionsRequest
from ...protocol import encode_request
from .steps import End, Step

MOST = 2**31 - 1  # of int32
API_VERSIONS, METADATA, PRODUCE, FETCH = 18, 3, 0, 1
PIPELINED = 10_000  # requests
HUGE_COUNT = b"\xff\xff\xff\xff\x0f"  # an unsigned varint: 4,294,967,295
Steps = Callable[[Random], Iterator[Step]]


@dataclass(frozen=True)
class ClientKind:
    """A kind of hostile client.

    Attributes:
        name: the name at the command line.
        does: what it does.
        sound: what a sound broker then does.
        steps: returns the steps; it is given a random generator.
        connections: how many connections do this at the same time.
    """

    name: str
    does: str
    sound: str
    steps: Steps
    connections: int = 1


CLIENT_KINDS: dict[str, ClientKind] = {}


def _register(name: str, does: str, sound: str, connections: int = 1) -> Callable[[Steps], Steps]:
    def add(steps: Steps) -> Steps:
        CLIENT_KINDS[name] = ClientKind(name, does, sound, steps, connections)
        return steps

    return add


def frame_of(api_key: int, version: int, body: bytes = b"", client_id: bytes = b"hostile") -> bytes:
    """Return a request frame with a header of version 1, whatever the api and the body are.

    >>> frame_of(18, 0, client_id=b"").hex(" ", 2)
    '0000 000a 0012 0000 0000 0001 0000'
    """
    header = struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id
    return struct.pack(">i", len(header) + len(body)) + header + body


def _request() -> bytes:
    return encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id="hostile")


# 1. Connections on which no whole request arrives.


@_register("idle", "connects, and sends nothing", "closes the connection some time; serves others")
def _idle(rng: Random) -> Iterator[Step]:
    yield from ()


@_register("half-size", "sends two of the four bytes of a size", "waits; serves others")
def _half_size(rng: Random) -> Iterator[Step]:
    yield b"\0\0"


@_register("half-frame", "sends half of a request", "waits; serves others")
def _half_frame(rng: Random) -> Iterator[Step]:
    yield _request()[:12]


@_register("drip", "sends a request one byte at a time", "answers after the last byte; serves others")
def _drip(rng: Random) -> Iterator[Step]:
    for byte in _request():
        yield bytes([byte])
        yield 0.01


@_register("half-open", "leaves 200 connections with half a request each", "serves others", connections=200)
def _half_open(rng: Random) -> Iterator[Step]:
    yield _request()[:12]


@_register("reset", "resets the connection right after a request", "closes the connection; serves others")
def _reset(rng: Random) -> Iterator[Step]:
    yield _request()
    yield End.RESET


# 2. Bytes that are no frame.


@_register("huge", "claims a frame of 2,147,483,647 bytes", "closes the connection; allocates nothing for it")
def _huge(rng: Random) -> Iterator[Step]:
    yield struct.pack(">i", MOST) + _request()[4:]


@_register("negative-size", "claims a frame of -1 bytes", "closes the connection")
def _negative_size(rng: Random) -> Iterator[Step]:
    yield struct.pack(">i", -1) + _request()[4:]


@_register("empty-frame", "sends frames of 0 bytes", "closes the connection")
def _empty_frame(rng: Random) -> Iterator[Step]:
    yield bytes(64)


@_register("short-header", "ends a frame within the header", "closes the connection")
def _short_header(rng: Random) -> Iterator[Step]:
    yield struct.pack(">ihh", 4, API_VERSIONS, 0)


@_register("http", "sends a request of HTTP", "closes the connection")
def _http(rng: Random) -> Iterator[Step]:
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@_register("tls", "sends the hello of TLS, as to a listener with TLS", "closes the connection")
def _tls(rng: Random) -> Iterator[Step]:
    yield bytes.fromhex("1603010060010000 5c0303") + rng.randbytes(90)


@_register("garbage", "sends 64 KiB of random bytes", "closes the connection")
def _garbage(rng: Random) -> Iterator[Step]:
    yield rng.randbytes(1 << 16)


# 3. Frames that are no sound request.


@_register("unknown-api", "sends api key 32767", "closes the connection")
def _unknown_api(rng: Random) -> Iterator[Step]:
    yield frame_of(32767, 0)


@_register("negative-api", "sends api key -1", "closes the connection")
def _negative_api(rng: Random) -> Iterator[Step]:
    yield frame_of(-1, 0)


@_register("new-version", "asks ApiVersions in version 32767", "answers UNSUPPORTED_VERSION in version 0 (KIP-511)")
def _new_version(rng: Random) -> Iterator[Step]:
    yield frame_of(API_VERSIONS, 32767)


@_register("unknown-version", "sends Metadata in version 32767", "closes the connection")
def _unknown_version(rng: Random) -> Iterator[Step]:
    yield frame_of(METADATA, 32767)


@_register("counts", "claims 2,147,483,647 topics in a Metadata request", "closes the connection; allocates nothing")
def _counts(rng: Random) -> Iterator[Step]:
    yield frame_of(METADATA, 1, struct.pack(">i", MOST))


@_register("deep-tags", "claims billions of tagged fields in a request", "closes the connection; allocates nothing")
def _deep_tags(rng: Random) -> Iterator[Step]:
    yield frame_of(METADATA, 12, HUGE_COUNT)


@_register("bad-text", "sends a name of length -5, and one that is not UTF-8", "closes the connection, or refuses it")
def _bad_text(rng: Random) -> Iterator[Step]:
    yield frame_of(METADATA, 1, struct.pack(">ih", 1, 3) + b"\xff\xc0\x80")
    yield frame_of(METADATA, 1, struct.pack(">ih", 1, -5))


@_register("trailing", "puts 1 MiB after the end of a request's body", "closes the connection, or ignores the bytes")
def _trailing(rng: Random) -> Iterator[Step]:
    yield frame_of(API_VERSIONS, 0, bytes(1 << 20))


@_register(
    "garbage-body", "sends random bytes as bodies of Produce and Fetch", "closes the connection, or refuses them"
)
def _garbage_body(rng: Random) -> Iterator[Step]:
    yield frame_of(PRODUCE, 3, rng.randbytes(1000))
    yield frame_of(FETCH, 4, rng.randbytes(1000))


# 4. Sound requests, too many of them.


@_register("flood", "sends 10,000 requests without reading a response", "stops reading, or answers; serves others")
def _flood(rng: Random) -> Iterator[Step]:
    yield from repeat(_request(), PIPELINED)
