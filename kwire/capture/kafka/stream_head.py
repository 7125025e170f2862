"""The first bytes of one side, at the start of a stream or after a gap: whether they are requests or responses."""

from __future__ import annotations

from collections.abc import Set

from ...protocol import LEAST, LIMIT
from .frame_recognition import FAIR, FAR, NEVER, NO, SHORT, WEAK, FrameRecogniser, FrameVerdict, requests_pattern
from .frame_search import FrameSearch
from .other_protocols import zookeeper_may_answer

STARTS = 64  # packets at whose start a chain of frames is searched for
LEAST_EVIDENCE = 20  # bytes of a frame that give some evidence
ENOUGH = 3  # frames in a chain that does not start at the first byte


class StreamHead:
    """The first bytes that one side sent, at the start of the stream or after a gap.

    Attributes:
        data: the bytes so far.
        whole: whether they are the first bytes of the stream.
        refuted: whether they are known not to be the start of a client's stream.
    """

    def __init__(self, recogniser: FrameRecogniser, *, whole: bool = True) -> None:
        self.recogniser = recogniser
        self.data: bytearray = bytearray()
        self.whole = whole
        self.refuted: bool = False
        self._packets: list[int] = []  # where the first packets start
        self._request = 0  # where the first request starts
        self._search = None if whole else FrameSearch(requests_pattern, self._judge)

    def add(self, data: bytes) -> None:
        """Add the next bytes."""
        if self._search is not None:
            self._search.packet(len(self.data))
        if len(self._packets) < STARTS:
            self._packets.append(len(self.data))
        self.data += data

    def asks(self, *, opener: bool, final: bool = False) -> bool:
        """Whether there is a request with a client id; with `final`, a truncated request counts too."""
        if self._search is not None:
            return self._find_request(self._search, final)
        looks = self.recogniser.header(self.data)
        if looks == FAIR and not opener:
            return self._proves_request()
        self.refuted |= looks == NO
        return looks >= FAIR or (final and looks == SHORT and len(self.data) > LEAST + 4)

    def may_ask(self) -> bool:
        """Whether there is a request without a client id that decodes."""
        if not self.whole:
            asks = self._find_request(FrameSearch(requests_pattern, self._judge_all), final=False)
            # Frames before it would not be requests.
            return asks and not self._is_blank() and not self._has_chain(self._request)
        return (
            not self.refuted
            and self.recogniser.header(self.data) == WEAK
            and not self._is_blank()
            and self._proves_request()
        )

    def _is_blank(self) -> bool:
        """Whether the request could also be a small response: Produce, all zeros, without topics."""
        head = self._request + 4
        stop = head + int.from_bytes(self.data[self._request : head], "big")
        return not any(self.data[head : head + 2]) and not any(self.data[head + 4 : stop])

    def hints(self) -> bool:
        """Whether these bytes, the captured part of a truncated packet, start as a request other than Produce."""
        return len(self.data) >= 8 and self.recogniser.header(self.data) == SHORT and any(self.data[4:6])

    def _proves_request(self) -> bool:
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if self.refuted or len(self.data) < stop:
            return False
        self.refuted = not self.recogniser.proves_request(bytes(self.data[:stop]))
        return not self.refuted

    @property
    def at_once(self) -> bool:
        """Whether the request found starts at the first byte."""
        return self._request == 0

    @property
    def request_head(self) -> bytes:
        """Api key, version and correlation id of the first request; empty if they have not arrived."""
        head = bytes(self.data[self._request + 4 : self._request + 12])
        return head if len(head) == 8 else b""

    @property
    def cut_request(self) -> bytes:
        """Api key, version and correlation id of a possible request that a gap truncates; otherwise empty."""
        head = bytes(self.data[4:12])
        return b"" if len(head) < 8 or self.recogniser.header(self.data) == NO else head

    def answers(self, request_head: bytes) -> bool:
        """Whether these bytes start with a complete response to a request.

        The correlation id must match, and the response must decode.
        """
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if len(self.data) < stop or self.data[4:8] != request_head[4:]:
            return False
        return self.recogniser.proves_response(bytes(self.data[:stop]), request_head[:4])

    def is_chain(self) -> bool:
        """Whether sizes and similar correlation ids form a chain of frames up to the end of these bytes.

        The chain starts at the first byte. If the bytes start inside a frame, three frames from the start of a packet
        on suffice. ZooKeeper's responses form chains too, but are recognised by their error code.
        """
        return self._has_chain(len(self.data))

    def _has_chain(self, stop: int) -> bool:
        """Whether a chain of frames starts before a position."""
        starts = [start for start in self._packets if start < stop]
        return stop > 0 and (self._count_chain(0) > 0 or any(self._count_chain(start) >= ENOUGH for start in starts))

    def _count_chain(self, position: int) -> int:
        """Count the frames from a position to the end."""
        before = None
        count = 0
        others = 0
        while position + 8 <= len(self.data):
            size = int.from_bytes(self.data[position : position + 4], "big")
            number = int.from_bytes(self.data[position + 4 : position + 8], "big")
            if not LEAST <= size <= LIMIT or (before is not None and abs(number - before) > FAR):
                return 0
            if position + min(4 + size, LEAST_EVIDENCE) > len(self.data):
                break
            others += not zookeeper_may_answer(self.data, position)
            position = position + 4 + size
            before = number
            count = count + 1
        return count if others else 0

    def _find_request(self, search: FrameSearch, final: bool) -> bool:
        start = search.look(self.data)
        if start is None and final:
            start = search.likely
        self._request = start or 0
        return start is not None

    def _judge(self, data: bytearray, position: int, packets: Set[int]) -> FrameVerdict:
        looks = self.recogniser.header(data, position)
        if looks == WEAK or (looks == FAIR and position not in packets):
            return NEVER
        return self._judge_all(data, position, packets)

    def _judge_all(self, data: bytearray, position: int, packets: Set[int]) -> FrameVerdict:
        return self.recogniser.judge_request(data, position, packets, None)
