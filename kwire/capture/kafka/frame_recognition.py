"""Decides whether bytes are a Kafka frame: by inexpensive checks of the header, and by decoding if necessary."""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from contextlib import suppress
from typing import Any, NamedTuple

from ...codecs.message_codec import Codec, codec_in
from ...codecs.native import RecogniserState
from ...errors import TrailingBytes
from ...protocol import LEAST, LIMIT, Frame, FrameDecoder, Request, Response, Source, Undecodable
from ...protocol.headers.api_versions_downgrade import may_be_downgraded
from ...protocol.headers.header_versions import header_version_for
from ...runtime.caches import once
from ...runtime.lazy_patterns import lazy_pattern
from ...schema.catalog import Catalog, catalog_for, catalog_of

# How much a header resembles that of a request. SHORT: too few bytes. WEAK: no client id. FAIR: a client id, but the
# api is Produce, which many responses resemble: the correlation id looks like api key 0 and a version, followed by a
# count and a topic name. STRONG: all others.
NO, SHORT, WEAK, FAIR, STRONG = range(5)

_SIZE = rb"(?=(?!\x00\x00\x00[\x00-\x03])[\x00-\x06][\x00-\xff]{3}"  # 4 to 117 million, without moving on
REQUESTS = lazy_pattern(_SIZE + rb"\x00[\x00-\x7f]\x00[\x00-\x3f])")
NEAR, FAR = 16, 4096  # largest distance between the correlation ids of requests in flight: usual, and possible
# From here on, ids are used by Kafka's clients to authenticate again (KIP-368,
# SaslClientAuthenticator.MIN_RESERVED_CORRELATION_ID).
RESERVED_IDS = 0x7FFFFFF8
API_VERSIONS, EMPTY_ARRAY = b"\x00\x12", bytes(4)
RESERVED = RESERVED_IDS.to_bytes(4, "big")
LONGEST_UNLIKELY = 1 << 20  # largest frame that is buffered on weak evidence, in bytes
# Bounds for the extra time spent on hostile bytes: the numbers of examined positions and of decoded frames.
PROOFS_AT_FIRST, _BYTES_PER_PROOF = 256, 128
LOOKS_AT_FIRST, _BYTES_PER_LOOK = 4096, 64
_KNOWN_AT_MOST = 8192  # number of stored (api key, version) pairs
_PROOFS_AT_MOST = 256  # number of stored decoders
NO_TAGS = b"\0"  # of a header (KIP-482)


def requests_pattern() -> re.Pattern[bytes]:
    """Return the pattern of a request's first bytes, as `FrameSearch` takes it."""
    return REQUESTS


class FrameVerdict(NamedTuple):
    """Whether a frame starts at a position: yes, no, or undecided until `stop` bytes have arrived.

    Until then, a `likely` frame takes precedence over frames inside it; a MOST_LIKELY one is accepted even if those
    bytes never arrive.
    """

    sure: bool = False
    stop: int = 0
    likely: int = 0


SURE, NEVER, LIKELY, MOST_LIKELY = FrameVerdict(sure=True), FrameVerdict(), 1, 2


class AwaitedResponses(NamedTuple):
    """State of the requests in flight, used to recognise responses.

    `in_flight` maps correlation ids to api key and version; `apis` are all apis that the client has used. Requests may
    have been lost: the ids of their responses are after `answered`, the id of the last response, and near `newest`, the
    id of the newest request.
    """

    in_flight: dict[bytes, list[bytes]] = {}
    apis: Collection[bytes] = ()
    answered: int | None = None
    newest: int | None = None

    def may_be(self, number: int, distance: int) -> bool:
        """Whether a correlation id may belong to a request that was not captured."""
        if self.newest is None or number >= RESERVED_IDS:
            return True
        # Clients increment ids, but may send requests slightly out of order.
        lowest = self.newest if self.answered is None else self.answered
        return lowest - distance <= number <= self.newest + distance

    def may_follow(self, data: bytearray, position: int) -> bool:
        """Whether a response may start at a position, as far as its header has arrived."""
        head = bytes(data[position : position + 8])
        if len(head) >= 4 and not LEAST <= int.from_bytes(head[:4], "big") <= LIMIT:
            return False
        return len(head) < 8 or head[4:] in self.in_flight or self.may_be(int.from_bytes(head[4:], "big"), FAR)

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """Return the pattern of a response's size and correlation id."""
        if self.newest is None:
            return re.compile(_SIZE + rb"[\x00-\xff]{4})")
        ids = {int.from_bytes(correlation_id, "big") for correlation_id in self.in_flight}
        lowest = self.newest if self.answered is None else min(self.answered, self.newest)
        ids |= {max(0, lowest - FAR), lowest, self.newest, self.newest + FAR, RESERVED_IDS}
        halves = {number >> 16 & 0xFFFF for number in ids}
        any_of = b"|".join(re.escape(half.to_bytes(2, "big")) for half in sorted(halves))
        return re.compile(_SIZE + rb"(?:" + any_of + rb")[\x00-\xff]{2})")


class _ResponseProof(NamedTuple):
    """What decodes the responses of an api; `before_body` is the rest of a usual header after the correlation id."""

    api_key: int
    codec: Codec[Any]
    before_body: bytes
    decoder: FrameDecoder


@once
def header_versions_of(catalog: Catalog) -> dict[bytes, int | None]:
    """Return the known header versions of requests, by api key and version; None for a version that does not exist.

    All captures share them: bytes of which one in a thousand is a header ask for hundreds of versions.
    """
    return {}


class FrameRecogniser(RecogniserState):
    """Recognises frames in bytes.

    Args:
        catalog: the specs to use; by default those of Kafka's releases.
        gives_zookeeper: whether to return each packet of a ZooKeeper connection as a frame with a fault.
        is_native: whether the engine searches for frames after gaps.
    """

    def __init__(
        self, catalog: Catalog | None = None, gives_zookeeper: bool = False, *, is_native: bool = False
    ) -> None:
        self.gives_zookeeper: bool = gives_zookeeper
        self.is_native: bool = is_native
        specs = catalog or catalog_for()
        # A newer client than the release sends Kafka's frames too: it negotiates by them (KIP-511).
        self.catalog: Catalog = catalog_of(specs.layers, specs.profile, None)
        layers = self.catalog.layers
        self.keys = {key for layer in layers for key, name in layer.keys if name == "request"}  # of apis
        self.headers = header_versions_of(self.catalog)
        self._request_decoder = FrameDecoder(self.catalog, salvage=False)
        self._request_codecs: dict[bytes, Codec[Any]] = {}  # by api key and version
        self._proofs: dict[bytes, _ResponseProof | None] = {}  # by api key and version
        self.proofs: int = PROOFS_AT_FIRST  # how many more frames may be decoded as proof
        self.looks: int = LOOKS_AT_FIRST  # how many more positions inside packets may be examined

    def allow(self, count: int) -> None:
        """Increase the budgets of the search in proportion to `count` more bytes."""
        self.proofs += count // _BYTES_PER_PROOF + 1
        self.looks = max(self.looks, 0) + count // _BYTES_PER_LOOK + 1

    def header(self, data: bytes | bytearray, start: int = 0) -> int:
        """Return how much the bytes from `start` on resemble a request header: NO, SHORT, WEAK, FAIR or STRONG."""
        there = len(data) - start
        size = int.from_bytes(data[start : start + 4], "big")
        if there < 8:
            return NO if there >= 4 and not 8 <= size <= LIMIT else SHORT
        version = self._header_version(bytes(data[start + 4 : start + 8]))
        if version is None or not 8 <= size <= LIMIT:
            return NO
        if version == 0:
            return WEAK if size == 12 else NO  # ControlledShutdown v0: a correlation id and a broker id
        if there < 14:
            return SHORT
        length = int.from_bytes(data[start + 12 : start + 14], "big", signed=True)
        if length < -1 or size < 10 + length:
            return NO
        if length <= 0:
            return WEAK
        likely = STRONG if any(data[start + 4 : start + 6]) else FAIR
        return _judge_client_id(bytes(data[start + 14 : start + 14 + length]), length, likely)

    def _header_version(self, pair: bytes) -> int | None:
        versions = self.headers
        with suppress(KeyError):
            return versions[pair]
        api_key, number = int.from_bytes(pair[:2], "big"), int.from_bytes(pair[2:], "big")
        spec = self.catalog.find(api_key, "request", number)
        version = None if spec is None else header_version_for(spec, number)
        if len(versions) > _KNOWN_AT_MOST:
            versions.clear()
        versions[pair] = version
        return version

    def proves_request(self, data: bytes) -> bool:
        """Whether a complete frame decodes as a request up to its last byte.

        An ApiVersions request may end with zeros.
        """
        if not self._may_prove() or self._has_invalid_body(data):
            return False
        result = self._request_decoder.decode_alone(Frame(data, Source(direction="request")))
        return isinstance(result, Request) or (
            # librdkafka appends an empty array to ApiVersions requests, which have no fields before version 3.
            isinstance(result, Undecodable)
            and isinstance(result.error, TrailingBytes)
            and data[4:6] == API_VERSIONS
            and data.endswith(EMPTY_ARRAY)
            and result.error.have == len(EMPTY_ARRAY)
        )

    def _has_invalid_body(self, data: bytes) -> bool:
        """Whether the body of a request is refused; False if that takes more than a look at a usual header."""
        api, head = data[4:8], self._header_version(data[4:8])
        if head is None or api[:2] == API_VERSIONS:
            return False
        if api not in self._request_codecs:
            spec = self.catalog.find(int.from_bytes(api[:2], "big"), "request", int.from_bytes(api[2:], "big"))
            assert spec is not None  # it has a header
            self._request_codecs[api] = codec_in(self.catalog, spec.name, int.from_bytes(api[2:], "big"))
        start = 12 if head == 0 else 14 + max(0, int.from_bytes(data[12:14], "big", signed=True))
        if head > 1 and not data.startswith(NO_TAGS, start):
            return False
        return not self._request_codecs[api].is_valid(data, start + (head > 1))

    def proves_response(self, data: bytes, api: bytes) -> bool:
        """Whether a complete frame decodes as a response of an api, given as key and version."""
        proof = self._proof_of(api)
        if proof is None or not self._may_prove():
            return False
        if data.startswith(proof.before_body, 8) and not may_be_downgraded(proof.api_key, data):
            return proof.codec.is_valid(data, 8 + len(proof.before_body))
        return isinstance(proof.decoder.decode_alone(Frame(data, Source(direction="response"))), Response)

    def _proof_of(self, api: bytes) -> _ResponseProof | None:
        """Return what decodes the responses of an api, given as key and version; None if the api is unknown."""
        if api not in self._proofs:
            if len(self._proofs) > _PROOFS_AT_MOST:
                self._proofs.clear()
            self._proofs[api] = None
            api_key, version = int.from_bytes(api[:2], "big"), int.from_bytes(api[2:], "big")
            spec = self.catalog.find(api_key, "response", version)
            if spec is not None:
                codec = codec_in(self.catalog, spec.name, version)
                decoder = FrameDecoder(self.catalog, salvage=False, answers=codec)
                before_body = NO_TAGS if header_version_for(codec.spec, version) else b""
                self._proofs[api] = _ResponseProof(api_key, codec, before_body, decoder)
        return self._proofs[api]

    def judge_request(self, data: bytearray, position: int, packets: Set[int], client: bytes | None) -> FrameVerdict:
        """Decide whether a request starts at a position.

        Args:
            data: the bytes.
            position: where the request would start in `data`.
            packets: where packets start.
            client: the client id of the connection with its length prefix, if known.
        """
        looks = self.header(data, position) if self._may_look(position, packets) else NO
        stop = position + 4 + int.from_bytes(data[position : position + 4], "big")
        if looks == NO:
            return NEVER
        if looks >= FAIR and client and data.startswith(client, position + 12):
            return SURE
        if looks != STRONG and stop - position > LONGEST_UNLIKELY:
            return NEVER
        if looks == SHORT:
            return FrameVerdict(stop=len(data) + 1)
        if stop > len(data):
            return FrameVerdict(stop=stop, likely=MOST_LIKELY if looks == STRONG and position in packets else 0)
        follows = self.header(data, stop)
        if looks == STRONG and follows == STRONG:
            return SURE
        if follows == NO and stop not in packets:
            return NEVER
        return SURE if self.proves_request(bytes(data[position:stop])) else NEVER

    def judge_response(
        self, data: bytearray, position: int, packets: Set[int], awaited: AwaitedResponses
    ) -> FrameVerdict:
        """Decide whether a response starts at a position; for the arguments see `judge_request`."""
        if not self._may_look(position, packets):
            return NEVER
        size, number = (int.from_bytes(data[start : start + 4], "big") for start in (position, position + 4))
        stop = position + 4 + size
        apis: Collection[bytes] = awaited.in_flight.get(bytes(data[position + 4 : position + 8]), ())
        # A response to a lost request is accepted if it decodes, or if it fills whole packets exactly.
        in_front = _starts_packet(position, packets)
        lost = size <= LONGEST_UNLIKELY and awaited.may_be(number, FAR if in_front else NEAR)
        if size > LIMIT or not (apis or lost):
            return NEVER
        if stop > len(data):
            likely = LIKELY * (in_front and awaited.may_be(number, NEAR))
            return FrameVerdict(stop=stop, likely=MOST_LIKELY if apis and position in packets else likely)
        if stop not in packets and not awaited.may_follow(data, stop):
            return NEVER
        frame = bytes(data[position:stop])
        if not apis and (in_front or self.proofs > PROOFS_AT_FIRST // 2):
            apis = awaited.apis
        if any(self.proves_response(frame, api) for api in apis):
            return SURE
        return SURE if lost and in_front and (stop == len(data) or stop in packets) else NEVER

    def _may_look(self, position: int, packets: Set[int]) -> bool:
        if position in packets:
            return True
        self.looks -= 1
        return self.looks >= 0

    def _may_prove(self) -> bool:
        self.proofs -= 1
        return self.proofs >= 0


def _starts_packet(position: int, packets: Set[int]) -> bool:
    """Whether a packet starts with this header; its size field may be in the packet before."""
    return position in packets and packets.isdisjoint(position + step for step in (1, 2, 3, 5, 6, 7))


def _judge_client_id(text: bytes, length: int, likely: int) -> int:
    try:
        printable = text.decode().isprintable()
    except UnicodeDecodeError as error:
        # A character may be truncated where the bytes end.
        printable = len(text) < length and error.start > len(text) - 4 and text[: error.start].decode().isprintable()
    if not printable:
        return NO
    return likely if len(text) == length else SHORT
