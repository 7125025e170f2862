"""Which bytes of which files a stream has read, and which it reads next.

A file that grows is one more byte range of its capture: from the end of the previous range to the end of the last
complete record or block. Its first and last bytes identify a file, not its name. `packet_scan` reads the ranges.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from ..capture.pcap import PORTION, portions_of
from ..errors import DumpError, KwireError
from ..input import CAPTURES
from ..input.files import open_file, unpacked
from ..logs.segment_reader import SHORT, credible_stop
from .packet_windows import Extent
from .read_options_and_splits import AUTO, FRAMES, PCAP, RAW, BadOption, File, Options, find_files, kind_of


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


WHOLE = "whole"  # the kind of a file that is read in one piece
SAMPLE = 1024  # bytes at both ends whose hashes identify a file
VERSION = 2
Offset = dict[str, Any]
SECOND = 1_000_000_000


def kind_so_far(file: File, options: Options, is_over: bool) -> str:
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
    if kind != RAW or options.dump_format not in (AUTO, FRAMES):
        return WHOLE
    return RAW if is_over or options.dump_format == FRAMES or not _may_be_log(head, file.size) else ""


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


def captured_end(path: str, start: int, kind: str, most: int, size: int, header: bytes = b"") -> tuple[int, bytes]:
    """Return where the last complete packet of a capture ends, and the header to read on from there.

    Args:
        path: the file.
        start: the start of a record.
        kind: the capture's format.
        most: where to stop, but not before the end of the first packet.
        size: the size of the file in bytes.
        header: the header at `start`, as returned before.

    Returns:
        The position, `start` if no packet is complete; and the header. Damaged bytes are included once a packet
        follows them.
    """
    last = start
    with open_file(path) as stream:
        stream.seek(start)
        portions = chain([header], portions_of(stream, size - start))
        reader = CAPTURES[kind][1](portions, path, start - len(header), looks_ahead=True)
        reader.may_grow = True
        for _ in reader:
            if reader.is_skipping:
                continue
            end = reader.cursor.offset
            if end > most and last > start:
                break
            last, header = end, reader.header
    return last, header


class Place(NamedTuple):
    """The position up to which a file was read.

    Attributes:
        path: the path of the file when it was read.
        stop: the position, in bytes from the start.
        kind: the kind of the file: `raw frames`, a kind of capture, or `whole`: read at once.
        mark: the hashes of its first and of its last bytes before `stop`.
        changed: its modification time, in seconds since 1970.
        done: whether that was the end of the file.
        header: the header to read on from there, as hexadecimal digits.
    """

    path: str
    stop: int = 0
    kind: str = ""
    mark: tuple[str, str] = ("", "")
    changed: int = 0
    done: bool = False
    header: str = ""

    def same(self, file: File) -> bool:
        """Whether the bytes that were read are at the start of a file."""
        return file.size >= self.stop and mark_of(file.path, self.stop) == self.mark

    def has_begun(self, file: File) -> bool:
        """Whether a file begins with the same bytes, whatever follows them."""
        count = min(SAMPLE, self.stop)
        return file.size >= count and mark_of(file.path, count)[0] == self.mark[0]


Places = Mapping[str, Place]  # by the mark of a file when it was first read


def offset_of(places: Places) -> Offset:
    """Serialize positions for Spark, compressed; `places_of` parses the result."""
    text = json.dumps(places, separators=(",", ":")).encode()
    return {"version": VERSION, "count": len(places), "files": b64encode(zlib.compress(text)).decode()}


def places_of(offset: Offset) -> Places:
    """Parse the result of `offset_of`.

    Raises:
        BadOption: another version of kwire wrote the offset.

    >>> places_of(offset_of({"3f": Place("/in/a", 12, "pcap", ("3f", "3f"), 1700000000)}))
    {'3f': Place(path='/in/a', stop=12, kind='pcap', mark=('3f', '3f'), changed=1700000000, done=False, header='')}
    """
    if offset.get("version") != VERSION:
        problem = f"its offsets have version {offset.get('version')}, not {VERSION}"
        raise BadOption(
            "checkpointLocation", None, problem, "take the kwire that wrote it, or begin another checkpoint"
        )
    return _parsed(offset["files"])


@lru_cache(maxsize=2)  # Spark asks for the end of the same offset until there is new data
def _parsed(files: str) -> dict[str, Place]:
    values = json.loads(zlib.decompress(b64decode(files)))
    return {key: Place(path, stop, kind, tuple(mark), *rest) for key, (path, stop, kind, mark, *rest) in values.items()}


def mark_of(path: str, stop: int) -> tuple[str, str]:
    """Return the hashes of the first and of the last bytes of a file before `stop`."""
    with open_file(path, SAMPLE) as stream:
        head = stream.read(min(SAMPLE, stop))
        stream.seek(max(0, stop - SAMPLE))
        tail = stream.read(min(SAMPLE, stop))
    return blake2b(head, digest_size=8).hexdigest(), blake2b(tail, digest_size=8).hexdigest()


class Growing:
    """Files that arrive and grow, as read by a stream.

    Args:
        paths: files, folders and globs; they may match nothing yet.
        options: the options of the read.
    """

    def __init__(self, paths: Sequence[str], options: Options) -> None:
        self.paths: Sequence[str] = paths
        self.options: Options = options
        self._known: dict[File, str] = {}  # the keys of files that did not change
        # State of files without new data: size, time, position, and whether they may grow.
        self._seen: dict[str, tuple[int, int, Place | None, bool]] = {}

    def files(self) -> dict[str, File]:
        """Return the existing files, the oldest first.

        Raises:
            BadOption: a path does not exist; a glob may match nothing yet.
        """
        found = find_files(self.paths, self.options, may_come=True)
        return {file.path: file for file in sorted(found, key=lambda one: (one.changed, one.path)) if file.size}

    def latest(
        self, start: Places, now: float, sizes: Mapping[str, int] | None = None, *, is_limited: bool = True
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
        files = self.files()
        found = self._matched(files, start)
        self._check(files, found, start)
        owners = {key: path for path, key in sorted(found.items(), key=lambda one: files[one[0]].size)}
        places, left = self._kept(start, owners), _Left(self.options, is_limited)
        self._seen = {path: seen for path, seen in self._seen.items() if path in files}
        for path, file in files.items():
            key = found.get(path)
            if left.is_none or (sizes is not None and path not in sizes) or (key and owners[key] != path):
                continue  # what another file has is read there
            size = file.size if sizes is None else min(file.size, sizes[path])
            self._advance(file, key, size, now, left, places)
        return places

    def _matched(self, files: Mapping[str, File], places: Places) -> dict[str, str]:
        """Return the keys of files that were read before, by their paths."""
        by_path = {place.path: key for key, place in places.items()}
        by_head: dict[tuple[int, str], list[str]] = {}
        for key, place in places.items():
            by_head.setdefault((min(SAMPLE, place.stop), place.mark[0]), []).append(key)
        found = dict[str, str]()
        for path, file in files.items():
            known = self._known.get(file, "")
            if known in places and places[known].stop <= file.size:
                found[path] = known
                continue
            named = [by_path[path]] if path in by_path else []
            keys = chain(named, _keys(file, by_head))
            key = next((key for key in keys if places[key].same(file)), "")
            found |= {path: key} if key else {}
        self._known = {files[path]: key for path, key in found.items()}
        return found

    def _check(self, files: Mapping[str, File], found: dict[str, str], places: Places) -> None:
        """Raise LostData for files that cannot be read on; without `failOnDataLoss`, take them for other files."""
        there = set(found.values())
        for key, place in places.items():
            file, problem = files.get(place.path), ""
            if file is not None and found.get(file.path) == key and place.done and file.size > place.stop:
                problem = f"it was read up to its end at {place.stop} bytes, and has {file.size} now"
                if not self.options.fail_on_data_loss and place.kind == WHOLE:
                    del found[file.path]
            elif file is not None and key not in there and file.path not in found and place.has_begun(file):
                problem = f"its first {place.stop} bytes are not those that were read: it was cut or replaced"
            if file is not None and problem and self.options.fail_on_data_loss:
                raise LostData(file.path, place.stop, problem)

    def _kept(self, start: Places, there: Container[str]) -> dict[str, Place]:
        """Return the stored positions: of existing files, and of recently deleted ones."""
        newest = max((place.changed for place in start.values()), default=0)
        oldest = newest - self.options.max_file_age
        return {key: place for key, place in start.items() if key in there or place.changed >= oldest}

    def _advance(
        self, file: File, key: str | None, size: int, now: float, left: _Left, places: dict[str, Place]
    ) -> None:
        """Move the position of a file to where it can be read now, within what is `left` of the limits."""
        place, is_over = places.get(key or ""), self._is_over(file, size, now)
        seen = size, file.changed, place, is_over
        if self._seen.get(file.path) == seen:
            return
        before = place or Place(file.path)
        after = self._reach(file, before, size, left, is_over)
        if after is not None:
            key = key or f"{after.stop:x}.{after.mark[0][:8]}{after.mark[1][:8]}"
            if place or key not in places:  # of copies that arrive together, one is read
                places[key] = after
                left.take(after.stop - before.stop)
        elif left.bytes >= size - before.stop:
            self._seen[file.path] = seen

    def _is_over(self, file: File, size: int, now: float) -> bool:
        """Whether a file will no longer grow."""
        timeout = self.options.tail_timeout
        return timeout is not None and size == file.size and now - file.changed / SECOND >= timeout

    def _reach(self, file: File, place: Place, size: int, left: _Left, is_over: bool) -> Place | None:
        """Return how far a file can be read now; None if there is nothing new."""
        if size <= place.stop and (place.done or not is_over or place.kind != RAW):
            return None  # the start of a raw frame may be left
        kind = place.kind or kind_so_far(file, self.options, is_over)
        stop, header = self._stop(file, place, kind, size, left, is_over) if kind else (place.stop, b"")
        done = kind == WHOLE or (is_over and stop == size)
        if stop == place.stop and not (done and stop):
            return None
        return Place(file.path, stop, kind, mark_of(file.path, stop), file.changed // SECOND, done, header.hex())

    def _stop(self, file: File, place: Place, kind: str, size: int, left: _Left, is_over: bool) -> tuple[int, bytes]:
        """Return the end of the complete data, or of a file that no longer grows, and the header to read on."""
        path, start = file.path, place.stop
        if kind == WHOLE:
            is_there = is_over or (self.options.tail_timeout is None and size == file.size)
            return (size if is_there and left.allows(size) and (is_over or is_whole(path)) else start), b""
        most = min(size, start + left.bytes)
        if kind == RAW:
            return most, b""  # the decoder keeps the start of a frame
        stop, header = captured_end(path, start, kind, most, size, bytes.fromhex(place.header))
        if is_over and (most == size or stop == start):  # incomplete data at the end will stay incomplete
            stop = size
        return (start if stop > most and not left.is_fresh else stop), header

    def ranges(self, start: Places, end: Places) -> Iterator[tuple[str, int, Extent | None]]:
        """Yield the data between two sets of positions: the path, the size in bytes, and the range of the file; None
        for a file that is read at once.

        Raises:
            LostData: a file was replaced or deleted; unless the option `failOnDataLoss` allows skipping it.
        """
        files = self.files()
        for key, place in end.items():
            before = start.get(key, Place(place.path))
            if place == before:
                continue
            file = files.get(place.path)
            if file is None or not place.same(file):
                path = next(iter(self._matched(files, {key: place})), None)
                file = None if path is None else files[path]
            if file is not None and place.kind == WHOLE:
                yield file.path, place.stop, None
            elif file is not None:
                own = key.encode() if place.kind == RAW else b""
                extent = Extent(before.stop, place.stop, bytes.fromhex(before.header), own, place.done)
                yield file.path, extent.size, extent
            elif self.options.fail_on_data_loss:
                raise LostData(place.path, place.stop, "it is not there any more, and was not read yet")


def _keys(file: File, by_head: Mapping[tuple[int, str], Sequence[str]]) -> Iterator[str]:
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
