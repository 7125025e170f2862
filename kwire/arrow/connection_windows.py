"""Cuts long connections into windows of packets, so that several tasks decode one connection.

A cut is where a connection is at rest: all its bytes have come, in frames that are whole, and the requests in flight
are known. It is looked for near the end of each byte range, by a decoder that begins a little before it: it finds
where frames begin, and once a response answers a request that it has seen, it has the requests in flight. A window is
decoded from there on; the one before it ends with the same state, or the reading fails: windows never guess.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from ..capture.conversation import Conversation
from ..capture.frame_extractor import Streams
from ..capture.pcap import Packet
from ..capture.tcp_reassembly import MASK
from ..errors import DumpError
from ..protocol.headers import Apis
from ..spec.catalog import Catalog
from .frame_rows import Pairing, Row, RowEndpoints, Sink

REGION = 1 << 20  # bytes in which a cut is looked for
LEAST_SHARE = 8  # a connection is cut where it has at least this part of them
# Bytes behind a cut that the window before it has, too: where packets are missing before it, that many may have to come
# until they are no longer waited for (`Limits.waiting`, PATIENCE).
TAIL = 16 << 20
BEFORE, WITHIN, NEAR, BEHIND = range(4)  # parts of a window: NEAR its end, where the next one begins, and BEHIND it
APART = 1 << 31  # bytes of the capture between two cuts: TCP's sequence numbers return after twice as many
_MARK = b"/window "
HINT = "read it without longConnections: one task decodes each connection then"


class Rest(NamedTuple):
    """The state of a connection at rest.

    Attributes:
        is_client: whether the connection's key is that of its requests.
        positions, sequences: bytes before the next response and the next request, and TCP's numbers of them.
        in_flight: correlation id, api key and version as one number, and client id of the requests without a response.
    """

    is_client: bool
    positions: tuple[int, int]
    sequences: tuple[int, int]
    in_flight: tuple[tuple[int, int, str | None], ...]

    def moved(self, shifts: Sequence[int]) -> Rest:
        """Return the state with other positions."""
        one, other = (position + shift for position, shift in zip(self.positions, shifts, strict=True))
        return self._replace(positions=(one, other))

    @classmethod
    def parse(cls, values: Sequence[Any]) -> Rest:
        """Return what JSON has of a state."""
        is_client, positions, sequences, in_flight = values
        return cls(is_client, tuple(positions), tuple(sequences), tuple(tuple(one) for one in in_flight))


class Found(NamedTuple):
    """A place at which a connection is at rest.

    Attributes:
        path, connection: the file, and the key of the connection.
        begin, place: of its first packet in the region, and of the last one before the cut.
        began: when its first frame in the region was captured, in nanoseconds.
        apis: api keys and versions of the requests in the region, as numbers.
        is_lossy: whether bytes of it are missing.
        rest: its state, with positions from the begin of the region.
    """

    path: str
    connection: bytes
    begin: int
    place: int
    began: int | None
    apis: tuple[int, ...]
    is_lossy: bool
    rest: Rest


class Cut(NamedTuple):
    """Where a window ends and the next one begins.

    Attributes:
        begin, place: as of `Found`, in all files of the capture one after the other.
        began: when the first frame of the connection was captured, in nanoseconds.
        apis: of the requests that regions before have; `is_lossy` whether the first one lacks bytes.
        shifts: what is added to positions of responses, and of requests.
        rest: the state, with positions from the begin of the connection.
    """

    begin: int
    place: int
    began: int | None
    apis: tuple[int, ...]
    is_lossy: bool
    shifts: tuple[int, int]
    rest: Rest


class Span(NamedTuple):
    """Where a window begins and ends; None is the begin and the end of the connection."""

    connection: bytes
    begin: Cut | None
    end: Cut | None


def rest_of(streams: Streams, pairing: Pairing, key: bytes) -> Rest | None:
    """Return the state of a connection if it is at rest.

    Args:
        streams, pairing: what extracts its frames, and pairs them.
        key: of one direction.
    """
    half = streams.reassembler.known.get(key)
    if half is None or not half.connection.calm or half.connection.is_closing:
        return None
    state = streams.states.get(half.connection.number)
    if not isinstance(state, Conversation) or state.tokens or not state.is_at_frames:
        return None
    in_flight = pairing.in_flight(half.connection.number)
    if in_flight is None:
        return None
    is_client = half.side == state.client
    ends = (half.peer, half) if is_client else (half, half.peer)
    positions, sequences = (tuple(getattr(one, name) for one in ends) for name in ("position", "sequence"))
    return Rest(is_client, positions, sequences, in_flight)


def go_on(streams: Streams, pairing: Pairing, span: Span) -> None:
    """Go on at the begin of a window as after the whole connection before it; what comes before its cut was decoded.

    Raises:
        DumpError: the state is another one.
    """
    cut = span.begin
    assert cut is not None
    rest = rest_of(streams, pairing, span.connection)
    check(cut, None if rest is None else rest.moved(cut.shifts))
    number = streams.reassembler.known[span.connection].connection.number
    state = streams.states[number]
    assert isinstance(state, Conversation)
    state.continue_with(cut.apis, is_lossy=cut.is_lossy)
    ends = pairing.continue_with(number, cut.began, is_lossy=cut.is_lossy)
    pairing.sink = _shifted(pairing.sink, ends, cut.shifts)


def check(cut: Cut, rest: Rest | None) -> None:
    """Raise DumpError if a window ends with another state than the next one begins with."""
    if rest != cut.rest:
        problem = f"windows of a connection do not fit at byte {cut.place} of the capture: {rest} is not {cut.rest}"
        raise DumpError(problem, hint=HINT)


def _shifted(sink: Sink, ends: RowEndpoints | None, shifts: tuple[int, int]) -> Sink:
    """Return a sink that adds to the offsets of the rows of one connection."""

    def add(row: Row) -> None:
        if row[3] is ends:
            offset, *others = row
            row = (offset + shifts[bool(row[4])], *others)  # type: ignore[assignment]
        sink(row)

    return add


def found_in(path: str, key: bytes, packets: Iterable[tuple[int, Packet]], catalog: Catalog) -> Found | None:
    """Return the last place in a region at which a connection is at rest; None if there is none.

    Args:
        path: the file.
        key: of the connection.
        packets: those of the connection, each with its place in the file.
        catalog: the specs that identify requests.
    """
    rows: list[Row] = []
    streams, pairing = Streams(path, catalog), Pairing(Apis(catalog), rows.append)
    found, begin, began, apis, is_known = None, -1, None, dict[int, None](), False
    for place, packet in packets:
        begin = place if begin < 0 else begin
        for batch in streams.receive([packet]):
            pairing.add_batch(batch)
        for row in rows:
            began = row[3].began if began is None and row[3] is not None else began
            if row[8] is None and row[5] is not None:
                apis |= {row[5].number: None} if row[4] else {}
                is_known |= row[4] is False
        rows.clear()
        rest = rest_of(streams, pairing, key) if is_known else None
        if rest is not None:
            found = Found(path, key, begin, place, began, tuple(apis), pairing.is_lossy, rest)
    return found


class Region(NamedTuple):
    """What was found in some bytes of a file: when its packets were captured, in nanoseconds, and connections at rest.

    `start` is where it begins; a region at 0 has the begin of the file.
    """

    capture: str
    path: str
    start: int
    first: int
    last: int
    found: tuple[Found, ...]

    def dump(self) -> str:
        """Return it as JSON."""
        found = [one._replace(connection=one.connection.hex()) for one in self.found]  # type: ignore[arg-type]
        return json.dumps(self._replace(found=tuple(found)))

    @classmethod
    def load(cls, text: str) -> Region:
        """Return what `dump` has written."""
        capture, path, start, first, last, found = json.loads(text)
        places = (
            Found(file, bytes.fromhex(key), begin, place, began, tuple(apis), is_lossy, Rest.parse(rest))
            for file, key, begin, place, began, apis, is_lossy, rest in found
        )
        return cls(capture, path, start, first, last, tuple(places))


def windows_of(regions: Iterable[Region], sizes: dict[str, int]) -> Windows:
    """Return the windows of the connections that the first region of a capture has.

    A capture is not cut where its files have packets of the same time.

    Args:
        regions: of all files.
        sizes: of all files, in bytes.
    """
    bases, cuts = dict[str, int](), dict[tuple[str, bytes], list[Cut]]()
    for capture, some in groupby(sorted(regions), lambda region: region.capture):
        files = {path: list(one) for path, one in groupby(some, lambda region: region.path)}
        times = {path: (min(r.first for r in one), max(r.last for r in one)) for path, one in files.items()}
        paths = sorted(files, key=lambda path: times[path])
        if any(times[one][1] > times[other][0] for one, other in pairwise(paths)):
            continue
        bases |= zip(paths, accumulate([0, *(sizes[path] for path in paths)]), strict=False)
        ordered = [region for path in paths for region in files[path]]
        firsts = {one.connection: one for one in ordered[0].found} if ordered and not ordered[0].start else {}
        others: dict[bytes, list[Found]] = {key: [] for key in firsts}
        for one in (one for region in ordered[1:] if region.start for one in region.found):
            if one.connection in firsts:
                base = bases[one.path]
                others[one.connection].append(one._replace(begin=base + one.begin, place=base + one.place))
        chains = ((key, list(_chain(firsts[key], places))) for key, places in others.items())
        cuts |= {(capture, key): chain for key, chain in chains if chain}
    return Windows(bases, cuts, max((bases[path] + sizes[path] for path in bases), default=0))


def _chain(first: Found, others: Sequence[Found]) -> Iterator[Cut]:
    """Yield cuts with positions from the begin of the connection, which the first place has."""
    before, positions, apis = first, first.rest.positions, dict.fromkeys(first.apis)
    for one in others:
        steps = [(two - one) & MASK for one, two in zip(before.rest.sequences, one.rest.sequences, strict=True)]
        if one.place - before.place > APART or one.rest.is_client != before.rest.is_client:
            return
        positions = positions[0] + steps[0], positions[1] + steps[1]
        shifts = positions[0] - one.rest.positions[0], positions[1] - one.rest.positions[1]
        apis |= dict.fromkeys(one.apis)
        yield Cut(one.begin, one.place, first.began, tuple(apis), first.is_lossy, shifts, one.rest.moved(shifts))
        before = one


class Windows:
    """The windows of long connections.

    Args:
        bases: where files begin in their captures.
        cuts: of each capture and connection, in order.
        size: bytes of the largest capture.
    """

    def __init__(self, bases: dict[str, int] | None = None, cuts: Any = None, size: int = 0) -> None:
        self._size = size
        self._bases: dict[str, int] = bases or {}
        self._cuts: dict[tuple[str, bytes], list[Cut]] = cuts or {}
        self._places: dict[tuple[str, bytes], list[int]] = {
            key: [cut.place for cut in chain] for key, chain in self._cuts.items()
        }
        self._spans: dict[tuple[str, bytes], Span] = {
            (capture, _window_key(key, number)): Span(key, begin, end)
            for (capture, key), chain in self._cuts.items()
            for number, (begin, end) in enumerate(pairwise([None, *chain, None]))
        }

    def __bool__(self) -> bool:
        return bool(self._cuts)

    @property
    def count(self) -> int:
        """How many cuts there are."""
        return sum(map(len, self._cuts.values()))

    def has(self, capture: str, connection: bytes) -> bool:
        """Whether a connection is cut."""
        return (capture, connection) in self._cuts

    def dump(self) -> str:
        """Return the windows as JSON."""
        cuts = [[capture, key.hex(), chain] for (capture, key), chain in self._cuts.items()]
        return json.dumps([self._bases, cuts, self._size])

    @classmethod
    def load(cls, text: str) -> Windows:
        """Return the windows that `dump` has written; none of an empty text."""
        bases, cuts, size = json.loads(text) if text else ({}, [], 0)
        chains = {
            (capture, bytes.fromhex(key)): [
                Cut(begin, place, began, tuple(apis), is_lossy, tuple(shifts), Rest.parse(rest))
                for begin, place, began, apis, is_lossy, shifts, rest in chain
            ]
            for capture, key, chain in cuts
        }
        return cls(bases, chains, size)

    def keys(self, capture: str, connection: bytes, path: str, place: int) -> list[tuple[bytes, int]]:
        """Return the keys of the windows that read a packet, each with the part of the window that it is in.

        Besides its own window these are the next one, which begins before its cut, and those whose end is near.

        Args:
            capture, connection: whose packet it is.
            path, place: where it lies.
        """
        chain = self._cuts.get((capture, connection))
        if chain is None:
            return [(connection, 0)]
        place += self._bases[path]
        places = self._places[capture, connection]
        first, last = bisect_left(places, place - TAIL), bisect_left(places, place)
        last += last < len(chain) and place >= chain[last].begin
        keys = [_window_key(connection, number) for number in range(first, last + 1)]
        return [(key, _part(self._spans[capture, key], place)) for key in keys]

    def span(self, capture: str, key: bytes) -> Span | None:
        """Return which window a key is of; None if it is the key of a whole connection."""
        return self._spans.get((capture, key))

    def part(self, span: Span, path: str, place: int) -> int:
        """Return in which part of a window a packet is: BEFORE, WITHIN, NEAR or BEHIND."""
        return _part(span, self._bases[path] + place)

    def has_rest(self, cut: Cut) -> bool:
        """Whether the packets behind a cut that its window reads are all that there are in the capture."""
        return cut.place + TAIL >= self._size


def _part(span: Span, place: int) -> int:
    if span.begin is not None and place <= span.begin.place:
        return BEFORE
    if span.end is None or place < span.end.begin:
        return WITHIN
    return NEAR if place <= span.end.place else BEHIND


def _window_key(connection: bytes, number: int) -> bytes:
    """Return the key that the packets of a window have instead of that of their connection."""
    return connection + _MARK + number.to_bytes(4, "big") if number else connection


WHOLE = Windows()  # no connection is cut
