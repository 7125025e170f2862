"""The options of a read, named like the options of Spark's file sources, and the input splits of files.

Unknown options are errors. An input split is a file, or a share of the connections of a capture. Folders and
globs are expanded to files, without the files that Spark's readers skip.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar

from ..caches import lazy_pattern
from ..capture.compressed_files import unpack_input
from ..capture.files import FileEntry, find_entry, list_folder, local_path, open_file, split_query
from ..capture.open_dump import open_dump
from ..capture.packets.capture_formats import CAPTURES
from ..capture.portions import read_portions
from ..errors import DumpError, KwireError, excerpt, suggestion, without_password
from ..protocol import LIMIT


class BadOption(KwireError):
    """An unknown option or an invalid value: `option`, `value`, `problem`, `hint`."""

    def __init__(self, option: str = "", value: Any = None, problem: str = "", hint: str = "") -> None:
        super().__init__(option, value, problem, hint)  # its arguments when Spark unpickles it
        self.option: str = option
        self.value: Any = value
        self.problem: str = problem
        self.hint = hint

    def __str__(self) -> str:
        value = without_password(self.value) if isinstance(self.value, str) else self.value
        given = "" if value is None else f"={excerpt(value)}"
        return f"option {self.option}{given}: {without_password(self.problem)}" + (
            f"; {self.hint}" if self.hint else ""
        )


MODES = PERMISSIVE, DROPMALFORMED, FAILFAST = "PERMISSIVE", "DROPMALFORMED", "FAILFAST"
BODIES = JSON, STRUCT, RAW_BODY, NONE = "json", "struct", "raw", "none"
FORMATS = AUTO, FRAMES, HEX, PCAP, LOG = "auto", "frames", "hex", "pcap", "log"
DIRECTIONS = "auto", "request", "response"
GLOB = frozenset("*?[{")
_ROOT = lazy_pattern(r"(?:[A-Za-z][A-Za-z0-9+.-]+://[^/]*/?|/+)?")
_CHOICE = lazy_pattern(r"\{([^{}]*)\}")
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)i?b?")
_DURATION = re.compile(r"(\d{1,9})\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class ReadOptions(TypedDict, total=False):
    """Options of `kwire.arrow.read`, in snake case or with the names of Spark's data source; text is parsed."""

    dump_format: str
    dumpFormat: str
    mode: str
    column_name_of_corrupt_record: str
    columnNameOfCorruptRecord: str
    body: str
    apis: str | Sequence[str]
    direction: str
    columns: str | Sequence[str]
    metadata: bool | str
    path_glob_filter: str
    pathGlobFilter: str
    recursive_file_lookup: bool | str
    recursiveFileLookup: bool | str
    modified_before: str | datetime
    modifiedBefore: str | datetime
    modified_after: str | datetime
    modifiedAfter: str | datetime
    ignore_missing_files: bool | str
    ignoreMissingFiles: bool | str
    ignore_corrupt_files: bool | str
    ignoreCorruptFiles: bool | str
    max_partition_bytes: int | str
    maxPartitionBytes: int | str
    open_cost_in_bytes: int | str
    openCostInBytes: int | str
    min_partitions: int | str
    minPartitions: int | str
    max_records_per_batch: int | str
    maxRecordsPerBatch: int | str
    max_bytes_per_batch: int | str
    maxBytesPerBatch: int | str
    max_frame_bytes: int | str
    maxFrameBytes: int | str
    max_corrupt_bytes: int | str
    maxCorruptBytes: int | str
    capture: str
    long_connections: bool | str
    longConnections: bool | str
    zookeeper: bool | str
    profile: str
    release: str
    pushdown: bool | str
    max_files_per_trigger: int | str
    maxFilesPerTrigger: int | str
    max_bytes_per_trigger: int | str
    maxBytesPerTrigger: int | str
    fail_on_data_loss: bool | str
    failOnDataLoss: bool | str
    tail_timeout: int | str
    tailTimeout: int | str
    late_files: int | str
    lateFiles: int | str
    max_file_age: int | str
    maxFileAge: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a read; `parse` creates them from text.

    Names are Spark's names in snake case: `max_partition_bytes` is the option `maxPartitionBytes`.

    Attributes:
        dump_format: `auto` (detected by content), `frames`, `hex`, `pcap`, `log`.
        mode: the treatment of malformed frames: `PERMISSIVE` keeps them, `DROPMALFORMED` drops them, `FAILFAST` raises
            MalformedFrame.
        column_name_of_corrupt_record: the column for the bytes of malformed frames.
        body: the content of `message`: `json`, `struct` (of one message, see `apis`), `raw` (the complete frame), or
            `none`.
        apis: names of apis (`Metadata`) or messages (`MetadataResponse`) to read; empty means all.
        direction: `request` or `response`; `auto` is both.
        columns: the columns to read; empty means all.
        metadata: whether to add a column `_metadata` with path, name, size and modification time of the file, as in
            Spark's file sources; `offset` is the position of a frame.
        path_glob_filter, recursive_file_lookup, modified_before, modified_after, ignore_missing_files: file selection.
        ignore_corrupt_files: whether to skip files that cannot be read at all; otherwise they become rows with their
            bytes and an error, and a file system error ends the read.
        max_partition_bytes, open_cost_in_bytes, min_partitions: how files are divided, in bytes. Opening a file counts
            as `open_cost_in_bytes`, which is less than in Spark's readers. By default there are at least twice as many
            partitions as this machine has cores, if possible. Files are divided only to reach that number. Each
            partition of a capture then reads the whole file; raw frames are not divided. `kwire.spark.read_captures`
            divides both by bytes.
        max_records_per_batch, max_bytes_per_batch: limits of a record batch.
        max_frame_bytes: the largest valid size of a frame.
        max_corrupt_bytes: the largest number of bytes outside frames in a row.
        capture: for `kwire.spark.read_captures`: a regular expression that is searched in the path of a file; its first
            group names the capture of the file. By default, the folder names it.
        long_connections: for `kwire.spark.read_captures`: divide connections that have at least an eighth of a
            capture's bytes into windows about as long as the byte ranges of tasks, so that many tasks decode one
            connection. To find the cuts, a job first reads a megabyte of each byte range.
        zookeeper: whether each packet of a ZooKeeper connection is a row, as malformed (`NOT_KAFKA`); otherwise each
            direction of a connection is a row.
        profile, release: the specs, as for `kwire.codec`.
        pushdown: whether filters on `api_name` and `direction` skip decoding, as `apis` and `direction` do; Spark
            requires `spark.sql.python.filterPushdown.enabled` for this.
        max_files_per_trigger, max_bytes_per_trigger: limits of a batch of `kwire.spark.stream_captures`; 0: none.
        fail_on_data_loss: whether a stream fails if a file was replaced or truncated; otherwise the file is read again.
        tail_timeout: seconds without change after which a file counts as complete, and its incomplete data is returned.
            None: files may grow forever.
        late_files: seconds without change for which a stream leaves a file unread, while older files may still arrive.
        max_file_age: age in seconds, relative to the newest file; deleted files that are older are forgotten.
    """

    dump_format: str = AUTO
    mode: str = PERMISSIVE
    column_name_of_corrupt_record: str = "_corrupt_record"
    body: str = JSON
    apis: tuple[str, ...] = ()
    direction: str = "auto"
    columns: tuple[str, ...] = ()
    metadata: bool = False
    path_glob_filter: str = ""
    recursive_file_lookup: bool = False
    modified_before: float | None = None
    modified_after: float | None = None
    ignore_missing_files: bool = False
    ignore_corrupt_files: bool = False
    max_partition_bytes: int = 32 << 20
    open_cost_in_bytes: int = 256 << 10
    min_partitions: int = 0
    max_records_per_batch: int = 4096
    max_bytes_per_batch: int = 8 << 20
    max_frame_bytes: int = LIMIT
    max_corrupt_bytes: int = 1 << 20
    capture: str = ""
    long_connections: bool = False
    zookeeper: bool = False
    profile: str = ""
    release: str = ""
    pushdown: bool = False
    max_files_per_trigger: int = 0
    max_bytes_per_trigger: int = 0
    fail_on_data_loss: bool = True
    tail_timeout: int | None = None
    late_files: int = 0
    max_file_age: int = 7 * 86400

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Options:
        """Parse options with Spark's names, in any case.

        Raises:
            BadOption: an option is unknown or has an invalid value.

        >>> Options.parse({"maxPartitionBytes": "64m", "mode": "failfast"}).max_partition_bytes
        67108864
        >>> Options.parse({"mod": "FAILFAST"})
        Traceback (most recent call last):
        kwire.arrow.read_options_and_splits.BadOption: option mod='FAILFAST': there is no such option; did you mean \
mode?
        """
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name.lower() in REFUSED:
                raise BadOption(name, value, "this is not supported", REFUSED[name.lower()])
            field = _FIELDS.get(name.lower())
            if field is None:
                raise BadOption(name, value, "there is no such option", suggestion(name, NAMES))
            values[field] = _READERS[field](name, value) if field in _READERS else str(value)
        return cls(**values)


def _word(known: tuple[str, ...]) -> Callable[[str, Any], str]:
    by_case = {word.lower(): word for word in known}

    def read(name: str, value: Any) -> str:
        word = by_case.get(str(value).strip().lower())
        if word is None:
            raise BadOption(name, value, "it is none of the values", f"known: {', '.join(known)}")
        return word

    return read


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    return tuple(filter(None, (str(word).strip() for word in words)))


def _truth(name: str, value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in ("true", "false"):
        raise BadOption(name, value, "it is true or false")
    return word == "true"


def _number(least: int, most: int = 2**31 - 1) -> Callable[[str, Any], int]:
    def read(name: str, value: Any) -> int:
        match = _SIZE.fullmatch(str(value).strip().lower())
        number = int(match[1]) * _UNITS[match[2]] if match else -1
        if not least <= number <= most:
            raise BadOption(name, value, f"a number from {least} to {most} is needed", "such as 32m or 4096")
        return number

    return read


def _glob(name: str, value: Any) -> str:
    text = str(value)
    if text.count("{") != text.count("}"):
        raise BadOption(name, value, "a brace is not closed", "write it as *.{pcap,pcapng}")
    return text


def _pattern(name: str, value: Any) -> str:
    try:
        groups = re.compile(str(value)).groups
    except re.error as error:
        raise BadOption(name, value, f"it is not a regular expression: {error}") from None
    if value and not groups:
        raise BadOption(name, value, "it has no group", "put what names a capture in parentheses: (tap[0-9]+)-")
    return str(value)


def _duration(name: str, value: Any) -> int:
    match = _DURATION.fullmatch(str(value).strip().lower())
    if match is None:
        raise BadOption(name, value, "no time that passes", "write it as 90s, 10m, 12h or 7d")
    return int(match[1]) * _SECONDS[match[2]]


def _moment(name: str, value: Any) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        raise BadOption(name, value, "no point in time", "write it as 2026-01-31T12:00:00") from None


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


NAMES = [_camel(field.name) for field in fields(Options)]
_FIELDS = {_camel(field.name).lower(): field.name for field in fields(Options)}
REFUSED = {
    "badrecordspath": "mode=PERMISSIVE keeps malformed frames in the column _corrupt_record, and says why in _error"
}
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "dump_format": _word(FORMATS),
    "path_glob_filter": _glob,
    "capture": _pattern,
    "mode": _word(MODES),
    "body": _word(BODIES),
    "direction": _word(DIRECTIONS),
    "apis": _words,
    "columns": _words,
    "metadata": _truth,
    "recursive_file_lookup": _truth,
    "long_connections": _truth,
    "ignore_missing_files": _truth,
    "ignore_corrupt_files": _truth,
    "pushdown": _truth,
    "zookeeper": _truth,
    "modified_before": _moment,
    "modified_after": _moment,
    "max_partition_bytes": _number(1, 2**40),
    "open_cost_in_bytes": _number(0, 2**40),
    "min_partitions": _number(0),
    "max_records_per_batch": _number(1),
    "max_bytes_per_batch": _number(1),
    "max_frame_bytes": _number(8),
    "max_corrupt_bytes": _number(1),
    "max_files_per_trigger": _number(0),
    "max_bytes_per_trigger": _number(0, 2**62),
    "fail_on_data_loss": _truth,
    "tail_timeout": _duration,
    "late_files": _duration,
    "max_file_age": _duration,
}


COLUMN = re.compile(r"([^/=]+)=([^/=]*)")  # a folder named by a column and its value, as in Hive
_INTERNAL = re.compile(r"__.+-\d+").fullmatch  # a partition folder of an internal topic, such as `__consumer_offsets`
RAW = "raw frames"
MOST_SHARES = 64


class File(NamedTuple):
    """A file: path, size in bytes, and modification time in nanoseconds since 1970."""

    path: str
    size: int
    changed: int


def capture_of(path: str, pattern: str) -> str:
    """Return the name of the capture to which a file belongs; raise BadOption if the pattern does not match."""
    if not pattern:
        return path.rpartition("/")[0]
    match = re.search(pattern, path)
    if match is None or not match[1]:
        raise BadOption(
            "capture", pattern, f"its first group is not found in {path}", "pathGlobFilter leaves files out"
        )
    return match[1]


def find_files(paths: Sequence[str], options: Options, *, may_come: bool = False) -> list[File]:
    """Return the files that match paths, sorted by name, without duplicates.

    Args:
        paths: files, folders and globs, also as URIs. Hidden files in folders (names that start with `.` or `_`) are
            skipped, except logs of Kafka's internal topics. Subfolders are included with the option
            `recursiveFileLookup`, and always if a column names them (`dt=2026-11-01`).
        options: the options of the read.
        may_come: whether globs may match nothing yet.

    Raises:
        BadOption: a path does not exist, or its file system cannot be read.
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


def _files(path: str, options: Options, may_come: bool) -> list[FileEntry]:
    local = local_path(path)
    text = path if local is None else str(local)
    try:
        here = find_entry(text) if path else None
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


def _within(folder: str, options: Options) -> Iterator[FileEntry]:
    for entry in list_folder(folder):
        if entry.name.startswith((".", "_")) and not _INTERNAL(entry.name):
            continue
        if not entry.is_folder:
            yield entry
        elif (options.recursive_file_lookup or COLUMN.fullmatch(entry.name)) and not _is_link(entry.path):
            yield from _within(entry.path, options)


def column_folder(folder: str) -> str | None:
    """Return the first subfolder named by a column; None if there is none, or the folder cannot be read."""
    local = local_path(folder)
    text = folder if local is None else str(local)
    try:
        here = find_entry(text)
        found = [] if here is None or not here.is_folder else list_folder(here.path)
    except (DumpError, OSError):
        return None  # `find_files` raises the error
    return next((one.path for one in found if one.is_folder and COLUMN.fullmatch(one.name)), None)


def _is_link(path: str) -> bool:
    local = local_path(path)
    return local is not None and local.is_symlink()


class Unit(NamedTuple):
    """An input split.

    Attributes:
        path: the file.
        part, parts: this share of the connections, and the number of shares.
        weight: the estimated size, in bytes.
    """

    path: str
    part: int = 0
    parts: int = 1
    weight: int = 0


def divide(files: Sequence[File], options: Options) -> list[list[Unit]]:
    """Distribute files to processes, as the options require.

    Files are divided only if there are too few of them; otherwise their contents are not read. Each process then reads
    the whole capture for its share of the connections, and one process reads a file of raw frames; only `packet_scan`
    divides both by bytes.

    Args:
        files: the files to read.
        options: the options of the read.

    Returns:
        For each process, its input splits.
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
    """Yield input splits with shares of a capture's connections."""
    return (unit._replace(part=part, parts=parts, weight=unit.weight // parts) for part in range(parts))


def kind_of(path: str, options: Options) -> str:
    """Return the kind of a file: `raw frames` or a kind of `open_dump`; empty if it is unknown or unreadable."""
    try:
        if options.dump_format == FRAMES:
            with open_file(path) as stream:
                return unpack_input(read_portions(stream), path).prefix + RAW
        with open_dump(path) as dump:
            return dump.kind
    except (DumpError, FileNotFoundError):  # reported when it is read
        return ""


def globbed(pattern: str) -> Iterator[FileEntry]:
    """Yield the entries that match a Hadoop glob: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}`, and `**` for any folders. Raises
    the exceptions of `open_file`.
    """
    for text in choices(pattern):
        before, query = split_query(text)
        root = _ROOT.match(before)
        assert root is not None
        if local_path(before) is not None:
            before = before.replace(os.sep, "/")
        yield from _below(root[0], [name for name in before[root.end() :].split("/") if name], query)


def choices(pattern: str) -> list[str]:
    """Expand alternatives in braces, as in Hadoop's globs.

    >>> choices("day-{1,2}/*.pcap")
    ['day-1/*.pcap', 'day-2/*.pcap']
    """
    match = _CHOICE.search(pattern)
    if match is None:
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [text for word in match[1].split(",") for text in choices(before + word + after)]


def matches(name: str, pattern: str) -> bool:
    """Whether a file's name matches a Hadoop glob, which is case-sensitive on every system.

    >>> matches("b2.pcap", "b[^1].{pcap,pcapng}"), matches("b1.pcap", "b[^1].pcap")
    (True, False)
    """
    return any(fnmatchcase(name, text.replace("[^", "[!")) for text in choices(pattern))


def _below(folder: str, names: list[str], query: str) -> Iterator[FileEntry]:
    """Yield the entries of a folder that match the rest of a glob."""
    if not names:
        return
    first, *rest = names
    if not GLOB.intersection(first):
        path = _joined(folder, first)
        found = None if rest else find_entry(path + query)
        yield from _below(path, rest, query) if found is None else [found]
        return
    if first == "**":
        yield from _below(folder, rest, query)
    here = find_entry((folder or ".") + query)
    for entry in list_folder((folder or ".") + query) if here is not None and here.is_folder else ():
        path = _joined(folder, entry.name)
        if first == "**":
            yield from _below(path, names, query) if entry.is_folder else ()
        elif matches(entry.name, first):
            yield from _below(path, rest, query) if rest else [entry._replace(path=path + query)]


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name
