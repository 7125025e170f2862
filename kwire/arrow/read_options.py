"""The options of a read, named like the options of Spark's file sources. Unknown options are errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from ..errors import KwireError, excerpt, suggestion, without_password
from ..protocol import LIMIT

MODES = PERMISSIVE, DROPMALFORMED, FAILFAST = "PERMISSIVE", "DROPMALFORMED", "FAILFAST"
BODIES = JSON, STRUCT, RAW_BODY, NONE = "json", "struct", "raw", "none"
FORMATS = AUTO, FRAMES, HEX, PCAP, LOG = "auto", "frames", "hex", "pcap", "log"
DIRECTIONS = "auto", "request", "response"
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)i?b?")
_DURATION = re.compile(r"(\d{1,9})\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
REFUSED = {
    "badrecordspath": "mode=PERMISSIVE keeps malformed frames in the column _corrupt_record, and says why in _error"
}


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
        mask_secrets: whether passwords, proofs, keys and tokens are masked, as in the output of commands: as
            `{"_hidden": size}` in JSON, as a text with the size in structs, as zeros in bytes. The bytes of what does
            not decode are zeros unless a message without secrets is recognised.
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
    mask_secrets: bool = False
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
        kwire.arrow.read_options.BadOption: option mod='FAILFAST': there is no such option; did you mean \
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


def _number(minimum: int, maximum: int = 2**31 - 1) -> Callable[[str, Any], int]:
    def read(name: str, value: Any) -> int:
        match = _SIZE.fullmatch(str(value).strip().lower())
        number = int(match[1]) * _UNITS[match[2]] if match else -1
        if not minimum <= number <= maximum:
            raise BadOption(name, value, f"a number from {minimum} to {maximum} is needed", "such as 32m or 4096")
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
    "mask_secrets": _truth,
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
