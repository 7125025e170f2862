"""The state of a connection between two frames, and its transitions.

Tracks requests in flight, also those that are never answered, the authentication, and the calls of the newest client;
`connection` decides the type of a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from struct import Struct
from typing import Any

from ..errors.decode import UnexpectedResponse
from ..native.states import NO_CALLS, PairingState
from ..spec.catalog import Catalog, catalog_for
from .api_registry import SASL_HANDSHAKE, Api, Apis, Call, expects_response
from .fragments import unexpected_response
from .frame_header import CLIENT_ID, Header, client_in
from .frame_parser import FrameReading, may_be_downgraded
from .framing import Frame
from .results import Request, Response


def as_request(data: bytes, call: Call) -> Any:
    """Decode a frame as a request; return the result of `FrameReading`, or None if the api is unknown."""
    return None if call.api.request is None else _reading(data, call).request(call.api.request)


def as_response(data: bytes, request: Header) -> Any:
    """Decode a frame as the response to a request; return the result of `FrameReading`, or None if the api is
    unknown."""
    call = request.call
    return None if call is None or call.api.response is None else _reading(data, call).response(call.api.response)


def is_request(data: bytes, header: Header) -> bool:
    """Whether a frame decodes as the request that its header names."""
    return header.call is not None and isinstance(as_request(data, header.call), Request)


def is_response(data: bytes, request: Header) -> bool:
    """Whether a frame decodes as the response to a request."""
    return isinstance(as_response(data, request), Response)


def is_answered(data: bytes, call: Call) -> bool:
    """Whether a request will be answered. An undecodable one will, unless its first fields contain acks=0."""
    if call.is_answered or data.startswith(call.answered, call.start):
        return True
    if data.startswith(call.api.unanswered, call.start):
        return False
    read = as_request(data, call)
    return not isinstance(read, Request) or expects_response(read.message)


def contradicts(data: bytes, request: Header) -> bool:
    """Whether a frame has faults when its body is decoded as the response to a request.

    False if the api is unknown.
    """
    read = as_response(data, request)
    return read is not None and (not isinstance(read, Response) or bool(read.faults))


def best_answered(data: bytes, requests: Sequence[Header]) -> Header:
    """Return which of several requests with the same correlation id a response answers.

    After a lost response there may be several: the first whose response decodes without faults; else the first whose
    response decodes at all; else the oldest.
    """
    found = None
    for request in requests:
        read = as_response(data, request)
        if isinstance(read, Response):
            if not read.faults:
                return request
            found = found or request
    return found or requests[0]


def _reading(data: bytes, call: Call) -> FrameReading:
    return FrameReading(Frame(data), call.api.catalog, salvage=True, trace=False)


MOST_CANDIDATES = 8  # requests with the same correlation id that are compared
MOST_ASKED = 0xFFFF  # requests of an authenticating client, counted by correlation ids
MANY = 1024  # requests in flight from which on an index of correlation ids is built after a failed search
_NUMBERS = Struct(">ii").unpack_from
_INT32 = Struct(">i").unpack_from


class Doubt:
    """The requests in flight that a response may match accidentally, because bytes were lost.

    Requests may be among the lost bytes, and old clients reuse correlation ids. Responses come in order, and ids
    usually increase: the response to a lost request may match a request from before the loss whose own response was
        lost, or one with the same id as the first request after the loss.

    Attributes:
        active: whether there are any.
    """

    __slots__ = ("_before", "active")

    def __init__(self) -> None:
        self.active: bool = False
        self._before: Any = None  # the newest request from before the loss, while it is in flight

    def lose(self, in_flight: Sequence[Any]) -> None:
        """Record a loss of bytes after these requests in flight."""
        self.active = True
        self._before = in_flight[-1] if in_flight else None

    def covers(self, request: Any, in_flight: Iterable[Any]) -> bool:
        """Whether a response that matches a request in flight may answer a lost one instead."""
        if not self.active:
            return False
        behind = iter(in_flight)
        if self._before is not None:
            for one in behind:
                if one is request:
                    return True
                if one is self._before:
                    break
        return bool(request.correlation_id == next(behind, request).correlation_id)

    def settle(self, request: Any, overtaken: Sequence[Any]) -> None:
        """Record that a request was answered, and which ones its response overtook."""
        if self._before is None or any(one is self._before for one in overtaken):
            self.active = False
        if not self.active or request is self._before:
            self._before = None


class ConnectionState(PairingState):
    """The state of a connection; see `Connection`, which is its public form."""

    __slots__ = ()
    apis: Apis
    in_flight: deque[Header]  # or what does the same natively
    mechanism: str | None
    group: Hashable
    answers: Call | None
    _doubt: Doubt | None  # once bytes are missing, until it is known again which response answers which request
    _ids: set[int] | None  # correlation ids, at least those in flight
    # calls of this client; `_calls` is empty if each needs further checks
    _known: dict[int, Call]
    _calls: dict[int, Call]

    def __init__(self, catalog: Catalog | None = None, *, apis: Apis | None = None) -> None:
        self.apis = apis or Apis(catalog or catalog_for())

    @property
    def remembered(self) -> int:
        """How many requests and correlation ids are stored."""
        return len(self.in_flight) + len(self._ids or ())

    def unexpected(self, correlation_id: int) -> UnexpectedResponse:
        """Return the error for a response that answers no request in flight."""
        return unexpected_response(
            correlation_id, self.in_flight[0].correlation_id if self.in_flight else None, lossy=self.lossy
        )

    def regroup(self, group: Hashable) -> None:
        """Use the `Call` objects of a group of connections from now on."""
        self.group = group
        self._use(self._client)

    def read_request(self, data: bytes, time: Any = None) -> Header | None:
        """Parse a frame as a request without changing the connection; None if its header is not valid.

        >>> import kwire
        >>> kwire.Connection().read_request(kwire.encode_request(kwire.messages.ListGroupsRequest(), 0)).call.api.name
        'ListGroups'
        """
        if len(data) < CLIENT_ID:
            return None
        number, correlation_id = _NUMBERS(data, 4)
        api = self.apis.get(number)
        if api is None or api.request_header is None:
            return None
        client = b"" if not api.request_header else client_in(data)
        return None if client is None else Header(True, self._call(api, client), correlation_id, time)

    def _neither(self, data: bytes, from_client: bool | None, time: Any, problem: str) -> Header:
        """Process a frame that is neither a request of a known api nor the response to one."""
        if self.expects_tokens and is_whole(data) and not (problem == "unpaired" and self._may_lack_request(data)):
            return self._token(from_client, time)
        if problem == "unpaired":
            return Header(from_client, None, _INT32(data, 4)[0], time, problem=problem)
        client = client_in(data) if problem == "unknown" else None
        if client is None or from_client is False:
            return Header(from_client, None, None, time, None, problem)
        number, correlation_id = _NUMBERS(data, 4)
        call = Call(self.apis.unknown(number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000), client)
        return Header(from_client, call, correlation_id, time, problem=problem)

    def _may_lack_request(self, data: bytes) -> bool:
        """Whether a frame may be the response to a lost request: SASL tokens never start with such numbers."""
        return self.lossy and 0 <= _INT32(data, 4)[0] <= MOST_ASKED

    def _token(self, from_client: bool | None, time: Any) -> Header:
        """Process a SASL token without a header; if the sender is unknown, client and broker alternate."""
        sender = self.tokens % 2 == 0 if from_client is None else from_client
        self.tokens += 1
        return Header(sender, None, None, time, problem="token")

    def _accept(self, data: bytes, header: Header) -> Header:
        """Add a request to the requests in flight."""
        call = header.call
        assert call is not None
        self.authenticating: bool = call.api.is_sasl or (self.authenticating and not is_request(data, header))
        self.expects_tokens = False
        if call.api.key == SASL_HANDSHAKE:
            self._shake_hands(data, call)
        self._calls = NO_CALLS if self.authenticating or self._ids is not None else self._known
        if is_answered(data, call):
            self._append(header)
        return header

    def _shake_hands(self, data: bytes, call: Call) -> None:
        self.expects_tokens: bool = call.version == 0
        self.tokens: int = 0
        handshake = as_request(data, call)
        if isinstance(handshake, Request):
            self.mechanism = handshake.message.mechanism

    def _append(self, header: Header) -> None:
        self.in_flight.append(header)
        if self._ids is not None and header.correlation_id is not None:
            self._ids.add(header.correlation_id)
            if len(self._ids) > 2 * len(self.in_flight) + MANY:  # most of them have been answered
                self._index()

    def _settle(self, request: Header, data: bytes, time: Any) -> Header:
        """Process the response to a request in flight; older requests that it overtakes are unanswered."""
        overtaken = []
        while (header := self.in_flight.popleft()) is not request:
            overtaken.append(header)
        if self._doubt is not None:
            self._doubt.settle(request, overtaken)
            self._doubt = self._doubt if self._doubt.active else None
        call = request.call
        assert call is not None
        if may_be_downgraded(call.api.key, data) and call.api.response is not None:
            version = as_response(data, request).codec.version
            call = call if version == call.version else call.downgraded
        return Header(False, call, request.correlation_id, time, request, request.problem, tuple(overtaken))

    def _find(self, correlation_id: int) -> list[Header]:
        """Return the requests in flight with a correlation id, oldest first."""
        if self._ids is not None and correlation_id not in self._ids:
            return []
        matching = (header for header in self.in_flight if header.correlation_id == correlation_id)
        found = list(islice(matching, MOST_CANDIDATES))
        if not found and self._ids is not None:
            self._ids.discard(correlation_id)
        elif not found and len(self.in_flight) > MANY:
            self._index()
        return found

    def _index(self) -> None:
        """Index the correlation ids in flight, so that repeated searches for unknown ids are fast."""
        self._ids = {header.correlation_id for header in self.in_flight if header.correlation_id is not None}
        self._calls = NO_CALLS

    def _call(self, api: Api, client: bytes) -> Call:
        if api.is_sasl or not api.request_header:
            return Call(api, client)
        if client != self._client:
            self._use(client)
        call = self._known.get(api.number)
        if call is None:
            if self._known is NO_CALLS:
                self._use(client)
            call = self._known[api.number] = Call(api, client)
        return call

    def _use(self, client: bytes) -> None:
        self._client, self._known = client, self.apis.calls(client, self.group)
        if self._ids is None and not self.authenticating:
            self._calls = self._known


def is_whole(data: bytes) -> bool:
    """Whether the size field of a frame matches its length."""
    return len(data) >= 4 and _INT32(data)[0] == len(data) - 4
