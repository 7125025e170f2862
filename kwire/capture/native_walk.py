"""The fast path of captures: the native engine walks over packets as long as nothing is unusual.

It takes segments that are next in order, of connections in which nothing waits, and those that open and close them; and
the frames in them, as long as sizes lead from one to the next. All other packets go the general path, on the same
state, so that either may take the next packet; what comes out is the same (tests/capture/test_native_walk.py).
Without the native engine all go the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..codecs.fast_path import ENGINE
from ..protocol.captured_frame import CapturedBatch
from .conversation import Conversation
from .link_layers import Segment, link_layout
from .pcap import NEAR, SECOND, Interface, PcapReader
from .pcapng import PcapngReader
from .tcp_connections import LINGER, LINGER_PACKETS
from .tcp_reassembly import WITH_TIME

if TYPE_CHECKING or ENGINE == "native":
    from ..native import InOrderStream, PacketWalker
if TYPE_CHECKING:
    from .frame_extractor import Streams


def cut_in_order(talk: Conversation) -> None:
    """Let the frames of both sides of a conversation be cut here."""
    if ENGINE != "native":
        return
    client, broker = talk.connection.halves[talk.client], talk.connection.halves[1 - talk.client]
    client.frames = InOrderStream(client, talk.readers[True], talk, talk.ends, True)
    broker.frames = InOrderStream(broker, talk.readers[False], talk, talk.ends, False)


class InOrderPackets:
    """Walks over the packets of one file.

    Args:
        reader: of the file.
        streams: the general path, whose connections these are.
    """

    def __init__(self, reader: PcapReader | PcapngReader, streams: Streams) -> None:
        self.reader: PcapReader | PcapngReader = reader
        self.streams: Streams = streams
        self._walker: Any = None
        self._described: tuple[Interface, ...] | None = None

    def run(self, out: CapturedBatch) -> None:
        """Read packets until one comes that is laid out in another way, or is not there yet.

        Args:
            out: gets what was captured of the connections.
        """
        if self._walker is None and ENGINE == "native":
            self._begin()
        if self._walker is None or self.reader.is_skipping:
            return
        reader, cursor = self.reader, self.reader.cursor
        if reader.interfaces is not self._described:
            self._described = reader.interfaces
            self._walker.describe(reader.order == ">", [_link(one) for one in reader.interfaces])
        cursor.pos = self._walker.run(cursor.data, cursor.pos, out)
        if isinstance(reader, PcapReader):
            reader.note_time(self._walker.seconds)

    def _begin(self) -> None:
        streams = self.streams
        is_other = None if streams.share.is_all else self._is_other
        most, is_block = streams.reassembler.limits.connections, isinstance(self.reader, PcapngReader)
        linger = LINGER_PACKETS, int(LINGER_PACKETS * WITH_TIME), LINGER
        self._walker = PacketWalker(streams.reassembler, streams, Segment, is_other, most, linger, NEAR, is_block)

    def _is_other(self, key: bytes) -> bool:
        return key in self.streams.others or self.streams.is_other(key)


def _link(interface: Interface) -> tuple[int, int, int, int] | None:
    """Say how the packets of an interface are written; None if they go the general path."""
    layout = link_layout(interface.link)
    is_usual = interface.ticks <= SECOND and abs(interface.offset) <= SECOND
    return (*layout, interface.ticks, interface.offset) if layout is not None and is_usual else None
