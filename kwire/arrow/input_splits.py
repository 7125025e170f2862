"""Divides files among processes. An input split is a file, or a share of the connections of a capture.

`scan` divides captures and raw frames by bytes instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ..capture.compressed_files import unpack_input
from ..capture.files import open_file
from ..capture.open_dump import open_dump
from ..capture.packets.capture_formats import CAPTURES
from ..capture.portions import read_portions
from ..errors import DumpError
from .find_files import InputFile
from .read_options import FRAMES, Options

RAW_FRAMES = "raw frames"
MOST_SHARES = 64


class InputSplit(NamedTuple):
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


def divide(files: Sequence[InputFile], options: Options) -> list[list[InputSplit]]:
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
    size_limit, part_count = share_of(files, options), least_parts(options)
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    parts = [-(-part_count * file.size // max(total, 1)) for file in files]
    units = [unit for file, few in zip(files, parts, strict=True) for unit in units_of(file, size_limit, few, options)]
    return pack_splits(units, size_limit, options.open_cost_in_bytes)


def least_parts(options: Options) -> int:
    """Return the minimum number of processes."""
    return options.min_partitions or 2 * (os.cpu_count() or 1)


def share_of(files: Sequence[InputFile], options: Options) -> int:
    """Return the target number of bytes per process."""
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    return min(options.max_partition_bytes, max(options.open_cost_in_bytes, total // least_parts(options), 1))


class Weighed(Protocol):
    """An object with a size in bytes."""

    @property
    def weight(self) -> int:
        """The size in bytes."""


W = TypeVar("W", bound=Weighed)


def pack_splits(units: list[W], size_limit: int, cost: int) -> list[list[W]]:
    """Group input splits, the largest first, up to a size."""
    packs: list[list[W]] = []
    size = size_limit
    for unit in sorted(units, key=lambda unit: -unit.weight):
        if not packs or size + unit.weight > size_limit:
            packs.append([])
            size = 0
        packs[-1].append(unit)
        size += unit.weight + cost
    return packs


def units_of(file: InputFile, size_limit: int, parts: int, options: Options) -> Iterator[InputSplit]:
    """Yield the input splits of a file: for several `parts`, none much larger than `size_limit` if possible."""
    if not file.size:
        return
    if file.size > size_limit and parts > 1 and kind_of(file.path, options) in CAPTURES:
        yield from share_connections(
            InputSplit(file.path, weight=file.size), min(MOST_SHARES, parts, -(-file.size // size_limit))
        )
    else:
        yield InputSplit(file.path, weight=file.size)


def share_connections(unit: InputSplit, parts: int) -> Iterator[InputSplit]:
    """Yield input splits with shares of a capture's connections."""
    return (unit._replace(part=part, parts=parts, weight=unit.weight // parts) for part in range(parts))


def kind_of(path: str, options: Options) -> str:
    """Return the kind of a file: `raw frames` or a kind of `open_dump`; empty if it is unknown or unreadable."""
    try:
        if options.dump_format == FRAMES:
            with open_file(path) as stream:
                return unpack_input(read_portions(stream), path).prefix + RAW_FRAMES
        with open_dump(path) as dump:
            return dump.kind
    except (DumpError, FileNotFoundError):  # reported when it is read
        return ""
