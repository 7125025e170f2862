"""What is known of a connection while its frames are told apart: who asks, and what waits for an answer.

Reads headers of requests, and nothing else of them.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import NamedTuple

from ..frames.peeking import MOST_WAITING, SHORTEST
from .apis import Api, Apis

NO_CLIENT = b"\xff\xff"
Asked = tuple[int, Api, str | None]  # correlation id, api, client id
_NUMBERS = Struct(">ii").unpack_from


class Ends(NamedTuple):
    """A connection: `ip:port` of both ends, and when it first said something, in nanoseconds since 1970."""

    client: str
    broker: str
    began: int | None


class State(NamedTuple):
    """What a place in raw frames knows of those before it.

    Attributes:
        waiting: of each request in flight the correlation id, its api and version as one number, and the client id.
        client: the newest client id, as bytes with its length in front.
        bare: whether tokens without a header may come, and `tokens` how many have come.
        least: the smallest size of a frame.
    """

    waiting: tuple[tuple[int, int, str | None], ...] = ()
    bare: bool = False
    tokens: int = 0
    least: int = 4


class Talk:
    """One connection: its ends, the requests in flight, who asks, and whether bare tokens may come. The correlation ids
    of the requests in flight are among `ids`, where nothing else tells directions, so that those of nobody are not
    searched for. It is `lossy` if bytes of it are missing."""

    __slots__ = ("bare", "client", "ends", "ids", "lossy", "name", "tokens", "waiting")

    def __init__(self, ends: Ends | None) -> None:
        self.ends = ends
        self.waiting: deque[Asked] = deque(maxlen=MOST_WAITING)
        self.ids: set[int] = set()
        self.client = NO_CLIENT
        self.name: str | None = None
        self.bare, self.tokens, self.lossy = False, 0, False

    def add(self, request: Asked) -> None:
        """Note a request in flight."""
        self.waiting.append(request)
        self.ids.add(request[0])
        self.forget()

    def awaits(self, number: int, asked: bool | None = None) -> bool:
        """Whether there is a request in flight with this correlation id; `asked` is what is known of the direction."""
        return (asked is False or number in self.ids) and any(one[0] == number for one in self.waiting)

    def forget(self) -> None:
        """Forget ids that nobody waits for, so that they do not become too many."""
        if len(self.ids) > 2 * MOST_WAITING:
            self.ids = {asked[0] for asked in self.waiting}

    def request(self, data: bytes, apis: Apis) -> Asked | None:
        """Read the header of a request; None if it is none."""
        if len(data) < 12:
            return None
        first, number = _NUMBERS(data, 4)
        api = apis.get(first)
        if api is None or not api.request_header:
            return None if api is None else (number, api, None)
        length = int.from_bytes(data[12:SHORTEST], "big", signed=True)
        if len(data) < SHORTEST or length < -1 or SHORTEST + length > len(data):
            return None
        if not data.startswith(self.client, 12):
            self.client = data[12 : SHORTEST + max(length, 0)]
            self.name = None if length < 0 else self.client[2:].decode("utf-8", "replace")
        return number, api, self.name

    def later(self, number: int, asked: bool | None) -> Asked | None:
        """Take a frame for the answer to a request behind others, which will have none."""
        waiting = self.waiting
        if not self.awaits(number, asked):
            return None
        while waiting[0][0] != number:
            waiting.popleft()
        return waiting.popleft()
