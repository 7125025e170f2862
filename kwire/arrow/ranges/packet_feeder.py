"""Passes the packets of one connection, from one or several files, to the extractor of its frames."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import Any, NamedTuple

from ...capture.frame_extractor import FrameExtractor
from ...capture.packets.packet import Packet
from ...capture.packets.packet_headers import parse_segment
from ...capture.packets.tcp_segment import Segment
from ...capture.tcp.stream_reassembly import sequence_distance
from ..batch_reader import BatchReader
from ..rows.frame_rows import Pairing, Row
from .connection_windows import BEHIND, NEAR, WITHIN, BoundaryState, ConnectionWindow, Windows, check, go_on, rest_of
from .packet_chunks import RECENT, Ahead, Chunk, SeenPackets, in_file_order, packets_in


def _until(chunks: Ahead, part: int, span: ConnectionWindow, windows: Windows) -> Iterator[Chunk]:
    """Yield chunks up to the first one in a given part of a window."""
    while (chunk := chunks.following) is not None and windows.part(span, chunk.path, chunk.place) < part:
        chunks.take()
        yield chunk


def _comparable(row: Row) -> Any:
    """Return the fields of a row that must be equal."""
    return row._replace(api=None, fault=None), id(row.api), str(row.fault)


def _drop(row: Row) -> None:
    """Discard a row, because another window yields it."""


class PacketFeeder:
    """Sorts the packets of one connection and passes them to the extractor of its frames.

    Chunks of one file, and of consecutive files, are read unchanged. If chunks of several files overlap in time, or a
    chunk starts before the last packet that was read, packets are merged one by one, without duplicates.
    """

    def __init__(self, reading: BatchReader, pairing: Pairing, voids: Counter[Any]) -> None:
        self._reading, self._pairing, self._voids = reading, pairing, voids
        self._streams = FrameExtractor("", reading.catalog, zookeeper=reading.options.zookeeper)
        self._seen = SeenPackets()
        self._recent: deque[Chunk] = deque()  # the newest chunks that were read unchanged
        self._path = ""

    def feed(self, chunks: Iterator[Chunk]) -> Iterator[None]:
        """Read all chunks, ordered by their first time, and end the connection; yield periodically."""
        yield from self._read(in_file_order(chunks))
        yield from self._finish()

    def feed_window(self, chunks: Ahead, span: ConnectionWindow, windows: Windows) -> Iterator[None]:
        """Read the chunks of a window; only the last window ends the connection.

        Raises:
            DumpError: the window does not start or end with the expected state.
        """
        if span.begin is not None:
            sink, self._pairing.sink = self._pairing.sink, _drop
            yield from self._read(_until(chunks, WITHIN, span, windows))
            self._pairing.sink = sink
            go_on(self._streams, self._pairing, span)
        yield from self._read(_until(chunks, NEAR, span, windows))
        near = list(_until(chunks, BEHIND, span, windows))
        yield from self._read(iter(near))
        if span.end is None:
            yield from self._finish()
        elif self._rest(span) != span.end.rest:
            packets = chain.from_iterable(packets_in(chunk, {}) for chunk in iter(chunks.take, None))
            self._hand_over(span, near, packets, has_rest=windows.has_rest(span.end))
        while chunks.take() is not None:  # packets after the window are only needed if its end is uncertain
            pass

    def _rest(self, span: ConnectionWindow) -> BoundaryState | None:
        """Return the state of the connection, with positions relative to its start."""
        rest = rest_of(self._streams, self._pairing, span.connection)
        return rest if rest is None or span.begin is None else rest.moved(span.begin.shifts)

    def _hand_over(
        self, span: ConnectionWindow, near: Sequence[Chunk], behind: Iterator[Packet], *, has_rest: bool
    ) -> None:
        """Continue as the next window does, until no data from before the cut is missing; leave later rows to it.

        Raises:
            DumpError: the next window yields different rows.
        """
        rows, cut = self._reading.builder.rows, span.end
        assert cut is not None
        count, others, ends = len(rows), list[Row](), self._pairing.ends(0)
        other = PacketFeeder(self._reading, Pairing(self._reading.apis, others.append), Counter())
        following = ConnectionWindow(span.connection, cut, None)
        for _ in other._read(iter(near)):
            pass
        others.clear()
        go_on(other._streams, other._pairing, following)
        rest = self._converge(span, other, following, behind)
        if rest is None and has_rest:
            for _ in chain(self._finish(), other._finish()):
                pass
        elif rest is None:
            check(cut, rest)
        given = list(rows.take(count))
        own = [row for row in given if row.ends == ends and row.offset < cut.rest.positions[bool(row.is_request)]]
        rows += own
        if Counter(map(_comparable, given)) - Counter(map(_comparable, own)) != Counter(map(_comparable, others)):
            check(cut, rest)

    def _converge(
        self, span: ConnectionWindow, other: PacketFeeder, following: ConnectionWindow, behind: Iterator[Packet]
    ) -> BoundaryState | None:
        """Read packets in parallel with another reader until both states are equal; return the state, or None at the
        end.
        """
        for packet in behind:
            for feeder in (self, other):
                for _ in feeder._frames_of([packet]):
                    pass
            rest = self._rest(span)
            if rest is not None and rest == other._rest(following):
                return rest
        return None

    def _finish(self) -> Iterator[None]:
        self._pairing.add_batch(self._streams.finish())
        yield

    def _read(self, rows: Iterator[Chunk]) -> Iterator[None]:
        chunks = Ahead(rows)
        while (chunk := chunks.take()) is not None:
            after = chunks.following
            overlaps = after is not None and after.path != chunk.path and after.first < chunk.last
            if overlaps or self._voids or self._comes_again(chunk):
                yield from self._merge(chunk, chunks)
            else:
                self._begin(chunk.path)
                yield from self._frames_of(chunk.reader())
                self._remember(chunk)

    def _frames_of(self, packets: Iterable[Any]) -> Iterator[None]:
        for batch in self._streams.receive(packets):
            self._pairing.add_batch(batch)
            yield

    def _begin(self, path: str) -> None:
        if path != self._path:
            self._path = path
            self._reading.builder.begin(path)

    def _remember(self, chunk: Chunk) -> None:
        recent = self._recent
        recent.append(chunk)
        while sum(len(recent_chunk.packets) for recent_chunk in recent) > RECENT:
            recent.popleft()

    def _comes_again(self, chunk: Chunk) -> bool:
        """Whether a chunk of another file seems to start with packets that were already read."""
        if self._path in ("", chunk.path):
            return False
        segment = next(
            (parsed for parsed in map(parse_segment, packets_in(chunk, {})) if isinstance(parsed, Segment)), None
        )
        if segment is None:
            return False
        half = self._streams.reassembler.known.get(segment.key)
        return half is None or half.sequence is None or sequence_distance(segment.sequence, half.sequence) < 0

    def _merge(self, chunk: Chunk, chunks: Ahead) -> Iterator[None]:
        """Read a chunk and all chunks that overlap it, in the order of their packets."""
        while self._recent:
            self._seen.add(self._recent.popleft())
        heap: list[_Open] = []
        _push(heap, _Open(chunk.first, 0, None, chunk, packets_in(chunk, self._voids)))
        number = 0
        while heap:
            while chunks.following is not None and chunks.following.first <= heap[0].time:
                number += 1
                other = chunks.take()
                assert other is not None
                _push(heap, _Open(other.first, number, None, other, packets_in(other, self._voids)))
            now = heappop(heap)
            _push(heap, now)
            assert now.packet is not None
            if self._seen.is_new(now.packet, now.chunk.path):
                self._begin(now.chunk.path)
                yield from self._frames_of(iter([now.packet]))


class _Open(NamedTuple):
    """A chunk that is being read: the time of its next packet, its number, the packet, and the packets after it."""

    time: int
    number: int
    packet: Packet | None
    chunk: Chunk
    others: Iterator[Packet]


def _push(heap: list[_Open], opened: _Open) -> None:
    """Push a chunk back with its next packet, if there is one."""
    packet = next(opened.others, None)
    if packet is not None:
        time = opened.time if packet.nanoseconds is None else packet.nanoseconds
        heappush(heap, opened._replace(time=time, packet=packet))
