"""The express lane: reads nearly all packets of a pcap file straight from the bytes of the file.

It cuts segments out of packets that are laid out as most are, and itself takes those of calm connections, next in
order, that hold nothing, a whole frame, or a part of one. Other segments it hands to the general way, and it stops
before packets laid out otherwise. Both work on the same state, so that either may take the next packet; what comes
out is the same (tests/dumps/test_express.py).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any

from ..frames import FrameReader
from ..frames.pieces import NoFrame
from ..frames.said import NUMBERS, Batch, Ends, numbers_of
from .connections import EVERY
from .conversation import Conversation
from .halves import Half
from .layouts import Layout, layouts_for
from .link import ACK, FIN, RST, SYN, TCP, Segment
from .ordinary import take_ordinary
from .pcap import LONGEST, RECORD_HEADER, SECOND, PcapReader

if TYPE_CHECKING:
    from .streams import Streams

MASK, HALF = 0xFFFFFFFF, 0x80000000
LEAST_TCP, LEAST_FRAME = 20, 12
NOTHING = None, None, 0
LENGTHS = Struct(">Q").unpack_from
Note = Callable[[bytes, int | None, int], NoFrame | None]
MOST_SIZES = 4096  # remembered
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
        # Such numbers that a record may have: a packet is read if the record behind it may be one, where it is there.
        self._credible: set[int] = set()

    def run(self, out: Batch) -> None:
        """Read packets until one comes that is laid out in another way, or is not there yet.

        Args:
            out: gets what the connections say.
        """
        if self._layouts is None:  # now that the file header was read
            self._layouts = layouts_for(self.reader.link)
            self._lengths = Struct(self.reader.order + "II").unpack
            self._times = Struct(self.reader.order + "II").unpack_from
        while self._layouts and not self.reader.is_skipping:
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
        known, others, shared = reassembler.known, streams.others, not streams.share.is_all
        last, refused = there - tcp - LEAST_TCP, None  # where a record may begin
        credible, seen, ends = self._credible, there - RECORD_HEADER, there - RECORD_HEADER * reader.looks_ahead
        due = packets - packets % EVERY + EVERY  # the packet at which the general way looks around
        while pos <= last:
            lengths, kind, start, total, protocol, key, sequence, acknowledged, flags = unpack(data, pos)
            begin, end, after = pos + tcp + (flags >> 12 << 2), pos + ip + total, pos + sizes.get(lengths, 0)
            fits = begin <= end <= after <= ends and flags >= LEAST_FLAGS
            fits = fits and (after > seen or LENGTHS(data, after + 8)[0] in credible or self._is_credible(data, after))
            if not fits or kind != name or start != first or protocol & mask != TCP:
                refused = lengths, start
                break
            packets += 1
            half: Any = known.get(key)
            if half is None and shared and packets != due and (key in others or streams.is_other(key)):
                pos = after
                continue
            calm = half is not None and packets != due and flags & PLAIN == ACK and half.connection.calm
            if calm and (acknowledged == half.peer.sequence or not 0 < acknowledged - half.peer.sequence & MASK < HALF):
                if begin == end:
                    pos = after
                    continue
                if half.lane is not None and sequence == half.sequence:
                    seconds, ticks = times(data, pos)
                    if half.lane.hear(data[begin:end], seconds * SECOND + ticks * tick, out):
                        read += end - begin
                        pos = after
                        continue
            seconds, ticks = times(data, pos)
            now, payload = seconds * SECOND + ticks * tick, data[begin:end]
            reassembler.packets, streams.read = packets - 1, read
            self._take(half, Segment(key, sequence, acknowledged, flags & 0xFF, payload, 0, now), out)
            read, due = streams.read, packets - packets % EVERY + EVERY
            pos = after
        reader.cursor.pos, reassembler.packets, streams.read = pos, packets, read
        return refused

    def _take(self, half: Half | None, segment: Segment, out: Batch) -> None:
        """Take a segment quickly if it is as most are where a connection begins and ends; else in the general way."""
        streams, reassembler, payload = self.streams, self.streams.reassembler, segment.payload
        if (reassembler.packets + 1) % EVERY == 0:
            streams.feed(segment, out)
        elif not payload:
            if not take_ordinary(reassembler, half, segment):
                streams.feed(segment, out)
        elif half is None or half.lane is not None or not reassembler.is_next(half, segment):
            streams.feed(segment, out)
        else:
            streams.recognise(half.connection, half.side, payload)
            if half.lane is not None and half.lane.hear(payload, segment.nanoseconds, out):
                reassembler.packets += 1
                streams.read += len(payload)
            else:
                streams.feed(segment, out)

    def _is_credible(self, data: bytes, place: int) -> bool:
        """Whether a record may begin there, by the lengths in its header."""
        (lengths,) = LENGTHS(data, place + 8)
        captured, length = self._lengths(lengths.to_bytes(8, "big"))
        if not captured <= length <= LONGEST:
            return False
        if len(self._credible) >= MOST_SIZES:
            self._credible.clear()
        self._credible.add(lengths)
        return True

    def _learned(self, lengths: int) -> bool:
        """Learn how long a record of such lengths is; False if it is known, or must be read in the general way."""
        captured, length = self._lengths(lengths.to_bytes(8, "big"))
        if lengths in self._sizes or captured != length:
            return False
        if len(self._sizes) >= MOST_SIZES:
            self._sizes.clear()
        self._sizes[lengths] = RECORD_HEADER + captured
        return True
