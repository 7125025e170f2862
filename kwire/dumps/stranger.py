"""A connection that is not Kafka's: its bytes are counted and named once, not printed as frames that do not decode.

A request may still come: behind the words of a proxy, or when a capture begins in the middle of a long answer.
"""

from __future__ import annotations

from ..frames.pieces import Encrypted, NoFrame, NotKafka
from ..frames.pieces import Gap as GapFault
from ..frames.said import Said
from .conversation import Conversation
from .protocols import TLS, UNKNOWN
from .recognition import STRONG, Recogniser
from .sources import ends_of
from .tcp import Connection, Gap, Portion, Unseen

SHOWN = 64  # bytes of each side


class _Counted:
    """What one side has sent."""

    def __init__(self) -> None:
        self.first = b""
        self.count = self.missing = self.stop = 0
        self.now: int | None = None

    def add(self, event: Portion | Gap) -> None:
        size = len(event.data) if isinstance(event, Portion) else event.count or 0
        self.stop, self.now = event.offset + size, event.nanoseconds
        if isinstance(event, Gap):
            self.missing += size
            return
        self.count += size
        if len(self.first) < SHOWN:
            self.first = (self.first + event.data)[:SHOWN]


class Stranger:
    """A connection of another protocol.

    Attributes:
        name: the protocol.
        turned: the conversation that it has turned out to be.
    """

    buffered = 0

    def __init__(self, recogniser: Recogniser, connection: Connection, name: str) -> None:
        self.recogniser: Recogniser = recogniser
        self.connection: Connection = connection
        self.name: str = name
        self.turned: Conversation | None = None
        self._sides = _Counted(), _Counted()

    def feed(self, event: Portion | Gap | Unseen) -> list[Said]:
        """Count the next bytes of one side."""
        if self.turned is not None:
            return self.turned.feed(event)
        if self.name == UNKNOWN and isinstance(event, Portion) and self._asks(event.data):
            return self._turn(event)
        if not isinstance(event, Unseen):
            self._sides[event.side].add(event)
        return []

    def stop(self, now: int | None, cause: str) -> list[Said]:
        """Name the bytes of each side; arguments as of `Conversation.stop`."""
        if self.turned is not None:
            return self.turned.stop(now, cause)
        opener = self.connection.opener or 0
        return self._named(opener, opener) + self._named(1 - opener, opener)

    def _named(self, side: int, client: int) -> list[Said]:
        counted = self._sides[side]
        if not counted.count and not counted.missing:
            return []
        kind = Encrypted if self.name == TLS else NotKafka
        fault: NoFrame = kind(counted.count, found=self.name, missing=counted.missing)
        if not counted.count:
            fault = GapFault(counted.missing)
        return [(ends_of(self.connection, client), side == client, 0, counted.now, counted.first, fault, None, 0)]

    def _asks(self, data: bytes) -> bool:
        """Whether a packet is a request, beyond doubt."""
        if self.recogniser.header(data) != STRONG:
            return False
        size = 4 + int.from_bytes(data[:4], "big")
        self.recogniser.allow(len(data))
        return size <= len(data) and self.recogniser.proves_request(data[:size])

    def _turn(self, event: Portion) -> list[Said]:
        frames = self._named(event.side, event.side) + self._named(1 - event.side, event.side)
        head = event.data[4:12]
        self.turned = Conversation(self.recogniser, self.connection, event.side, head)
        self.turned.begin_late(event.offset, self._sides[1 - event.side].stop)
        return frames + self.turned.feed(event)
