"""The begin of a connection: is it Kafka's, and which side is the broker?

The client is who sends the first request, by content: ports say nothing, and a SYN only where content does not.
What comes before that is known is kept, and handed on.
"""

from __future__ import annotations

from ..frames.said import Said
from .conversation import Conversation
from .heads import Head
from .protocols import UNKNOWN, protocol_of
from .recognition import STRONG, Recogniser
from .stranger import Stranger
from .tcp import Connection, Gap, Portion, Unseen

UNDECIDED = 1 << 20  # bytes after which a connection without a request is taken for another protocol's
DOUBTFUL = 1 << 16  # bytes after which a request without a client id is enough
EVENT_COST = 100  # bytes of memory
CLIENT_ID = 14  # bytes of a request before it
ENOUGH_HINTS = 3  # requests of which less was captured


def begins_at_once(recogniser: Recogniser, data: bytes) -> bool:
    """Whether a connection's very first bytes show a conversation, as most do; an `Opening` would say so, too."""
    return recogniser.header(data) == STRONG


class Opening:
    """A connection of which it is not known yet what it speaks."""

    def __init__(self, recogniser: Recogniser, connection: Connection) -> None:
        self.recogniser: Recogniser = recogniser
        self.connection: Connection = connection
        self.buffered: int = 0
        self._counts = [0, 0]  # bytes of each side
        self._doubted = DOUBTFUL
        self._hints = [0, 0]
        self._answers = [False, False]  # whether a side that does not ask seems to answer
        self._cut = [b"", b""]  # heads of what may be requests of which a gap took the end
        self._asking: dict[int, Head] = {}  # in front of a gap, with a request without a client id, which decodes
        self._heads = [Head(recogniser), Head(recogniser)]
        self._log: list[Portion | Gap | Unseen] = []

    def feed(self, event: Portion | Gap | Unseen) -> Conversation | Stranger | None:
        """Take the next bytes of one side; returns what speaks here, once that is known."""
        self._log.append(event)
        self.buffered += EVENT_COST
        if isinstance(event, Unseen):
            return None
        head, opens = self._heads[event.side], event.side == self.connection.opener
        if isinstance(event, Gap):
            return self._gap(event.side, head, opens=opens)
        head.add(event.data)
        self.buffered += len(event.data)
        self._counts[event.side] += len(event.data)
        self.recogniser.allow(len(event.data))
        if head.asks(opener=opens) or (opens and head.may_ask()):
            return self._conversation(event.side)
        if (answered := self._answered(1 - event.side)) is not None:
            return answered
        name = protocol_of(head.data) if head.whole else protocol_of(event.data, middle=True)
        if name is not None:
            return Stranger(self.recogniser, self.connection, name)
        return self._doubt()

    def _gap(self, side: int, head: Head, *, opens: bool) -> Conversation | None:
        """Judge by what came before a gap; what comes behind it has a head of its own."""
        if len(head.data) >= CLIENT_ID and head.asks(opener=opens, final=True):
            return self._conversation(side)
        self._hints[side] += head.hints()
        if self._hints[side] == ENOUGH_HINTS:
            return self._conversation(side)
        self._answers[side] |= head.is_chain()
        self._cut[side] = head.cut_request or self._cut[side]
        if self._may_open(side) and side not in self._asking and head.may_ask():
            self._asking[side] = head
        answered = self._answered(side)
        self._heads[side] = Head(self.recogniser, whole=False)
        return answered

    def _answered(self, side: int) -> Conversation | None:
        """Believe a request that a gap cut short, if the other side begins with a whole response to it."""
        asked = self._cut[side]
        if not asked or not self._heads[1 - side].answers(asked):
            return None
        return Conversation(self.recogniser, self.connection, side, asked)

    def _doubt(self) -> Conversation | Stranger | None:
        """Settle for less, after a while."""
        if self.buffered > UNDECIDED or all(head.refuted for head in self._heads):
            return self.decide()
        if sum(self._counts) > self._doubted:
            self._doubted *= 2
            decided = self.decide()
            return decided if isinstance(decided, Conversation) else None
        return None

    def decide(self) -> Conversation | Stranger:
        """Decide by what is there."""
        opener = self.connection.opener
        sides = (1, 0) if opener == 1 else (0, 1)
        for side in sides:
            if self._heads[side].asks(opener=side == opener, final=True):
                return self._conversation(side)
        for side in sides:
            if side not in self._asking and self._may_open(side) and self._heads[side].may_ask():
                self._asking[side] = self._heads[side]
        doubtful = [side for side in sides if side in self._asking]
        if doubtful:
            side = min(doubtful, key=lambda side: not self._asking[side].at_once)
            return Conversation(self.recogniser, self.connection, side, self._asking[side].request_head)
        answers = [side for side in sides if side != opener and self._seems_to_answer(side)]
        if len(answers) == 1 and not self._counts[1 - answers[0]]:
            return self._conversation(1 - answers[0])  # only the broker's side was captured
        return Stranger(self.recogniser, self.connection, UNKNOWN)

    def _may_open(self, side: int) -> bool:
        return self.connection.opener in (None, side)

    def _seems_to_answer(self, side: int) -> bool:
        return self._answers[side] or self._heads[side].is_chain()

    def replay(self, state: Conversation | Stranger) -> list[Said]:
        """Hand on everything that was kept."""
        return [said for event in self._log for said in state.feed(event)]

    def _conversation(self, client: int) -> Conversation:
        head = self._heads[client].request_head
        return Conversation(self.recogniser, self.connection, client, head)
