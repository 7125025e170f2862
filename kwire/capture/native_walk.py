"""Fast path of captures: the native engine processes packets as long as they are in order and complete.

It handles in-order segments of connections without buffered bytes, segments that open and close connections, and the
frames in them. All other packets take the general path on the same state, so that either can handle the next packet,
with the same result (tests/capture/test_native_walk.py). Without the native engine, all take the general path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..native import ENGINE
from ..protocol.framing import CapturedBatch
from .conversation import Conversation
from .link_layers import Segment, link_layout
from .pcap import NEAR, SECOND, Interface, PcapReader
from .pcapng import PcapngReader
from .tcp_connections import LINGER, LINGER_PACKETS, STRAY
from .tcp_reassembly import WITH_TIME

if TYPE_CHECKING or ENGINE == "native":
    from ..native import PacketWalker
if TYPE_CHECKING:
    from .frame_extractor import Streams


def cut_in_order(conversation: Conversation) -> None:
    """Extract the frames of both sides of a conversation by the fast path."""
    if ENGINE == "native":
        conversation.cut_in_order()


class InOrderPackets:
    """Processes the packets of one file.

    Args:
        reader: the reader of the file.
        streams: the general path, which owns the connections.
    """

    def __init__(self, reader: PcapReader | PcapngReader, streams: Streams) -> None:
        self.reader: PcapReader | PcapngReader = reader
        self.streams: Streams = streams
        self._walker: Any = None
        self._described: tuple[Interface, ...] | None = None

    def run(self) -> Iterator[CapturedBatch]:
        """Read packets until one has an unusual layout, or is not available yet; add their frames to the batch.

        Yields:
            The batch, before more of the file is read. So the packet at the end of a portion takes the fast path too.
        """
        cursor = self.reader.cursor
        while self._walk(self.streams.batch):
            yield from self.streams.complete()
            if not cursor.fill(cursor.left + 1):
                break

    def _walk(self, out: CapturedBatch) -> bool:
        """Read packets; return whether some were read, of bytes of a file that end inside the next one."""
        if self._walker is None and ENGINE == "native":
            self._begin()
        if self._walker is None or self.reader.is_skipping:
            return False
        reader, cursor = self.reader, self.reader.cursor
        if reader.interfaces is not self._described:
            self._described = reader.interfaces
            self._walker.describe(reader.order == ">", [_link(one) for one in reader.interfaces])
        cursor.pos = self._walker.run(cursor.data, cursor.pos, out)
        if isinstance(reader, PcapReader):
            reader.note_time(self._walker.seconds)
        return bool(reader.looks_ahead and self._walker.lacks_bytes and cursor.pos)

    def _begin(self) -> None:
        streams = self.streams
        is_other = None if streams.share.is_all else self._is_other
        most, is_block = streams.reassembler.limits.connections, isinstance(self.reader, PcapngReader)
        linger = LINGER_PACKETS, int(LINGER_PACKETS * WITH_TIME), LINGER
        self._walker = PacketWalker(
            streams.reassembler, streams, Segment, is_other, most, linger, NEAR, STRAY, is_block
        )

    def _is_other(self, key: bytes) -> bool:
        return key in self.streams.others or self.streams.is_other(key)


def _link(interface: Interface) -> tuple[int, int, int, int] | None:
    """Return the layout of an interface's packets; None if they take the general path."""
    layout = link_layout(interface.link)
    is_usual = interface.ticks <= SECOND and abs(interface.offset) <= SECOND
    return (*layout, interface.ticks, interface.offset) if layout is not None and is_usual else None
