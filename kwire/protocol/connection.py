"""The state machine of one connection: finds the direction of each frame and the request of each response.

Sans-IO, like h11's Connection: complete frames go in, headers come out; `decoder` decodes bodies. This module has all
rules of a connection: requests in flight, requests without a response (acks=0), responses out of order, SASL tokens
without a header, ApiVersions in version 0 (KIP-511), truncated frames. `ConnectionState` is the state between two
frames.

Most frames are identified by their first bytes. A body is decoded only if the header is ambiguous: the direction is
unknown and the frame is valid both as a request and as a response; several requests in flight, or a lost one, have the
same correlation id; a Produce request may have acks=0; SaslHandshake; ApiVersions with error 35.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from struct import Struct
from typing import Any

from ..errors import DecodeError, UnexpectedResponse
from ..native import NO_CALLS, PairingState
from ..spec.catalog import Catalog, catalog_for
from .frame_codec import FrameReading
from .framing import BareToken, CapturedFrame, CutShort, Frame, loses, numbers_of, unexpected_response
from .headers import CLIENT_ID, SASL_HANDSHAKE, Api, Apis, Call, Header, client_in, expects_response, may_be_downgraded
from .results import Request, Response

MOST_CANDIDATES = 8  # maximum number of requests with the same correlation id that are compared
MOST_ASKED = 0xFFFF  # maximum number of requests of an authenticating client, counted by correlation ids
MANY = 1024  # number of requests in flight above which a failed search builds an index of correlation ids
_NUMBERS = Struct(">ii").unpack_from
_INT32 = Struct(">i").unpack_from


def as_request(data: bytes, call: Call) -> Any:
    """Decode a frame as a request; return the result of `FrameReading`, or None if the api is unknown."""
    return None if call.api.request is None else _reading(data, call).request(call.api.request)


def as_response(data: bytes, request: Header) -> Any:
    """Decode a frame as the response to a request.

    Return the result of `FrameReading`, or None if the api is unknown.
    """
    call = request.call
    return None if call is None or call.api.response is None else _reading(data, call).response(call.api.response)


def is_request(data: bytes, header: Header) -> bool:
    """Whether a frame decodes as the request that its header names."""
    return header.call is not None and isinstance(as_request(data, header.call), Request)


def is_response(data: bytes, request: Header) -> bool:
    """Whether a frame decodes as the response to a request."""
    return isinstance(as_response(data, request), Response)


def is_answered(data: bytes, call: Call) -> bool:
    """Whether a request gets a response. An undecodable request does, unless its first fields contain acks=0."""
    if call.is_answered or data.startswith(call.answered, call.start):
        return True
    if data.startswith(call.api.unanswered, call.start):
        return False
    read = as_request(data, call)
    if not isinstance(read, Request):
        return True
    is_expected = expects_response(read.message)
    if is_expected:
        call.add_answered(read.message)
    return is_expected


def contradicts(data: bytes, request: Header) -> bool:
    """Whether a frame has faults when its body is decoded as the response to a request.

    The result is False if the api is unknown.
    """
    read = as_response(data, request)
    return read is not None and (not isinstance(read, Response) or bool(read.faults))


def best_answered(data: bytes, requests: Sequence[Header]) -> Header:
    """Return the request that a response answers, from several with the same correlation id.

    There may be several after a lost response. The first request whose response decodes without faults is chosen; else
    the first whose response decodes at all; else the oldest.
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


class Doubt:
    """The requests in flight that a response may match by mistake, because bytes were lost.

    Requests may be among the lost bytes, and old clients reuse correlation ids. Responses arrive in order, and ids
    usually increase. Therefore the response to a lost request may match a request from before the loss whose response
    was lost too, or one with the same id as the first request after the loss.

    Attributes:
        active: whether there are such requests.
    """

    __slots__ = ("_before", "active")

    def __init__(self) -> None:
        self.active: bool = False
        self._before: Any = None  # the newest request from before the loss, while it is in flight

    def lose(self, in_flight: Sequence[Any]) -> None:
        """Record that bytes were lost while these requests were in flight."""
        self.active = True
        self._before = in_flight[-1] if in_flight else None

    def covers(self, request: Any, in_flight: Iterable[Any]) -> bool:
        """Whether a response that matches a request in flight may answer a lost request instead."""
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
        """Record that a request was answered, and which requests its response has overtaken."""
        if self._before is None or any(one is self._before for one in overtaken):
            self.active = False
        if not self.active or request is self._before:
            self._before = None


class CorrelationIndex:
    """The places of requests in flight by correlation id. The oldest may be gone: the others end the queue.

    Args:
        in_flight: the requests, oldest first.
    """

    __slots__ = ("_count", "_places")

    def __init__(self, in_flight: Iterable[Header]) -> None:
        self._places: dict[int | None, list[int]] = {}
        self._count = 0
        for header in in_flight:
            self.append(header.correlation_id)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, correlation_id: int) -> bool:
        return correlation_id in self._places

    def append(self, correlation_id: int | None) -> None:
        """Add the newest request."""
        self._places.setdefault(correlation_id, []).append(self._count)
        self._count += 1

    def find(self, correlation_id: int, in_flight: Sequence[Header]) -> list[Header]:
        """Return the first requests with a correlation id, at most `MOST_CANDIDATES`, oldest first."""
        places, begin = self._places.get(correlation_id), self._count - len(in_flight)
        if places is None:
            return []
        del places[: bisect_left(places, begin)]
        if not places:
            del self._places[correlation_id]
        return [in_flight[place - begin] for place in places[:MOST_CANDIDATES]]


class ConnectionState(PairingState):
    """The state of a connection; `Connection` is its public form."""

    __slots__ = ()
    apis: Apis
    in_flight: deque[Header]  # or its native counterpart
    mechanism: str | None
    group: Hashable
    answers: Call | None
    _doubt: Doubt | None  # set while bytes are missing and responses cannot yet be matched to requests
    _ids: CorrelationIndex | None  # of the requests in flight
    # calls of this client; `_calls` is empty if every call needs further checks
    _known: dict[int, Call]
    _calls: dict[int, Call]

    def __init__(self, catalog: Catalog | None = None, *, apis: Apis | None = None) -> None:
        self.apis = apis or Apis(catalog or catalog_for())

    @property
    def remembered(self) -> int:
        """The number of requests and correlation ids that are stored."""
        return len(self.in_flight) + len(self._ids or ())

    @property
    def is_in_doubt(self) -> bool:
        """Whether a response may match the wrong request, because bytes are missing."""
        return self._doubt is not None

    def unexpected(self, correlation_id: int) -> UnexpectedResponse:
        """Return the error for a response that answers no request in flight."""
        return unexpected_response(
            correlation_id, self.in_flight[0].correlation_id if self.in_flight else None, lossy=self.lossy
        )

    def regroup(self, group: Hashable) -> None:
        """Switch to the `Call` objects of a group of connections."""
        self.group = group
        self._use(self._client)

    def read_request(self, data: bytes, time: Any = None) -> Header | None:
        """Parse a frame as a request without changing the connection; return None if its header is invalid.

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
        """Process a SASL token without a header; if the sender is unknown, client and broker are assumed to
        alternate.
        """
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
        if self._ids is not None:
            self._ids.append(header.correlation_id)
            if len(self._ids) > 2 * len(self.in_flight) + MANY:  # most of them were answered
                self._index()

    def _settle(self, request: Header, data: bytes, time: Any) -> Header:
        """Process the response to a request in flight; older requests that it overtakes have no response."""
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
        if self._ids is not None:
            return self._ids.find(correlation_id, self.in_flight)
        matching = (header for header in self.in_flight if header.correlation_id == correlation_id)
        found = list(islice(matching, MOST_CANDIDATES))
        if len(self.in_flight) > MANY and (not found or found[0] is not self.in_flight[0]):
            self._index()
        return found

    def _index(self) -> None:
        """Index the correlation ids in flight, so that repeated searches are fast."""
        self._ids = CorrelationIndex(self.in_flight)
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


class Connection(ConnectionState):
    """The state of one connection between a client and a broker, as seen by one of them or by an observer.

    Args:
        catalog: the specs to use; by default those of Kafka's releases.
        apis: specs that several connections share; replaces `catalog`.

    Attributes:
        in_flight: the headers of the requests that have no response yet, oldest first.
        authenticating: whether the newest request belongs to SASL authentication; an undecodable request does not
            change it.
        expects_tokens: whether SASL tokens without a header may follow (after SaslHandshake v0).
        tokens: the number of tokens since the handshake.
        mechanism: the SASL mechanism that the client last requested; None if there was none.
        answers: the assumed type of a response that answers no request in flight; None if unknown.
        lossy: whether bytes of the connection are missing, which may include requests.

    >>> import kwire
    >>> connection = kwire.Connection()
    >>> asked = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, correlation_id=7, client_id="me")
    >>> header = connection.receive(asked, from_client=True)
    >>> header.is_request, header.api_key, header.api_version, header.correlation_id, header.client_id
    (True, 3, 1, 7, 'me')
    >>> answer = kwire.encode_response(kwire.messages.MetadataResponse(controller_id=5), 1, correlation_id=7)
    >>> header = connection.receive(answer, from_client=False)
    >>> header.request.client_id, header.codec.decode(answer[header.body_start(answer) :]).controller_id
    ('me', 5)
    """

    __slots__ = ()

    def receive(
        self, data: bytes, from_client: bool | None = None, time: Any = None, fault: DecodeError | None = None
    ) -> Header:
        """Process the next frame of the connection, and return its header.

        Args:
            data: the complete frame with its size field; or the available bytes of a truncated frame.
            from_client: whether the client sent the frame; None to derive the direction from the content.
            time: the time of the frame, in any unit; it is returned in the header, and in the header of the response.
            fault: the reason why the bytes are not a complete frame, if their container reports it (`Frame.fault`).

        Returns:
            The header. Invalid bytes never raise an error; see `Header.problem`.
        """
        if from_client is None:
            return self._receive(data, None, time, fault)
        first, second = numbers_of(data)
        header = self.pair((None, from_client, 0, time, data, fault, first, second))  # type: ignore[arg-type]
        if header.is_request and not from_client:
            return header.answer(time)
        return header

    def pair(self, captured: CapturedFrame) -> Header:
        """Process the next captured frame, whose first numbers are already known: a faster `receive`.

        Returns:
            The result of `receive`; for a regular response, the header of its request.
        """
        _, from_client, _, time, data, fault, first, second = captured
        if fault is None and first is not None:
            waiting = self.in_flight
            if from_client:
                call = self._calls.get(first)
                if call is None or not data.startswith(self._client, CLIENT_ID):
                    call = self._known_call(data, first)
                if call is not None and (call.is_answered or data.startswith(call.answered, call.start)):
                    header = Header(True, call, second, time)
                    waiting.append(header)
                    return header
            elif waiting and (request := waiting[0]).correlation_id == first:
                call = request.call
                is_plain = call.is_plain or not may_be_downgraded(call.api.key, data)  # type: ignore[union-attr]
                is_sole = len(waiting) == 1 or waiting[1].correlation_id != first
                if is_plain and is_sole and self._doubt is None:
                    waiting.popleft()
                    return request
        return self._receive(data, from_client, time, fault)

    def receive_named(self, data: bytes, api: Api, time: Any = None) -> Header:
        """Process a frame whose type the caller knows, for example from a request log.

        Args:
            data: the complete frame.
            api: the api or message (`Apis.named`); a response is paired only with a request of the same api.
            time: the frame's time.
        """
        codec = api.codec(None)
        if codec is not None and codec.spec.type == "request":
            client = b"" if not api.request_header else client_in(data)
            if client is None or api.request_header is None or len(data) < CLIENT_ID:
                return Header(True, Call(api, b""), None, time)
            return self._accept(data, Header(True, Call(api, client), _INT32(data, 8)[0], time))
        number = _INT32(data, 4)[0] if len(data) >= 8 else None
        found = [] if number is None else [one for one in self._find(number) if one.api_key == api.key]
        return self._settle(found[0], data, time) if found else Header(False, Call(api, b""), number, time)

    def add(self, api: Api, correlation_id: int, client_id: str | None = None, time: Any = None) -> Header:
        """Add a request in flight that was sent before the first received frame.

        Args:
            api: an api of `apis`.
            correlation_id, client_id: the values in the request's header.
            time: the request's time.
        """
        raw = b"\xff\xff" if client_id is None else client_id.encode("utf-8", "replace")
        client = raw if client_id is None else len(raw).to_bytes(2, "big") + raw
        header = Header(True, Call(api, client if api.request_header else b""), correlation_id, time)
        self._append(header)
        return header

    def _known_call(self, data: bytes, number: int) -> Call | None:
        """Return the call of a request if another connection has made the same call and it needs no further checks.

        Otherwise return None.
        """
        if self._calls is self._known and (client := client_in(data)) is not None:
            self._use(client)
            return self._calls.get(number)
        return None

    def _receive(self, data: bytes, from_client: bool | None, time: Any, fault: DecodeError | None) -> Header:
        """Process any frame."""
        if fault is not None:
            if loses(fault):
                self.lossy = True
                self._doubt = self._doubt or Doubt()
                self._doubt.lose(self.in_flight)
            if isinstance(fault, BareToken):
                return self._token(from_client, time)
            if not isinstance(fault, CutShort):
                return Header(from_client, None, None, time, None, "fragment")
        if len(data) < 8 or _INT32(data)[0] < len(data) - 4:
            return self._neither(data, from_client, time, "fragment")
        if from_client is None:
            return self._undirected(data, time)
        return self._request(data, time) if from_client else self._response(data, time)

    def _request(self, data: bytes, time: Any) -> Header:
        """Process a frame from the client."""
        header = self.read_request(data, time)
        # The body of a truncated frame proves nothing: its header is accepted, because few tokens look like one.
        if header is not None and (not self.expects_tokens or not is_whole(data) or is_request(data, header)):
            return self._accept(data, header)
        header = self._neither(data, True, time, "unknown")
        if header.call is not None:
            self._append(header)
        return header

    def _response(self, data: bytes, time: Any) -> Header:
        """Process a frame from the broker: usually the response to the oldest request in flight."""
        found = self._find(_INT32(data, 4)[0])
        if not found and self.answers is not None:
            return Header(False, self.answers, _INT32(data, 4)[0], time)
        if not found:
            return self._neither(data, False, time, "unpaired")
        request = found[0] if len(found) == 1 else best_answered(data, found)
        is_doubtful = self._doubt is not None and self._doubt.covers(request, self.in_flight)
        if is_doubtful and is_whole(data) and contradicts(data, request):
            return self._neither(data, False, time, "unpaired")
        return self._settle(request, data, time)

    def _undirected(self, data: bytes, time: Any) -> Header:
        """Process a frame whose direction is unknown."""
        first = _INT32(data, 4)[0]
        if self._ids is None:
            self._index()
        if not self.authenticating and self.answers is None and (header := self._plain(data, first, time)) is not None:
            return header
        request = self.read_request(data, time)
        found = self._find(first)
        awaited = found[0] if found else None
        if self.answers is not None:
            return self._either(data, time, request, awaited)
        if request is None:
            if awaited is not None and (awaited is self.in_flight[0] or is_response(data, awaited)):
                return self._settle(awaited, data, time)
            return self._neither(data, None, time, "unpaired" if self.in_flight else "unknown")
        if awaited is None and not self.expects_tokens:
            return self._accept(data, request)
        return self._either(data, time, request, awaited)

    def _either(self, data: bytes, time: Any, request: Header | None, awaited: Header | None) -> Header:
        """Process a frame whose header is valid both as a request and as a response or token: the body decides."""
        next_one = awaited if awaited is not None and awaited is self.in_flight[0] else None
        if next_one is not None and is_response(data, next_one):
            return self._settle(next_one, data, time)
        assumed = None if self.answers is None else Header(False, self.answers, _INT32(data, 4)[0], time)
        if assumed is not None and is_response(data, assumed):
            return assumed
        if request is not None and is_request(data, request):
            return self._accept(data, request)
        if awaited is not None and next_one is None and is_response(data, awaited):
            return self._settle(awaited, data, time)
        if self.expects_tokens and is_whole(data):
            return self._token(None, time)
        if next_one is not None:
            return self._settle(next_one, data, time)
        return assumed or self._accept(data, request)  # type: ignore[arg-type]

    def _plain(self, data: bytes, first: int, time: Any) -> Header | None:
        """Process a request like an earlier one, or the response to the oldest request.

        Return None if the frame is not certainly one of them.
        """
        waiting = self.in_flight
        if waiting and (request := waiting[0]).correlation_id == first:
            if self.apis.get(first) is not None or not request.call.is_plain:  # type: ignore[union-attr]
                return None
            waiting.popleft()
            return request.answer(time)
        call = self._known.get(first)
        if call is None or first in self._ids or not data.startswith(self._client, CLIENT_ID):  # type: ignore[operator]
            return None
        if not (call.is_answered or data.startswith(call.answered, call.start)):
            return None
        header = Header(True, call, _INT32(data, 8)[0], time)
        self._append(header)
        return header
