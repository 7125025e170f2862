"""Creates rows of frames with the api, direction and request of each frame, as determined by its `Connection`.

The input is frames from captures, or raw frames. The output is a row for each wanted frame and each fragment.
The state of requests in flight can be moved to another process, which continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...codecs import native
from ...codecs.native import FrameBatch, FrameRows
from ...errors import DecodeError, Truncated, UnexpectedResponse
from ...protocol import LEAST, Connection, Frame, Header, Source, cut_short
from ...protocol.frame_decoder import explain_unread
from ...protocol.frame_parser import FrameParser
from ...protocol.frames.captured_frame import WHOLE_FILE, CapturedFrame, Endpoints, NamedEnds
from ...protocol.frames.stream_faults import CutShort
from ...protocol.headers.apis import Api, Apis
from ..raw_frames import RawFrame
from .row_faults import RowFault, fault_of

DIRECTIONS: dict[bool | None, str | None] = {True: "request", False: "response", None: None}
CONNECTION_COST, ASKED_COST = 1500, 120  # bytes of memory


class RowEndpoints(NamedTuple):
    """The endpoints of a connection as `ip:port`, and the time of its first frame in nanoseconds since 1970."""

    client: str
    broker: str
    began: int | None


class RawFrameState(NamedTuple):
    """The state at a position of raw frames.

    Attributes:
        waiting: for each request in flight, the correlation id, api key and version as one number, and client id.
        bare: whether tokens without a header may follow; `tokens` is the number of tokens that have arrived.
        least: the smallest valid size of a frame.
        authenticating: whether the newest request belongs to SASL authentication.
    """

    waiting: tuple[tuple[int, int, str | None], ...] = ()
    bare: bool = False
    tokens: int = 0
    least: int = LEAST
    authenticating: bool = False


class Row(NamedTuple):
    """What the columns of a frame are made of.

    Attributes:
        offset: the position of the frame in the stream of its direction, or in its file, in bytes.
        data: the frame, with its size field.
        nanoseconds: since 1970; None if the time is unknown.
        ends: the endpoints of its connection, if known.
        is_request: whether it is a request; None if that is unknown.
        api: the api and version; None for bytes of none.
        correlation_id, client_id: of the request's header, None if unknown.
        fault: why it is not a complete frame.
    """

    offset: int
    data: bytes
    nanoseconds: int | None = None
    ends: RowEndpoints | None = None
    is_request: bool | None = None
    api: Api | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    fault: RowFault | None = None


if native.AVAILABLE:
    native.use_rows(Row)

Sink = Callable[[Row], None]


class _Ended(Connection):
    """A connection with known endpoints, and the time of its first frame in nanoseconds since 1970."""

    __slots__ = ("_ends", "_whose", "began")

    def __init__(self, apis: Apis, whose: Endpoints, began: int | None) -> None:
        self.apis, self._whose, self.began = apis, whose, began
        self._ends: RowEndpoints | None = None

    @property
    def _own_state(self) -> Any:
        return self._whose, self.began

    @_own_state.setter
    def _own_state(self, state: Any) -> None:
        self._whose, self.began = state
        self._ends = None

    @property
    def ends(self) -> RowEndpoints | None:
        """The endpoints, created on demand: a tenth of the time where connections are short."""
        if self._ends is None and self._whose.client:
            self._ends = RowEndpoints(self._whose.client, self._whose.broker, self.began)
        return self._ends

    def continue_with(self, began: int | None) -> None:
        """Continue a connection that began earlier."""
        self.began, self._ends = began, None


def _waiting(connection: Connection) -> tuple[tuple[int, int, str | None], ...]:
    return tuple(
        (request.correlation_id or 0, request.call.api.number, request.client_id)
        for request in connection.in_flight
        if request.call is not None
    )


class Pairing:
    """Creates rows from the frames of any number of connections; frames of one connection must be in order.

    Args:
        apis: the known apis.
        sink: receives the rows; `FrameRows` get those of usual frames without a call for each.

    Attributes:
        connections: the connections of captures by number; that of raw frames is None.
    """

    def __init__(self, apis: Apis, sink: Sink) -> None:
        self.apis: Apis = apis
        self.sink: Sink = sink
        self.connections: dict[Any, _Ended] = {}

    @property
    def weight(self) -> int:
        """The estimated memory of all state, in bytes."""
        return sum(CONNECTION_COST + connection.remembered * ASKED_COST for connection in self.connections.values())

    @property
    def waiting(self) -> int:
        """The number of requests of raw frames in flight."""
        return len(self._connection(None).in_flight)

    def state(self, min_size: int) -> RawFrameState:
        """Return the state after the raw frames so far, from which another process can continue."""
        connection = self._connection(None)
        waiting = _waiting(connection)
        return RawFrameState(waiting, connection.expects_tokens, connection.tokens, min_size, connection.authenticating)

    def in_flight(self, number: int) -> tuple[tuple[int, int, str | None], ...] | None:
        """Return the requests in flight of a connection, as in `RawFrameState`.

        The result is None if they, or the following frames, are uncertain.
        """
        connection = self.connections.get(number)
        if connection is None or connection.authenticating or connection.expects_tokens or connection.is_in_doubt:
            return None
        return _waiting(connection)

    @property
    def is_lossy(self) -> bool:
        """Whether bytes of a connection are missing."""
        return any(connection.lossy for connection in self.connections.values())

    def ends(self, number: int) -> RowEndpoints | None:
        """Return the endpoints of a connection; None if it has no frames yet."""
        connection = self.connections.get(number)
        return None if connection is None else connection.ends

    def continue_with(self, number: int, began: int | None, *, is_lossy: bool) -> RowEndpoints | None:
        """Continue a connection that started earlier; return the endpoints of its rows from now on."""
        connection = self.connections[number]
        connection.lossy = is_lossy
        connection.continue_with(began)
        return connection.ends

    def resume(self, state: RawFrameState) -> None:
        """Continue from a state."""
        connection = self._connection(None)
        connection.expects_tokens, connection.tokens = state.bare, state.tokens
        connection.authenticating = state.authenticating
        for number, api_number, client in state.waiting:
            api = self.apis.get(api_number)
            if api is not None:
                connection.add(api, number, client)

    def raw(self, cuts: list[RawFrame]) -> None:
        """Process raw frames, whose direction is derived from their content."""
        connection = self._connection(None)
        receive, sink = connection.receive, self.sink
        for offset, data, fault in cuts:
            if fault is not None:
                sink(Row(offset, data, fault=fault_of(fault)))
                continue
            header = receive(data)
            if header.problem or len(data) != 4 + int.from_bytes(data[:4], "big"):
                self._odd(connection, Row(offset, data), header, None)
                continue
            api = header.call.api  # type: ignore[union-attr]
            if api.asks if header.is_request else api.answers:
                sink(Row(offset, data, None, None, header.is_request, api, header.correlation_id, header.client_id))

    def add_batch(self, batch: Iterable[CapturedFrame | int]) -> None:
        """Process the frames of a capture."""
        if not isinstance(batch, FrameBatch):
            for captured in batch:
                self.take(captured)
        elif isinstance(self.sink, FrameRows):
            batch.add_rows(self, self.connections, self.sink)
        else:
            sink, rows = self.sink, FrameRows()
            self.sink = rows
            batch.add_rows(self, self.connections, rows)
            self.sink = sink
            for row in rows:
                sink(row)

    def take(self, captured: CapturedFrame | int) -> None:
        """Process a frame of a capture, or the end of a connection; the native engine processes most frames."""
        if isinstance(captured, int):
            self.connections.pop(captured, None)
            return
        ends, is_request, offset, now, data, fault, *_ = captured
        connection = self.connections.get(ends.connection) or self.begin(ends, now)
        header = connection.pair(captured)
        if header.problem or captured.first is None:
            self._odd(connection, Row(offset, data, now, connection.ends, is_request), header, fault)
            return
        call = header.call
        api = call.api  # type: ignore[union-attr]
        if api.asks if is_request else api.answers:
            client = call.client_id  # type: ignore[union-attr]
            self.sink(Row(offset, data, now, connection.ends, is_request, api, header.correlation_id, client))

    def begin(self, whose: Endpoints, now: int | None) -> _Ended:
        """Begin a captured connection, with the time of its first frame."""
        return self._connection(whose.connection, whose, now)

    def frame(self, frame: Frame) -> None:
        """Process a frame of another container."""
        source = frame.source
        for number in frame.closed:
            self.connections.pop(number, None)
        now = None if source.time is None else round(source.time * 1e6) * 1000
        whose = NamedEnds(source.client, source.broker, -1) if source.client and source.broker else WHOLE_FILE
        connection = self._connection(source.connection_key, whose, now)
        row = Row(source.offset or 0, frame.data, now, connection.ends)
        if frame.message is not None and frame.version is not None and frame.fault is None:
            self._add_named(connection, row, frame)
            return
        is_request = None if source.direction is None else source.direction == "request"
        header = connection.receive(frame.data, is_request, None, frame.fault)
        self._odd(connection, row._replace(is_request=is_request), header, frame.fault)

    def _connection(self, key: Any, whose: Endpoints = WHOLE_FILE, now: int | None = None) -> _Ended:
        connection = self.connections.get(key)
        if connection is None:
            connection = self.connections[key] = _Ended(self.apis, whose, now)
        return connection

    def _add_named(self, connection: Connection, row: Row, frame: Frame) -> None:
        """Process a frame for which the container declares the message."""
        api = self.apis.named(frame)
        codec = api.codec(None)
        is_request = {"request": True, "response": False}.get(codec.spec.type) if codec else None
        number, client = None, None
        if not api.bare and is_request is not None:
            header = connection.receive_named(frame.data, api)
            number, client = header.correlation_id, header.client_id
        if api.answers if is_request is False else api.asks:
            self.sink(row._replace(is_request=is_request, api=api, correlation_id=number, client_id=client))

    def _odd(self, connection: Connection, row: Row, header: Header, error: DecodeError | None) -> None:
        """Process a truncated frame, a token, a frame that is neither request nor response, or a fragment.

        Args:
            connection: the connection, which has received the frame.
            row: the row as far as its container tells.
            header: what the connection returned.
            error: the reason why it is not a complete frame, if its container reports one.
        """
        if error is not None and not isinstance(error, CutShort):
            self.sink(row._replace(fault=_fault_on(connection, error)))
        elif header.problem == "token":
            self.sink(row._replace(is_request=header.is_request))
        elif header.problem:
            self._neither(connection, row, header, error)
        else:
            cut = error or cut_short(row.data)
            call = header.call
            assert call is not None
            is_request = header.is_request if row.is_request is None else row.is_request
            if call.api.asks if is_request else call.api.answers:
                fault = None if cut is None else _fault_on(connection, cut)
                row = row._replace(is_request=is_request, api=call.api, fault=fault)
                self.sink(row._replace(correlation_id=header.correlation_id, client_id=call.client_id))

    def _neither(self, connection: Connection, row: Row, header: Header, fault: DecodeError | None) -> None:
        """Add the row of a frame that is neither request nor response; `fault` is set if it is truncated."""
        cut = fault or cut_short(row.data)
        frame = Frame(row.data, Source(direction=DIRECTIONS[row.is_request]), fault=fault)
        read: Any = explain_unread(FrameParser(frame, self.apis.catalog, salvage=True, trace=False), connection, header)
        correlation_id = int.from_bytes(row.data[4:8], "big", signed=True)
        error = getattr(read, "error", None) or connection.unexpected(correlation_id)
        error = cut if cut is not None and isinstance(error, Truncated | UnexpectedResponse) else error
        row = row._replace(fault=_fault_on(connection, error))
        if (own := read.header) is not None:
            api = self.apis.unknown(own.request_api_key, own.request_api_version)
            row = row._replace(is_request=True, api=api, correlation_id=own.correlation_id, client_id=own.client_id)
        self.sink(row)


def _fault_on(connection: Connection, error: DecodeError) -> RowFault | None:
    """Return the fault of a row; it is private while the connection authenticates."""
    fault = fault_of(error)
    return fault._replace(is_private=True) if fault is not None and connection.authenticating else fault
