"""The state machine of one connection: finds the direction of each frame and the request of each response.

Sans-IO, like h11's Connection: complete frames go in, headers come out; `frame_decoder` decodes bodies. This package
has all rules of a connection: requests in flight, requests without a response (acks=0), responses out of order, SASL
tokens without a header, ApiVersions in version 0 (KIP-511), truncated frames. Most frames are identified by their
first bytes; `ambiguous_frames` has those of which the body must be decoded.
"""

from __future__ import annotations

from typing import Any

from ...errors import DecodeError
from ..frames.captured_frame import WHOLE_FILE, CapturedFrame, first_numbers
from ..frames.stream_faults import BareToken, CutShort, loses_bytes
from ..headers.api_versions_downgrade import may_be_downgraded
from ..headers.apis import Api, Call
from ..headers.header import CLIENT_ID_AT, Header, find_client_id
from .ambiguous_frames import best_answered, contradicts, is_request, is_response
from .connection_state import INT32, KafkaConnectionState, is_whole
from .lost_bytes import PairingDoubt


class Connection(KafkaConnectionState):
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
        first, second = first_numbers(data)
        header = self.pair(CapturedFrame(WHOLE_FILE, from_client, 0, time, data, fault, first, second))
        if header.is_request and not from_client:
            return header.answer(time)
        return header

    def pair(self, captured: CapturedFrame) -> Header:
        """Process the next captured frame, whose first numbers are already known: a faster `receive`.

        Returns:
            The result of `receive`; for a regular response, the header of its request.
        """
        data, time, first = captured.data, captured.nanoseconds, captured.first
        if captured.fault is None and first is not None:
            waiting = self.in_flight
            if captured.is_request:
                call = self._calls.get(first)
                if call is None or not data.startswith(self._client, CLIENT_ID_AT):
                    call = self._known_call(data, first)
                if call is not None and (call.is_answered or data.startswith(call.answered, call.start)):
                    header = Header(True, call, captured.second, time)
                    waiting.append(header)
                    return header
            elif waiting and (request := waiting[0]).correlation_id == first:
                call = request.call
                is_plain = call.is_plain or not may_be_downgraded(call.api.key, data)  # type: ignore[union-attr]
                is_sole = len(waiting) == 1 or waiting[1].correlation_id != first
                if is_plain and is_sole and self._doubt is None:
                    waiting.popleft()
                    return request
        return self._receive(data, captured.is_request, time, captured.fault)

    def receive_named(self, data: bytes, api: Api, time: Any = None) -> Header:
        """Process a frame whose type the caller knows, for example from a request log.

        Args:
            data: the complete frame.
            api: the api or message (`Apis.named`); a response is paired only with a request of the same api.
            time: the frame's time.
        """
        codec = api.codec(None)
        if codec is not None and codec.spec.type == "request":
            client = b"" if not api.request_header else find_client_id(data)
            if client is None or api.request_header is None or len(data) < CLIENT_ID_AT:
                return Header(True, Call(api, b""), None, time)
            return self._accept(data, Header(True, Call(api, client), INT32(data, 8)[0], time))
        number = INT32(data, 4)[0] if len(data) >= 8 else None
        candidates = [] if number is None else [request for request in self._find(number) if request.api_key == api.key]
        return self._settle(candidates[0], data, time) if candidates else Header(False, Call(api, b""), number, time)

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
        if self._calls is self._known and (client := find_client_id(data)) is not None:
            self._use(client)
            return self._calls.get(number)
        return None

    def _receive(self, data: bytes, from_client: bool | None, time: Any, fault: DecodeError | None) -> Header:
        """Process any frame."""
        if fault is not None:
            if loses_bytes(fault):
                self.lossy = True
                self._doubt = self._doubt or PairingDoubt()
                self._doubt.lose(self.in_flight)
            if isinstance(fault, BareToken):
                return self._receive_token(from_client, time)
            if not isinstance(fault, CutShort):
                return Header(from_client, None, None, time, None, "fragment")
        if len(data) < 8 or INT32(data)[0] < len(data) - 4:
            return self._receive_other(data, from_client, time, "fragment")
        if from_client is None:
            return self._receive_undirected(data, time)
        return self._receive_request(data, time) if from_client else self._receive_response(data, time)

    def _receive_request(self, data: bytes, time: Any) -> Header:
        """Process a frame from the client."""
        header = self.read_request(data, time)
        # The body of a truncated frame proves nothing: its header is accepted, because few tokens look like one.
        if header is not None and (not self.expects_tokens or not is_whole(data) or is_request(data, header)):
            return self._accept(data, header)
        header = self._receive_other(data, True, time, "unknown")
        if header.call is not None:
            self._append(header)
        return header

    def _receive_response(self, data: bytes, time: Any) -> Header:
        """Process a frame from the broker: usually the response to the oldest request in flight."""
        candidates = self._find(INT32(data, 4)[0])
        if not candidates and self.answers is not None:
            return Header(False, self.answers, INT32(data, 4)[0], time)
        if not candidates:
            return self._receive_other(data, False, time, "unpaired")
        request = best_answered(data, candidates)
        is_doubtful = self._doubt is not None and self._doubt.covers(request, self.in_flight)
        if is_doubtful and is_whole(data) and contradicts(data, request):
            return self._receive_other(data, False, time, "unpaired")
        return self._settle(request, data, time)

    def _receive_undirected(self, data: bytes, time: Any) -> Header:
        """Process a frame whose direction is unknown."""
        first = INT32(data, 4)[0]
        if self._ids is None:
            self._index()
        is_usual = not self.authenticating and self.answers is None and self._doubt is None
        if is_usual and (header := self._receive_plain(data, first, time)) is not None:
            return header
        request = self.read_request(data, time)
        candidates = self._find(first)
        awaited = best_answered(data, candidates) if candidates else None
        if self.answers is not None:
            return self._receive_ambiguous(data, time, request, awaited)
        if request is None:
            if awaited is not None and (awaited is self.in_flight[0] or is_response(data, awaited)):
                return self._settle(awaited, data, time)
            return self._receive_other(data, None, time, "unpaired" if self.in_flight else "unknown")
        if awaited is None and not self.expects_tokens:
            return self._accept(data, request)
        return self._receive_ambiguous(data, time, request, awaited)

    def _receive_ambiguous(self, data: bytes, time: Any, request: Header | None, awaited: Header | None) -> Header:
        """Process a frame whose header is valid both as a request and as a response or token: the body decides."""
        next_one = awaited if awaited is not None and awaited is self.in_flight[0] else None
        if next_one is not None and is_response(data, next_one):
            return self._settle(next_one, data, time)
        assumed = None if self.answers is None else Header(False, self.answers, INT32(data, 4)[0], time)
        if assumed is not None and is_response(data, assumed):
            return assumed
        if request is not None and is_request(data, request):
            return self._accept(data, request)
        if awaited is not None and next_one is None and is_response(data, awaited):
            return self._settle(awaited, data, time)
        if self.expects_tokens and is_whole(data):
            return self._receive_token(None, time)
        if next_one is not None:
            return self._settle(next_one, data, time)
        return assumed or self._accept(data, request)  # type: ignore[arg-type]

    def _receive_plain(self, data: bytes, first: int, time: Any) -> Header | None:
        """Process a request like an earlier one, or the response to the oldest request.

        Return None if the frame is not certainly one of them.
        """
        waiting = self.in_flight
        if waiting and (request := waiting[0]).correlation_id == first:
            is_sole = len(waiting) == 1 or waiting[1].correlation_id != first
            is_api = self.apis.get(first) is not None  # the number may be the api key and version of a request, too
            if is_api or not is_sole or not request.call.is_plain:  # type: ignore[union-attr]
                return None
            waiting.popleft()
            return request.answer(time)
        call = self._known.get(first)
        if call is None or first in self._ids or not data.startswith(self._client, CLIENT_ID_AT):  # type: ignore[operator]
            return None
        if not (call.is_answered or data.startswith(call.answered, call.start)):
            return None
        header = Header(True, call, INT32(data, 8)[0], time)
        self._append(header)
        return header
