"""Follows the frames of a capture for a timeline; the bodies of most Fetch and Produce frames are not decoded.

They are most of the traffic, and say something only if they carry an error or a throttle time, or records of the
metadata log: the native engine finds these in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...protocol import FrameDecoder, Result
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.frames.captured_frame import SECOND, CapturedBatch, CapturedFrame, Endpoints, make_frame
from ...protocol.headers.apis import Call
from ...protocol.headers.header import Header
from ...protocol.message_summary import make_body_facts
from ...redact.metadata_log_secrets import METADATA_LOG

if TYPE_CHECKING:
    from ...codecs.native import BodyFacts  # missing where the engine was not built

PRODUCE, FETCH = 0, 1
Sent = Callable[[Call, Endpoints, int, int, float | None], None]
Ended = Callable[[Sequence[Header], Endpoints], None]


class _CallFacts:
    """What the responses of a call need: how to find their errors, and where their throttle time is."""

    __slots__ = ("facts", "throttle")

    def __init__(self, call: Call) -> None:
        codec = call.codec(False)
        self.facts: BodyFacts | None = None if codec is None else make_body_facts(codec, METADATA_LOG)
        self.throttle: slice | None = None
        if call.version >= 1:  # before, neither response has one
            is_flexible = call.api.response_header == 1
            at_end = slice(-5, -1) if is_flexible else slice(-4, None)
            self.throttle = at_end if call.api.key == PRODUCE else slice(0, 4)

    def is_silent(self, body: bytes) -> bool:
        """Whether a response has neither error nor throttle time, and is not of the metadata log."""
        if self.facts is None or (self.throttle is not None and any(body[self.throttle])):
            return False
        facts = self.facts.of(body)
        return facts is not None and not facts[0]


class LightFrames:
    """Decodes the frames of one capture that say something.

    Args:
        decoder: decodes them; must not be shared with another capture.
        file: the name of the capture.
        sent: called with each request that is not decoded: its call, endpoints, correlation id, frame, and time in
            seconds since 1970.
        ended: called with the requests in flight of each connection that ends, and its endpoints.
    """

    def __init__(
        self,
        decoder: FrameDecoder,
        file: str,
        sent: Sent,
        ended: Ended,
    ) -> None:
        self._decoder = decoder
        self._file = file
        self._sent = sent
        self._ended = ended
        self._number = 0
        self._calls: dict[Call, _CallFacts] = {}
        self._asking: dict[int, tuple[DecodedConnection, Endpoints]] = {}  # connections with requests

    def results(self, batch: CapturedBatch) -> Iterator[Result]:
        """Yield the decoded frames of a batch."""
        connections = self._decoder.connections
        for captured in batch:
            if isinstance(captured, int):
                connection = self._asking.pop(captured, None)
                if connection is not None:
                    self._ended(tuple(connection[0].in_flight), connection[1])
                connections.forget(captured)
                continue
            number = self._number
            self._number += 1
            connection_state = connections.of(captured.ends)
            header = connection_state.pair(captured)
            if captured.is_request:
                header.number(number)
                if captured.ends.connection not in self._asking:
                    self._asking[captured.ends.connection] = connection_state, captured.ends
            if not self._is_passed(captured, header, connection_state, number):
                frame = make_frame(captured, self._file, number)
                yield self._decoder.result(frame, connection_state, header, SECOND)

    def _is_passed(self, captured: CapturedFrame, header: Header, connection: DecodedConnection, number: int) -> bool:
        """Whether a frame need not be decoded; its request is noted."""
        call = header.call
        if call is None or call.api.key not in (FETCH, PRODUCE) or header.problem or captured.fault is not None:
            return False
        if captured.first is None:
            return False
        if captured.is_request:
            now = captured.nanoseconds
            connection.meet(call.api.key, call.client_id)
            self._sent(call, captured.ends, captured.second, number, None if now is None else now / SECOND)
            return True
        start = 8
        if call.api.response_header == 1:
            if captured.data[8:9] != b"\0":
                return False
            start = 9
        facts = self._calls.get(call)
        if facts is None:
            facts = self._calls[call] = _CallFacts(call)
        return facts.is_silent(captured.data[start:])
