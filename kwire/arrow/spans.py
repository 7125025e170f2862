"""Captures divided by their connections: those that lie together are read together.

A span of a pcap file is read without what is before and behind it; where connections go on through much of the file,
several processes read all of it, a share of the connections each. Knows no frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..dumps.pcap import FILE_HEADER, PcapReader
from ..dumps.portions import portions_of
from ..dumps.shares import Newcomers, Share, Span
from ..dumps.streams import Streams
from ..frames.said import Batch
from ..spec.catalog import Catalog
from .flows import Flow, flows_of

PAUSE = 4  # sizes of a span: what uses a pair of ports again after that can be in another one
MOST_OTHERS = 1 << 14  # connections that a span has to be told of


def spans_of(path: str, size: int, most: int, again: int) -> list[tuple[Span, int]]:
    """Divide a pcap file.

    Args:
        path: the file, of `size` bytes.
        most: how many bytes of packets a span should have.
        again: how often the file may be read, all spans together.

    Returns:
        Spans, each with the bytes of its packets; none where the file cannot be divided so, or it is of no use.
    """
    groups = list(_groups(flows_of(path, PAUSE * most), most))
    spans = list(_spans(groups, size))
    is_good = sum(span.end - span.start for span, _ in spans) <= again * size
    is_good = is_good and all(len(span.others) <= MOST_OTHERS for span, _ in spans)
    return spans if is_good and _are_apart(groups, spans) else []


def _groups(flows: list[Flow], most: int) -> Iterator[list[Flow]]:
    """Put flows that begin after each other together, up to a size."""
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
    going = list[Flow]()  # those that have begun before
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
    """Whether no span sees two flows of the same ports, but those that it has itself."""
    where = {id(flow): span for group, (span, _) in zip(groups, spans, strict=True) for flow in group}
    for group in groups:
        for flow in group:
            if flow.earlier is not None:
                own, its = where[id(flow)], where[id(flow.earlier)]
                if own is not its and not (its.end <= flow.first and flow.earlier.last <= own.start):
                    return False
    return True


def span_batches(path: str, span: Span, share: Share, catalog: Catalog) -> Iterator[Batch]:
    """Yield what the connections of a share of a span said, as `Streams` does, which says what is raised."""
    connections = Newcomers(span, share)
    streams = Streams(path, catalog, share=connections)
    streams.reassembler.packets = span.packets
    with Path(path).open("rb") as stream:
        head = stream.read(FILE_HEADER)
        stream.seek(span.start)
        portions = chain([head], portions_of(stream, span.stop - span.start))
        packets = PcapReader(portions, path, span.start - FILE_HEADER, looks_ahead=True)
        packets.may_grow = True
        yield from streams.hear(packets)
        connections.may_begin = packets.may_grow = False
        packets.cursor.portions = portions_of(stream, span.end - span.stop)
        yield from streams.batches(packets)
