"""The state of a connection between two frames: requests in flight, SASL, known calls of the client."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from itertools import islice
from struct import Struct
from typing import Any

from ...codecs.native import NO_CALLS, PairingState
from ...errors import UnexpectedResponse
from ...schema.catalog import Catalog, catalog_for
from ..frames.stream_faults import unexpected_response
from ..headers.api_versions_downgrade import may_be_downgraded
from ..headers.apis import SASL_HANDSHAKE, Api, Apis, Call
from ..headers.header import CLIENT_ID_AT, Header, find_client_id
from ..results import Request
from .ambiguous_frames import decode_as_request, decode_as_response, is_answered, is_request
from .in_flight_index import MOST_CANDIDATES, CorrelationIndex
from .lost_bytes import PairingDoubt

MOST_ASKED = 0xFFFF  # maximum number of requests of an authenticating client, counted by correlation ids
MANY = 128  # number of requests in flight above which a failed search builds an index of correlation ids
_NUMBERS = Struct(">ii").unpack_from
INT32 = Struct(">i").unpack_from


class KafkaConnectionState(PairingState):
    """The state of a connection; `Connection` is its public form."""

    __slots__ = ()
    apis: Apis
    in_flight: deque[Header]  # or its native counterpart, `InFlight`
    mechanism: str | None
    group: Hashable
    answers: Call | None
    _doubt: PairingDoubt | None  # set while bytes are missing and responses cannot yet be matched to requests
    _ids: CorrelationIndex | None  # of the requests in flight
    # calls of this client; `_calls` is empty if every call needs further checks
    _known: dict[int, Call]
    _calls: dict[int, Call]

    def __init__(self, catalog: Catalog | None = None, *, apis: Apis | None = None) -> None:
        self.apis = apis or Apis(catalog or catalog_for())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the state from which another process continues."""
        in_flight: Any = self.in_flight
        facts = self.apis, in_flight.entries, self.answers, self.group, self.mechanism, self._doubt, self._ids
        uses = self._client, self._known is NO_CALLS, self._calls is NO_CALLS
        more = self.call, self.authenticating, self.expects_tokens, self.lossy, self.tokens
        return new_connection, (type(self),), (*facts, *uses, *more, self._own_state)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.apis, entries, self.answers, self.group, self.mechanism, self._doubt, self._ids, *others = state
        self._client, is_unknown, is_uncertain, call, self.authenticating, *others = others
        self.expects_tokens, lossy, self.tokens, own = others
        self.call: Any = call
        self.lossy: bool = lossy
        in_flight: Any = self.in_flight
        in_flight.go_on(entries)
        self._known = NO_CALLS if is_unknown else self.apis.calls(self._client, self.group)
        self._calls = NO_CALLS if is_uncertain else self._known
        self._own_state = own

    @property
    def _own_state(self) -> Any:
        """What a subclass adds to the pickled state."""
        return None

    @_own_state.setter
    def _own_state(self, state: Any) -> None:
        pass

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
        if len(data) < CLIENT_ID_AT:
            return None
        number, correlation_id = _NUMBERS(data, 4)
        api = self.apis.get(number)
        if api is None or api.request_header is None:
            return None
        client = b"" if not api.request_header else find_client_id(data)
        return None if client is None else Header(True, self._call(api, client), correlation_id, time)

    def _receive_other(self, data: bytes, from_client: bool | None, time: Any, problem: str) -> Header:
        """Process a frame that is neither a request of a known api nor the response to one."""
        if self.expects_tokens and is_whole(data) and not (problem == "unpaired" and self._may_lack_request(data)):
            return self._receive_token(from_client, time)
        if problem == "unpaired":
            return Header(from_client, None, INT32(data, 4)[0], time, problem=problem)
        client = find_client_id(data) if problem == "unknown" else None
        if client is None or from_client is False:
            return Header(from_client, None, None, time, None, problem)
        number, correlation_id = _NUMBERS(data, 4)
        call = Call(self.apis.unknown(number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000), client)
        return Header(from_client, call, correlation_id, time, problem=problem)

    def _may_lack_request(self, data: bytes) -> bool:
        """Whether a frame may be the response to a lost request: SASL tokens never start with such numbers."""
        return self.lossy and 0 <= INT32(data, 4)[0] <= MOST_ASKED

    def _receive_token(self, from_client: bool | None, time: Any) -> Header:
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
        handshake = decode_as_request(data, call)
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
            version = decode_as_response(data, request).codec.version
            call = call if version == call.version else call.downgraded
        return Header(False, call, request.correlation_id, time, request, request.problem, tuple(overtaken))

    def _find(self, correlation_id: int) -> list[Header]:
        """Return the requests in flight with a correlation id, oldest first."""
        if self._ids is not None:
            return self._ids.find(correlation_id, self.in_flight)
        matching = (header for header in self.in_flight if header.correlation_id == correlation_id)
        candidates = list(islice(matching, MOST_CANDIDATES))
        if len(self.in_flight) > MANY and (not candidates or candidates[0] is not self.in_flight[0]):
            self._index()
        return candidates

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


def new_connection(cls: type[KafkaConnectionState]) -> KafkaConnectionState:
    """Return a connection without its state, which unpickling then sets."""
    return cls.__new__(cls)


def is_whole(data: bytes) -> bool:
    """Whether the size field of a frame matches its length."""
    return len(data) >= 4 and INT32(data)[0] == len(data) - 4
