"""Expands paths to local files: folders, globs, and what Spark's readers skip."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from .errors import BadOption
from .options import Options

MAPPED = "dbfs:/", "/dbfs/"  # Databricks' files, as they are mounted
GLOB = frozenset("*?[{")
_INTERNAL = re.compile(r"__.+-\d+").fullmatch  # where a broker keeps a partition of `__consumer_offsets` and its like
_CHOICE = re.compile(r"\{([^{}]*)\}")


class File(NamedTuple):
    """A file, its size in bytes, and when it was changed, in nanoseconds since 1970."""

    path: str
    size: int
    changed: int


def find_files(paths: Sequence[str], options: Options, *, may_come: bool = False) -> list[File]:
    """Return the files that paths mean, in the order of their names, each once.

    Args:
        paths: files, folders and globs. Of folders, hidden files (`.` and `_` in front) are left out, but not logs of
            Kafka's own topics; folders in them are entered with the option `recursiveFileLookup`.
        options: of the reading.
        may_come: whether globs may mean nothing yet.

    Raises:
        BadOption: there is no such path, or it is in a file system that Python does not open.
    """
    found: dict[str, File] = {}
    for path in paths:
        for file in _files(_local(path), path, options, may_come):
            status = file.stat()
            is_new = options.modified_before is None or status.st_mtime < options.modified_before
            is_old = options.modified_after is None or status.st_mtime > options.modified_after
            if is_new and is_old:
                found[str(file)] = File(str(file), status.st_size, status.st_mtime_ns)
    return [found[name] for name in sorted(found)]


def _local(path: str) -> str:
    scheme, colon, rest = path.partition(":/")
    if not colon or "/" in scheme:
        return path
    if path.startswith(MAPPED[0]):
        return MAPPED[1] + path.removeprefix(MAPPED[0]).lstrip("/")
    if scheme != "file":
        hint = "copy the captures to a folder that the driver and all workers have, or mount the store there"
        raise BadOption("path", path, f"{scheme} is no file system that is opened here", hint)
    return "/" + rest.lstrip("/")


def _files(path: str, given: str, options: Options, may_come: bool) -> Iterator[Path]:
    named = [Path(path)] if path and Path(path).exists() else [one for text in _globs(path) for one in _globbed(text)]
    if not named and not (may_come and GLOB.intersection(path)):
        raise BadOption("path", given, "[PATH_NOT_FOUND] there is no such file or folder")
    for one in named:
        if one.is_dir():
            yield from (file for file in _within(one, options) if _matches(file, options))
        elif _matches(one, options):
            yield one


def _globs(pattern: str) -> list[str]:
    """Return the patterns of Python that a glob of Hadoop's stands for: without braces, and with `[!` for `[^`."""
    return [text.replace("[^", "[!") for text in choices(pattern)]


def choices(pattern: str) -> list[str]:
    """Write out what stands in braces, as Hadoop's globs have it.

    >>> choices("day-{1,2}/*.pcap")
    ['day-1/*.pcap', 'day-2/*.pcap']
    """
    match = _CHOICE.search(pattern)
    if match is None:
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [text for word in match[1].split(",") for text in choices(before + word + after)]


def _globbed(pattern: str) -> list[Path]:
    path = Path(pattern)
    return sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if pattern else []


def _within(folder: Path, options: Options) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")) and not _INTERNAL(path.name):
            continue
        if path.is_file():
            yield path
        elif options.recursive_file_lookup and path.is_dir() and not path.is_symlink():
            yield from _within(path, options)


def _matches(path: Path, options: Options) -> bool:
    wanted = options.path_glob_filter
    return not wanted or any(fnmatchcase(path.name, glob) for glob in _globs(wanted))
