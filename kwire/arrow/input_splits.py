"""Creates input splits: a file, a byte range of raw frames, or some of the connections of a capture.

Expands folders and globs to files, without the files that Spark's readers skip.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ..capture.pcap import portions_of
from ..errors import DumpError
from ..input import CAPTURES, open_dump
from ..input.files import GLOB, Entry, entries_in, entry_of, globbed, local_path, matches, open_file, unpacked
from ..protocol.headers import Apis
from .frame_rows import Pairing, State, Walker
from .read_options import FRAMES, BadOption, Options

COLUMN = re.compile(r"([^/=]+)=([^/=]*)")  # a folder that is named by a column and its value, as Hive names them
_INTERNAL = re.compile(r"__.+-\d+").fullmatch  # a partition folder of an internal topic, such as `__consumer_offsets`
RAW = "raw frames"
MOST_SHARES = 64
NEW = State()


class File(NamedTuple):
    """A file: path, size in bytes, and modification time in nanoseconds since 1970."""

    path: str
    size: int
    changed: int


def find_files(paths: Sequence[str], options: Options, *, may_come: bool = False) -> list[File]:
    """Return the files that paths match, sorted by name, each once.

    Args:
        paths: files, folders and globs, also as URIs. Hidden files in folders (names with `.` or `_` in front) are
            skipped, except logs of Kafka's internal topics; subfolders are included with the option
            `recursiveFileLookup`, and always if they are named by a column (`dt=2026-11-01`).
        options: the options of the read.
        may_come: whether globs may match nothing yet.

    Raises:
        BadOption: there is no such path, or its file system cannot be read.
    """
    found: dict[str, File] = {}
    for path in paths:
        for file in _files(path, options, may_come):
            seconds = file.changed / 1e9
            is_new = options.modified_before is None or seconds < options.modified_before
            is_old = options.modified_after is None or seconds > options.modified_after
            if is_new and is_old:
                found[file.path] = File(file.path, file.size, file.changed)
    return [found[name] for name in sorted(found)]


def _files(path: str, options: Options, may_come: bool) -> list[Entry]:
    local = local_path(path)
    text = path if local is None else str(local)
    try:
        here = entry_of(text) if path else None
        named = [here] if here is not None else list(globbed(text)) if path else []
        files = [file for one in named for file in (_within(one.path, options) if one.is_folder else [one])]
    except DumpError as error:
        raise BadOption("path", path, error.problem, error.hint) from None
    except OSError as error:
        if local is not None:
            raise
        raise BadOption("path", path, str(error), "are the credentials, the region and the endpoint set?") from None
    if not named and not (may_come and GLOB.intersection(path)):
        raise BadOption("path", path, "[PATH_NOT_FOUND] there is no such file or folder")
    wanted = options.path_glob_filter
    return [file for file in files if not wanted or matches(file.name, wanted)]


def _within(folder: str, options: Options) -> Iterator[Entry]:
    for entry in entries_in(folder):
        if entry.name.startswith((".", "_")) and not _INTERNAL(entry.name):
            continue
        if not entry.is_folder:
            yield entry
        elif (options.recursive_file_lookup or COLUMN.fullmatch(entry.name)) and not _is_link(entry.path):
            yield from _within(entry.path, options)


def column_folder(folder: str) -> str | None:
    """Return the first subfolder that is named by a column; None if there is none, or the folder cannot be read."""
    local = local_path(folder)
    text = folder if local is None else str(local)
    try:
        here = entry_of(text)
        found = [] if here is None or not here.is_folder else entries_in(here.path)
    except (DumpError, OSError):
        return None  # `find_files` says what is wrong
    return next((one.path for one in found if one.is_folder and COLUMN.fullmatch(one.name)), None)


def _is_link(path: str) -> bool:
    local = local_path(path)
    return local is not None and local.is_symlink()


class Unit(NamedTuple):
    """An input split.

    Attributes:
        path: the file.
        start, stop: a byte range; 0 and None for the whole file.
        state: requests in flight at the start of the range.
        part, parts: the share of these connections.
        weight: estimated size, in bytes.
        kind: the kind of a growing capture; its bytes before `start` were read earlier, and reading ends at `stop`.
        is_end: whether the capture has stopped growing.
        broken: the position before `start` where an impossible size has ended raw frames.
    """

    path: str
    start: int = 0
    stop: int | None = None
    state: State = NEW
    part: int = 0
    parts: int = 1
    weight: int = 0
    kind: str = ""
    is_end: bool = False
    broken: int | None = None


def divide(files: Sequence[File], options: Options) -> list[list[Unit]]:
    """Distribute files to processes, according to the options.

    Files are divided only if there are too few of them; otherwise their contents are not read. Then every process reads
    the whole capture for its share of the connections, and one process reads a file of raw frames; only `packet_scan`
    divides both by bytes.

    Args:
        files: the files to read.
        options: the options of the read.

    Returns:
        For each process its input splits.
    """
    most, least = share_of(files, options), least_parts(options)
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    parts = [-(-least * file.size // max(total, 1)) for file in files]
    units = [unit for file, few in zip(files, parts, strict=True) for unit in units_of(file, most, few, options)]
    return packed(units, most, options.open_cost_in_bytes)


def least_parts(options: Options) -> int:
    """Return the minimum number of processes."""
    return options.min_partitions or 2 * (os.cpu_count() or 1)


def share_of(files: Sequence[File], options: Options) -> int:
    """Return the target number of bytes per process."""
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    return min(options.max_partition_bytes, max(options.open_cost_in_bytes, total // least_parts(options), 1))


class Weighed(Protocol):
    """An object with a size in bytes."""

    @property
    def weight(self) -> int:
        """The size in bytes."""


W = TypeVar("W", bound=Weighed)


def packed(units: list[W], most: int, cost: int) -> list[list[W]]:
    """Group input splits, the largest first, up to a size."""
    packs: list[list[W]] = []
    size = most
    for unit in sorted(units, key=lambda unit: -unit.weight):
        if not packs or size + unit.weight > most:
            packs.append([])
            size = 0
        packs[-1].append(unit)
        size += unit.weight + cost
    return packs


def units_of(file: File, most: int, parts: int, options: Options) -> Iterator[Unit]:
    """Yield the input splits of a file: for several `parts`, none much larger than `most` if possible."""
    if not file.size:
        return
    if file.size > most and parts > 1 and kind_of(file.path, options) in CAPTURES:
        yield from shared(Unit(file.path, weight=file.size), min(MOST_SHARES, parts, -(-file.size // most)))
    else:
        yield Unit(file.path, weight=file.size)


def shared(unit: Unit, parts: int) -> Iterator[Unit]:
    """Yield shares of a capture's connections."""
    return (unit._replace(part=part, parts=parts, weight=unit.weight // parts) for part in range(parts))


def kind_of(path: str, options: Options) -> str:
    """Return the kind of a file, `raw frames` or a kind of `open_dump`; empty if it is unknown or unreadable."""
    try:
        if options.dump_format == FRAMES:
            with open_file(path) as stream:
                return unpacked(portions_of(stream), path).prefix + RAW
        with open_dump(path) as dump:
            return dump.kind
    except (DumpError, FileNotFoundError):  # reported when it is read
        return ""


def parts_of(
    file: File, most: int, options: Options, apis: Apis, start: int = 0, state: State = NEW
) -> Generator[Unit, None, tuple[State, int | None]]:
    """Split raw frames into parts that exceed `most` by less than a frame.

    Args:
        file: its size limits the last part.
        most: the target size of a part, in bytes.
        options: the options of the read.
        apis: what is known of frames.
        start: where to start, with the `state` there.

    Returns:
        The state at the end, and the position of an impossible size.
    """
    pairing = Pairing(apis, lambda row: None)
    pairing.resume(state)
    with open_file(file.path) as stream:
        stream.seek(start)
        portions = portions_of(stream, file.size - start)
        walker = Walker(portions, start, options.max_frame_bytes, options.max_corrupt_bytes, state.least)
        for cuts in walker.cuts():
            if cuts[-1][2] is not None:
                break
            if walker.offset - start < most:
                pairing.raw(cuts)
                continue
            for cut in cuts:
                if cut[0] - start >= most:
                    yield Unit(file.path, start, cut[0], state, weight=cut[0] - start)
                    start, state = cut[0], pairing.state(walker.least)
                pairing.raw([cut])
    if start < file.size:
        yield Unit(file.path, start, file.size, state, weight=file.size - start)
    return pairing.state(walker.least), walker.broken
