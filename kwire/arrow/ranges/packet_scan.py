"""Reads the packets in any byte range of a capture file, grouped by connection.

A range starts at the first position where consecutive records seem to start. This may be wrong, for example inside a
packet that contains a capture. Therefore each range also determines where the next range starts, and reads on until its
records equal those of the next range. It yields wrong records of the next range as VOID, and the records that the next
range lacks. All ranges together then give exactly what one reader of the whole file gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import SEEK_END
from itertools import chain
from typing import Any, BinaryIO

from msgspec.structs import replace

from ...capture.compressed_files import unpack_input
from ...capture.files import open_file
from ...capture.packets.capture_formats import CAPTURES
from ...capture.packets.pcap import FILE_HEADER
from ...capture.portions import PORTION, WINDOW, read_portions, read_range
from ...capture.seekable_compressed_files import CompressedBlocks, find_blocks
from ...errors import DumpError
from ...protocol.headers.apis import Apis
from ...schema.catalog import catalog_for
from ..input_splits import RAW_FRAMES, kind_of
from ..read_options import PCAP, Options
from .byte_ranges import ByteRange
from .capture_readers import Reader, capture_kind, read_from_middle
from .concatenated_files import ConcatenatedFiles, Extent
from .connection_windows import WHOLE, Windows
from .divided_captures import pieces_around
from .packet_rows import BROKEN, ENDLESS, FILE, LATE, VOID, Item, PacketRecord, PacketRows
from .packet_walk import PacketWalk
from .raw_frame_ranges import FrameRanges

PLAIN = Options()


def scan(split: ByteRange, options: Options = PLAIN, windows: Windows = WHOLE) -> Iterator[Any]:
    """Read a split.

    Args:
        split: the range; all ranges of a file except the last have the same size.
        options: the options of the read; they affect only raw frames.
        windows: the windows of long connections.

    Yields:
        Record batches of `SCHEMA`: packets of a connection; VOID, packets that other splits yield by mistake; DAMAGE,
        bytes that are not a packet; LOST, counts of packets that are not segments, by reason, and the count of
        segments; BROKEN, the position from which on a file cannot be read; FILE, a file that is not a capture and must
        be read as a whole; ENTRY and FRAMES, the entries of ranges of raw frames, and their bytes; LATE, a late file.

    Raises:
        OSError: the file cannot be read.
    """
    if split.is_late:
        (late := PacketRows(split)).add(LATE)
        yield from late.taken()
    if split.extent is not None and split.extent.frames:
        yield from _scan_grown(split, split.extent)
    elif split.extent is not None:
        yield from _scan_stream(split.extent.opened(split.path), PacketRows(split, windows), options)
    elif divided := pieces_around(split):
        pieces, split = divided
        yield from _scan_stream(ConcatenatedFiles(pieces), PacketRows(split, windows), options)
    else:
        yield from _scan_stream(open_file(split.path, PORTION), PacketRows(split, windows), options)


def _scan_grown(split: ByteRange, extent: Extent) -> Iterator[Any]:
    rows, offset = PacketRows(split), split.start
    with extent.opened(split.path) as stream:
        stream.seek(offset)
        for portion in read_portions(stream, split.stop - offset):
            rows.add_grown(extent, offset, portion)
            offset += len(portion)
            yield from rows.taken()
    if extent.is_end:
        rows.add_grown(extent, offset, b"")
        yield from rows.taken()


def _scan_stream(file: Any, rows: PacketRows, options: Options) -> Iterator[Any]:
    split = rows.split
    with file as stream:
        kind = capture_kind(stream.read(4))
        try:
            if kind:
                yield from _scan_range(stream, kind, split, rows)
            elif split.weight < stream.seek(0, SEEK_END) and (blocks := find_blocks(stream, split.path)) is not None:
                yield from _scan_blocks(blocks, split, rows)
            elif split.weight < stream.seek(0, SEEK_END) and kind_of(split.path, options) == RAW_FRAMES:
                yield from _scan_frames(stream, split, rows, options)
            elif split.start == 0:
                yield from _scan_whole(stream, rows)
        except DumpError as error:
            if rows.is_empty and split.start == 0 and split.extent is None:
                rows.add(FILE)
            elif split.start == 0:
                rows.add(BROKEN, str(error), error.offset or 0)
    rows.add_lost()
    yield from rows.taken()


def _scan_whole(stream: BinaryIO, rows: PacketRows) -> Iterator[Any]:
    """Read a complete compressed capture; a file that is not a capture is left to the reader of all formats."""
    path = rows.split.path
    stream.seek(0)
    opened = unpack_input(read_portions(stream), path)
    kind = capture_kind(opened.head)
    if not kind:
        rows.add(FILE)
        return
    walk = PacketWalk(CAPTURES[kind][1](_join_portions(opened.portions()), path, looks_ahead=True), rows)
    walk.begin()
    yield from walk.read_to(ENDLESS)


def _scan_frames(stream: BinaryIO, split: ByteRange, rows: PacketRows, options: Options) -> Iterator[Any]:
    apis = Apis(catalog_for(options.profile or None, options.release or None))
    for part in FrameRanges(stream, split.weight, options, apis).parts(split.start):
        rows.add_frames(part)
        yield from rows.taken()


def _scan_range(stream: BinaryIO, kind: str, split: ByteRange, rows: PacketRows) -> Iterator[Any]:
    walk = PacketWalk(_read_range(stream, kind, split.path, split.start, split.stop), rows)
    walk.begin()
    yield from walk.read_to(split.stop)
    if split.stop < stream.seek(0, 2):
        following = PacketWalk(_read_range(stream, kind, split.path, split.stop, split.stop), PacketRows(split))
        yield from _correct_next_range(walk, following)


def _scan_blocks(blocks: CompressedBlocks, split: ByteRange, rows: PacketRows) -> Iterator[Any]:
    """Read the blocks of a compressed file that start in a range, at positions of `CompressedBlocks.position`."""
    start, stop = blocks.first(split.start), blocks.first(split.stop)
    if start >= stop:
        return
    head = _take_bytes(blocks.portions(0), PORTION)
    kind = capture_kind(head)
    if not kind:
        if start == 0:
            rows.add(FILE)
        return
    base, (size, portions) = blocks.position(start), blocks.contents(start, stop)
    mine, rest = (
        _Readable(_join_portions(portions)),
        _Readable(blocks.portions(stop) if stop < blocks.end else iter(())),
    )
    own = _walk(head, kind, base, chain(mine, rest), rows)
    own.begin()
    yield from own.read_to(base + size)
    if mine.error is not None:
        rows.add(BROKEN, str(mine.error), start + (mine.error.offset or 0))
    elif stop < blocks.end and rest.error is None:
        rest.raises = True
        with suppress(DumpError):  # the next range reports it
            following = _walk(head, kind, base + size, blocks.portions(stop), PacketRows(split))
            yield from _correct_next_range(own, following, blocks.position(stop) - base - size)


class _Readable:
    """Yields portions up to damage.

    Attributes:
        error: the damage that ended the portions.
        raises: whether the error is raised.
    """

    def __init__(self, portions: Iterator[bytes]) -> None:
        self._portions = portions
        self.error: DumpError | None = None
        self.raises = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._portions
        except DumpError as error:
            self.error = error
            if self.raises:
                raise


def _walk(head: bytes, kind: str, start: int, portions: Iterator[bytes], rows: PacketRows) -> PacketWalk:
    """Return a walk from a position on in the decompressed content of a file."""
    path = rows.split.path
    if start == 0:
        return PacketWalk(CAPTURES[kind][1](portions, path, looks_ahead=True), rows)
    if kind == PCAP and start < FILE_HEADER:
        portions, start = _skip_bytes(portions, FILE_HEADER - start), FILE_HEADER
    reader = read_from_middle(head, portions, path, start)
    reader.synchronise()
    return PacketWalk(reader, rows)


def _skip_bytes(portions: Iterator[bytes], count: int) -> Iterator[bytes]:
    for portion in portions:
        yield portion[count:]
        count = max(0, count - len(portion))


def _take_bytes(portions: Iterator[bytes], count: int) -> bytes:
    """Return the first `count` bytes of portions, or fewer before damage."""
    taken = b""
    with suppress(DumpError):
        while len(taken) < count and (portion := next(portions, b"")):
            taken += portion
    return taken


def _shift_item(item: Item, count: int) -> Item:
    """Return a record or damage with its position increased by `count`."""
    if isinstance(item, PacketRecord):
        return item._replace(offset=item.offset + count)
    return replace(item, offset=item.offset + count)


def _correct_next_range(own: PacketWalk, following: PacketWalk, shift: int = 0) -> Iterator[Any]:
    """Read on until the records of the next split equal those read here; yield the differences.

    `shift` is the difference between the positions of records in the next split and here.
    """
    true, wrong = list[Item](), list[Item]()
    while own.reader.state != following.reader.state and not (own.is_over and following.is_over):
        here, there = (ENDLESS if walk.is_over else walk.place for walk in (own, following))
        if here <= there:
            true += own.step()
        if there <= here:
            wrong += following.step()
    own.rows.lost.subtract(following.rows.lost)
    shared = set(true) & set(wrong)
    own.rows.add_items([_shift_item(item, shift) for item in wrong if item not in shared], VOID)
    own.rows.add_items([item for item in true if item not in shared])
    yield from own.rows.taken()


def _read_range(stream: BinaryIO, kind: str, path: str, start: int, stop: int) -> Reader:
    """Return a reader at the first record after a position."""
    if start == 0:
        return CAPTURES[kind][1](read_range(stream, 0, stop), path, looks_ahead=True)
    stream.seek(0)
    base = max(start, FILE_HEADER) if kind == PCAP else start
    reader = read_from_middle(stream.read(PORTION), read_range(stream, base, stop), path, base)
    reader.synchronise()
    return reader


def _join_portions(portions: Iterator[bytes]) -> Iterator[bytes]:
    """Join portions into larger ones, up to damage."""
    parts, size = list[bytes](), 0
    try:
        for portion in portions:
            parts.append(portion)
            size += len(portion)
            if size >= WINDOW:
                yield b"".join(parts)
                parts, size = [], 0
    except DumpError:
        yield b"".join(parts)
        raise
    yield b"".join(parts)
