"""Continues connections from batch to batch of a stream.

The stored state of a connection consists of a frame boundary near its end (see `connection_windows`), the packets
since shortly before this boundary, and the number of their rows that were yielded. Until a frame boundary is found,
all packets of the connection are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import msgspec

from ...capture.frame_extractor import FrameExtractor
from ...capture.packets.packet import Packet
from ..batch_reader import BatchReader
from ..ranges.connection_windows import ConnectionWindow, WindowCut, found_in, go_on, rest_of
from ..ranges.packet_chunks import Chunk, SeenPackets, chunks_of, in_file_order, packets_in
from ..ranges.packet_rows import VOID
from ..rows.frame_rows import Pairing, Row

KEPT = 1 << 17  # bytes of packets that are searched for a frame boundary
Captured = tuple[str, Packet]  # the file of a packet, and the packet


class StoredConnection(msgspec.Struct, frozen=True):
    """The stored state of a connection.

    Attributes:
        packets: the packets to read again, each with its file.
        cut: the state at the frame boundary; None if the packets start with the first one of the connection.
        at: the number of packets before the cut.
        given: the number of rows after the cut that were already yielded.
    """

    packets: list[Captured]
    cut: WindowCut | None = None
    at: int = 0
    given: int = 0


NOTHING = StoredConnection([])


class ConnectionStream:
    """Decodes a connection of a stream.

    Args:
        reading: determines the rows of frames.
        key: the key of the connection.
        kept: the state from the previous batch; None at the start of the connection.
    """

    def __init__(self, reading: BatchReader, key: bytes, kept: bytes | None) -> None:
        self._reading, self._key = reading, key
        self._kept = NOTHING if kept is None else msgspec.msgpack.decode(kept, type=StoredConnection)
        self._streams = FrameExtractor("", reading.catalog, zookeeper=reading.options.zookeeper)
        self._rows: list[tuple[str, Row]] = []
        self._pairing = Pairing(reading.apis, self._add)
        self._path = ""
        self._rests: dict[int, tuple[Any, int]] = {}  # number of a packet -> the state after it, and the number of rows

    def read(self, chunks: Sequence[Chunk], *, is_over: bool = False) -> Iterator[Any]:
        """Read the packets of a batch. Call it only once.

        Args:
            chunks: the rows of the connection in `packet_scan.SCHEMA`, sorted by its columns.
            is_over: whether no packets follow.

        Yields:
            Record batches of the new frames.
        """
        packets = _without_copies(self._kept.packets, _packets_of(chunks))
        self._feed(packets)
        half = self._streams.reassembler.known.get(self._key)
        self._is_over = is_over or half is None or half.connection.closed
        if self._is_over:
            self._pairing.add_batch(self._streams.finish())
        self._packets = packets
        builder = self._reading.builder
        builder.clear()
        for path, row in self._rows[self._kept.given :]:
            builder.begin(path)
            builder.rows.append(row)
            yield from builder.ready()
        yield from builder.rest()

    def _add(self, row: Row) -> None:
        self._rows.append((self._path, row))

    def _feed(self, packets: Sequence[Captured]) -> None:
        kept, size = self._kept, sum(len(packet.data) for _, packet in packets)
        for number, (path, packet) in enumerate(packets, 1):
            self._path = path
            for batch in self._streams.receive([packet]):
                self._pairing.add_batch(batch)
            size -= len(packet.data)
            if size < KEPT and (rest := rest_of(self._streams, self._pairing, self._key)) is not None:
                self._rests[number] = rest if kept.cut is None else rest.moved(kept.cut.shifts), len(self._rows)
            if kept.cut is not None and number == kept.at:
                self._rows.clear()
                go_on(self._streams, self._pairing, ConnectionWindow(self._key, kept.cut, None))
                self._rests = {number: (kept.cut.rest, 0)}

    def kept(self) -> bytes | None:
        """Return the state to store for the next batch; None if the connection has ended."""
        return None if self._is_over else msgspec.msgpack.encode(self._shorten())

    def _shorten(self) -> StoredConnection:
        """Return the state with only the packets since the last known frame boundary."""
        packets, kept = self._packets, self._kept
        start, size = len(packets), 0
        while start and size < KEPT:
            start -= 1
            size += len(packets[start][1].data)
        numbered = ((number + 1, packets[number][1]) for number in range(start, len(packets)))
        boundary = found_in("", self._key, numbered, self._reading.catalog)
        if boundary is None or boundary.place not in self._rests:
            return StoredConnection(packets, kept.cut, kept.at, len(self._rows))
        rest, count = self._rests[boundary.place]
        client, other = (whole - part for whole, part in zip(rest.positions, boundary.rest.positions, strict=True))
        if boundary.rest.moved((client, other)) != rest:
            return StoredConnection(packets, kept.cut, kept.at, len(self._rows))
        half = self._streams.reassembler.known[self._key]
        ends = self._pairing.ends(half.connection.number)
        apis = dict.fromkeys([*(kept.cut.apis if kept.cut else ()), *boundary.apis])
        began, is_lossy = None if ends is None else ends.began, self._pairing.is_lossy
        cut = WindowCut(0, 0, began, tuple(apis), is_lossy, (client, other), rest)
        return StoredConnection(
            packets[boundary.begin - 1 :], cut, boundary.place + 1 - boundary.begin, len(self._rows) - count
        )


def _without_copies(kept: Sequence[Captured], packets: Sequence[Captured]) -> list[Captured]:
    """Return packets that were kept, and the others; of packets that several files have, one."""
    if len({path for path, _ in chain(kept, packets)}) < 2:
        return [*kept, *packets]
    seen = SeenPackets()
    for path, packet in kept:
        seen.is_new(packet, path)
    return [*kept, *(numbered for numbered in packets if seen.is_new(numbered[1], numbered[0]))]


def _packets_of(chunks: Sequence[Chunk]) -> list[Captured]:
    """Return the packets of chunks, in order."""
    voids = Counter[Any]()
    for chunk in chunks:
        if chunk.kind == VOID:
            voids.update((chunk.path, chunk.what, offset) for offset in chunk.places)
    others = list(in_file_order(chunk for chunk in chunks if chunk.kind != VOID))
    packets = [(chunk.path, packet) for chunk in others for packet in packets_in(chunk, voids)]
    if any(numbered.path != other.path and numbered.last > other.first for numbered, other in pairwise(others)):
        packets.sort(key=lambda numbered: numbered[1].nanoseconds or 0)  # several sniffers may have captured them
    return packets


def decoded_batch(
    reading: BatchReader, batch: Any, key: bytes, kept: bytes | None, *, is_over: bool = False
) -> tuple[list[Any], bytes | None]:
    """Decode the rows of a connection in a batch.

    Args:
        reading: determines the rows of frames.
        batch: a table of `packet_scan.SCHEMA`, sorted by its columns.
        key: the key of the connection.
        kept: the state that this function returned for the previous batch.
        is_over: whether no packets follow.

    Returns:
        The record batches of the new frames, and the state to store; None if the connection has ended.
    """
    stream = ConnectionStream(reading, key, kept)
    batches = list(stream.read(list(chunks_of(batch.to_batches())), is_over=is_over))
    return batches, stream.kept()
