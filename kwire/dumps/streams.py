"""Packets become the frames of all Kafka conversations among them, each frame as soon as it is whole.

Nothing is lost: every byte of every TCP stream is in a frame, in a gap, or in a piece that says what it is. Knows
who does what; reads no bytes itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..catalog import Catalog
from ..errors import DumpError
from ..frames import Frame
from ..frames.pieces import BrokenDump, LostPackets
from .connections import Limits, Reassembler
from .conversation import Conversation
from .link import LOST, NOT_TCP, Segment, segment_of
from .opening import Opening
from .pcap import Packet
from .recognition import Recogniser
from .sources import Scribe
from .stranger import Stranger
from .tcp import Connection, Ended, Event

BUFFERED = 32 << 20  # bytes of frames that are not whole, besides the largest one
BETWEEN_TRIMS = 8 << 20  # bytes
UNREAD_AT_MOST = 100  # packets of a link type that is not read, before any that is
State = Opening | Conversation | Stranger


class Streams:
    """All connections of one capture.

    Args:
        file: its name.
        catalog: the specs by which requests are recognised; those of Kafka's releases unless told.
        limits: what may wait in memory for missing packets.
    """

    def __init__(self, file: str = "", catalog: Catalog | None = None, limits: Limits | None = None) -> None:
        self.file = file
        self.scribe = Scribe(file)
        self.recogniser = Recogniser(catalog)
        self.reassembler = Reassembler(limits)
        self._states: dict[int, State] = {}
        self._lost: Counter[str] = Counter()
        self._others = 0  # packets that carry no TCP
        self._read = self._trimmed = 0  # bytes

    def frames(self, packets: Iterable[Packet]) -> Iterator[Frame]:
        """Read all packets.

        Yields:
            Frames, and with a `fault` what is none: gaps, bytes passed over, streams of other protocols, lost
            packets, and at the very end the place where the capture is broken.

        Raises:
            DumpError: nothing of a capture can be read: its link type is unknown, or it is broken at once.
        """
        broken: DumpError | None = None
        feed, states, conversation = self.reassembler.feed, self._states, Conversation
        try:
            for packet in packets:
                segment = segment_of(packet)
                if not isinstance(segment, Segment):
                    self._lose(segment)
                    continue
                self._read += len(segment.payload)
                for event in feed(segment):
                    state = states.get(event.connection.number)
                    if type(state) is conversation and not isinstance(event, Ended):
                        yield from state.feed(event)
                    else:
                        yield from self._take(event)
                if self._read > self._trimmed + BETWEEN_TRIMS:
                    yield from self._trim()
        except DumpError as error:
            broken = error
        for event in self.reassembler.finish():
            yield from self._take(event)
        yield from self._last_words(broken)

    def _take(self, event: Event) -> Iterator[Frame]:
        connection = event.connection
        state = self._states.get(connection.number)
        if isinstance(event, Ended):
            yield from self._end(connection)
            return
        if state is None:
            state = self._states[connection.number] = Opening(self.scribe, self.recogniser, connection)
        if isinstance(state, Opening):
            decided = state.feed(event)
            if decided is not None:
                yield from self._decided(state, decided)
            return
        yield from state.feed(event)
        if isinstance(state, Stranger) and state.turned is not None:
            self._states[connection.number] = state.turned

    def _decided(self, opening: Opening, state: Conversation | Stranger) -> Iterator[Frame]:
        self._states[opening.connection.number] = state
        yield from opening.replay(state)

    def _end(self, connection: Connection) -> Iterator[Frame]:
        yield from self._stop(connection)
        if self._states.pop(connection.number, None) is not None:
            self.scribe.closed.append(connection.number)

    def _stop(self, connection: Connection) -> Iterator[Frame]:
        """Wait no longer for the rest of what a connection has begun to say."""
        state = self._states.get(connection.number)
        if isinstance(state, Opening):
            decided = state.decide()
            yield from self._decided(state, decided)
            yield from decided.stop(connection.last)
        elif state is not None:
            yield from state.stop(connection.last)

    def _trim(self) -> Iterator[Frame]:
        """Bound the memory of frames that are not whole; the largest may grow on."""
        self._trimmed = self._read
        sizes = sorted((state.buffered, number) for number, state in self._states.items() if state.buffered)
        total = sum(size for size, _ in sizes[:-1])
        for size, number in reversed(sizes[:-1]):
            if total <= BUFFERED:
                return
            total -= size
            yield from self._stop(self._states[number].connection)

    def _lose(self, reason: str) -> None:
        if reason == NOT_TCP:
            self._others += 1
            return
        self._lost[reason] += 1
        if not self._read and reason not in LOST and self._lost[reason] == UNREAD_AT_MOST:
            raise DumpError(f"its packets are {reason}, which is not read", file=self.file)

    def _last_words(self, broken: DumpError | None) -> Iterator[Frame]:
        """Say what could not be read. That nothing could is an error."""
        unread = next((reason for reason in self._lost if reason not in LOST), None)
        if not self.reassembler.count and broken is None and unread:
            broken = DumpError(f"its packets are {unread}, which is not read", file=self.file)
        if not self.reassembler.count and broken is None and self._others:
            broken = DumpError(f"none of its packets carries TCP: {self._others} were looked at", file=self.file)
        if not self.reassembler.count and broken is not None:
            raise broken
        for reason, count in sorted(self._lost.items()):
            yield self.scribe.note(LostPackets(count, found=reason))
        if broken is not None:
            yield self.scribe.note(BrokenDump(found=str(broken), offset=broken.offset or 0))
