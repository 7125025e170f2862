"""Chunks of packets: the rows of `packet_rows` after the shuffle, their order, and packets that come twice."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from struct import unpack
from typing import Any, NamedTuple

from ...capture.packets.packet import Packet
from ...capture.packets.packet_headers import parse_segment
from ...capture.packets.pcap import MAGICS, PcapReader
from ...capture.packets.pcapng import PcapngReader
from ...capture.packets.tcp_segment import Segment

REMEMBERED, RECENT = 1 << 16, 16 << 20  # packets and bytes that are searched for a duplicate of a packet


class Chunk(NamedTuple):
    """A row of `packet_scan.SCHEMA`."""

    capture: str
    connection: bytes
    kind: int
    first: int
    last: int
    path: str
    place: int
    head: bytes
    offsets: bytes
    packets: bytes
    problem: str

    @property
    def places(self) -> tuple[int, ...]:
        """The positions of the packet records in the file."""
        return unpack(f"<{len(self.offsets) // 8}q", self.offsets)

    @property
    def what(self) -> bytes | tuple[str, int]:
        """The identity of a record at its place in the file: its header; for damage, the problem and the length."""
        return self.head or (self.problem, len(self.packets))

    def reader(self) -> PcapReader | PcapngReader:
        """Return a reader for the packets."""
        return packet_reader(self.head, self.packets, self.path)


def packet_reader(head: bytes, packets: bytes, path: str) -> PcapReader | PcapngReader:
    """Return a reader of packets from their file header and their records."""
    kind = _Records if head[:4] in MAGICS else PcapngReader
    return kind(iter([head + packets]), path)


class _Records(PcapReader):
    """Reads records at verified positions, without searching for damage."""

    def _is_record(self, seconds: int, ticks: int, captured: int, size: int) -> bool:
        return self.cursor.fill(size)


class Ahead:
    """An iterator of chunks that gives access to the next one."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks
        self.following: Chunk | None = next(chunks, None)

    def take(self) -> Chunk | None:
        """Remove and return the next chunk."""
        taken, self.following = self.following, next(self._chunks, None) if self.following is not None else None
        return taken


def chunks_of(batches: Iterable[Any]) -> Iterator[Chunk]:
    """Yield the rows of record batches."""
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns[:-2]]
        for index, values in enumerate(zip(*columns, strict=True)):
            yield Chunk(*values, *(column[index].as_py() for column in batch.columns[-2:]))


def in_file_order(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks that are sorted by time, but the chunks of each file in the order of their positions.

    Packets are not in order of time if the clock was set back, or if a file has packets of several interfaces. At most
    `RECENT` bytes are held to be sorted.
    """
    heaps: dict[str, list[tuple[int, int, Chunk]]] = {}
    paths, size = deque[str](), 0

    def first() -> Chunk:
        return heappop(heaps[paths.popleft()])[2]

    for number, chunk in enumerate(chunks):
        heappush(heaps.setdefault(chunk.path, []), (chunk.place, number, chunk))
        paths.append(chunk.path)
        size += len(chunk.packets)
        while size > RECENT:
            following = first()
            size -= len(following.packets)
            yield following
    while paths:
        yield first()


def packets_in(chunk: Chunk, voids: Any) -> Iterator[Packet]:
    """Yield the packets of a chunk except revoked ones."""
    places = chunk.places
    packets = (packet for packet in chunk.reader() if isinstance(packet, Packet))
    for offset, packet in zip(places, packets, strict=True):
        if not is_void(chunk, offset, voids):
            yield packet


def is_void(chunk: Chunk, offset: int, voids: Any) -> bool:
    """Whether a range has revoked a packet of another range; each revocation applies to one packet."""
    if not voids or voids[chunk.path, chunk.what, offset] <= 0:
        return False
    voids[chunk.path, chunk.what, offset] -= 1
    return True


class SeenPackets:
    """The newest packets by their segments, with the largest count in any one file."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Any, Counter[str]] = OrderedDict()

    def add(self, chunk: Chunk) -> None:
        """Record packets that were read."""
        for packet in packets_in(chunk, {}):
            self.is_new(packet, chunk.path)

    def is_new(self, packet: Packet, path: str) -> bool:
        """Record a packet; return whether no other file contained it before."""
        segment = parse_segment(packet)
        if not isinstance(segment, Segment):
            return True
        identity = segment.key, segment.sequence, segment.acknowledgement, segment.flags, segment.payload
        counts = self._counts.setdefault(hash(identity), Counter())
        self._counts.move_to_end(hash(identity))
        seen_elsewhere = max(counts.values(), default=0)
        counts[path] += 1
        if len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        return counts[path] > seen_elsewhere
