"""Opens a dump, looks at its first bytes, and gives out its frames one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ..catalog import Catalog, catalog_for
from ..errors import DumpError
from ..faults import BadFrame
from ..fixtures import parse_fixture
from ..frames import LIMIT, Frame, FrameReader, Source
from ..hextext import HexText, read_hex_text
from .packets import PacketReader, tcp_segment
from .requestlog import Notes, log_frames, looks_like_log

PORTION = 1 << 16
PIECE = 1 << 22  # of bytes that are no frames
LONGEST_TEXT = 1 << 28
_BOM = b"\xef\xbb\xbf"
_TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))


@dataclass(frozen=True, slots=True)
class Dump:
    """A dump: what it was taken for, and its frames, read as they are asked for.

    Bytes that are in no whole frame (a cut tail, what follows an impossible size) are a last frame whose
    data does not fit its size field, so that nothing is lost. `remarks` grows as frames are read: what else
    is to be known of the dump, such as what is not in it.
    """

    kind: str
    frames: Iterator[Frame]
    remarks: list[str] = field(default_factory=list)


@contextmanager
def open_dump(path: str | Path, *, bare: bool = False, catalog: Catalog | None = None) -> Iterator[Dump]:
    """Open a dump.

    Args:
        path: a file; `-` is standard input.
        bare: the bytes are one body, without size and header.
        catalog: the specs that JSON is written by; those of Kafka's releases unless told.

    Yields:
        A `Dump`, to be used inside the `with` block.

    Raises:
        DumpError: hex text with a line that cannot be read.
        OSError: the file cannot be read.
    """
    if str(path) == "-":
        yield _dump(sys.stdin.buffer, "-", bare, catalog or catalog_for())
    else:
        with Path(path).open("rb") as stream:
            yield _dump(stream, str(path), bare, catalog or catalog_for())


def open_hex(text: str, file: str = "--hex", *, bare: bool = False) -> Dump:
    """Open hex text that is at hand.

    Args:
        text: in any dialect of `kwire.hextext`.
        file: what to call it.
        bare: the bytes are one body, without size and header.

    Raises:
        DumpError: with the line that cannot be read.

    >>> [frame.data.hex() for frame in open_hex("00 00 00 04 00 00 00 07").frames]
    ['0000000400000007']
    """
    return _hex_dump(read_hex_text(text, file), file, bare)


def read_dump(path: str | Path) -> Iterator[Frame]:
    """Read the frames of a dump, one by one.

    Args:
        path: a file of raw frames, hex text, a log of requests, or a fixture; `-` is standard input.

    Yields:
        Frames, with `source.file`, `source.frame` (from 0) and `source.offset` (bytes from the start).

    Raises:
        DumpError, OSError: as `open_dump`.
    """
    with open_dump(path) as dump:
        yield from dump.frames


def _dump(stream: BinaryIO, file: str, bare: bool, catalog: Catalog) -> Dump:
    head = _first(stream)
    if not head:
        raise DumpError("there is nothing in it", file=file, hint="is the file complete?")
    # Four characters of text as a size field would be a frame above the limit; so are the bytes of a BOM.
    if _TEXT.issuperset(head[:4]) or head.startswith(_BOM):
        if looks_like_log(head.decode("utf-8-sig", "replace")) and not bare:
            return _log_dump(stream, head, file, catalog)
        return _text_dump(head + _rest(stream, file), file, bare)
    if bare:
        return Dump("a bare body", iter([Frame(head + _rest(stream, file), Source(file, 0, 0), bare=True)]))
    return Dump("raw frames", _raw(stream, head, file))


def _first(stream: BinaryIO) -> bytes:
    """Read what there is, so that the first message is there before the input ends; at least four bytes."""
    head = b""
    while len(head) < 4:
        portion = _portion(stream)
        if not portion:
            break
        head += portion
    return head


def _portion(stream: BinaryIO) -> bytes:
    read1 = getattr(stream, "read1", stream.read)
    data: bytes = read1(PORTION)
    return data


def _rest(stream: BinaryIO, file: str) -> bytes:
    data = stream.read(LONGEST_TEXT)
    if len(data) == LONGEST_TEXT:
        raise DumpError(f"more than {LONGEST_TEXT} bytes in one piece", file=file, hint="split it")
    return data


def _log_dump(stream: BinaryIO, head: bytes, file: str, catalog: Catalog) -> Dump:
    notes, remarks = Notes(), list[str]()

    def frames() -> Iterator[Frame]:
        try:
            yield from log_frames(_lines(stream, head, file), file, catalog, notes)
        finally:
            remarks.extend(notes.texts())

    return Dump("a log of requests", frames(), remarks)


def _lines(stream: BinaryIO, head: bytes, file: str) -> Iterator[bytes]:
    """Yield the lines of a text as they come."""
    begun: list[bytes] = []
    size, portion = 0, head
    while portion:
        first, *others = portion.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LIMIT:
            raise DumpError(f"a line of more than {LIMIT} bytes", file=file, hint="is it a log?")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = [others[-1]], len(others[-1])
        portion = _portion(stream)
    yield b"".join(begun)


def _text_dump(data: bytes, file: str, bare: bool) -> Dump:
    text = data.decode("utf-8-sig", "replace")
    fixture = parse_fixture(text, file)
    if fixture is not None:
        frame = Frame(
            fixture.data,
            Source(file, 0, 0),
            message=fixture.message,
            version=fixture.version,
            bare=fixture.bare,
            profile=fixture.profile,
        )
        return Dump("a fixture", iter([frame]))
    return open_hex(text, file, bare=bare)


def _hex_dump(text: HexText, file: str, bare: bool) -> Dump:
    kind = f"hex text ({text.dialect})"
    found = next(filter(None, map(tcp_segment, text.pieces)), None) if text.packets and not bare else None
    if found is not None:
        remarks: list[str] = []
        return Dump(f"{kind}, packets: {found.link}", _of_packets(text.pieces, file, remarks), remarks)
    raw = b"".join(text.pieces)
    frames = iter([Frame(raw, Source(file, 0, 0), bare=True)]) if bare else _cut(iter([raw]), file)
    remarks = ["no packet with TCP was recognised: the bytes are taken as they are"] if text.packets else []
    return Dump(kind, frames, remarks)


def _of_packets(packets: tuple[bytes, ...], file: str, remarks: list[str]) -> Iterator[Frame]:
    reader = PacketReader(file)
    for packet in packets:
        yield from reader.feed(packet)
    yield from reader.finish()
    if reader.gaps:
        remarks.append(f"{reader.gaps} bytes are missing between the packets")
    if reader.others:
        remarks.append(f"{reader.others} packets without TCP were left out")


def _raw(stream: BinaryIO, head: bytes, file: str) -> Iterator[Frame]:
    def portions() -> Iterator[bytes]:
        portion = head
        while portion:
            yield portion
            portion = _portion(stream)

    yield from _cut(portions(), file)


def _cut(portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    reader = FrameReader()
    try:
        for portion in portions:
            for frame in reader.feed(portion):
                yield replace(frame, source=replace(frame.source, file=file))
    except BadFrame:
        yield from _pieces(reader, portions, file)
        return
    if reader.rest:
        yield Frame(reader.rest, Source(file, reader.count, reader.offset))


def _pieces(reader: FrameReader, portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    """Give out what follows an impossible size as it is, in pieces, for the input may have no end."""
    rest, offset, count = bytearray(reader.rest), reader.offset, reader.count
    for portion in portions:
        rest += portion
        if len(rest) >= PIECE:
            yield Frame(bytes(rest), Source(file, count, offset))
            offset, count = offset + len(rest), count + 1
            rest.clear()
    if rest:
        yield Frame(bytes(rest), Source(file, count, offset))
