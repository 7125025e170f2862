"""A Kafka conversation: both directions of a connection become frames, requests before their answers.

Notes which answers are awaited, as far as finding frames needs it, and the bare tokens of SASL. What the frames say
is decoded elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set

from ..frames import Frame
from ..frames.pieces import BareToken, NoFrame
from .direction import Cut, Direction
from .recognition import FAR, NO, REQUESTS, RESERVED_IDS, SHORT, Awaited, Recogniser, Verdict
from .search import Search
from .sources import Scribe
from .tcp import Connection, Gap, Portion

SASL_HANDSHAKE_0 = b"\x00\x11\x00\x00"  # api key 17, version 0: what follows has no header
TOKEN = b""
IN_FLIGHT = 1024  # requests that are remembered
APIS = 32
LOOKED_AT = 64  # of which so many are looked at when an answer must be found


class Conversation:
    """A connection of which it is known that it is Kafka's, and which side is the broker.

    Args:
        scribe: writes the frames.
        recogniser: what frames look like.
        client: the side that sends requests.
        head: api key, version and correlation id of the request that showed it.
    """

    def __init__(
        self, scribe: Scribe, recogniser: Recogniser, connection: Connection, client: int, head: bytes = b""
    ) -> None:
        self.scribe, self.recogniser, self.connection, self.client = scribe, recogniser, connection, client
        self.source = scribe.source(connection, client)
        self._client_id: bytes | None = None  # with its length in front
        self._newest = _counted(head[4:], None) if head else None
        self._answered: int | None = None
        self._expected: deque[bytes] = deque(maxlen=IN_FLIGHT)  # api key, version and correlation id; or TOKEN
        self._awaited = Awaited()
        self._apis: dict[bytes, None] = {head[:4]: None} if head else {}  # api keys and versions of requests
        self._tokens = False
        self.requests, self.responses = Direction(self._search_request), Direction(self._search_response)

    def begin_late(self, requests: int, responses: int) -> None:
        """Begin in the middle, with these offsets in the streams."""
        self.requests.begin_at(requests)
        self.responses.begin_at(responses)

    @property
    def buffered(self) -> int:
        """How many bytes wait for others."""
        return self.requests.buffered + self.responses.buffered

    def feed(self, event: Portion | Gap) -> list[Frame]:
        """Take the next bytes of one side, or a gap."""
        asked = event.side == self.client
        direction = self.requests if asked else self.responses
        if isinstance(event, Portion):
            if not direction.synced:
                self._prepare(len(event.data))
            cuts = direction.feed(event.data)
        else:
            self._prepare(direction.buffered)
            cuts = direction.gap(event.offset, event.count)
        return self._frames(cuts, asked, event.nanoseconds) if cuts else []

    def stop(self, now: int | None) -> list[Frame]:
        """Give out what waits for bytes that will not come."""
        self._prepare(self.buffered)
        return self._frames(self.requests.stop(), True, now) + self._frames(self.responses.stop(), False, now)

    def _frames(self, cuts: list[Cut], asked: bool, now: int | None) -> list[Frame]:
        note = self._request if asked else self._response
        write, source = self.scribe.write, self.source
        return [
            write(source, asked, offset, now, data, note(data) if fault is None else fault)
            for offset, data, fault in cuts
        ]

    def _request(self, data: bytes) -> NoFrame | None:
        """Note that an answer is awaited."""
        if self._tokens and self._is_token(data):
            self._expected.append(TOKEN)
            return BareToken(len(data))
        head = data[4:12]
        self._tokens = head.startswith(SASL_HANDSHAKE_0)
        if self._tokens:
            self.responses.reader.least = 0  # the answer to a token may be empty
        if self._client_id is None and len(data) > 14:
            self._client_id = data[12 : 14 + int.from_bytes(data[12:14], "big")]
        if len(head) == 8:
            self._expected.append(head)
            self._newest = _counted(head[4:], self._newest)
            if head[:4] not in self._apis and len(self._apis) < APIS:
                self._apis[head[:4]] = None
        return None

    def _response(self, data: bytes) -> NoFrame | None:
        """Note that an answer is awaited no longer; those before it will not come."""
        correlation_id, expected = data[4:8], self._expected
        for index, head in enumerate(expected):
            if head and head[4:] == correlation_id:
                for _ in range(index + 1):
                    expected.popleft()
                break
        else:
            token = bool(expected) and expected[0] == TOKEN
            if (token or self._tokens) and not self._is_of_now(correlation_id):
                if token:
                    expected.popleft()
                return BareToken(len(data))
        self._answered = _counted(correlation_id, self._answered)
        return None

    def _is_of_now(self, correlation_id: bytes) -> bool:
        """Whether a request that was lost may have had this id."""
        number = int.from_bytes(correlation_id, "big") if len(correlation_id) == 4 else -FAR
        return self._newest is not None and 0 < number - self._newest < FAR

    def _is_token(self, data: bytes) -> bool:
        """Whether these are no request behind SaslHandshake v0."""
        looks = self.recogniser.header(data)
        whole = len(data) == 4 + int.from_bytes(data[:4], "big")
        return looks == NO or (looks == SHORT and whole)

    def _prepare(self, count: int) -> None:
        """Get ready to search so many bytes."""
        self.recogniser.allow(count)
        asked: dict[bytes, list[bytes]] = {}
        for head, _ in zip(self._expected, range(LOOKED_AT), strict=False):
            if head:
                asked.setdefault(head[4:], []).append(head[:4])
        self._awaited = Awaited(asked, self._apis, self._answered, self._newest)

    def _search_request(self) -> Search:
        return Search(lambda: REQUESTS, self._judge_request)

    def _judge_request(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_request(data, position, packets, self._client_id)

    def _search_response(self) -> Search:
        return Search(lambda: self._awaited.pattern, self._judge_response)

    def _judge_response(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_response(data, position, packets, self._awaited)


def _counted(correlation_id: bytes, before: int | None) -> int | None:
    """Return the newest number of those that a client counts up, not of the reserved ones."""
    number = int.from_bytes(correlation_id, "big")
    return number if number < RESERVED_IDS else before
