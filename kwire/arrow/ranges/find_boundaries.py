"""Finds frame boundaries of connections in a byte range, at which `connection_windows` may cut them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from ...schema.catalog import Catalog
from .byte_ranges import ByteRange
from .capture_readers import head_of, is_compressed
from .connection_windows import LEAST_SHARE, REGION, FoundBoundary, Region, found_in
from .divided_captures import pieces_around
from .packet_chunks import Chunk, chunks_of, packets_in
from .packet_rows import ENDLESS, PACKETS, VOID
from .packet_scan import scan


def regions_of(split: ByteRange, catalog: Catalog, search_size: int = REGION) -> Iterator[Region]:
    """Find frame boundaries of connections, at the start of a file and at the end of a byte range.

    Args:
        split: the byte range.
        catalog: the specs that identify requests.
        search_size: the number of bytes to search, at each position.

    Yields:
        The regions; for a file that is not a complete capture, a region whose packets may have any time.
    """
    if is_compressed(head_of(split.path, 4)) or pieces_around(split) is not None:
        yield Region(split.capture, split.path, 0, 0, ENDLESS, ())
        return
    size = min(search_size, (split.stop - split.start) // 2)
    for start, stop in ((split.start, split.start + size), (split.stop - size, split.stop)):
        if start and start == split.start:
            continue
        part = split._replace(start=start, stop=stop)
        chunks = [chunk for chunk in chunks_of(scan(part)) if chunk.kind in (PACKETS, VOID)]
        if chunks:
            first, last = min(chunk.first for chunk in chunks), max(chunk.last for chunk in chunks)
            boundaries: tuple[FoundBoundary, ...] = ()
            if all(chunk.kind == PACKETS for chunk in chunks):
                min_size = size // LEAST_SHARE if start else 0
                boundaries = tuple(_boundaries_of(chunks, min_size, catalog))
            yield Region(split.capture, split.path, start, first, last, boundaries)


def _boundaries_of(chunks: Sequence[Chunk], min_size: int, catalog: Catalog) -> Iterator[FoundBoundary]:
    """Yield frame boundaries of the connections with at least `min_size` bytes."""
    for key, some in groupby(sorted(chunks, key=itemgetter(1, 6)), itemgetter(1)):
        ordered = list(some)
        if sum(len(chunk.packets) for chunk in ordered) >= min_size:
            packets = (
                numbered for chunk in ordered for numbered in zip(chunk.places, packets_in(chunk, {}), strict=True)
            )
            boundary = found_in(ordered[0].path, key, packets, catalog)
            if boundary is not None:
                yield boundary
