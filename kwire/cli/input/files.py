"""The files that arguments name; with -r, also those in folders."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import PurePath

from ...capture.files import find_entry, list_folder, local_path, printable_name
from ...errors import DumpError


def files_of(names: list[str], recursive: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the named files, with `recursive` also the files in folders, and whether each comes from a folder.

    The files of a folder are in the order of their names, without hidden files.
    """
    for name in names:
        entry = find_entry(name) if recursive and name != "-" else None
        if entry is None or not entry.is_folder:
            yield name, False
            continue
        paths = list(_within(name, set()))
        if not paths:
            raise DumpError("there are no files in this folder", file=name, hint="hidden ones are left out")
        yield from ((path, True) for path in sorted(paths, key=PurePath))


def has_several(options: argparse.Namespace) -> bool:
    """Whether the options name several inputs."""
    return len(options.files) + (options.hex is not None) > 1 or bool(getattr(options, "recursive", False))


def labels_of(options: argparse.Namespace) -> dict[str | None, str]:
    """Return what stands at the start of the lines of each file if there are several: the end of its path that tells
    it from the others.

    >>> labels_of(argparse.Namespace(files=["a/x.pcap", "b/tap.pcap"], hex=None))
    {'a/x.pcap': 'x.pcap    ', 'b/tap.pcap': 'tap.pcap  '}
    >>> labels_of(argparse.Namespace(files=["/run/a/x.pcap", "/run/b/x.pcap"], hex=None))
    {'/run/a/x.pcap': 'a/x.pcap  ', '/run/b/x.pcap': 'b/x.pcap  '}
    """
    if not has_several(options):
        return {}
    files = [printable_name(file) for file, _ in files_of(options.files, getattr(options, "recursive", False))]
    if len(set(files)) == 1 and options.hex is None:
        return {}
    parts = {file: PurePath(file).parts or (file,) for file in files}
    for depth in range(1, max(map(len, parts.values()), default=0) + 1):
        names = {file: str(PurePath(*path[-depth:])) for file, path in parts.items()}
        if len(set(names.values())) == len(names):
            break
    else:
        names = {file: file for file in files}
    width = max(map(len, names.values()), default=0)
    return {file: f"{name:<{width}}  " for file, name in names.items()}


def _within(folder: str, visited: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the files in a folder and its folders; each folder once, even if symbolic links lead to it again."""
    local = local_path(folder)
    if local is not None:
        status = local.stat()
        identity = status.st_dev, status.st_ino
        if identity in visited:
            return
        visited.add(identity)
    for entry in list_folder(folder):
        if not entry.name.startswith("."):
            yield from _within(entry.path, visited) if entry.is_folder else [entry.path]
