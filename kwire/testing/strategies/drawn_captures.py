"""`captures`: a strategy of small captures of connections, with the frames that they contain."""

from __future__ import annotations

import io
from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

from ... import messages
from ...capture.pcap_writer import PcapWriter, TcpWriter
from ...protocol.frame_encoder import encode_request, encode_response
from ...protocol.results import Request, Response
from ...protocol.single_frame import decode_request, decode_response
from ...schema.catalog import catalog_for
from .drawn_frames import AUTHENTICATION, exchanges_of, list_codecs

BROKER = ("10.0.0.1", 9092)
CLIENT = "10.0.0.2"
FIRST_PORT = 40000
API_VERSIONS_VERSION = 3  # the first with the name of the client's software (KIP-511)
MILLISECOND = 1_000_000  # nanoseconds
MOST_CONNECTIONS = 3
BEGINNING = st.integers(0, 2**31 * 1000)  # milliseconds since 1970


class DrawnCapture(NamedTuple):
    """A drawn capture: the bytes of a pcap file, and its requests and responses in the order of their packets."""

    data: bytes
    frames: tuple[Request | Response, ...]


@st.composite
def captures(
    draw: st.DrawFn,
    exchanges: st.SearchStrategy[tuple[Request, Response | None]] | None = None,
    *,
    min_size: int = 1,
    max_size: int = 3,
) -> DrawnCapture:
    """Return a strategy of captures of clients' connections to a broker, from handshake to end.

    Args:
        exchanges: what is sent, from the strategy of the same name; by default all requests but those of SASL, after
            which the frames of a connection have another form.
        min_size, max_size: bounds of the number of exchanges, on up to three connections.

    Returns:
        A strategy of `DrawnCapture`. `kwire.open(capture.data)` yields its frames. Each connection begins with
        ApiVersions, as those of clients do; without it, few bytes do not always show that they are Kafka's.

    Raises:
        ValueError: a drawn request is one of SASL.

    >>> import kwire
    >>> from hypothesis import given
    >>> from kwire.testing.strategies import exchanges
    >>> @given(captures(exchanges("Metadata")))
    ... def test_a_capture(capture):
    ...     assert [result.message for result in kwire.open(capture.data)] == [it.message for it in capture.frames]
    >>> test_a_capture()
    """
    drawn = draw(st.lists(_plain_exchanges() if exchanges is None else exchanges, min_size=min_size, max_size=max_size))
    writer = _ConnectionsWriter(draw(BEGINNING) * MILLISECOND)
    for exchange in drawn:
        number = draw(st.integers(0, MOST_CONNECTIONS - 1))
        if number not in writer.connections:
            writer.open(number, draw(st.integers(0, 2**32 - 1)))
        writer.send(number, exchange)
    return writer.close()


class _ConnectionsWriter:
    """Writes exchanges on connections that are open at the same time; a frame is sent each millisecond."""

    def __init__(self, nanoseconds: int) -> None:
        self.connections: dict[int, TcpWriter] = {}
        self._stream = io.BytesIO()
        self._pcap = PcapWriter(self._stream)
        self._now = nanoseconds
        self._frames: list[Request | Response] = []

    def open(self, number: int, first: int) -> None:
        """Open a connection, whose first sequence number follows `first`."""
        client = (CLIENT, FIRST_PORT + number)
        self.connections[number] = TcpWriter(self._pcap, client, BROKER, self._now, first=first)
        self.send(number, _negotiate_versions())

    def send(self, number: int, exchange: tuple[Request, Response | None]) -> None:
        """Send a request and its response."""
        request, response = exchange
        if request.api_key in AUTHENTICATION:
            raise ValueError(f"{request.api_name} changes the form of later frames; draw other requests for captures")
        for frame in (request, response):
            if frame is not None:
                self._now += MILLISECOND
                self.connections[number].send(self._now, frame.frame.data, by_client=frame is request)
                self._frames.append(frame)

    def close(self) -> DrawnCapture:
        """Close all connections, and return the capture."""
        for connection in self.connections.values():
            connection.close()
        return DrawnCapture(self._stream.getvalue(), tuple(self._frames))


def _negotiate_versions() -> tuple[Request, Response]:
    """Return the exchange with which clients begin."""
    message = messages.ApiVersionsRequest(client_software_name="kwire", client_software_version="1")
    request = decode_request(encode_request(message, API_VERSIONS_VERSION, client_id="kwire"))
    data = encode_response(messages.ApiVersionsResponse(), API_VERSIONS_VERSION)
    return request, decode_response(data, request)


@cache
def _plain_exchanges() -> st.SearchStrategy[tuple[Request, Response | None]]:
    codecs = list_codecs("request", None, None, catalog_for())
    plain = [codec for codec in codecs if codec.spec.api_key not in AUTHENTICATION]
    return st.sampled_from(plain).flatmap(lambda codec: exchanges_of(codec, None))
