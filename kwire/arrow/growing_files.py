"""Tracks growing files: how far each was read, how far it can be read, and what the next batch reads.

Finds the end of the last complete frame, record or compressed block in a file that is still being written, using only
sizes, and divides raw frames into ranges. `batch_reader` reads the ranges.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..capture.pcap import FILE_HEADER, PORTION, PcapReader, portions_of
from ..capture.pcapng import PcapngReader
from ..errors import BadFrame, DumpError, KwireError
from ..input import CAPTURES
from ..input.files import open_file, unpacked
from ..logs.segment_reader import SHORT, credible_stop
from ..protocol.headers import Apis
from .frame_rows import Cut, State, Walker
from .read_options_and_splits import (
    AUTO,
    FRAMES,
    MOST_SHARES,
    PCAP,
    RAW,
    BadOption,
    File,
    Options,
    Unit,
    find_files,
    kind_of,
    least_parts,
    packed,
    parts_of,
    shared,
)


class LostData(KwireError):
    """A file of a stream was replaced or truncated after it was read: `file`, `offset` in bytes, `problem`."""

    hint = (
        "give new files new names; failOnDataLoss=false reads such a file anew, from its start; what is no raw frames "
        "and no capture is read but once: move it in when it is complete, or set tailTimeout"
    )

    def __init__(self, file: str = "", offset: int = 0, problem: str = "") -> None:
        super().__init__(file, offset, problem)
        self.file: str = file
        self.offset: int = offset
        self.problem: str = problem

    def __str__(self) -> str:
        return f"[KWIRE_LOST_DATA] path={self.file}, offset={self.offset}: {self.problem}; {self.hint}"


WHOLE = "whole"  # the kind of a file that is read as a whole
MOST_REMEMBERED = 1 << 18  # requests in flight, in all stored states
ENDLESS = 1 << 62
SAMPLE = 1024  # bytes at both ends whose hash identifies a file
VERSION = 1
Offset = dict[str, Any]
SECOND = 1_000_000_000


class Known(NamedTuple):
    """The state at a position of raw frames; `broken` is the position of an impossible size, which ends the frames."""

    state: State = State()
    broken: int | None = None


def kind_so_far(path: str, options: Options, is_over: bool) -> str:
    """Return the kind of a file that may still grow.

    Args:
        path: the file.
        options: the options of the read.
        is_over: whether the file has stopped growing.

    Returns:
        `raw frames`, a kind of capture, or `whole`; empty while unknown.
    """
    with open_file(path) as stream:
        head = stream.read(PORTION)
    if len(head) < 4 and not is_over:
        return ""
    kind = kind_of(path, options)
    if kind in CAPTURES:
        return kind if options.dump_format in (AUTO, PCAP) else WHOLE
    if kind != RAW or options.dump_format not in (AUTO, FRAMES):
        return WHOLE
    return RAW if is_over or options.dump_format == FRAMES or not _may_be_log(head, Path(path).stat().st_size) else ""


def _may_be_log(head: bytes, size: int) -> bool:
    """Whether data that looks like frames may be a log, once its first batch is complete."""
    stop = credible_stop(head, 0)
    return stop > size or stop == SHORT or 4 + int.from_bytes(head[:4], "big") > size


def is_whole(path: str) -> bool:
    """Whether a compressed file is complete; True for other files, which cannot be checked."""
    with open_file(path) as stream:
        try:
            opened = unpacked(portions_of(stream), path)
            if opened.prefix:
                for _ in opened.portions():
                    pass
        except DumpError as error:
            return error.offset != stream.tell()  # damaged, but not truncated
    return True


def raw_end(path: str, start: int, known: Known, most: int, size: int, options: Options) -> int:
    """Return the end of the last complete frame.

    Args:
        path: the file.
        start: the start of a frame.
        known: the state there.
        most: the position to stop at, but not before the end of the first frame.
        size: the size of the file in bytes.
        options: the options of the read.

    Returns:
        The position; `start` if no frame is complete. After broken frames, all bytes count as complete.
    """
    if known.broken is not None:
        return most
    with open_file(path) as stream:
        stream.seek(start)
        first = stream.read(4)
        claim = int.from_bytes(first, "big", signed=True)
        if len(first) == 4 and known.state.least <= claim <= options.max_frame_bytes:
            most = max(most, start + 4 + claim)
        if most > size:
            return start
        stream.seek(start)
        portions = portions_of(stream, most - start)
        walker = Walker(portions, start, options.max_frame_bytes, options.max_corrupt_bytes, known.state.least)
        for cuts in walker.cuts():
            for offset, _, fault in cuts:
                if fault is not None:
                    return offset if walker.broken is None else most
    return most


def captured_end(path: str, start: int, kind: str, most: int, size: int, order: str = "") -> tuple[int, str]:
    """Return the end of the last complete record of a capture, and the byte order there.

    Args:
        path, most, size: see `raw_end`.
        start: the start of a record. kind: the format of the capture.
        order: the byte order at `start`, as returned earlier. Sections of pcapng may differ; if it is unknown, the file
            is read from the start.

        Damaged bytes are included once a record follows them.
    """
    last = start
    with open_file(path) as stream:
        for end, now in _ENDS[kind](stream, start, size, order):
            if end > most and last > start:
                break
            if end >= last:
                last, order = end, now
    return last, order


def _pcap_ends(stream: BinaryIO, start: int, size: int, _: str) -> Iterator[tuple[int, str]]:
    head = stream.read(min(FILE_HEADER, size))
    if len(head) < FILE_HEADER:
        return
    base = max(start, FILE_HEADER)
    stream.seek(base)
    portions = chain([head], portions_of(stream, size - base))
    yield base, ""
    yield from _walked(PcapReader(portions, passed=base - FILE_HEADER, looks_ahead=True), 0)


def _pcapng_ends(stream: BinaryIO, start: int, size: int, order: str) -> Iterator[tuple[int, str]]:
    base, order = (start, order) if order else (0, "<")
    stream.seek(base)
    reader = PcapngReader(portions_of(stream, size - base), looks_ahead=True)
    reader.order = order
    yield from _walked(reader, base)


def _walked(reader: PcapReader | PcapngReader, base: int) -> Iterator[tuple[int, str]]:
    """Yield the ends of complete records, and of damage that is followed by records."""
    reader.may_grow = True
    for _ in reader.walk():
        if not reader.is_skipping:
            yield base + reader.cursor.offset, reader.order if isinstance(reader, PcapngReader) else ""


_ENDS: dict[str, Callable[[BinaryIO, int, int, str], Iterator[tuple[int, str]]]] = {
    "pcap": _pcap_ends,
    "pcapng": _pcapng_ends,
}


class Memory:
    """Stores states at positions of raw frames. A missing state is computed again from the start of the file.

    Args:
        options: the options of the read.
        apis: the known apis.
    """

    def __init__(self, options: Options, apis: Apis) -> None:
        self.options: Options = options
        self.apis: Apis = apis
        self._known: OrderedDict[tuple[str, int], Known] = OrderedDict()
        self._count = 0

    def known(self, path: str, place: int) -> Known:
        """Return the state at the start of a frame."""
        if not place:
            return Known()
        if (path, place) not in self._known:
            self.divide(path, 0, place, ENDLESS)
        self._known.move_to_end((path, place))
        return self._known[path, place]

    def divide(self, path: str, start: int, stop: int, most: int) -> list[Unit]:
        """Divide a range into input splits of about `most` bytes, and store the state at the end of the range."""
        known = self.known(path, start)
        if known.broken is not None:
            places = range(start, stop, most)
            units = [Unit(path, at, min(stop, at + most), known.state, broken=known.broken) for at in places]
            units = [unit._replace(weight=(unit.stop or 0) - unit.start) for unit in units]
        else:
            units, known = self._walk(path, start, stop, most, known)
        self._learn((path, stop), known)
        return units

    def _walk(self, path: str, start: int, stop: int, most: int, known: Known) -> tuple[list[Unit], Known]:
        units: list[Unit] = []
        parts = parts_of(File(path, stop, 0), most, self.options, self.apis, start, known.state)
        while True:
            try:
                units.append(next(parts))
            except StopIteration as end:
                return units, Known(*end.value)

    def _learn(self, place: tuple[str, int], known: Known) -> None:
        old = self._known.pop(place, None)
        self._count -= 0 if old is None else 1 + len(old.state.waiting)
        self._known[place] = known
        self._count += 1 + len(known.state.waiting)
        while self._count > MOST_REMEMBERED and len(self._known) > 1:
            _, old = self._known.popitem(last=False)
            self._count -= 1 + len(old.state.waiting)


def broken_cuts(unit: Unit, options: Options) -> Iterator[list[Cut]]:
    """Yield the fragments of a range after the position where the frames ended."""
    assert unit.stop is not None and unit.broken is not None
    with open_file(unit.path) as stream:
        stream.seek(unit.broken)
        size = int.from_bytes(stream.read(4), "big", signed=True)
        fault = BadFrame(offset=0, found=size, need=unit.state.least, have=options.max_frame_bytes)
        stream.seek(unit.start)
        offset = unit.start
        while piece := stream.read(min(options.max_corrupt_bytes, unit.stop - offset)):
            yield [(offset, piece, fault)]
            offset += len(piece)


class Place(NamedTuple):
    """The position up to which a file was read.

    Attributes:
        stop: the position, in bytes from the start.
        kind: the kind of the file: `raw frames`, a kind of capture, or `whole`, which is read at once.
        mark: a hash that identifies the file.
        changed: the modification time, in seconds since 1970.
        done: whether the position is the end of the file.
        turn: how often another file has replaced the file.
        order: the byte order at the position, as in `struct`; it may vary in pcapng. Empty if unknown.
    """

    stop: int = 0
    kind: str = ""
    mark: str = ""
    changed: int = 0
    done: bool = False
    turn: int = 0
    order: str = ""


START = Place()


def offset_of(places: Mapping[str, Place]) -> Offset:
    """Serialize positions for Spark; `places_of` parses the result."""
    defaults = START._asdict()
    files = {
        path: {name: value for name, value in place._asdict().items() if value != defaults[name]}
        for path, place in sorted(places.items())
    }
    return {"version": VERSION, "files": files}


def places_of(offset: Offset) -> dict[str, Place]:
    """Parse the result of `offset_of`.

    Raises:
        BadOption: a later kwire wrote the offset.

    >>> places_of(offset_of({"/in/a": Place(12, "raw frames", "3f", 1700000000)}))
    {'/in/a': Place(stop=12, kind='raw frames', mark='3f', changed=1700000000, done=False, turn=0,
        order='')}
    """
    if offset.get("version") != VERSION:
        raise BadOption("checkpointLocation", None, f"offsets of version {offset.get('version')}", "take a later kwire")
    return {path: Place(**place) for path, place in offset["files"].items()}


def mark_of(path: str, stop: int) -> str:
    """Return a hash of the first bytes and the last bytes before `stop`, which identifies a file."""
    with Path(path).open("rb") as stream:
        head = stream.read(min(SAMPLE, stop))
        stream.seek(max(0, stop - SAMPLE))
        tail = stream.read(min(SAMPLE, stop))
    return blake2b(head + tail, digest_size=8).hexdigest()


def difference(file: File, place: Place) -> str | None:
    """Return why a file cannot be the one that was read before; None if it may be the same."""
    if file.size < place.stop:
        return f"it has {file.size} bytes now, and {place.stop} were read: it was cut or replaced"
    if place.stop and mark_of(file.path, place.stop) != place.mark:
        return f"its first {place.stop} bytes are not those that were read: it was replaced"
    if place.done and file.size > place.stop:
        return f"it was read up to its end at {place.stop} bytes, and has {file.size} now"
    return None


def difference_now(path: str, place: Place) -> str | None:
    """Return `difference` for the current file at a path; a deleted file differs too."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return "it is not there any more, and was not read yet"
    return difference(File(path, status.st_size, status.st_mtime_ns), place)


class Growing:
    """Growing files, as read by a stream.

    Args:
        paths: files, folders and globs; they may match nothing yet.
        options: the options of the read.
        apis: the known apis.
    """

    def __init__(self, paths: Sequence[str], options: Options, apis: Apis) -> None:
        self.paths: Sequence[str] = paths
        self.options: Options = options
        self._memory = Memory(options, apis)
        # State of files without new data: size, time, position, and whether they may grow.
        self._seen: dict[str, tuple[int, int, Place, bool]] = {}

    def files(self) -> dict[str, File]:
        """Return the existing files.

        Raises:
            BadOption: a path does not exist; a glob may match nothing yet.
        """
        return {file.path: file for file in find_files(self.paths, self.options, may_come=True)}

    def latest(
        self,
        start: Mapping[str, Place],
        now: float,
        sizes: Mapping[str, int] | None = None,
        *,
        is_limited: bool = True,
    ) -> dict[str, Place]:
        """Return how far each file can be read now.

        Args:
            start: how far each file was read before.
            now: seconds since 1970, for the option `tailTimeout`.
            sizes: how many bytes of each file to consider; other files are ignored. None means all files with their
                sizes.
            is_limited: whether the options limit how much is read at once.

        Returns:
            The new positions; for a file without new data, the position in `start`.

        Raises:
            LostData: a file was replaced or truncated, unless the option `failOnDataLoss` allows reading it again.
        """
        there = self.files()
        files = [file for path, file in there.items() if sizes is None or path in sizes]
        places = self._kept(start, there)
        left = _Left(self.options, is_limited)
        for file in sorted(files, key=lambda file: (file.changed, file.path)):
            if left.is_none:
                break
            size = file.size if sizes is None else min(file.size, sizes[file.path])
            self._advance(file, size, now, left, places)
        return places

    def _advance(self, file: File, size: int, now: float, left: _Left, places: dict[str, Place]) -> None:
        """Advance the position of a file as far as it can be read now, within the limits that are `left`."""
        place = places.get(file.path, START)
        is_over = self._is_over(file, size, now)
        seen = size, file.changed, place, is_over
        if self._seen.get(file.path) == seen:
            return
        before = self._checked(file, place)
        after = self._reach(file, before, size, left, is_over)
        if after != before:
            places[file.path] = after
            left.take(after.stop - before.stop)
        elif left.bytes >= size - before.stop:
            self._seen[file.path] = seen

    def _kept(self, start: Mapping[str, Place], files: Mapping[str, File]) -> dict[str, Place]:
        """Return the stored positions of existing and recently deleted files."""
        newest = max((place.changed for place in start.values()), default=0)
        oldest = newest - self.options.max_file_age
        return {path: place for path, place in start.items() if path in files or place.changed >= oldest}

    def _checked(self, file: File, place: Place) -> Place:
        """Return where to continue in a file; the start if the file was replaced."""
        problem = difference(file, place)
        if problem is None:
            return place
        if self.options.fail_on_data_loss:
            raise LostData(file.path, place.stop, problem)
        return Place(turn=place.turn + 1)

    def _is_over(self, file: File, size: int, now: float) -> bool:
        """Whether a file will no longer grow."""
        timeout = self.options.tail_timeout
        return timeout is not None and size == file.size and now - file.changed / SECOND >= timeout

    def _reach(self, file: File, place: Place, size: int, left: _Left, is_over: bool) -> Place:
        """Return how far a file can be read now."""
        if place.done or (size == place.stop and not (is_over and place.kind in CAPTURES)):
            return place  # connections of a capture may continue
        kind = place.kind or kind_so_far(file.path, self.options, is_over)
        stop, order = self._stop(file, place, kind, size, left, is_over) if kind else (place.stop, "")
        done = kind == WHOLE or (is_over and stop == size)
        if stop == place.stop and not (done and stop):
            return place
        return Place(stop, kind, mark_of(file.path, stop), file.changed // SECOND, done, place.turn, order)

    def _stop(self, file: File, place: Place, kind: str, size: int, left: _Left, is_over: bool) -> tuple[int, str]:
        """Return the end of the complete data, or of a file that no longer grows, and the byte order there."""
        path, start = file.path, place.stop
        if kind == WHOLE:
            is_there = is_over or (self.options.tail_timeout is None and size == file.size)
            return (size if is_there and left.allows(size) and (is_over or is_whole(path)) else start), ""
        most = min(size, start + left.bytes)
        if kind == RAW:
            stop, order = raw_end(path, start, self._memory.known(path, start), most, size, self.options), ""
        else:
            stop, order = captured_end(path, start, kind, most, size, place.order)
        if is_over and (most == size or stop == start):  # incomplete data at the end stays incomplete
            stop = size
        return (start if stop > most and not left.is_fresh else stop), order

    def units(self, start: Mapping[str, Place], end: Mapping[str, Place]) -> list[list[Unit]]:
        """Distribute the data between two sets of positions to tasks; equal positions give equal rows.

        Raises:
            LostData: a file was replaced, unless the option `failOnDataLoss` allows skipping it.
        """
        units: list[Unit] = []
        for path, place in sorted(end.items()):
            before = start.get(path, START)
            if place == before:
                continue
            if place.turn != before.turn:
                before = START
            problem = difference_now(path, place)
            if problem is None:
                units += self._between(path, before, place)
            elif self.options.fail_on_data_loss:
                raise LostData(path, place.stop, problem)
        options = self.options
        return packed(units, options.max_partition_bytes, options.open_cost_in_bytes)

    def _between(self, path: str, before: Place, place: Place) -> list[Unit]:
        start, stop, most = before.stop, place.stop, self.options.max_partition_bytes
        if place.kind == WHOLE:
            return [Unit(path, weight=stop)]
        if place.kind in CAPTURES:
            parts = max(1, min(MOST_SHARES, least_parts(self.options), -(-(stop - start) // most)))
            whole = Unit(path, start, stop, kind=place.kind, is_end=place.done, weight=stop - start)
            return list(shared(whole, parts))
        return self._memory.divide(path, start, stop, most)


class _Left:
    """The remaining limits of a batch."""

    def __init__(self, options: Options, is_limited: bool) -> None:
        self.files = options.max_files_per_trigger if is_limited else 0
        self.bytes = (options.max_bytes_per_trigger if is_limited else 0) or 1 << 62
        self.files = self.files or 1 << 62
        self.is_fresh = True

    @property
    def is_none(self) -> bool:
        return self.files <= 0 or self.bytes <= 0

    def allows(self, count: int) -> bool:
        """Whether `count` bytes may be read; the first file may have any number of bytes."""
        return self.is_fresh or count <= self.bytes

    def take(self, count: int) -> None:
        self.files, self.bytes, self.is_fresh = self.files - 1, self.bytes - count, False
