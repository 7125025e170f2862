"""Columns in the names of folders (`dt=2026-11-01`), as in Hive and in Spark's file sources."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from ..arrow.batch_reader import BatchReader
from ..arrow.find_files import COLUMN, column_folder
from ..arrow.read_options import BadOption, Options

NOTHING = "__HIVE_DEFAULT_PARTITION__"  # in the name of a partition folder


def folder_values(path: str) -> dict[str, str | None]:
    """Return the partition columns and values in the folder names of a file, as in Hive.

    >>> folder_values("lake/dt=2026-11-01/tap=a%20b/1.pcap")
    {'dt': '2026-11-01', 'tap': 'a b'}
    """
    matches = map(COLUMN.fullmatch, path.split("/")[:-1])
    return {match[1]: None if match[2] == NOTHING else unquote(match[2]) for match in matches if match}


def folder_columns(paths: Sequence[str], options: Options) -> list[str]:
    """Return the column names of folders below the paths, like Spark's file sources.

    With `recursiveFileLookup` the list is empty. The first folder of each level determines the names: the driver lists
    no other folders.
    """
    if options.recursive_file_lookup:
        return []
    names: list[str] = []
    for path in paths:
        folder: str | None = path
        while folder and (folder := column_folder(folder)):
            names += list(folder_values(f"{folder.rstrip('/')}/"))[-1:]
    known = set(BatchReader(options).schema.names)
    if clash := known.intersection(names):
        hint = "recursiveFileLookup=true reads the files without such columns"
        raise BadOption("path", paths[0], f"folders are named as the column {', '.join(sorted(clash))}", hint)
    return list(dict.fromkeys(names))
