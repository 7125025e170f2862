"""Finds the files that paths name: files, folders and globs, without the files that Spark's readers skip."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..capture.files import FileEntry, find_entry, list_folder, local_path
from ..errors import DumpError
from .hadoop_globs import GLOB, list_glob, matches_glob
from .read_options import BadOption, Options

COLUMN = re.compile(r"([^/=]+)=([^/=]*)")  # a folder named by a column and its value, as in Hive
_INTERNAL = re.compile(r"__.+-\d+").fullmatch  # a partition folder of an internal topic, such as `__consumer_offsets`


class InputFile(NamedTuple):
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


def find_files(paths: Sequence[str], options: Options, *, may_come: bool = False) -> list[InputFile]:
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
    files_by_path: dict[str, InputFile] = {}
    for path in paths:
        for file in _files(path, options, may_come):
            seconds = file.changed / 1e9
            is_new = options.modified_before is None or seconds < options.modified_before
            is_old = options.modified_after is None or seconds > options.modified_after
            if is_new and is_old:
                files_by_path[file.path] = InputFile(file.path, file.size, file.changed)
    return [files_by_path[name] for name in sorted(files_by_path)]


def _files(path: str, options: Options, may_come: bool) -> list[FileEntry]:
    local = local_path(path)
    text = path if local is None else str(local)
    try:
        here = find_entry(text) if path else None
        named: list[FileEntry] = []
        if here is not None:
            named = [here]
        elif path:
            named = list(list_glob(text))
        files: list[FileEntry] = []
        for entry in named:
            files += _within(entry.path, options) if entry.is_folder else [entry]
    except DumpError as error:
        raise BadOption("path", path, error.problem, error.hint) from None
    except OSError as error:
        if local is not None:
            raise
        raise BadOption("path", path, str(error), "are the credentials, the region and the endpoint set?") from None
    if not named and not (may_come and GLOB.intersection(path)):
        raise BadOption("path", path, "[PATH_NOT_FOUND] there is no such file or folder")
    wanted = options.path_glob_filter
    return [file for file in files if not wanted or matches_glob(file.name, wanted)]


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
        entries = [] if here is None or not here.is_folder else list_folder(here.path)
    except (DumpError, OSError):
        return None  # `find_files` raises the error
    return next((entry.path for entry in entries if entry.is_folder and COLUMN.fullmatch(entry.name)), None)


def _is_link(path: str) -> bool:
    local = local_path(path)
    return local is not None and local.is_symlink()
