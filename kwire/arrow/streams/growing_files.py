"""Files that arrive and grow: which bytes of which files a batch of a stream reads.

A file that grows is one more byte range of its capture: from the end of the previous range to the end of the last
complete record or block. `packet_scan` reads the ranges.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from ...capture.compressed_files import unpack_input
from ...capture.files import open_file
from ...capture.logs.batch_recognition import SHORT, find_credible_end
from ...capture.packets.capture_formats import CAPTURES
from ...capture.packets.packet import Packet
from ...capture.portions import PORTION, read_portions
from ...errors import DumpError, KwireError
from ..find_files import InputFile, capture_of, find_files
from ..input_splits import RAW_FRAMES, kind_of
from ..ranges.capture_readers import capture_kind
from ..ranges.concatenated_files import Extent
from ..read_options import AUTO, FRAMES, PCAP, Options
from .file_positions import SAMPLE, FilePosition, FilePositions, mark_of

WHOLE = "whole"  # the kind of a file that is read in one piece
SECOND = 1_000_000_000


class LostData(KwireError):
    """A file of a stream was replaced or truncated after it was read: `file`, `offset` in bytes, `problem`."""

    hint = (
        "give new files new names; failOnDataLoss=false reads such a file again from its start; files other than raw"
        " frames and captures are read once: move them in when they are complete, or set tailTimeout"
    )

    def __init__(self, file: str = "", offset: int = 0, problem: str = "") -> None:
        super().__init__(file, offset, problem)
        self.file: str = file
        self.offset: int = offset
        self.problem: str = problem

    def __str__(self) -> str:
        return f"[KWIRE_LOST_DATA] path={self.file}, offset={self.offset}: {self.problem}; {self.hint}"


def kind_so_far(file: InputFile, options: Options, is_over: bool) -> str:
    """Return the kind of a file that may still grow.

    Args:
        file: the file.
        options: the options of the read.
        is_over: whether the file has stopped growing.

    Returns:
        `raw frames`, a kind of capture, or `whole`; empty while unknown.
    """
    with open_file(file.path) as stream:
        head = stream.read(PORTION)
    if len(head) < 4 and not is_over:
        return ""
    kind = kind_of(file.path, options)
    if kind in CAPTURES:
        return kind if options.dump_format in (AUTO, PCAP) else WHOLE
    if kind != RAW_FRAMES or options.dump_format not in (AUTO, FRAMES):
        return WHOLE
    return RAW_FRAMES if is_over or options.dump_format == FRAMES or not _may_be_log(head, file.size) else ""


def _may_be_log(head: bytes, size: int) -> bool:
    """Whether data that looks like frames may be a log, once its first batch is complete."""
    stop = find_credible_end(head, 0)
    return stop > size or stop == SHORT or 4 + int.from_bytes(head[:4], "big") > size


def is_whole(path: str) -> bool:
    """Whether a compressed file is complete; True for other files, which cannot be checked."""
    with open_file(path) as stream:
        try:
            opened = unpack_input(read_portions(stream), path)
            if opened.prefix:
                for _ in opened.portions():
                    pass
        except DumpError as error:
            return error.offset != stream.tell()  # damaged, but not truncated
    return True


def begin_of(path: str) -> int:
    """Return the time of the first packet of a capture, in nanoseconds since 1970; 0 if it is unknown."""
    with open_file(path) as stream, suppress(DumpError):
        opened = unpack_input(read_portions(stream), path)
        if kind := capture_kind(opened.head):
            reader = CAPTURES[kind][1](opened.portions(), path, looks_ahead=True)
            return next((packet.nanoseconds or 0 for packet in reader if isinstance(packet, Packet)), 0)
    return 0


def captured_end(path: str, start: int, kind: str, limit: int, size: int, header: bytes = b"") -> tuple[int, bytes]:
    """Return where the last complete packet of a capture ends, and the header to read on from there.

    Args:
        path: the file.
        start: the start of a record.
        kind: the capture's format.
        limit: where to stop, but not before the end of the first packet.
        size: the size of the file in bytes.
        header: the header at `start`, as returned before.

    Returns:
        The position, `start` if no packet is complete; and the header. Damaged bytes are included once a packet
        follows them.
    """
    last = start
    with open_file(path) as stream:
        stream.seek(start)
        portions = chain([header], read_portions(stream, size - start))
        reader = CAPTURES[kind][1](portions, path, start - len(header), looks_ahead=True)
        reader.may_grow = True
        for _ in reader:
            if reader.is_skipping:
                continue
            end = reader.cursor.offset
            if end > limit and last > start:
                break
            last, header = end, reader.header
    return last, header


class GrowingFiles:
    """Files that arrive and grow, as read by a stream.

    Args:
        paths: files, folders and globs; they may match nothing yet.
        options: the options of the read.
    """

    def __init__(self, paths: Sequence[str], options: Options) -> None:
        self.paths: Sequence[str] = paths
        self.options: Options = options
        self._known: dict[InputFile, str] = {}  # the keys of files that did not change
        # State of files without new data: size, time, position, and whether they may grow.
        self._seen: dict[str, tuple[int, int, FilePosition, bool]] = {}
        self._begins: dict[InputFile, int] = {}  # the first times of files that were not read yet

    def files(self) -> dict[str, InputFile]:
        """Return the existing files, the oldest first.

        Raises:
            BadOption: a path does not exist; a glob may match nothing yet.
        """
        entries = find_files(self.paths, self.options, may_come=True)
        return {file.path: file for file in sorted(entries, key=lambda entry: (entry.changed, entry.path)) if file.size}

    def latest(
        self, start: FilePositions, now: float, sizes: Mapping[str, int] | None = None, *, is_limited: bool = True
    ) -> dict[str, FilePosition]:
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
        files = self.files()
        matched = self._match_files(files, start)
        self._check(files, matched, start)
        owners = {key: path for path, key in sorted(matched.items(), key=lambda item: files[item[0]].size)}
        places, left = self._positions_to_keep(start, owners), _Left(self.options, is_limited)
        self._seen = {path: seen for path, seen in self._seen.items() if path in files}
        known = self._positions_of(files, {path: start[key] for path, key in matched.items()}, start.values())
        for path in self._due(files, known, now):
            key = matched.get(path)
            if left.is_none or (sizes is not None and path not in sizes) or (key and owners[key] != path):
                continue  # what another file has is read there
            size = files[path].size if sizes is None else min(files[path].size, sizes[path])
            self._advance(files[path], key, known[path], size, now, left, places)
        return places

    def _positions_of(
        self, files: Mapping[str, InputFile], known: dict[str, FilePosition], read: Iterable[FilePosition]
    ) -> dict[str, FilePosition]:
        """Return the positions of all files; of a new file, with its first time."""
        fresh = [file for path, file in files.items() if path not in known]
        begins = self._begins
        self._begins = {file: begins[file] if file in begins else begin_of(file.path) for file in fresh}
        newest = self._newest((position.path, position.begin) for position in read) if fresh else {}
        for file, begin in self._begins.items():
            is_late = 0 < begin < newest.get(self._capture(file.path), 0)
            known[file.path] = FilePosition(file.path, begin=begin, is_late=is_late)
        return known

    def _due(self, files: Mapping[str, InputFile], known: Mapping[str, FilePosition], now: float) -> list[str]:
        """Return the files that may be read now, in the order of their first times.

        These are files that have not changed for `lateFiles`, and files of the same captures that begin before them.
        """
        times = {path: known[path].begin or file.changed for path, file in files.items()}
        paths = sorted(files, key=lambda path: (times[path], path))
        if not (wait := self.options.late_files):
            return paths
        rested = (path for path, file in files.items() if now - file.changed / SECOND >= wait)
        newest = self._newest((path, times[path]) for path in rested)
        return [path for path in paths if times[path] <= newest.get(self._capture(path), -1)]

    def _capture(self, path: str) -> str:
        return capture_of(path, self.options.capture)

    def _newest(self, times: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Return the newest time for each capture, given paths and times."""
        newest = dict[str, int]()
        for path, time in times:
            capture = self._capture(path)
            newest[capture] = max(time, newest.get(capture, time))
        return newest

    def _match_files(self, files: Mapping[str, InputFile], places: FilePositions) -> dict[str, str]:
        """Return the keys of files that were read before, by their paths."""
        by_path = {position.path: key for key, position in places.items()}
        by_head: dict[tuple[int, str], list[str]] = {}
        for key, position in places.items():
            by_head.setdefault((min(SAMPLE, position.stop), position.mark[0]), []).append(key)
        matched = dict[str, str]()
        for path, file in files.items():
            known = self._known.get(file, "")
            if known in places and places[known].stop <= file.size:
                matched[path] = known
                continue
            named = [by_path[path]] if path in by_path else []
            keys = chain(named, _keys(file, by_head))
            key = next((key for key in keys if places[key].same(file)), "")
            matched |= {path: key} if key else {}
        self._known = {files[path]: key for path, key in matched.items()}
        return matched

    def _check(self, files: Mapping[str, InputFile], matched: dict[str, str], places: FilePositions) -> None:
        """Raise LostData for files that cannot be read on; without `failOnDataLoss`, take them for other files."""
        there = set(matched.values())
        for key, position in places.items():
            file, problem = files.get(position.path), ""
            if file is not None and matched.get(file.path) == key and position.done and file.size > position.stop:
                problem = f"it was read up to its end at {position.stop} bytes, and has {file.size} now"
                if not self.options.fail_on_data_loss and position.kind == WHOLE:
                    del matched[file.path]
            elif file is not None and key not in there and file.path not in matched and position.has_begun(file):
                problem = f"its first {position.stop} bytes are not those that were read: it was cut or replaced"
            if file is not None and problem and self.options.fail_on_data_loss:
                raise LostData(file.path, position.stop, problem)

    def _positions_to_keep(self, start: FilePositions, there: Container[str]) -> dict[str, FilePosition]:
        """Return the stored positions: of existing files, and of recently deleted ones."""
        newest = max((position.changed for position in start.values()), default=0)
        oldest = newest - self.options.max_file_age
        return {key: position for key, position in start.items() if key in there or position.changed >= oldest}

    def _advance(
        self,
        file: InputFile,
        key: str | None,
        before: FilePosition,
        size: int,
        now: float,
        left: _Left,
        places: dict[str, FilePosition],
    ) -> None:
        """Move the position of a file to where it can be read now, within what is `left` of the limits."""
        is_over = self._is_over(file, size, now)
        seen = size, file.changed, before, is_over
        if self._seen.get(file.path) == seen:
            return
        after = self._reach(file, before, size, left, is_over)
        if after is not None:
            is_known = key in places
            key = key or f"{after.stop:x}.{after.mark[0][:8]}{after.mark[1][:8]}"
            if is_known or key not in places:  # of copies that arrive together, one is read
                places[key] = after
                left.take(after.stop - before.stop)
        elif left.bytes >= size - before.stop:
            self._seen[file.path] = seen

    def _is_over(self, file: InputFile, size: int, now: float) -> bool:
        """Whether a file will no longer grow."""
        timeout = self.options.tail_timeout
        return timeout is not None and size == file.size and now - file.changed / SECOND >= timeout

    def _reach(
        self, file: InputFile, position: FilePosition, size: int, left: _Left, is_over: bool
    ) -> FilePosition | None:
        """Return how far a file can be read now; None if there is nothing new."""
        if size <= position.stop and (position.done or not is_over or position.kind != RAW_FRAMES):
            return None  # the start of a raw frame may be left
        kind = position.kind or kind_so_far(file, self.options, is_over)
        stop, header = self._stop(file, position, kind, size, left, is_over) if kind else (position.stop, b"")
        done = kind == WHOLE or (is_over and stop == size)
        if stop == position.stop and not (done and stop):
            return None
        mark, changed = mark_of(file.path, stop), file.changed // SECOND
        return position._replace(
            path=file.path, stop=stop, kind=kind, mark=mark, changed=changed, done=done, header=header.hex()
        )

    def _stop(
        self, file: InputFile, position: FilePosition, kind: str, size: int, left: _Left, is_over: bool
    ) -> tuple[int, bytes]:
        """Return the end of the complete data, or of a file that no longer grows, and the header to read on."""
        path, start = file.path, position.stop
        if kind == WHOLE:
            is_there = is_over or (self.options.tail_timeout is None and size == file.size)
            return (size if is_there and left.allows(size) and (is_over or is_whole(path)) else start), b""
        limit = min(size, start + left.bytes)
        if kind == RAW_FRAMES:
            return limit, b""  # the decoder keeps the start of a frame
        stop, header = captured_end(path, start, kind, limit, size, bytes.fromhex(position.header))
        if is_over and (limit == size or stop == start):  # incomplete data at the end will stay incomplete
            stop = size
        return (start if stop > limit and not left.is_fresh else stop), header

    def ranges(self, start: FilePositions, end: FilePositions) -> Iterator[tuple[str, int, Extent | None, bool]]:
        """Yield the data between two sets of positions.

        Yields:
            The path, the size in bytes, the range of the file (None for a file that is read at once), and whether this
            is the start of a late file.

        Raises:
            LostData: a file was replaced or deleted; unless the option `failOnDataLoss` allows skipping it.
        """
        files = self.files()
        for key, position in end.items():
            before = start.get(key, FilePosition(position.path))
            if position == before:
                continue
            file = files.get(position.path)
            if file is None or not position.same(file):
                path = next(iter(self._match_files(files, {key: position})), None)
                file = None if path is None else files[path]
            is_late = position.is_late and not before.stop
            if file is not None and position.kind == WHOLE:
                yield file.path, position.stop, None, is_late
            elif file is not None:
                own = key.encode() if position.kind == RAW_FRAMES else b""
                extent = Extent(before.stop, position.stop, bytes.fromhex(before.header), own, position.done)
                yield file.path, extent.size, extent, is_late
            elif self.options.fail_on_data_loss:
                raise LostData(position.path, position.stop, "it is not there any more, and was not read yet")


def _keys(file: InputFile, by_head: Mapping[tuple[int, str], Sequence[str]]) -> Iterator[str]:
    """Yield the keys of places with the same first bytes as a file."""
    for count in sorted({count for count, _ in by_head if count <= file.size}):
        yield from by_head.get((count, mark_of(file.path, count)[0]), ())


class _Left:
    """The remaining limits of a batch."""

    def __init__(self, options: Options, is_limited: bool) -> None:
        self.files: int = (options.max_files_per_trigger if is_limited else 0) or 1 << 62
        self.bytes: int = (options.max_bytes_per_trigger if is_limited else 0) or 1 << 62
        self.is_fresh = True

    @property
    def is_none(self) -> bool:
        return self.files <= 0 or self.bytes <= 0

    def allows(self, count: int) -> bool:
        """Whether `count` bytes may be read; the first file may have any number of bytes."""
        return self.is_fresh or count <= self.bytes

    def take(self, count: int) -> None:
        self.files, self.bytes, self.is_fresh = self.files - 1, self.bytes - count, False
