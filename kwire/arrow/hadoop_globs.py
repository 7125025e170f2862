"""Globs as in Hadoop's file systems: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}` and `**`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ..capture.files import FileEntry, find_entry, list_folder, local_path, split_query
from ..runtime.lazy_patterns import lazy_pattern

GLOB = frozenset("*?[{")
_ROOT = lazy_pattern(r"(?:[A-Za-z][A-Za-z0-9+.-]+://[^/]*/?|/+)?")
_CHOICE = lazy_pattern(r"\{([^{}]*)\}")


def list_glob(pattern: str) -> Iterator[FileEntry]:
    """Yield the entries that match a Hadoop glob: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}`, and `**` for any folders. Raises
    the exceptions of `open_file`.
    """
    for text in expand_braces(pattern):
        before, query = split_query(text)
        root = _ROOT.match(before)
        assert root is not None
        if local_path(before) is not None:
            before = before.replace(os.sep, "/")
        yield from _below(root[0], [name for name in before[root.end() :].split("/") if name], query)


def expand_braces(pattern: str) -> list[str]:
    """Expand alternatives in braces, as in Hadoop's globs.

    >>> expand_braces("day-{1,2}/*.pcap")
    ['day-1/*.pcap', 'day-2/*.pcap']
    """
    match = _CHOICE.search(pattern)
    if match is None:
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [text for word in match[1].split(",") for text in expand_braces(before + word + after)]


def matches_glob(name: str, pattern: str) -> bool:
    """Whether a file's name matches a Hadoop glob, which is case-sensitive on every system.

    >>> matches_glob("b2.pcap", "b[^1].{pcap,pcapng}"), matches_glob("b1.pcap", "b[^1].pcap")
    (True, False)
    """
    return any(fnmatchcase(name, text.replace("[^", "[!")) for text in expand_braces(pattern))


def _below(folder: str, names: list[str], query: str) -> Iterator[FileEntry]:
    """Yield the entries of a folder that match the rest of a glob."""
    if not names:
        return
    first, *rest = names
    if not GLOB.intersection(first):
        path = _join_path(folder, first)
        target = None if rest else find_entry(path + query)
        yield from _below(path, rest, query) if target is None else [target]
        return
    if first == "**":
        yield from _below(folder, rest, query)
    here = find_entry((folder or ".") + query)
    for entry in list_folder((folder or ".") + query) if here is not None and here.is_folder else ():
        path = _join_path(folder, entry.name)
        if first == "**":
            yield from _below(path, names, query) if entry.is_folder else ()
        elif matches_glob(entry.name, first):
            yield from _below(path, rest, query) if rest else [entry._replace(path=path + query)]


def _join_path(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name
