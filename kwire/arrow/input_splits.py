"""Input splits: a file, a byte range of raw frames, or some of the connections of a capture."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

from ..capture.frame_extractor import Streams
from ..capture.pcap import FILE_HEADER, PcapReader
from ..capture.record_cursor import portions_of
from ..capture.sharding import Share, Span, SpanShare
from ..errors import DumpError
from ..input import open_dump
from ..input.compressed import unpacked
from ..input.file_systems import open_file
from ..input.open import CAPTURES
from ..protocol.api_registry import Apis
from ..protocol.captured_frame import CapturedBatch
from ..spec.catalog import Catalog
from .files import File
from .flow_index import Flow, flows_of
from .frame_rows import Pairing, State
from .options import AUTO, FRAMES, PCAP, Options
from .raw_frames import Walker

PAUSE = 4  # in span sizes: a port pair that is reused after this may be in another span
MOST_OTHERS = 1 << 14  # earlier connections that a span must exclude


def spans_of(path: str, size: int, most: int, again: int) -> list[tuple[Span, int]]:
    """Divide a pcap file into spans.

    Args:
        path: the file, of `size` bytes.
        most: the target size of a span's packets, in bytes.
        again: how often the file may be read, by all spans together.

    Returns:
        Spans, each with the size of its packets; empty if the file cannot be divided, or need not be.
    """
    groups = list(_groups(flows_of(path, PAUSE * most), most))
    spans = list(_spans(groups, size))
    is_good = sum(span.end - span.start for span, _ in spans) <= again * size
    is_good = is_good and all(len(span.others) <= MOST_OTHERS for span, _ in spans)
    return spans if is_good and _are_apart(groups, spans) else []


def _groups(flows: list[Flow], most: int) -> Iterator[list[Flow]]:
    """Group consecutive flows up to a size."""
    group, size = list[Flow](), 0
    for flow in flows:
        if size >= most:
            yield group
            group, size = [], 0
        group.append(flow)
        size += flow.size
    if group:
        yield group


def _spans(groups: list[list[Flow]], size: int) -> Iterator[tuple[Span, int]]:
    going = list[Flow]()  # flows that began earlier
    for index, group in enumerate(groups):
        start = group[0].first if index else FILE_HEADER
        is_last = index + 1 == len(groups)
        stop = size if is_last else groups[index + 1][0].first
        end = size if is_last else max(stop, *(flow.last for flow in group))
        others = tuple(flow.key for flow in going)
        packets = group[0].packets if index else 0
        yield Span(start, stop, end, packets, others, is_last), sum(flow.size for flow in group)
        going = [flow for flow in (*going, *group) if flow.last > stop]


def _are_apart(groups: list[list[Flow]], spans: list[tuple[Span, int]]) -> bool:
    """Whether no span contains packets of another span's flow with the same ports."""
    where = {id(flow): span for group, (span, _) in zip(groups, spans, strict=True) for flow in group}
    for group in groups:
        for flow in group:
            if flow.earlier is not None:
                own, its = where[id(flow)], where[id(flow.earlier)]
                if own is not its and not (its.end <= flow.first and flow.earlier.last <= own.start):
                    return False
    return True


def span_batches(
    path: str, span: Span, share: Share, catalog: Catalog, zookeeper: bool = False
) -> Iterator[CapturedBatch]:
    """Yield the captured frames of a share of a span; raises as `Streams`."""
    connections = SpanShare(span, share)
    streams = Streams(path, catalog, share=connections, zookeeper=zookeeper)
    streams.reassembler.packets = span.packets
    with open_file(path) as stream:
        head = stream.read(FILE_HEADER)
        stream.seek(span.start)
        portions = chain([head], portions_of(stream, span.stop - span.start))
        packets = PcapReader(portions, path, span.start - FILE_HEADER, looks_ahead=True)
        packets.may_grow = True
        yield from streams.receive(packets)
        connections.may_begin = packets.may_grow = False
        packets.cursor.portions = portions_of(stream, span.end - span.stop)
        yield from streams.batches(packets)


RAW = "raw frames"
MOST_SHARES = 64
NEW = State()


class Unit(NamedTuple):
    """An input split.

    Attributes:
        path: the file.
        start, stop: a byte range; 0 and None for the whole file.
        state: requests in flight at the start of the range.
        span: of a capture, a range of its connections; None: all.
        part, parts: the share of these connections.
        weight: estimated size, in bytes.
        kind: of a growing capture; `start` and `stop` are then what was read before, and what to read now.
        is_end: whether it has stopped growing.
        broken: the position before `start` where an impossible size has ended raw frames.
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
    """Distribute files to processes, according to the options.

    Captures are divided only if there are too few files, because indexing their connections takes time.

    Args:
        files: the files to read.
        options: the options of the read.
        apis: what is known of frames.

    Returns:
        For each process its input splits.
    """
    most, least = share_of(files, options), least_parts(options)
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    parts = [-(-least * file.size // max(total, 1)) for file in files]
    units = [unit for file, few in zip(files, parts, strict=True) for unit in units_of(file, most, few, options, apis)]
    return packed(units, most, options.open_cost_in_bytes)


def least_parts(options: Options) -> int:
    """Return the minimum number of processes."""
    return options.min_partitions or 2 * (os.cpu_count() or 1)


def share_of(files: Sequence[File], options: Options) -> int:
    """Return how many bytes a process should get."""
    total = sum(file.size + options.open_cost_in_bytes for file in files)
    return min(options.max_partition_bytes, max(options.open_cost_in_bytes, total // least_parts(options), 1))


class Weighed(Protocol):
    """Something to read, and how much that is, in bytes."""

    @property
    def weight(self) -> int:
        """The bytes."""


W = TypeVar("W", bound=Weighed)


def packed(units: list[W], most: int, cost: int) -> list[list[W]]:
    """Group input splits, the largest first, up to a size."""
    packs: list[list[W]] = []
    size = most
    for unit in sorted(units, key=lambda unit: -unit.weight):
        if not packs or size + unit.weight > most:
            packs.append([])
            size = 0
        packs[-1].append(unit)
        size += unit.weight + cost
    return packs


def units_of(file: File, most: int, parts: int, options: Options, apis: Apis) -> Iterator[Unit]:
    """Yield the input splits of a file, none much larger than `most` if possible; captures are divided only for several
    `parts`, and read at most that often."""
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
    """Return the kind of a file, `raw frames` or a kind of `open_dump`; empty if it is unknown or unreadable."""
    try:
        if options.dump_format == FRAMES:
            with open_file(path) as stream:
                return unpacked(portions_of(stream), path).prefix + RAW
        with open_dump(path) as dump:
            return dump.kind
    except (DumpError, FileNotFoundError):  # reported when it is read
        return ""


def parts_of(
    file: File, most: int, options: Options, apis: Apis, start: int = 0, state: State = NEW
) -> Generator[Unit, None, tuple[State, int | None]]:
    """Split raw frames into parts that exceed `most` by less than a frame.

    Args:
        file: its size limits the last part.
        most: in bytes.
        options: the options of the read.
        apis: what is known of frames.
        start: where to start, with the `state` there.

    Returns:
        The state at the end, and the position of an impossible size.
    """
    pairing = Pairing(apis, lambda row: None)
    pairing.resume(state)
    with open_file(file.path) as stream:
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
