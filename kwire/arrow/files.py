"""Expands paths to files: folders, globs, and what Spark's readers skip."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import DumpError
from ..input.file_systems import GLOB, Entry, entries_in, entry_of, globbed, local_path, matches
from .errors import BadOption
from .options import Options

_INTERNAL = re.compile(r"__.+-\d+").fullmatch  # where a broker keeps a partition of `__consumer_offsets` and its like


class File(NamedTuple):
    """A file, its size in bytes, and when it was changed, in nanoseconds since 1970."""

    path: str
    size: int
    changed: int


def find_files(paths: Sequence[str], options: Options, *, may_come: bool = False) -> list[File]:
    """Return the files that paths mean, in the order of their names, each once.

    Args:
        paths: files, folders and globs, also as URIs. Of folders, hidden files (`.` and `_` in front) are left out, but
            not logs of Kafka's own topics; folders in them are entered with the option `recursiveFileLookup`.
        options: of the reading.
        may_come: whether globs may mean nothing yet.

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
        elif options.recursive_file_lookup and not _is_link(entry.path):
            yield from _within(entry.path, options)


def _is_link(path: str) -> bool:
    local = local_path(path)
    return local is not None and local.is_symlink()
