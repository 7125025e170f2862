"""The express lane: reads nearly all packets of a pcap file straight from the bytes of the file.

It cuts segments out of packets that are laid out as most are, and itself takes those of calm connections, next in
order, that hold nothing, a whole frame, or a part of one. Other segments it hands to the general way, and it stops
before packets laid out otherwise. Both work on the same state, so that either may take the next packet; what comes
out is the same (tests/dumps/test_express.py).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from ..frames import FrameReader
from ..frames.pieces import NoFrame
from ..frames.said import NUMBERS, Batch, Ends, numbers_of
from .connections import EVERY
from .conversation import Conversation
from .halves import Half
from .link import ACK, FIN, IPV4, IPV6, RST, SYN, TCP, Segment
from .ordinary import take_ordinary
from .pcap import RECORD_HEADER, SECOND, PcapReader

if TYPE_CHECKING:
    from .streams import Streams

MASK, HALF = 0xFFFFFFFF, 0x80000000
LEAST_TCP, LEAST_FRAME = 20, 12
NOTHING = None, None, 0
Note = Callable[[bytes, int | None, int], NoFrame | None]
MOST_SIZES = 4096  # remembered
# link type -> (bytes in front of IP, where among them its version is named); without a name
NAMED = {1: (14, 12), 113: (16, 14), 276: (20, 0)}
BARE = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}
PLAIN = FIN | SYN | RST | ACK  # of these flags, only the last is set in segments of the express lane
LEAST_FLAGS = 5 << 12  # together with the header length, which stands in front


class Lane:
    """One side of a Kafka connection.

    Args:
        half: its place in the stream.
        cutter: cuts its frames.
        note: takes note of a frame.
        ends, asked: what is said of its frames.
    """

    __slots__ = ("asked", "cutter", "ends", "half", "note")

    def __init__(self, half: Half, cutter: FrameReader, note: Note, ends: Ends, asked: bool) -> None:
        self.half, self.cutter, self.note, self.ends, self.asked = half, cutter, note, ends, asked

    def hear(self, data: bytes, now: int, out: Batch) -> bool:
        """Take the next bytes of the stream, if they are just a frame, or end with one, or have no end of one."""
        cutter, frame, count = self.cutter, data, len(data)
        size, first, second = NUMBERS(data) if count >= LEAST_FRAME and not cutter.missing else NOTHING
        if size == count - 4:
            cutter.passed += count
        else:
            found = cutter.quick(data)
            if found is None:
                return False
            frame = found
            first, second = numbers_of(frame)
        half = self.half
        half.sequence = (half.sequence or 0) + count & MASK
        half.position += count
        half.connection.last = now
        if frame:
            fault = self.note(frame, first, second)
            out.append((self.ends, self.asked, half.position - len(frame), now, frame, fault, first, second))
        return True


def give_lanes(talk: Conversation) -> None:
    """Let both sides of a conversation be read here."""
    client, broker = talk.connection.halves[talk.client], talk.connection.halves[1 - talk.client]
    client.lane = Lane(client, talk.requests.reader, talk.note_request, talk.ends, True)
    broker.lane = Lane(broker, talk.responses.reader, talk.note_response, talk.ends, False)


class Layout(NamedTuple):
    """Where things lie in a record of the file, for one link type and IP version.

    `unpack` reads captured and real length as one number, the name of the IP version, the first byte of its header,
    its length, what says that this is TCP and no fragment, the connection's key, sequence, acknowledgement, and
    header length and flags of TCP.
    """

    unpack: Callable[[bytes, int], tuple[Any, ...]]
    name: bytes
    first: int  # so without IPv4's options and IPv6's traffic classes
    mask: int  # of what says that it is TCP
    ip: int  # from where in the record IP counts its length
    tcp: int  # where TCP begins


def layouts_for(link: int) -> list[Layout]:
    """Return the layouts of a link type with IPv4 and with IPv6; none for a link type that is not read here."""
    if link in NAMED:
        length, at = NAMED[link]
        prefix, names = f">8xQ{at}x2s{length - at - 2}x", (IPV4, IPV6)
    elif link in BARE:
        length, names = BARE[link], (b"", b"")
        prefix = f">8xQ{length}x0s"
    else:
        return []
    start = RECORD_HEADER + length
    four, six = Struct(prefix + "BxH2xI2x12sIIH"), Struct(prefix + "B3xHBx36sIIH")
    return [
        Layout(four.unpack_from, names[0], 0x45, 0x3FFF00FF, start, start + 20),
        Layout(six.unpack_from, names[1], 0x60, 0xFF, start + 40, start + 40),
    ]


class Express:
    """The express lane of one file.

    Args:
        reader: of the file.
        streams: the general way, whose connections these are.
    """

    def __init__(self, reader: PcapReader, streams: Streams) -> None:
        self.reader, self.streams = reader, streams
        self._layouts: list[Layout] | None = None
        self._sizes: dict[int, int] = {}  # captured and real length as one number -> bytes of the record

    def run(self, out: Batch) -> None:
        """Read packets until one comes that is laid out in another way, or is not there yet.

        Args:
            out: gets what the connections say.
        """
        if self._layouts is None:  # now that the file header was read
            self._layouts = layouts_for(self.reader.link)
            self._lengths = Struct(self.reader.order + "II").unpack
            self._times = Struct(self.reader.order + "II").unpack_from
        while self._layouts:
            refused = self._run(self._layouts[0], out)
            if refused is None:
                return
            lengths, start = refused
            if start == self._layouts[1].first:
                self._layouts.reverse()
            elif not self._learned(lengths):
                return

    def _run(self, layout: Layout, out: Batch) -> tuple[int, int] | None:
        """Read packets of one layout; return lengths and IP version of the one where that ends, if it is there."""
        unpack, name, first, mask, ip, tcp = layout
        reader, streams, times, sizes = self.reader, self.streams, self._times, self._sizes
        data, pos, tick, reassembler = reader.cursor.data, reader.cursor.pos, reader.tick, streams.reassembler
        packets, read, there = reassembler.packets, streams.read, len(data)
        known = reassembler.known
        last = there - tcp - LEAST_TCP  # where a record may begin
        due = packets - packets % EVERY + EVERY  # the packet at which the general way looks around
        refused = None
        while pos <= last:
            lengths, kind, start, total, protocol, key, sequence, acknowledged, flags = unpack(data, pos)
            begin, end, after = pos + tcp + (flags >> 12 << 2), pos + ip + total, pos + sizes.get(lengths, 0)
            fits = begin <= end <= after <= there and flags >= LEAST_FLAGS
            if not fits or kind != name or start != first or protocol & mask != TCP:
                refused = lengths, start
                break
            packets += 1
            half: Any = known.get(key)
            calm = half is not None and packets != due and flags & PLAIN == ACK and half.connection.calm
            if calm and not (
                acknowledged == half.peer.sequence or not 0 < acknowledged - half.peer.sequence & MASK < HALF
            ):
                calm = False
            if calm and begin == end:
                pos = after
                continue
            seconds, ticks = times(data, pos)
            now, payload = seconds * SECOND + ticks * tick, data[begin:end]
            reassembler.packets, streams.read = packets, read
            if calm and sequence == half.sequence:
                if half.lane is None:
                    streams.recognise(half.connection, half.side, payload)
                if half.lane is not None and half.lane.hear(payload, now, out):
                    read += end - begin
                    pos = after
                    continue
            elif not payload and packets != due:
                numbers = sequence, acknowledged
                if take_ordinary(reassembler, half, key, numbers, flags, now):
                    pos = after
                    continue
            reassembler.packets = packets - 1
            streams.feed(Segment(key, sequence, acknowledged, flags & 0xFF, payload, 0, now), out)
            read, due = streams.read, packets - packets % EVERY + EVERY
            pos = after
        reader.cursor.pos, reassembler.packets, streams.read = pos, packets, read
        return refused

    def _learned(self, lengths: int) -> bool:
        """Learn how long a record of such lengths is; False if it is known, or must be read in the general way."""
        captured, length = self._lengths(lengths.to_bytes(8, "big"))
        if lengths in self._sizes or captured != length:
            return False
        if len(self._sizes) >= MOST_SIZES:
            self._sizes.clear()
        self._sizes[lengths] = RECORD_HEADER + captured
        return True
