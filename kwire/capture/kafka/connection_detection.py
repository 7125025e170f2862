"""Decides from the first bytes of both directions whether a connection is Kafka's, and which side is the broker."""

from __future__ import annotations

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


class UndecidedConnection:
    """A connection whose protocol is not yet known."""

    def __init__(self, recogniser: FrameRecogniser, connection: TcpConnection) -> None:
        self.recogniser: FrameRecogniser = recogniser
        self.connection: TcpConnection = connection
        self.buffered: int = 0
        self._counts = [0, 0]  # bytes received from each side
        self._doubted = DOUBTFUL
        self._hints = [0, 0]
        self._answers = [False, False]  # whether a side without requests seems to send responses
        self._cut = [b"", b""]  # headers of possible requests that a gap truncates
        self._asking: dict[int, StreamHead] = {}  # before a gap: sides with a request without a client id that decodes
        self._heads = [StreamHead(recogniser), StreamHead(recogniser)]
        self._log: list[Portion | StreamGap | Unseen] = []

    def feed(self, event: Portion | StreamGap | Unseen) -> KafkaConnection | NonKafkaConnection | None:
        """Process the next data of one side; return the connection of the protocol once it is known."""
        self._log.append(event)
        self.buffered += EVENT_COST
        if isinstance(event, Unseen):
            return None
        head = self._heads[event.side]
        opens = event.side == self.connection.opener
        if isinstance(event, StreamGap):
            return self._decide_before_gap(event.side, head, opens=opens)
        head.add(event.data)
        self.buffered += len(event.data)
        self._counts[event.side] += len(event.data)
        self.recogniser.allow(len(event.data))
        if head.asks(opener=opens) or (opens and head.may_ask()):
            return self._begin_connection(event.side)
        if (answered := self._accept_answered_request(1 - event.side)) is not None:
            return answered
        name = recognise_protocol(head.data) if head.whole else recognise_protocol(event.data, middle=True)
        if name is not None:
            return NonKafkaConnection(self.recogniser, self.connection, name)
        return self._accept_weaker_evidence()

    def _decide_before_gap(self, side: int, head: StreamHead, *, opens: bool) -> KafkaConnection | None:
        """Decide based on the bytes before a gap; the bytes after it are examined separately."""
        if len(head.data) >= CLIENT_ID and head.asks(opener=opens, final=True):
            return self._begin_connection(side)
        self._hints[side] += head.hints()
        if self._hints[side] == ENOUGH_HINTS:
            return self._begin_connection(side)
        self._answers[side] |= head.is_chain()
        self._cut[side] = head.cut_request or self._cut[side]
        if self._may_open(side) and side not in self._asking and head.may_ask():
            self._asking[side] = head
        answered = self._accept_answered_request(side)
        self._heads[side] = StreamHead(self.recogniser, whole=False)
        return answered

    def _accept_answered_request(self, side: int) -> KafkaConnection | None:
        """Accept a request that a gap truncates if the other side starts with a complete response to it."""
        request_head = self._cut[side]
        if not request_head or not self._heads[1 - side].answers(request_head):
            return None
        return KafkaConnection(self.recogniser, self.connection, side, request_head)

    def _accept_weaker_evidence(self) -> KafkaConnection | NonKafkaConnection | None:
        """Accept weaker evidence after many bytes."""
        if self.buffered > UNDECIDED or all(head.refuted for head in self._heads):
            return self.decide()
        if sum(self._counts) > self._doubted:
            self._doubted *= 2
            decided = self.decide()
            return decided if isinstance(decided, KafkaConnection) else None
        return None

    def decide(self) -> KafkaConnection | NonKafkaConnection:
        """Decide based on the bytes that have arrived."""
        opener = self.connection.opener
        sides = (1, 0) if opener == 1 else (0, 1)
        for side in sides:
            if self._heads[side].asks(opener=side == opener, final=True):
                return self._begin_connection(side)
        for side in sides:
            if side not in self._asking and self._may_open(side) and self._heads[side].may_ask():
                self._asking[side] = self._heads[side]
        doubtful = [side for side in sides if side in self._asking]
        if doubtful:
            side = min(doubtful, key=lambda side: not self._asking[side].at_once)
            return KafkaConnection(self.recogniser, self.connection, side, self._asking[side].request_head)
        answers = [side for side in sides if side != opener and self._seems_to_answer(side)]
        if len(answers) == 1 and not self._counts[1 - answers[0]]:
            return self._begin_connection(1 - answers[0])  # only the broker's side was captured
        return NonKafkaConnection(self.recogniser, self.connection, UNKNOWN)

    def _may_open(self, side: int) -> bool:
        return self.connection.opener in (None, side)

    def _seems_to_answer(self, side: int) -> bool:
        return self._answers[side] or self._heads[side].is_chain()

    def replay(self, state: KafkaConnection | NonKafkaConnection) -> list[CapturedFrame]:
        """Feed all buffered data to the connection `state`; return the frames."""
        return [captured for event in self._log for captured in state.feed(event)]

    def _begin_connection(self, client: int) -> KafkaConnection:
        head = self._heads[client].request_head
        return KafkaConnection(self.recogniser, self.connection, client, head)
