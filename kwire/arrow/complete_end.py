"""Finds the end of the last complete frame, record or compressed block in a file that is still being written.

Knows sizes only; reads as little of a file as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..capture.pcap import FILE_HEADER, PcapReader
from ..capture.pcapng import PcapngReader
from ..capture.record_cursor import PORTION, portions_of
from ..errors import DumpError
from ..input.compressed import unpacked
from ..input.file_systems import open_file
from ..input.open import CAPTURES
from ..logs.recognition import SHORT, credible_stop
from .frame_rows import State
from .input_splits import RAW, kind_of
from .options import AUTO, FRAMES, PCAP, Options
from .raw_frames import Walker

WHOLE = "whole"  # the kind of a file that is read at once


class Known(NamedTuple):
    """State at a position of raw frames; `broken` is the position of an impossible size, which ends them."""

    state: State = State()
    broken: int | None = None


def kind_so_far(path: str, options: Options, is_over: bool) -> str:
    """Return the kind of a file that may still grow.

    Args:
        path: the file.
        options: the options of the read.
        is_over: whether it has stopped growing.

    Returns:
        `raw frames`, a kind of capture, or `whole`; empty while unknown.
    """
    with open_file(path) as stream:
        head = stream.read(PORTION)
    if len(head) < 4 and not is_over:
        return ""
    kind = kind_of(path, options)
    if kind in CAPTURES:
        return kind if options.dump_format in (AUTO, PCAP) else WHOLE
    if kind != RAW or options.dump_format not in (AUTO, FRAMES):
        return WHOLE
    return RAW if is_over or options.dump_format == FRAMES or not _may_be_log(head, Path(path).stat().st_size) else ""


def _may_be_log(head: bytes, size: int) -> bool:
    """Whether data that looks like frames may be a log, once its first batch is complete."""
    stop = credible_stop(head, 0)
    return stop > size or stop == SHORT or 4 + int.from_bytes(head[:4], "big") > size


def is_whole(path: str) -> bool:
    """Whether compressed data is complete; true for other files, where it cannot be checked."""
    with open_file(path) as stream:
        try:
            opened = unpacked(portions_of(stream), path)
            if opened.prefix:
                for _ in opened.portions():
                    pass
        except DumpError as error:
            return error.offset != stream.tell()  # damaged, but not truncated
    return True


def raw_end(path: str, start: int, known: Known, most: int, size: int, options: Options) -> int:
    """Return where the last complete frame ends.

    Args:
        path: the file.
        start: the start of a frame.
        known: the state there.
        most: where to stop, but not before the end of the first frame.
        size: of the file.
        options: the options of the read.

    Returns:
        The position; `start` if no frame is complete. After broken frames, everything counts as complete.
    """
    if known.broken is not None:
        return most
    with open_file(path) as stream:
        stream.seek(start)
        first = stream.read(4)
        claim = int.from_bytes(first, "big", signed=True)
        if len(first) == 4 and known.state.least <= claim <= options.max_frame_bytes:
            most = max(most, start + 4 + claim)
        if most > size:
            return start
        stream.seek(start)
        portions = portions_of(stream, most - start)
        walker = Walker(portions, start, options.max_frame_bytes, options.max_corrupt_bytes, known.state.least)
        for cuts in walker.cuts():
            for offset, _, fault in cuts:
                if fault is not None:
                    return offset if walker.broken is None else most
    return most


def captured_end(path: str, start: int, kind: str, most: int, size: int, order: str = "") -> tuple[int, str]:
    """Return where the last complete record of a capture ends, and the byte order there.

    Args:
        path, start, most, size: as of `raw_end`.
        kind: of the capture.
        order: the byte order at `start`, as returned before. Sections of pcapng may differ; if it is unknown, the file
            is read from its start.

    Damaged bytes are included once a record follows them.
    """
    last = start
    with open_file(path) as stream:
        for end, now in _ENDS[kind](stream, start, size, order):
            if end > most and last > start:
                break
            if end >= last:
                last, order = end, now
    return last, order


def _pcap_ends(stream: BinaryIO, start: int, size: int, _: str) -> Iterator[tuple[int, str]]:
    head = stream.read(min(FILE_HEADER, size))
    if len(head) < FILE_HEADER:
        return
    base = max(start, FILE_HEADER)
    stream.seek(base)
    portions = chain([head], portions_of(stream, size - base))
    yield base, ""
    yield from _walked(PcapReader(portions, passed=base - FILE_HEADER, looks_ahead=True), 0)


def _pcapng_ends(stream: BinaryIO, start: int, size: int, order: str) -> Iterator[tuple[int, str]]:
    base, order = (start, order) if order else (0, "<")
    stream.seek(base)
    reader = PcapngReader(portions_of(stream, size - base), looks_ahead=True)
    reader.order = order
    yield from _walked(reader, base)


def _walked(reader: PcapReader | PcapngReader, base: int) -> Iterator[tuple[int, str]]:
    """Yield the ends of complete records, and of damage that records follow."""
    reader.may_grow = True
    for _ in reader.walk():
        if not reader.is_skipping:
            yield base + reader.cursor.offset, reader.order if isinstance(reader, PcapngReader) else ""


_ENDS: dict[str, Callable[[BinaryIO, int, int, str], Iterator[tuple[int, str]]]] = {
    "pcap": _pcap_ends,
    "pcapng": _pcapng_ends,
}
