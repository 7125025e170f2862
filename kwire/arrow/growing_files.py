"""Growing files: how far each was read, how far it can be read, and what the next batch reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ..input.open import CAPTURES
from ..protocol.api_registry import Apis
from .complete_end import WHOLE, captured_end, is_whole, kind_so_far, raw_end
from .errors import BadOption, LostData
from .files import File, find_files
from .input_splits import MOST_SHARES, RAW, Unit, least_parts, packed, shared
from .options import Options
from .raw_ranges import Memory

SAMPLE = 1024  # bytes at both ends whose hash identifies a file
VERSION = 1
Offset = dict[str, Any]


class Place(NamedTuple):
    """The position up to which a file was read.

    Attributes:
        stop: the position, in bytes from the start.
        kind: the kind of the file: `raw frames`, a kind of capture, or `whole`: read at once.
        mark: a hash that identifies the file.
        changed: its modification time, in seconds since 1970.
        done: whether that was the end of the file.
        turn: how often the file was replaced by another.
        order: the byte order at that position, as in `struct`; it may vary in pcapng. Empty if unknown.
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
        BadOption: it was written by a later kwire.

    >>> places_of(offset_of({"/in/a": Place(12, "raw frames", "3f", 1700000000)}))
    {'/in/a': Place(stop=12, kind='raw frames', mark='3f', changed=1700000000, done=False, turn=0,
        order='')}
    """
    if offset.get("version") != VERSION:
        raise BadOption("checkpointLocation", None, f"offsets of version {offset.get('version')}", "take a later kwire")
    return {path: Place(**place) for path, place in offset["files"].items()}


def mark_of(path: str, stop: int) -> str:
    """Return the hash that identifies a file by its first `stop` bytes: of both their ends."""
    with Path(path).open("rb") as stream:
        head = stream.read(min(SAMPLE, stop))
        stream.seek(max(0, stop - SAMPLE))
        tail = stream.read(min(SAMPLE, stop))
    return blake2b(head + tail, digest_size=8).hexdigest()


def difference(file: File, place: Place) -> str | None:
    """Return why a file cannot be the one that was read before; None if it can."""
    if file.size < place.stop:
        return f"it has {file.size} bytes now, and {place.stop} were read: it was cut or replaced"
    if place.stop and mark_of(file.path, place.stop) != place.mark:
        return f"its first {place.stop} bytes are not those that were read: it was replaced"
    if place.done and file.size > place.stop:
        return f"it was read up to its end at {place.stop} bytes, and has {file.size} now"
    return None


def difference_now(path: str, place: Place) -> str | None:
    """As `difference`, for the current state of the file; a deleted file is different, too."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return "it is not there any more, and was not read yet"
    return difference(File(path, status.st_size, status.st_mtime_ns), place)


SECOND = 1_000_000_000


class Growing:
    """Growing files, as read by a stream.

    Args:
        paths: files, folders and globs; they may match nothing yet.
        options: the options of the read.
        apis: what is known of frames.
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
            BadOption: there is no such path; a glob may match nothing yet.
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
            start: how far each was read before.
            now: seconds since 1970, for the option `tailTimeout`.
            sizes: how many bytes of each file to consider, other files not at all; None: all files at their size.
            is_limited: whether the options limit how much is read at once.

        Returns:
            The new positions; that of `start` for a file without new data.

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
        """Move the position of a file to where it can be read now, within what is `left` of the limits."""
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
        """Return the stored positions: of existing files, and of recently deleted ones."""
        newest = max((place.changed for place in start.values()), default=0)
        oldest = newest - self.options.max_file_age
        return {path: place for path, place in start.items() if path in files or place.changed >= oldest}

    def _checked(self, file: File, place: Place) -> Place:
        """Return where to continue in a file; at its start if it was replaced."""
        problem = difference(file, place)
        if problem is None:
            return place
        if self.options.fail_on_data_loss:
            raise LostData(file.path, place.stop, problem)
        return Place(turn=place.turn + 1)

    def _is_over(self, file: File, size: int, now: float) -> bool:
        """Whether a file will not grow any more."""
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
        """Return the end of the complete data, or of a file that will not grow; and the byte order there."""
        path, start = file.path, place.stop
        if kind == WHOLE:
            is_there = is_over or (self.options.tail_timeout is None and size == file.size)
            return (size if is_there and left.allows(size) and (is_over or is_whole(path)) else start), ""
        most = min(size, start + left.bytes)
        if kind == RAW:
            stop, order = raw_end(path, start, self._memory.known(path, start), most, size, self.options), ""
        else:
            stop, order = captured_end(path, start, kind, most, size, place.order)
        if is_over and (most == size or stop == start):  # an incomplete rest will stay incomplete
            stop = size
        return (start if stop > most and not left.is_fresh else stop), order

    def units(self, start: Mapping[str, Place], end: Mapping[str, Place]) -> list[list[Unit]]:
        """Distribute the data between two sets of positions to tasks; equal positions give equal rows.

        Raises:
            LostData: a file was replaced; unless the option `failOnDataLoss` allows skipping it.
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
        """Whether so many bytes may be read; the first file may have any number."""
        return self.is_fresh or count <= self.bytes

    def take(self, count: int) -> None:
        self.files, self.bytes, self.is_fresh = self.files - 1, self.bytes - count, False
