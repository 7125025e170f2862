"""Divides long connections into windows of packets, so that several tasks decode one connection.

A cut is at a frame boundary of a connection: all bytes before it have arrived in complete frames in both directions,
and the requests in flight are known. To find one, a decoder starts shortly before the end of each byte range. It finds
the frames of each direction, and once a response answers a request that it has decoded, it has the requests in flight.
The next window is decoded from the cut on. The previous window must end with the same state, otherwise the read fails:
nothing is guessed.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from ...capture.frame_extractor import FrameExtractor
from ...capture.kafka.connection_frames import KafkaConnection
from ...capture.packets.packet import Packet
from ...capture.tcp.stream_reassembly import MASK
from ...errors import DumpError
from ...protocol.headers.apis import Apis
from ...schema.catalog import Catalog
from ..rows.frame_rows import Pairing, Row, RowEndpoints, Sink

REGION = 1 << 20  # bytes that are searched for a cut
LEAST_SHARE = 8  # a connection is cut if it has at least 1/LEAST_SHARE of the bytes
# Bytes after a cut that the previous window reads too: if packets before the cut are missing, this many bytes may have
# to arrive until the decoder stops waiting for them (`Limits.waiting`, PATIENCE).
TAIL = 16 << 20
BEFORE, WITHIN, NEAR, BEHIND = range(4)  # parts of a window: NEAR its end, BEHIND it
APART = 1 << 31  # bytes of the capture between two cuts: TCP sequence numbers repeat after twice as many
_MARK = b"/window "
HINT = "read it without longConnections: one task decodes each connection then"


class BoundaryState(NamedTuple):
    """The state of a connection at a frame boundary.

    Attributes:
        is_client: whether the connection's key is the key of the client's direction.
        positions, sequences: the stream offsets of the next response and the next request, and their TCP sequence
            numbers.
        in_flight: for each request without a response, correlation id, api key and version as one number, and client
            id.
    """

    is_client: bool
    positions: tuple[int, int]
    sequences: tuple[int, int]
    in_flight: tuple[tuple[int, int, str | None], ...]

    def moved(self, shifts: Sequence[int]) -> BoundaryState:
        """Return the state with other positions."""
        client, other = (position + shift for position, shift in zip(self.positions, shifts, strict=True))
        return self._replace(positions=(client, other))

    @classmethod
    def parse(cls, values: Sequence[Any]) -> BoundaryState:
        """Parse the JSON form of a state."""
        is_client, positions, sequences, in_flight = values
        return cls(is_client, tuple(positions), tuple(sequences), tuple(tuple(request) for request in in_flight))


class FoundBoundary(NamedTuple):
    """A frame boundary of a connection.

    Attributes:
        path, connection: the file, and the key of the connection.
        begin, place: the position of its first packet in the region, and of the last packet before the cut.
        began: when its first frame in the region was captured, in nanoseconds.
        apis: api keys and versions of the requests in the region, as numbers.
        is_lossy: whether bytes of the connection are missing.
        rest: the state, with positions relative to the start of the region.
    """

    path: str
    connection: bytes
    begin: int
    place: int
    began: int | None
    apis: tuple[int, ...]
    is_lossy: bool
    rest: BoundaryState


class WindowCut(NamedTuple):
    """The end of a window and the start of the next one.

    Attributes:
        begin, place: see `FoundBoundary`, but in the concatenated files of the capture.
        began: when the first frame of the connection was captured, in nanoseconds.
        apis: the apis of requests in earlier regions; `is_lossy` is whether bytes of the first region are missing.
        shifts: the numbers to add to positions of responses and of requests.
        rest: the state, with positions relative to the start of the connection.
    """

    begin: int
    place: int
    began: int | None
    apis: tuple[int, ...]
    is_lossy: bool
    shifts: tuple[int, int]
    rest: BoundaryState


class ConnectionWindow(NamedTuple):
    """The start and end of a window; None means the start or the end of the connection."""

    connection: bytes
    begin: WindowCut | None
    end: WindowCut | None


def rest_of(streams: FrameExtractor, pairing: Pairing, key: bytes) -> BoundaryState | None:
    """Return the state of a connection if it is at a frame boundary; otherwise None.

    Args:
        streams, pairing: the extractor of its frames, and the object that pairs requests and responses.
        key: the key of one direction.
    """
    half = streams.reassembler.known.get(key)
    if half is None or not half.connection.calm or half.connection.is_closing:
        return None
    state = streams.states.get(half.connection.number)
    if not isinstance(state, KafkaConnection) or state.tokens or not state.is_at_frames:
        return None
    in_flight = pairing.in_flight(half.connection.number)
    if in_flight is None:
        return None
    is_client = half.side == state.client
    ends = (half.peer, half) if is_client else (half, half.peer)
    positions, sequences = (tuple(getattr(end, name) for end in ends) for name in ("position", "sequence"))
    return BoundaryState(is_client, positions, sequences, in_flight)


def go_on(streams: FrameExtractor, pairing: Pairing, span: ConnectionWindow) -> None:
    """Continue at the start of a window as if the connection had been read so far; data before the cut is decoded.

    Raises:
        DumpError: the state differs from the state of the cut.
    """
    cut = span.begin
    assert cut is not None
    rest = rest_of(streams, pairing, span.connection)
    check(cut, None if rest is None else rest.moved(cut.shifts))
    number = streams.reassembler.known[span.connection].connection.number
    state = streams.states[number]
    assert isinstance(state, KafkaConnection)
    state.continue_with(cut.apis, is_lossy=cut.is_lossy)
    ends = pairing.continue_with(number, cut.began, is_lossy=cut.is_lossy)
    pairing.sink = _shift_sink(pairing.sink, ends, cut.shifts)


def check(cut: WindowCut, rest: BoundaryState | None) -> None:
    """Raise DumpError if the state at the end of a window differs from the start of the next one."""
    if rest != cut.rest:
        problem = f"windows of a connection do not fit at byte {cut.place} of the capture: {rest} is not {cut.rest}"
        raise DumpError(problem, hint=HINT)


def _shift_sink(sink: Sink, ends: RowEndpoints | None, shifts: tuple[int, int]) -> Sink:
    """Return a sink that shifts the offsets in the rows of one connection."""

    def add(row: Row) -> None:
        if row.ends is ends:
            row = row._replace(offset=row.offset + shifts[bool(row.is_request)])
        sink(row)

    return add


def found_in(path: str, key: bytes, packets: Iterable[tuple[int, Packet]], catalog: Catalog) -> FoundBoundary | None:
    """Return the last frame boundary of a connection in a region; None if there is none.

    Args:
        path: the file.
        key: the key of the connection.
        packets: the packets of the connection, each with its position in the file.
        catalog: the specs that identify requests.
    """
    rows: list[Row] = []
    streams, pairing = FrameExtractor(path, catalog), Pairing(Apis(catalog), rows.append)
    boundary, begin, began, apis, is_known = None, -1, None, dict[int, None](), False
    for position, packet in packets:
        begin = position if begin < 0 else begin
        for batch in streams.receive([packet]):
            pairing.add_batch(batch)
        for row in rows:
            began = row.ends.began if began is None and row.ends is not None else began
            if row.fault is None and row.api is not None:
                apis |= {row.api.number: None} if row.is_request else {}
                is_known |= row.is_request is False
        rows.clear()
        rest = rest_of(streams, pairing, key) if is_known else None
        if rest is not None:
            boundary = FoundBoundary(path, key, begin, position, began, tuple(apis), pairing.is_lossy, rest)
    return boundary


class Region(NamedTuple):
    """The frame boundaries in a byte range of a file, and the times of its packets in nanoseconds.

    `start` is the position of the region; 0 is the start of the file.
    """

    capture: str
    path: str
    start: int
    first: int
    last: int
    found: tuple[FoundBoundary, ...]

    def dump(self) -> str:
        """Return the region as JSON."""
        boundaries = [boundary._replace(connection=boundary.connection.hex()) for boundary in self.found]  # type: ignore[arg-type]
        return json.dumps(self._replace(found=tuple(boundaries)))

    @classmethod
    def load(cls, text: str) -> Region:
        """Parse the result of `dump`."""
        capture, path, start, first, last, boundaries = json.loads(text)
        places = (
            FoundBoundary(
                file, bytes.fromhex(key), begin, position, began, tuple(apis), is_lossy, BoundaryState.parse(rest)
            )
            for file, key, begin, position, began, apis, is_lossy, rest in boundaries
        )
        return cls(capture, path, start, first, last, tuple(places))


def windows_of(regions: Iterable[Region], sizes: dict[str, int]) -> Windows:
    """Return the windows, in all captures, of the connections that the first region of their capture contains.

    A capture is not cut if packets of its files overlap in time, or if the time goes back within a file.

    Args:
        regions: the regions of all files.
        sizes: the sizes of all files, in bytes.
    """
    bases, cuts = dict[str, int](), dict[tuple[str, bytes], list[WindowCut]]()
    for capture, some in groupby(sorted(regions), lambda region: region.capture):
        files = {path: list(regions_of_file) for path, regions_of_file in groupby(some, lambda region: region.path)}
        times = {
            path: (min(region.first for region in regions), max(region.last for region in regions))
            for path, regions in files.items()
        }
        paths = sorted(files, key=lambda path: times[path])
        if any(times[path][1] > times[following][0] for path, following in pairwise(paths)):
            continue
        pairs = (pair for regions in files.values() for pair in pairwise(regions))
        if any(following.first < region.first for region, following in pairs):
            continue
        bases |= zip(paths, accumulate([0, *(sizes[path] for path in paths)]), strict=False)
        ordered = [region for path in paths for region in files[path]]
        at_start = () if ordered[0].start else ordered[0].found
        firsts = {boundary.connection: boundary for boundary in at_start}
        others: dict[bytes, list[FoundBoundary]] = {key: [] for key in firsts}
        for boundary in (boundary for region in ordered[1:] if region.start for boundary in region.found):
            if boundary.connection in firsts:
                base = bases[boundary.path]
                moved = boundary._replace(begin=base + boundary.begin, place=base + boundary.place)
                others[boundary.connection].append(moved)
        chains = ((key, list(_chain(firsts[key], places))) for key, places in others.items())
        cuts |= {(capture, key): chain for key, chain in chains if chain}
    return Windows(bases, cuts, max((bases[path] + sizes[path] for path in bases), default=0))


def _chain(first: FoundBoundary, others: Sequence[FoundBoundary]) -> Iterator[WindowCut]:
    """Yield cuts with positions relative to the start of the connection, which is in `first`."""
    before, positions, apis = first, first.rest.positions, dict.fromkeys(first.apis)
    for boundary in others:
        steps = [
            (two - boundary) & MASK
            for boundary, two in zip(before.rest.sequences, boundary.rest.sequences, strict=True)
        ]
        if boundary.place - before.place > APART or boundary.rest.is_client != before.rest.is_client:
            return
        positions = positions[0] + steps[0], positions[1] + steps[1]
        shifts = positions[0] - boundary.rest.positions[0], positions[1] - boundary.rest.positions[1]
        apis |= dict.fromkeys(boundary.apis)
        yield WindowCut(
            boundary.begin,
            boundary.place,
            first.began,
            tuple(apis),
            first.is_lossy,
            shifts,
            boundary.rest.moved(shifts),
        )
        before = boundary


class Windows:
    """The windows of long connections.

    Args:
        bases: the positions of files in their captures.
        cuts: the cuts of each capture and connection, in order.
        size: the size of the largest capture, in bytes.
    """

    def __init__(self, bases: dict[str, int] | None = None, cuts: Any = None, size: int = 0) -> None:
        self._size = size
        self._bases: dict[str, int] = bases or {}
        self._cuts: dict[tuple[str, bytes], list[WindowCut]] = cuts or {}
        self._places: dict[tuple[str, bytes], list[int]] = {
            key: [cut.place for cut in chain] for key, chain in self._cuts.items()
        }
        self._spans: dict[tuple[str, bytes], ConnectionWindow] = {
            (capture, _window_key(key, number)): ConnectionWindow(key, begin, end)
            for (capture, key), chain in self._cuts.items()
            for number, (begin, end) in enumerate(pairwise([None, *chain, None]))
        }

    def __bool__(self) -> bool:
        return bool(self._cuts)

    @property
    def count(self) -> int:
        """The number of cuts."""
        return sum(map(len, self._cuts.values()))

    def has(self, capture: str, connection: bytes) -> bool:
        """Whether a connection is divided."""
        return (capture, connection) in self._cuts

    def dump(self) -> str:
        """Return the windows as JSON."""
        cuts = [[capture, key.hex(), chain] for (capture, key), chain in self._cuts.items()]
        return json.dumps([self._bases, cuts, self._size])

    @classmethod
    def load(cls, text: str) -> Windows:
        """Parse the result of `dump`; an empty text means no windows."""
        bases, cuts, size = json.loads(text) if text else ({}, [], 0)
        chains = {
            (capture, bytes.fromhex(key)): [
                WindowCut(begin, position, began, tuple(apis), is_lossy, tuple(shifts), BoundaryState.parse(rest))
                for begin, position, began, apis, is_lossy, shifts, rest in chain
            ]
            for capture, key, chain in cuts
        }
        return cls(bases, chains, size)

    def keys(self, capture: str, connection: bytes, path: str, position: int) -> list[tuple[bytes, int]]:
        """Return the keys of the windows that read a packet, and the part of each window in which the packet is.

        Besides the window of the packet, these are the next window, which starts before its cut, and windows that end
        near the packet.

        Args:
            capture, connection: the capture and the connection of the packet.
            path, position: its file and position.
        """
        chain = self._cuts.get((capture, connection))
        if chain is None:
            return [(connection, 0)]
        position += self._bases[path]
        places = self._places[capture, connection]
        first, last = bisect_left(places, position - TAIL), bisect_left(places, position)
        last += last < len(chain) and position >= chain[last].begin
        keys = [_window_key(connection, number) for number in range(first, last + 1)]
        return [(key, _part(self._spans[capture, key], position)) for key in keys]

    def span(self, capture: str, key: bytes) -> ConnectionWindow | None:
        """Return the window of a key; None if the key is that of a whole connection."""
        return self._spans.get((capture, key))

    def part(self, span: ConnectionWindow, path: str, position: int) -> int:
        """Return the part of a window in which a packet is: BEFORE, WITHIN, NEAR or BEHIND."""
        return _part(span, self._bases[path] + position)

    def has_rest(self, cut: WindowCut) -> bool:
        """Whether a window reads all remaining packets of the capture after a cut."""
        return cut.place + TAIL >= self._size


def _part(span: ConnectionWindow, position: int) -> int:
    if span.begin is not None and position <= span.begin.place:
        return BEFORE
    if span.end is None or position < span.end.begin:
        return WITHIN
    return NEAR if position <= span.end.place else BEHIND


def _window_key(connection: bytes, number: int) -> bytes:
    """Return the key for packets of a window, which replaces the key of the connection."""
    return connection + _MARK + number.to_bytes(4, "big") if number else connection


WHOLE = Windows()  # no connection is divided
