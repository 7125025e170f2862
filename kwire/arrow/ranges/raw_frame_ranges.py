"""Reads any byte range of raw frames, which are consecutive frames with their sizes.

Frames have no markers at which a reader could start, and the request of a response depends on earlier frames. A reader
in the middle of a file starts at the first position where consecutive frames seem to start, without requests in flight;
both may be wrong. Therefore each range also yields an `RangeEntry` for each following range: the position of its first
frame, and the state there. It stops when its frames and its state equal those of the reader that started in the next
range. This happens soon, because a response ends the wait for all older requests. Of several entries, the one from the
earliest range applies. All ranges together then give exactly the result of a reader that starts at the beginning of the
file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import BinaryIO, NamedTuple

from ...capture.files import open_file
from ...capture.portions import Cursor, read_portions, read_range
from ...capture.raw_frames import begins_tokens
from ...errors import BadFrame
from ...protocol import LEAST, Connection
from ...protocol.frames.frame_size import get_int32
from ...protocol.frames.stream_faults import CutShort
from ...protocol.headers.apis import Apis
from ..raw_frames import RawFrame, RawFrameWalker, fragments
from ..read_options import Options
from ..rows.frame_rows import Pairing, RawFrameState

LOOK = 1 << 20  # bytes that are searched: for a frame in the first half, for following frames in the rest
ENOUGH = 16  # so many consecutive frames are not a coincidence
HEADER = 1 << 15  # maximum bytes of a header
_SIZES = re.compile(rb"[\0-\x7f](?=...)", re.DOTALL)


class RangeEntry(NamedTuple):
    """The first frame of a range, and the state there.

    Attributes:
        origin: the start of the range whose reader found the entry; of several entries, the one from the earliest range
            applies.
        place: the position of the first frame that begins in the range or after it, in bytes from the start of the
            file.
        stop: the end of the range.
        state: the requests in flight there.
        broken: the position of an impossible size, after which there are no frames; None without one.
    """

    origin: int
    place: int
    stop: int
    state: RawFrameState = RawFrameState()
    broken: int | None = None


class RangePart(NamedTuple):
    """Data of a range, which is identified by its start: an entry, or bytes of the file from a position on."""

    range: int
    place: int
    entry: RangeEntry | None
    data: bytes = b""


class Chain:
    """Consecutive frames from a position on.

    Args:
        portions: the bytes from that position on.
        offset: the position of the first frame.
        options: the options of the read.
        apis: the known apis.
        size: the size of the file in bytes.

    Attributes:
        place: the position of the next frame.
        broken: the position of an impossible size; None without one.
    """

    def __init__(self, portions: Iterator[bytes], offset: int, options: Options, apis: Apis, size: int) -> None:
        self.place: int = offset
        self.broken: int | None = None
        self._size, self._least = size, LEAST
        self._pairing = Pairing(apis, lambda row: None)
        self._cuts = RawFrameWalker(portions, offset, options.max_frame_bytes, options.max_corrupt_bytes).cuts()
        self._found: list[RawFrame] = []
        self._next = 0

    @property
    def state(self) -> RawFrameState:
        """The state before the next frame."""
        return self._pairing.state(self._least)

    @property
    def needed(self) -> int:
        """The position up to which bytes are needed to read all before `place`, and an impossible size there."""
        return self.place if self.broken is None else self.broken + 4

    def read_to(self, stop: int) -> Iterator[None]:
        """Read all frames that start before a position; yield periodically."""
        while self.place < stop and self.broken is None:
            self._read_more()
            self._take(bisect_left(self._found, stop, self._next, key=itemgetter(0)))
            yield

    def step(self) -> None:
        """Read the next frame."""
        self._read_more()
        self._take(self._next + 1)

    def _read_more(self) -> None:
        if self._next == len(self._found):
            end: list[RawFrame] = [(self._size, b"", CutShort(cause="the dump ended"))]
            self._found, self._next = next(self._cuts, end), 0

    def _take(self, stop: int) -> None:
        """Process the frames found. A frame truncated by the end of the file is the last one."""
        cuts, self._next = self._found[self._next : stop], stop
        offset, data, fault = cuts[-1]
        if fault is not None:
            self.place, self.broken = (offset, offset) if isinstance(fault, BadFrame) else (self._size, None)
            return
        self._pairing.raw(cuts)
        self.place = offset + len(data)
        if self._least and any(begins_tokens(cut[1]) for cut in cuts):
            self._least = 0

    def is_same(self, other: Chain) -> bool:
        """Whether two chains yield the same frames from here on."""
        if (self.place, self.broken) != (other.place, other.broken):
            return False
        return self._pairing.waiting == other._pairing.waiting and self.state == other.state


class FrameRanges:
    """The ranges of a file of raw frames.

    Args:
        stream: the file.
        step: the number of bytes in a range.
        options: the options of the read.
        apis: the known apis.
    """

    def __init__(self, stream: BinaryIO, step: int, options: Options, apis: Apis) -> None:
        self._stream, self._step, self._options, self._apis = stream, step, options, apis
        self._size = stream.seek(0, 2)
        self._read_request = Connection(apis=apis).read_request

    def parts(self, start: int) -> Iterator[RangePart]:
        """Read a range; yield its bytes and the entries of the following ranges."""
        stop = min(self._size, start + self._step)
        if not start:
            yield RangePart(0, 0, RangeEntry(-1, 0, stop))
        portions = _Noted(read_range(self._stream, start, stop), start, stop)
        own = self._begin_chain(start, portions)
        for _ in () if own is None else own.read_to(stop):
            yield from portions.taken(start)
        while portions.place < stop and next(portions, b""):  # no frames
            yield from portions.taken(start)
        yield from portions.taken(start)
        if own is not None:
            yield from self._following(own, start, stop)

    def _begin_chain(self, start: int, portions: Iterator[bytes]) -> Chain | None:
        """Return the frames from the first position in a range where consecutive frames start; None if there is
        none.
        """
        cursor = Cursor(portions, start)
        if start and not self._synchronise(cursor, min(self._size, start + self._step)):
            return None
        rest = chain([cursor.data[cursor.pos :]], portions)
        return Chain(rest, cursor.offset, self._options, self._apis, self._size)

    def _synchronise(self, cursor: Cursor, stop: int) -> bool:
        """Move to the first frame before a position; return whether there is one."""
        while cursor.offset < stop:
            cursor.fill(LOOK)
            data = cursor.data[cursor.pos : cursor.pos + LOOK]
            is_end = cursor.offset + len(data) == self._size
            last = min(stop - cursor.offset, len(data) if is_end else LOOK // 2)
            for match in _SIZES.finditer(data, 0, min(last + 3, len(data))):
                if self._follow(data, match.start(), is_end):
                    cursor.pos += match.start()
                    return True
            cursor.pos += last
        return False

    def _follow(self, data: bytes, pos: int, is_end: bool) -> bool:
        """Whether consecutive frames start at a position, as far as their bytes are available."""
        offset, count = pos, 0
        while count < ENOUGH and offset + 4 <= len(data):
            size = get_int32(data, offset)
            if not LEAST <= size <= self._options.max_frame_bytes:
                return False
            offset, count = offset + 4 + size, count + 1
        if is_end and offset > len(data):
            return False
        if count == ENOUGH or (is_end and offset == len(data) and count > 1):
            return True
        return count > 0 and self._read_request(data[pos : pos + HEADER]) is not None

    def _following(self, own: Chain, start: int, stop: int) -> Iterator[RangePart]:
        """Yield the rest of the range's last frame, and the entries of the following ranges, up to the range whose
        reader finds the same frames.
        """
        yield from self._rest(own, start, start, stop)
        other: Chain | None = None
        for begin in range(stop, self._size, self._step):
            end = min(self._size, begin + self._step)
            entry = RangeEntry(start, max(own.place, begin), end, own.state, own.broken)
            yield RangePart(begin, begin, entry)
            if other is None and own.broken is None:
                other = self._begin_chain(begin, read_range(self._stream, begin, begin))
            is_joined = other is not None and _join(own, other, end)
            if other is None:
                for _ in own.read_to(end):
                    pass
            yield from self._rest(own, begin, entry.place, end)
            if is_joined:
                return

    def _rest(self, own: Chain, start: int, offset: int, stop: int) -> Iterator[RangePart]:
        """Yield the bytes after a range of its last frame, or of the impossible size after it.

        Args:
            own: the frames, up to the last one that begins in the range.
            start: the start of the range.
            offset: the position of its first frame; after its end if a frame contains the whole range.
            stop: the end of the range.
        """
        if offset < stop < own.needed:
            data = b"".join(read_range(self._stream, stop, own.needed, own.needed))
            yield RangePart(start, stop, None, data)


def _join(own: Chain, other: Chain, stop: int) -> bool:
    """Read two chains until they are equal; return False if they are not equal before `stop`."""
    while not own.is_same(other):
        behind = own if own.place <= other.place or other.broken is not None else other
        if own.broken is not None or behind.place >= stop:
            return False
        if own.place == other.place and other.broken is None:
            other.step()
        behind.step()
    return True


class _Noted:
    """The bytes from a position on; also records the bytes before a second position."""

    def __init__(self, portions: Iterator[bytes], offset: int, stop: int) -> None:
        self._portions, self.place, self._stop = portions, offset, stop
        self._kept: list[tuple[int, bytes]] = []

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        portion = next(self._portions)
        if self.place < self._stop:
            self._kept.append((self.place, portion[: self._stop - self.place]))
        self.place += len(portion)
        return portion

    def taken(self, start: int) -> Iterator[RangePart]:
        """Yield the bytes read, as parts of a range."""
        kept, self._kept = self._kept, []
        return (RangePart(start, offset, None, data) for offset, data in kept)


def read_frames(
    entry: RangeEntry, pieces: Iterable[tuple[int, bytes]], pairing: Pairing, options: Options
) -> Generator[None, None, RangeEntry | None]:
    """Read the frames of a range; yield periodically.

    Args:
        entry: the start of the range.
        pieces: the bytes of the range with their positions, then the rest of its last frame, possibly repeated or too
            long.
        pairing: receives the frames.
        options: the options of the read.

    Returns:
        The entry at an impossible size, after which there are no frames; None without one.
    """
    pairing.resume(entry.state)
    portions, min_size = _from(entry, iter(pieces)), entry.state.least
    walker = RawFrameWalker(portions, entry.place, options.max_frame_bytes, options.max_corrupt_bytes, min_size)
    is_tail = False
    for cuts in walker.cuts():
        offset, _, fault = cuts[0]
        if offset >= entry.stop and not is_tail:
            break
        if isinstance(fault, BadFrame):
            return RangeEntry(entry.origin, offset, entry.stop, pairing.state(walker.least), offset)
        is_tail = cuts[0][2] is not None
        pairing.raw(cuts if is_tail else cuts[: bisect_left(cuts, entry.stop, key=itemgetter(0))])
        yield
    return None


def _from(entry: RangeEntry, pieces: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
    behind = b""
    for offset, data in pieces:
        if offset >= entry.stop:
            behind = max(behind, data, key=len)
        elif offset + len(data) > entry.place:
            yield data[max(0, entry.place - offset) :]
    yield behind


def read_fragments(path: str, entry: RangeEntry, options: Options) -> Iterator[list[RawFrame]]:
    """Yield the fragments that begin in a range, after an impossible size has ended the frames.

    Args:
        path: the file.
        entry: the range, with the position of the impossible size and the state there.
        options: the options of the read.
    """
    if entry.broken is None:
        return
    start, stop = _fragments_of(entry, entry.broken, options.max_corrupt_bytes)
    with open_file(path) as stream:
        stream.seek(entry.broken)
        size = get_int32(stream.read(4), 0)
        fault = BadFrame(offset=0, found=size, need=entry.state.least, have=options.max_frame_bytes)
        stream.seek(start)
        yield from fragments(read_portions(stream, stop - start), start, fault, options.max_corrupt_bytes)


def _fragments_of(entry: RangeEntry, broken: int, piece: int) -> tuple[int, int]:
    """Return the start and end of the fragments in a range.

    >>> _fragments_of(RangeEntry(0, 100, 200), 90, 40), _fragments_of(RangeEntry(0, 120, 200), 120, 40)
    ((130, 210), (120, 200))
    """
    start, stop = (max(broken, edge + (broken - edge) % piece) for edge in (entry.place, entry.stop))
    return start, stop
