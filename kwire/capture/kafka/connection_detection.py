"""Decides from the first bytes of both directions whether a connection is Kafka's, and which side is the broker."""

from __future__ import annotations

from dataclasses import dataclass

from ...protocol.frames.captured_frame import CapturedFrame
from ..tcp.connection import Portion, StreamGap, TcpConnection, Unseen
from .connection_frames import KafkaConnection
from .frame_recognition import STRONG, FrameRecogniser
from .non_kafka_connection import NonKafkaConnection
from .other_protocols import UNKNOWN, recognise_protocol
from .stream_head import StreamHead

UNDECIDED = 1 << 20  # bytes without any request after which a connection is classified as another protocol
DOUBTFUL = 1 << 16  # bytes after which a request without a client id is sufficient
EVENT_COST = 100  # bytes of memory
CLIENT_ID = 14  # offset of the client id in a request, in bytes
ENOUGH_HINTS = 3  # truncated requests


def begins_with_request(recogniser: FrameRecogniser, data: bytes) -> bool:
    """Whether the first bytes of a connection identify it as Kafka's, as in most connections.

    `UndecidedConnection` gives the same result.
    """
    return recogniser.header(data) == STRONG


@dataclass(slots=True)
class _Side:
    """The evidence in the bytes of one side.

    Attributes:
        number: 0 or 1.
        head: the bytes from the start of the stream, or from the last gap on.
        count: how many bytes were received.
        hints: how many gaps truncated a packet that starts as a request.
        seems_to_answer: whether bytes before a gap look like responses.
        cut_request: header of a possible request that a gap truncates; empty if there is none.
        doubtful: the bytes with a request that decodes but has no client id; None if there are none.
    """

    number: int
    head: StreamHead
    count: int = 0
    hints: int = 0
    seems_to_answer: bool = False
    cut_request: bytes = b""
    doubtful: StreamHead | None = None


class UndecidedConnection:
    """A connection whose protocol is not yet known."""

    def __init__(self, recogniser: FrameRecogniser, connection: TcpConnection) -> None:
        self.recogniser: FrameRecogniser = recogniser
        self.connection: TcpConnection = connection
        self.buffered: int = 0
        self._sides = _Side(0, StreamHead(recogniser)), _Side(1, StreamHead(recogniser))
        self._doubted = DOUBTFUL
        self._log: list[Portion | StreamGap | Unseen] = []

    def feed(self, event: Portion | StreamGap | Unseen) -> KafkaConnection | NonKafkaConnection | None:
        """Process the next data of one side; return the connection of the protocol once it is known."""
        self._log.append(event)
        self.buffered += EVENT_COST
        if isinstance(event, Unseen):
            return None
        side = self._sides[event.side]
        opens = event.side == self.connection.opener
        if isinstance(event, StreamGap):
            return self._decide_before_gap(side, opens=opens)
        head = side.head
        head.add(event.data)
        self.buffered += len(event.data)
        side.count += len(event.data)
        self.recogniser.allow(len(event.data))
        if head.asks(opener=opens) or (opens and head.may_ask()):
            return self._begin_connection(side.number, head.request_head)
        answered = self._accept_answered_request(self._sides[1 - event.side])
        if answered is not None:
            return answered
        name = recognise_protocol(head.data) if head.whole else recognise_protocol(event.data, middle=True)
        if name is not None:
            return NonKafkaConnection(self.recogniser, self.connection, name)
        return self._accept_weaker_evidence()

    def _decide_before_gap(self, side: _Side, *, opens: bool) -> KafkaConnection | None:
        """Decide based on the bytes before a gap; the bytes after it are examined separately."""
        head = side.head
        if len(head.data) >= CLIENT_ID and head.asks(opener=opens, final=True):
            return self._begin_connection(side.number, head.request_head)
        side.hints += head.hints()
        if side.hints == ENOUGH_HINTS:
            return self._begin_connection(side.number, head.request_head)
        side.seems_to_answer |= head.is_chain()
        side.cut_request = head.cut_request or side.cut_request
        self._note_doubtful(side)
        answered = self._accept_answered_request(side)
        side.head = StreamHead(self.recogniser, whole=False)
        return answered

    def _note_doubtful(self, side: _Side) -> None:
        """Keep the first bytes of a side with a request without a client id, if this side may be the client's."""
        if side.doubtful is None and self.connection.opener in (None, side.number) and side.head.may_ask():
            side.doubtful = side.head

    def _accept_answered_request(self, side: _Side) -> KafkaConnection | None:
        """Accept a request that a gap truncates if the other side starts with a complete response to it."""
        if not side.cut_request or not self._sides[1 - side.number].head.answers(side.cut_request):
            return None
        return self._begin_connection(side.number, side.cut_request)

    def _accept_weaker_evidence(self) -> KafkaConnection | NonKafkaConnection | None:
        """Accept weaker evidence after many bytes."""
        if self.buffered > UNDECIDED or all(side.head.refuted for side in self._sides):
            return self.decide()
        if sum(side.count for side in self._sides) > self._doubted:
            self._doubted *= 2
            decided = self.decide()
            return decided if isinstance(decided, KafkaConnection) else None
        return None

    def decide(self) -> KafkaConnection | NonKafkaConnection:
        """Decide based on the bytes that have arrived."""
        opener = self.connection.opener
        sides = self._sides[::-1] if opener == 1 else self._sides
        # 1. A request with a client id, which may be truncated.
        for side in sides:
            if side.head.asks(opener=side.number == opener, final=True):
                return self._begin_connection(side.number, side.head.request_head)
        # 2. A request without a client id, best at the first byte.
        for side in sides:
            self._note_doubtful(side)
        doubtful = [(side.number, side.doubtful) for side in sides if side.doubtful is not None]
        if doubtful:
            number, head = min(doubtful, key=lambda row: not row[1].at_once)
            return self._begin_connection(number, head.request_head)
        # 3. Responses, if only the broker's side was captured.
        answering = [side for side in sides if side.number != opener and (side.seems_to_answer or side.head.is_chain())]
        if len(answering) == 1:
            client = self._sides[1 - answering[0].number]
            if not client.count:
                return self._begin_connection(client.number, client.head.request_head)
        return NonKafkaConnection(self.recogniser, self.connection, UNKNOWN)

    def replay(self, state: KafkaConnection | NonKafkaConnection) -> list[CapturedFrame]:
        """Feed all buffered data to the connection `state`; return the frames."""
        return [captured for event in self._log for captured in state.feed(event)]

    def _begin_connection(self, client: int, request_head: bytes) -> KafkaConnection:
        return KafkaConnection(self.recogniser, self.connection, client, request_head)
