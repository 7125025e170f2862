"""The fast path of pcap files: the native engine walks over packets as long as nothing is unusual.

It takes segments that are next in order, of connections in which nothing waits, that hold nothing, a whole frame, or a
part of one. All other packets go the general path, on the same state, so that either may take the next packet; what
comes out is the same (tests/dumps/test_in_order.py). Without the native engine all go the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..fast_path import ENGINE
from ..frames.said import Batch
from .connections import EVERY
from .conversation import Conversation
from .halves import Half
from .handshake import take_expected
from .layouts import link_layout
from .link import Segment
from .pcap import NEAR, PcapReader

if TYPE_CHECKING:
    from .streams import Streams


def cut_in_order(talk: Conversation) -> None:
    """Let the frames of both sides of a conversation be cut here."""
    if ENGINE != "native":
        return
    from ..native import InOrderStream

    client, broker = talk.connection.halves[talk.client], talk.connection.halves[1 - talk.client]
    client.frames = InOrderStream(client, talk.requests.reader, talk.note_request, talk.ends, True)
    broker.frames = InOrderStream(broker, talk.responses.reader, talk.note_response, talk.ends, False)


class InOrderPackets:
    """Walks over the packets of one file.

    Args:
        reader: of the file.
        streams: the general path, whose connections these are.
    """

    def __init__(self, reader: PcapReader, streams: Streams) -> None:
        self.reader, self.streams = reader, streams
        self._walker: Any = None

    def run(self, out: Batch) -> None:
        """Read packets until one comes that is laid out in another way, or is not there yet.

        Args:
            out: gets what was captured of the connections.
        """
        reader, streams = self.reader, self.streams
        if self._walker is None:  # now that the file header was read
            self._walker = self._begin()
        if not self._walker or reader.is_skipping:
            return
        cursor, reassembler = reader.cursor, streams.reassembler
        is_other = None if streams.share.is_all else self._is_other
        cursor.pos, reassembler.packets, streams.read, seconds = self._walker.run(
            cursor.data,
            cursor.pos,
            reassembler.packets,
            streams.read,
            EVERY,
            reassembler.known,
            is_other,
            self._unusual,
            out,
        )
        reader.note_time(seconds)

    def _begin(self) -> Any:
        """Return what walks over the packets; False where nothing can."""
        layout = link_layout(self.reader.link)
        if layout is None or ENGINE != "native":
            return False
        from ..native import PacketWalker

        return PacketWalker(self.reader.order == ">", self.reader.tick, *layout, NEAR)

    def _is_other(self, key: bytes) -> bool:
        return key in self.streams.others or self.streams.is_other(key)

    def _unusual(
        self,
        half: Half | None,
        key: bytes,
        sequence: int,
        acknowledged: int,
        flags: int,
        payload: bytes,
        now: int,
        packets: int,
        read: int,
        out: Batch,
    ) -> int:
        """Take a segment by the general path; return how many bytes were read then."""
        streams, segment = self.streams, Segment(key, sequence, acknowledged, flags, payload, 0, now)
        streams.reassembler.packets, streams.read = packets - 1, read
        is_due = packets % EVERY == 0
        if payload or is_due or not take_expected(streams.reassembler, half, segment):
            streams.feed(segment, out)
        return streams.read
