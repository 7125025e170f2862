"""Streams of captures: tracks which bytes of which files were read, and keeps the state of connections between batches.

A file that grows is one more byte range of its capture: from the end of the previous range to the end of the last
complete record or block. Its first and last bytes identify a file, not its name. `packet_scan` reads the ranges.

Each batch continues the connections of the previous one. The stored state of a connection consists of a frame boundary
near its end (see `connection_windows`), the packets since shortly before this boundary, and the number of their rows
that were yielded. Until a frame boundary is found, all packets of the connection are stored. Of raw frames, the start
of a frame and the requests in flight are stored.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any, NamedTuple

import msgspec

from ..capture.compressed_files import unpack_input
from ..capture.files import open_file
from ..capture.frame_extractor import FrameExtractor
from ..capture.logs.batch_recognition import SHORT, find_credible_end
from ..capture.packets.capture_formats import CAPTURES
from ..capture.packets.packet import Packet
from ..capture.portions import PORTION, read_portions
from ..errors import BadFrame, DumpError, KwireError
from .batch_reader import Reading
from .connection_decoder import Chunk, Seen, chunks_of, in_file_order, packets_in
from .connection_windows import Cut, Span, found_in, go_on, rest_of
from .frame_rows import Pairing, Row, State, Walker, fragments
from .packet_groups_and_pieces import Extent
from .packet_scan import ENTRY, VOID, capture_kind
from .read_options_and_splits import AUTO, FRAMES, PCAP, RAW, BadOption, File, Options, capture_of, find_files, kind_of


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
        portions = chain([header], read_portions(stream, size - start))
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
        begin: the time of its first packet, in nanoseconds since 1970; 0 if it is unknown.
        is_late: whether files of its capture with later packets were read before.
    """

    path: str
    stop: int = 0
    kind: str = ""
    mark: tuple[str, str] = ("", "")
    changed: int = 0
    done: bool = False
    header: str = ""
    begin: int = 0
    is_late: bool = False

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
    {'3f': Place(path='/in/a', stop=12, kind='pcap', mark=('3f', '3f'), changed=1700000000, done=False, header='', \
begin=0, is_late=False)}
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
        self._seen: dict[str, tuple[int, int, Place, bool]] = {}
        self._begins: dict[File, int] = {}  # the first times of files that were not read yet

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
        known = self._placed(files, {path: start[key] for path, key in found.items()}, start.values())
        for path in self._due(files, known, now):
            key = found.get(path)
            if left.is_none or (sizes is not None and path not in sizes) or (key and owners[key] != path):
                continue  # what another file has is read there
            size = files[path].size if sizes is None else min(files[path].size, sizes[path])
            self._advance(files[path], key, known[path], size, now, left, places)
        return places

    def _placed(self, files: Mapping[str, File], known: dict[str, Place], read: Iterable[Place]) -> dict[str, Place]:
        """Return the positions of all files; of a new file, with its first time."""
        fresh = [file for path, file in files.items() if path not in known]
        begins = self._begins
        self._begins = {file: begins[file] if file in begins else begin_of(file.path) for file in fresh}
        newest = self._newest((place.path, place.begin) for place in read) if fresh else {}
        for file, begin in self._begins.items():
            is_late = 0 < begin < newest.get(self._capture(file.path), 0)
            known[file.path] = Place(file.path, begin=begin, is_late=is_late)
        return known

    def _due(self, files: Mapping[str, File], known: Mapping[str, Place], now: float) -> list[str]:
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
        self, file: File, key: str | None, before: Place, size: int, now: float, left: _Left, places: dict[str, Place]
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
        mark, changed = mark_of(file.path, stop), file.changed // SECOND
        return place._replace(
            path=file.path, stop=stop, kind=kind, mark=mark, changed=changed, done=done, header=header.hex()
        )

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

    def ranges(self, start: Places, end: Places) -> Iterator[tuple[str, int, Extent | None, bool]]:
        """Yield the data between two sets of positions.

        Yields:
            The path, the size in bytes, the range of the file (None for a file that is read at once), and whether this
            is the start of a late file.

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
            is_late = place.is_late and not before.stop
            if file is not None and place.kind == WHOLE:
                yield file.path, place.stop, None, is_late
            elif file is not None:
                own = key.encode() if place.kind == RAW else b""
                extent = Extent(before.stop, place.stop, bytes.fromhex(before.header), own, place.done)
                yield file.path, extent.size, extent, is_late
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


KEPT = 1 << 17  # bytes of packets that are searched for a frame boundary
Captured = tuple[str, Packet]  # the file of a packet, and the packet


class Kept(msgspec.Struct, frozen=True):
    """The stored state of a connection.

    Attributes:
        packets: the packets to read again, each with its file.
        cut: the state at the frame boundary; None if the packets start with the first one of the connection.
        at: the number of packets before the cut.
        given: the number of rows after the cut that were already yielded.
    """

    packets: list[Captured]
    cut: Cut | None = None
    at: int = 0
    given: int = 0


NOTHING = Kept([])


class ConnectionStream:
    """Decodes a connection of a stream.

    Args:
        reading: determines the rows of frames.
        key: the key of the connection.
        kept: the state from the previous batch; None at the start of the connection.
    """

    def __init__(self, reading: Reading, key: bytes, kept: bytes | None) -> None:
        self._reading, self._key = reading, key
        self._kept = NOTHING if kept is None else msgspec.msgpack.decode(kept, type=Kept)
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
        packets = _without_copies(self._kept.packets, _captured(chunks))
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
                go_on(self._streams, self._pairing, Span(self._key, kept.cut, None))
                self._rests = {number: (kept.cut.rest, 0)}

    def kept(self) -> bytes | None:
        """Return the state to store for the next batch; None if the connection has ended."""
        return None if self._is_over else msgspec.msgpack.encode(self._shortened())

    def _shortened(self) -> Kept:
        """Return the state with only the packets since the last known frame boundary."""
        packets, kept = self._packets, self._kept
        start, size = len(packets), 0
        while start and size < KEPT:
            start -= 1
            size += len(packets[start][1].data)
        numbered = ((number + 1, packets[number][1]) for number in range(start, len(packets)))
        found = found_in("", self._key, numbered, self._reading.catalog)
        if found is None or found.place not in self._rests:
            return Kept(packets, kept.cut, kept.at, len(self._rows))
        rest, count = self._rests[found.place]
        one, other = (whole - part for whole, part in zip(rest.positions, found.rest.positions, strict=True))
        if found.rest.moved((one, other)) != rest:
            return Kept(packets, kept.cut, kept.at, len(self._rows))
        half = self._streams.reassembler.known[self._key]
        ends = self._pairing.ends(half.connection.number)
        apis = dict.fromkeys([*(kept.cut.apis if kept.cut else ()), *found.apis])
        began, is_lossy = None if ends is None else ends.began, self._pairing.is_lossy
        cut = Cut(0, 0, began, tuple(apis), is_lossy, (one, other), rest)
        return Kept(packets[found.begin - 1 :], cut, found.place + 1 - found.begin, len(self._rows) - count)


def _without_copies(kept: Sequence[Captured], packets: Sequence[Captured]) -> list[Captured]:
    """Return packets that were kept, and the others; of packets that several files have, one."""
    if len({path for path, _ in chain(kept, packets)}) < 2:
        return [*kept, *packets]
    seen = Seen()
    for path, packet in kept:
        seen.is_new(packet, path)
    return [*kept, *(one for one in packets if seen.is_new(one[1], one[0]))]


def _captured(chunks: Sequence[Chunk]) -> list[Captured]:
    """Return the packets of chunks, in order."""
    voids = Counter[Any]()
    for chunk in chunks:
        if chunk.kind == VOID:
            voids.update((chunk.path, chunk.what, place) for place in chunk.places)
    others = list(in_file_order(chunk for chunk in chunks if chunk.kind != VOID))
    packets = [(chunk.path, packet) for chunk in others for packet in packets_in(chunk, voids)]
    if any(one.path != other.path and one.last > other.first for one, other in pairwise(others)):
        packets.sort(key=lambda one: one[1].nanoseconds or 0)  # several sniffers may have captured them
    return packets


def decoded_batch(
    reading: Reading, batch: Any, key: bytes, kept: bytes | None, *, is_over: bool = False
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


class Tail(msgspec.Struct, frozen=True):
    """The stored state of raw frames: the bytes of an incomplete frame, their position, and the requests in flight.

    `broken` is the impossible size that has ended the frames.
    """

    data: bytes = b""
    place: int = 0
    state: State = State()
    broken: int | None = None


def raw_batch(reading: Reading, batch: Any, kept: bytes | None) -> tuple[list[Any], bytes | None]:
    """Decode the bytes by which a file of raw frames has grown.

    Args:
        reading: what rows of frames are made.
        batch: a table of `packet_scan.SCHEMA`, sorted by its columns.
        kept: the state that this function returned for the previous batch.

    Returns:
        The record batches of the new frames, and the state to store; None if the file has ended.
    """
    chunks = list(chunks_of(batch.to_batches()))
    tail = Tail() if kept is None else msgspec.msgpack.decode(kept, type=Tail)
    options, builder, found = reading.options, reading.builder, list[Any]()
    builder.clear()
    builder.begin(chunks[0].path)
    pairing, is_end = Pairing(reading.apis, builder.rows), chunks[0].kind == ENTRY
    pairing.resume(tail.state)
    portions = chain([tail.data], (chunk.packets for chunk in chunks))
    walker = Walker(portions, tail.place, options.max_frame_bytes, options.max_corrupt_bytes, tail.state.least)
    rest, place, broken = b"", tail.place, tail.broken
    fault = BadFrame(offset=0, found=broken, need=walker.least, have=options.max_frame_bytes)
    more = walker.cuts() if broken is None else fragments(portions, place, fault, options.max_corrupt_bytes)
    for cuts in more:
        offset, data, problem = cuts[-1]
        if isinstance(problem, BadFrame):
            broken = problem.found
        elif problem is not None and not is_end:
            rest += data
            continue
        pairing.raw(cuts)
        place = offset + len(data)
        found += builder.ready()
    found += builder.rest()
    after = Tail(rest, place, pairing.state(walker.least), broken)
    return found, None if is_end else msgspec.msgpack.encode(after)
