"""Opens a dump, looks at its first bytes, and gives out its frames one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ..catalog import Catalog, catalog_for
from ..errors import DumpError
from ..faults import BadFrame
from ..fixtures import parse_fixture
from ..frames import LIMIT, Frame, FrameReader, Source
from ..frames.pieces import BrokenDump
from ..hextext import HexText, read_hex_text
from .compression import Opened, unpacked
from .conversation import SASL_HANDSHAKE_0
from .foreign import refuse_foreign
from .packets import PacketReader, tcp_segment
from .pcap import MAGICS, Packet, pcap_packets
from .pcapng import MAGIC, pcapng_packets
from .requestlog import Notes, log_frames, looks_like_log
from .streams import Streams

PORTION = 1 << 16
PIECE = 1 << 22  # of bytes that are no frames
LONGEST_TEXT = 1 << 28
_BOM = b"\xef\xbb\xbf"
_TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))

# kind -> (the four bytes it begins with, which as a frame's size are above any limit; its reader)
CAPTURES: dict[str, tuple[frozenset[bytes], Callable[[Iterator[bytes], str], Iterator[Packet]]]] = {
    "pcap": (frozenset(MAGICS), pcap_packets),
    "pcapng": (frozenset([MAGIC]), pcapng_packets),
}


@dataclass(frozen=True, slots=True)
class Dump:
    """A dump: what it was taken for, and its frames, read as they are asked for.

    Bytes that are in no whole frame (a cut tail, what follows an impossible size) are a last frame whose
    data does not fit its size field, so that nothing is lost; what is known to be no frame has a `fault`.
    `remarks` grows as frames are read: what else is to be known of the dump, such as what is not in it.
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
        DumpError: hex text with a line that cannot be read, a capture of which nothing can be read.
        OSError: the file cannot be read.
    """
    with _opened(path) as opened:
        dump = _dump(opened, str(path), bare, catalog or catalog_for())
        yield replace(dump, kind=opened.prefix + dump.kind)


@contextmanager
def packets_of(path: str | Path) -> Iterator[Iterator[Packet]]:
    """Open a capture for its packets; raises DumpError if it is none, OSError as `open_dump`."""
    with _opened(path) as opened:
        for magics, reader in CAPTURES.values():
            if opened.head[:4] in magics:
                yield reader(opened.portions(), str(path))
                return
        refuse_foreign(opened.head, str(path))
        raise DumpError(f"this is no capture: {', '.join(CAPTURES)} are read", file=str(path))


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
        path: a file of raw frames, hex text, a capture, a log of requests, or a fixture; `-` is standard input.

    Yields:
        Frames, with `source.file`, `source.frame` (from 0) and `source.offset` (bytes from the start).

    Raises:
        DumpError, OSError: as `open_dump`.
    """
    with open_dump(path) as dump:
        yield from dump.frames


@contextmanager
def _opened(path: str | Path) -> Iterator[Opened]:
    if str(path) == "-":
        yield unpacked(_portions(sys.stdin.buffer), "-")
    else:
        with Path(path).open("rb") as stream:
            yield unpacked(_portions(stream), str(path))


def _portions(stream: BinaryIO) -> Iterator[bytes]:
    """Read what there is each time, so that the first message is there before the input ends."""
    read1 = getattr(stream, "read1", stream.read)
    while portion := read1(PORTION):
        yield portion


def _dump(opened: Opened, file: str, bare: bool, catalog: Catalog) -> Dump:
    head = opened.head
    if not head:
        raise DumpError("there is nothing in it", file=file, hint="is the file complete?")
    for kind, (magics, reader) in CAPTURES.items():
        if head[:4] in magics:
            return Dump(kind, Streams(file, catalog).frames(reader(opened.portions(), file)))
    refuse_foreign(head, file)
    # Four characters of text as a size field would be a frame above the limit; so are the bytes of a BOM.
    if _TEXT.issuperset(head[:4]) or head.startswith(_BOM):
        if looks_like_log(head.decode("utf-8-sig", "replace")) and not bare:
            return _log_dump(opened, file, catalog)
        return _text_dump(_whole(opened, file), file, bare)
    if bare:
        return Dump("a bare body", iter([Frame(_whole(opened, file), Source(file, 0, 0), bare=True)]))
    return Dump("raw frames", _cut(opened.portions(), file))


def _whole(opened: Opened, file: str) -> bytes:
    data = bytearray()
    for portion in opened.portions():
        data += portion
        if len(data) > LONGEST_TEXT:
            raise DumpError(f"more than {LONGEST_TEXT} bytes in one piece", file=file, hint="split it")
    return bytes(data)


def _log_dump(opened: Opened, file: str, catalog: Catalog) -> Dump:
    notes, remarks = Notes(), list[str]()

    def frames() -> Iterator[Frame]:
        try:
            yield from log_frames(_lines(opened.portions(), file), file, catalog, notes)
        finally:
            remarks.extend(notes.texts())

    return Dump("a log of requests", frames(), remarks)


def _lines(portions: Iterator[bytes], file: str) -> Iterator[bytes]:
    """Yield the lines of a text as they come."""
    begun: list[bytes] = []
    size = 0
    for portion in portions:
        first, *others = portion.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LIMIT:
            raise DumpError(f"a line of more than {LIMIT} bytes", file=file, hint="is it a log?")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = [others[-1]], len(others[-1])
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


def _cut(portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    reader = FrameReader()
    try:
        for portion in portions:
            for frame in reader.feed(portion):
                if frame.data.startswith(SASL_HANDSHAKE_0, 4):
                    reader.least = 0  # the answer to a bare token may be empty
                yield replace(frame, source=replace(frame.source, file=file))
    except BadFrame:
        yield from _pieces(reader, portions, file)
        return
    except DumpError as error:
        yield from _rest(reader, file)
        yield Frame(b"", Source(file), fault=BrokenDump(found=str(error), offset=error.offset or 0))
        return
    yield from _rest(reader, file)


def _rest(reader: FrameReader, file: str) -> Iterator[Frame]:
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
