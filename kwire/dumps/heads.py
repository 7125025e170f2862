"""The first bytes of one side of a connection, and how much they look like a client's.

Beyond doubt, nearly, is a request with a client id. One without may be many things (ZooKeeper's first message reads as
a Produce request, and so does many an answer), even if it decodes to its last byte.
"""

from __future__ import annotations

from collections.abc import Set

from ..frames import LEAST, LIMIT
from .protocols import zookeeper_may_answer
from .recognition import FAIR, FAR, NEVER, NO, REQUESTS, SHORT, WEAK, Recogniser, Verdict
from .search import Search

STARTS = 64  # packets at whose begin a chain of frames is looked for
TELLING = 20  # bytes of a frame that tell a little
ENOUGH = 3  # frames of a chain that does not begin at the first byte


class Head:
    """The first bytes of one side, or the first behind a gap.

    Attributes:
        data: the bytes so far.
        whole: whether they are the stream's first.
        refuted: whether it is known that they do not begin as a client's stream does.
    """

    def __init__(self, recogniser: Recogniser, *, whole: bool = True) -> None:
        self.recogniser = recogniser
        self.data: bytearray = bytearray()
        self.whole = whole
        self.refuted: bool = False
        self._packets: list[int] = []  # where the first of them begin
        self._request = 0  # where the first request begins
        self._search = None if whole else Search(lambda: REQUESTS, self._judge)

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._search is not None:
            self._search.packet(len(self.data))
        if len(self._packets) < STARTS:
            self._packets.append(len(self.data))
        self.data += data

    def asks(self, *, opener: bool, final: bool = False) -> bool:
        """Whether there is a request with a client id; with `final`, what is cut short counts too."""
        if self._search is not None:
            return self._found(self._search, final)
        looks = self.recogniser.header(self.data)
        if looks == FAIR and not opener:
            return self._proven()
        self.refuted |= looks == NO
        return looks >= FAIR or (final and looks == SHORT and len(self.data) > LEAST + 4)

    def may_ask(self) -> bool:
        """Whether there is a request without a client id, which decodes."""
        if not self.whole:
            found = self._found(Search(lambda: REQUESTS, self._judge_all), final=False)
            return found and not self._has_chain(self._request)  # frames in front of it that are no requests
        return not self.refuted and self.recogniser.header(self.data) == WEAK and self._proven()

    def hints(self) -> bool:
        """Whether these bytes, which are all that was captured of a packet, begin as a request other than Produce."""
        return len(self.data) >= 8 and self.recogniser.header(self.data) == SHORT and any(self.data[4:6])

    def _proven(self) -> bool:
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if self.refuted or len(self.data) < stop:
            return False
        self.refuted = not self.recogniser.proves_request(bytes(self.data[:stop]))
        return not self.refuted

    @property
    def at_once(self) -> bool:
        """Whether the request that was found stands in front of all else."""
        return self._request == 0

    @property
    def request_head(self) -> bytes:
        """Api key, version and correlation id of the first request; nothing if they are not there."""
        head = bytes(self.data[self._request + 4 : self._request + 12])
        return head if len(head) == 8 else b""

    @property
    def cut_request(self) -> bytes:
        """Api key, version and correlation id of what may be a request, if a gap cut it short; else nothing."""
        head = bytes(self.data[4:12])
        return b"" if len(head) < 8 or self.recogniser.header(self.data) == NO else head

    def answers(self, request_head: bytes) -> bool:
        """Whether these bytes begin with a whole response to a request: by its correlation id, and it decodes."""
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if len(self.data) < stop or self.data[4:8] != request_head[4:]:
            return False
        return self.recogniser.proves_response(bytes(self.data[:stop]), request_head[:4])

    def is_chain(self) -> bool:
        """Whether sizes, and correlation ids near each other, lead to the end of these bytes: from the first on, or if
        they begin in the middle of a frame, three times from the begin of some packet on.

        ZooKeeper's answers do so too, but each of them is known by its error.
        """
        return self._has_chain(len(self.data))

    def _has_chain(self, stop: int) -> bool:
        """Whether such frames begin in front of a position."""
        starts = [start for start in self._packets if start < stop]
        return stop > 0 and (self._chain(0) > 0 or any(self._chain(start) >= ENOUGH for start in starts))

    def _chain(self, position: int) -> int:
        """Count the frames from a position to the end."""
        before, count, others = None, 0, 0
        while position + 8 <= len(self.data):
            size = int.from_bytes(self.data[position : position + 4], "big")
            number = int.from_bytes(self.data[position + 4 : position + 8], "big")
            if not LEAST <= size <= LIMIT or (before is not None and abs(number - before) > FAR):
                return 0
            if position + min(4 + size, TELLING) > len(self.data):
                break
            others += not zookeeper_may_answer(self.data, position)
            position, before, count = position + 4 + size, number, count + 1
        return count if others else 0

    def _found(self, search: Search, final: bool) -> bool:
        found = search.look(self.data)
        if found is None and final:
            found = search.likely
        self._request = found or 0
        return found is not None

    def _judge(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        looks = self.recogniser.header(data, position)
        if looks == WEAK or (looks == FAIR and position not in packets):
            return NEVER
        return self._judge_all(data, position, packets)

    def _judge_all(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_request(data, position, packets, None)
