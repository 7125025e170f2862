"""What one process reads at a time: a file, a part of a file of raw frames, or some of a capture's connections.

Parts begin where a frame does, and know what waits for an answer there: an exact walk finds that out, for no guess can.
What is in no frame ends the parts: the last one reads from there on. Reads files, decodes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..dumps import open_dump
from ..dumps.compression import unpacked
from ..dumps.portions import portions_of
from ..dumps.reading import CAPTURES
from ..dumps.shares import Span
from ..errors import DumpError
from ..frames.apis import Apis
from .finding import File
from .options import AUTO, FRAMES, PCAP, Options
from .pairing import Pairing, State
from .spans import spans_of
from .walking import Walker

RAW = "raw frames"
MOST_SHARES = 64
NEW = State()


class Unit(NamedTuple):
    """Something to read.

    Attributes:
        path: the file.
        start, stop: the bytes of a part; 0 and None: all there is.
        state: what waits for an answer at the start of a part.
        span: of a capture, those of its connections that lie together; None: all.
        part, parts: the share of these.
        weight: how much there is to read, in bytes.
        kind: of a capture that grows; `start` and `stop` are then what was read of it, and what is to be read now.
        is_end: whether it grows no more.
        broken: the place before `start` where an impossible size has ended raw frames.
    """

    path: str
    start: int = 0
    stop: int | None = None
    state: State = NEW
    span: Span | None = None
    part: int = 0
    parts: int = 1
    weight: int = 0
    kind: str = ""
    is_end: bool = False
    broken: int | None = None


def divide(files: Sequence[File], options: Options, apis: Apis) -> list[list[Unit]]:
    """Divide files among processes, each of which gets about as much as the options say.

    Captures stay whole where there are as many processes without that: to find out where connections lie takes a while.

    Args:
        files: what there is to read.
        options: of the reading.
        apis: what is known of frames.

    Returns:
        For each process what it reads.
    """
    least = least_parts(options)
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    most = min(options.max_partition_bytes, max(options.open_cost_in_bytes, total // least, 1))
    parts = [-(-least * file.size // max(total, 1)) for file in files]
    units = [unit for file, few in zip(files, parts, strict=True) for unit in units_of(file, most, few, options, apis)]
    return packed(units, most, options.open_cost_in_bytes)


def least_parts(options: Options) -> int:
    """Return how many processes should have something to read, if that can be."""
    return options.min_partitions or 2 * (os.cpu_count() or 1)


def packed(units: list[Unit], most: int, cost: int) -> list[list[Unit]]:
    """Put units together, the largest first, up to a size."""
    packs: list[list[Unit]] = []
    size = most
    for unit in sorted(units, key=lambda unit: -unit.weight):
        if not packs or size + unit.weight > most:
            packs.append([])
            size = 0
        packs[-1].append(unit)
        size += unit.weight + cost
    return packs


def units_of(file: File, most: int, parts: int, options: Options, apis: Apis) -> Iterator[Unit]:
    """Yield the units of a file, none of them much larger than `most` if that can be; captures are divided only where
    there should be several `parts`, and read that often at most."""
    if not file.size:
        return
    kind = kind_of(file.path, options) if file.size > most else ""
    if kind == RAW:
        yield from parts_of(file, most, options, apis)
    elif kind in CAPTURES and parts > 1:
        can_be = kind == PCAP and options.dump_format in (AUTO, PCAP)
        spans = spans_of(file.path, file.size, most, parts) if can_be else []
        for span, size in spans or list[tuple[Span | None, int]]([(None, file.size)]):
            shares = min(MOST_SHARES, -(-size // most), -(-parts * size // file.size))
            yield from shared(Unit(file.path, span=span, weight=size), shares)
    else:
        yield Unit(file.path, weight=file.size)


def shared(unit: Unit, parts: int) -> Iterator[Unit]:
    """Yield shares of a capture's connections."""
    return (unit._replace(part=part, parts=parts, weight=unit.weight // parts) for part in range(parts))


def kind_of(path: str, options: Options) -> str:
    """Say what a file is, `raw frames` or a kind of `open_dump`; nothing if it cannot be told or read."""
    try:
        if options.dump_format == FRAMES:
            with Path(path).open("rb") as stream:
                return unpacked(portions_of(stream), path).prefix + RAW
        with open_dump(path) as dump:
            return dump.kind
    except (DumpError, FileNotFoundError):  # who reads it says so
        return ""


def parts_of(
    file: File, most: int, options: Options, apis: Apis, start: int = 0, state: State = NEW
) -> Generator[Unit, None, tuple[State, int | None]]:
    """Walk through raw frames, and yield parts of them that are larger than `most` by less than a frame.

    Args:
        file: whose size says where the walk ends.
        most: in bytes.
        options: of the reading.
        apis: what is known of frames.
        start: where it begins, and `state` what is known there.

    Returns:
        What is known at the end, and where an impossible size has ended the frames.
    """
    pairing = Pairing(apis, lambda row: None)
    pairing.resume(state)
    with Path(file.path).open("rb") as stream:
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
