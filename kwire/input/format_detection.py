"""Opens dumps: detects the format from the first bytes, and yields frames.

Formats are raw frames, hex text, captures, logs, request logs and golden fixtures. `kwire.capture` reads captures,
`kwire.logs` reads logs. For a recognised but unsupported format, the error names the command that converts it. Readers
for formats other than captures and raw frames are imported on first use, which halves the start-up of `kwire stats`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..capture.frame_extractor import Streams
from ..capture.kafka_connection_frames import SASL_HANDSHAKE_0, written
from ..capture.pcap import MAGICS, PORTION, Damage, Packet, PcapReader
from ..capture.pcapng import MAGIC, PcapngReader
from ..capture.tcp_reassembly import ALL, Share
from ..errors import BadFrame, DumpError, ZnodeError
from ..protocol import LEAST, LIMIT, Frame, FrameReader, Source, cut_short
from ..protocol.framing import BrokenDump, CapturedBatch, int32
from ..spec.catalog import Catalog, catalog_for
from .compressed_files import Opened, unpacked, up_to_damage
from .files import local_path, name_of, open_file

if TYPE_CHECKING:
    from ..hex_text import HexText
    from ..logs import LogBatch, LogBytes
    from ..logs.disk_files import DiskFile, DiskItem, DiskKind
    from ..zookeeper import Znode

# name -> how it begins
UNSUPPORTED = {
    "a Sun snoop capture": (b"snoo",),
    "a Network Monitor capture": (b"RTSS", b"GMBU"),
    "a Sniffer capture": (b"TRSN", b"XCP\0"),
    "an Observer capture": (b"Obse",),
    "a btsnoop capture": (b"btsn",),
    "an AIX iptrace capture": (b"iptr",),
    "an HP-UX nettl trace": (b"TR\0d",),
    "a 5View capture": (b"\xaa\xaa\xaa\xaa",),
    "a LANalyzer capture": (b"\x01\x10L\0\x01\x05",),
    "a Visual Networks capture": (b"\x05VNF\x0a",),
    "pcap as a modified libpcap wrote it": (b"\x34\xcd\xb2\xa1", b"\xa1\xb2\xcd\x34"),
    "a K12 text capture": (b"+---------+",),
}
# name -> (first bytes, the command that unpacks it); these may contain several files
ARCHIVES = {
    "a zip archive": (b"PK\x03\x04", "unzip -p FILE | kwire decode -"),
    "a 7-Zip archive": (b"7z\xbc\xaf\x27\x1c", "7z x -so FILE | kwire decode -"),
    "a RAR archive": (b"Rar!\x1a\x07", "unrar p -inul FILE | kwire decode -"),
}
_TAR_MAGIC, _TAR_AT = b"ustar", 257
CONVERT = "pcap and pcapng are read: editcap -F pcapng FILE NEW.pcapng"


def refuse_foreign(head: bytes, file: str) -> None:
    """Raise DumpError if these are the first bytes of a capture in an unsupported format."""
    for name, magics in UNSUPPORTED.items():
        if head.startswith(magics):
            raise DumpError(f"this is {name}, which is not read", file=file, hint=CONVERT)
    for name, (magic, remedy) in ARCHIVES.items():
        if head.startswith(magic):
            raise DumpError(f"this is {name}", file=file, hint=f"unpack it: {remedy}")
    if head[_TAR_AT:].startswith(_TAR_MAGIC):
        raise DumpError("this is a tar archive", file=file, hint="unpack it: tar -xOf FILE | kwire decode -")


TRIED = "pcap, pcapng, gzip, zstd, xz, bzip2, log segment, files beside segments, hex text, log of requests, raw frames"


def refuse_unknown(head: bytes, file: str) -> None:
    """Raise DumpError if these bytes cannot be the start of raw frames: the format is unknown."""
    size = int32(head, 0)
    if len(head) >= 4 and not LEAST <= size <= LIMIT:
        problem = f"this is not a dump of a known format; as a frame it would have {size} bytes; tried: {TRIED}"
        raise DumpError(problem, file=file, offset=0, hint="does it begin in the middle of a frame?")


PIECE = 1 << 22  # bytes per item after an impossible size


def raw_frames(portions: Iterator[bytes], file: str, remarks: list[str] | None = None) -> Iterator[Frame]:
    """Split bytes into frames; bytes outside of complete frames are yielded unchanged, with a fault if the reason is
    known. Where the file cannot be read further, this is added to the remarks.
    """
    reader, errors = FrameReader(), list[DumpError]()
    portions = up_to_damage(portions, errors)
    try:
        for portion in portions:
            for frame in reader.feed(portion):
                if frame.data.startswith(SASL_HANDSHAKE_0, 4):
                    reader.least = 0  # the response to a bare token may be empty
                yield replace(frame, source=replace(frame.source, file=file))
    except BadFrame:
        yield from _pieces_of_rest(reader, portions, file)
    else:
        cause = "the dump cannot be read further" if errors else "the dump ended"
        if reader.rest:
            yield Frame(reader.rest, Source(file, reader.count, reader.offset), fault=cut_short(reader.rest, cause))
    yield from _broken(errors, file, [] if remarks is None else remarks)


def _broken(errors: list[DumpError], file: str, remarks: list[str]) -> Iterator[Frame]:
    """Yield the position from which a file cannot be read further, if there is one; add it to the remarks."""
    for error in errors:
        remarks.append(error.reason)
        yield Frame(b"", Source(file), fault=BrokenDump(found=str(error), offset=error.offset or 0))


def _pieces_of_rest(reader: FrameReader, portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    """Yield the bytes after an impossible size unchanged, in pieces, because the input may be endless."""
    rest, offset, count = bytearray(reader.rest), reader.offset, reader.count
    for portion in portions:
        rest += portion
        if len(rest) >= PIECE:
            yield Frame(bytes(rest), Source(file, count, offset))
            offset, count = offset + len(rest), count + 1
            rest.clear()
    if rest:
        yield Frame(bytes(rest), Source(file, count, offset))


HEAD = 4096  # bytes that show what JSON is of
LONGEST_TEXT = 1 << 28
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as a frame's size, either is negative
_TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))

# kind -> (the four bytes it begins with, which as a frame's size are above any limit; its reader)
CAPTURES: dict[str, tuple[frozenset[bytes], Callable[..., PcapReader | PcapngReader]]] = {
    "pcap": (frozenset(MAGICS), PcapReader),
    "pcapng": (frozenset([MAGIC]), PcapngReader),
}


@dataclass(frozen=True, slots=True)
class Dump:
    """A dump: its detected format, and an iterator over its frames.

    Bytes outside of complete frames (a truncated tail, bytes after an impossible size) are a last frame whose data does
    not match its size field, so that no byte is lost; bytes that are certainly not a frame have a `fault`. `remarks`
    grows as frames are read: further facts about the dump, such as missing bytes. A file beside the segments of a
    broker has `disk` (its items are `DiskEntry`, and `LogBytes` for undecodable bytes) and no frames. A log segment or
    snapshot has `batches` (`LogBatch`, and `LogBytes` for bytes outside of batches) and no frames: reading frames
    raises DumpError. For other formats `batches` is None. Captures also have `captured`: the content of `frames` as
    tuples, which cost less than frames; only one of the two can be read. `file` is the source of their frames.
    `position` returns the number of bytes read from the file.
    """

    kind: str
    frames: Iterator[Frame]
    remarks: list[str] = field(default_factory=list)
    batches: Iterator[LogBatch | LogBytes] | None = None
    captured: Iterator[CapturedBatch] | None = None
    file: str = ""
    disk: DiskFile | None = None
    position: Callable[[], int] = int


@contextmanager
def open_dump(
    path: str | Path,
    *,
    bare: bool = False,
    catalog: Catalog | None = None,
    topic: str | None = None,
    share: Share = ALL,
    zookeeper: bool = False,
    followed: Callable[[], bool] | None = None,
) -> Iterator[Dump]:
    """Open a dump.

    Args:
        path: a file; `-` is standard input.
        bare: whether the bytes are one body, without size and header.
        catalog: the specs of JSON lines; those of Kafka's releases by default.
        topic: the topic of a log, such as `__consumer_offsets`; by default derived from folder or records.
        share: which connections of a capture to read; all by default.
        zookeeper: whether packets of ZooKeeper connections in a capture are yielded, as frames with a fault.
        followed: continue to read as the file grows, or as files appear in the folder, until this returns true; what
            is on disk by then is still read. See `growing`.

    Yields:
        A `Dump`, to be used inside the `with` block.

    Raises:
        DumpError: hex text with an invalid line, or a capture with no readable packet.
        OSError: the file cannot be read.
    """
    specs, file = catalog or catalog_for(), name_of(path)
    if followed is not None:
        from .files import growing

        opened = unpacked(growing(Path(path), followed), file)
        yield _growing_dump(opened, file, specs)
        return
    with open_unpacked(path) as opened:
        dump = _capture(opened, file, specs, share, zookeeper) or _dump(opened, file, bare, specs, topic)
        yield replace(dump, kind=opened.prefix + dump.kind, position=opened.position)


def _captured(kind: str, streams: Streams, packets: Iterable[Packet | Damage]) -> Dump:
    captured = streams.batches(packets)
    return Dump(kind, written(captured, streams.file), streams.remarks, captured=captured, file=streams.file)


def _growing_dump(opened: Opened, file: str, catalog: Catalog) -> Dump:
    """Open a growing file or folder: a capture, or raw frames."""
    if not opened.head:
        return Dump("nothing yet", iter(()), file=file)
    for kind, (magics, reader) in CAPTURES.items():
        if opened.head[:4] in magics and not opened.prefix:
            return _captured(kind, Streams(file, catalog), reader(opened.portions(), file, looks_ahead=False))
    size = int32(opened.head, 0)
    if opened.prefix or not LEAST <= size <= LIMIT or _TEXT.issuperset(opened.head[:4]):
        raise DumpError("only captures and raw frames can be followed", file=file, hint="leave out --follow")
    remarks = list[str]()
    return Dump("raw frames", raw_frames(opened.portions(), file, remarks), remarks)


def read_znodes(path: str | Path) -> list[Znode] | None:
    """Read znodes from a JSON file; None if it contains none.

    Args:
        path: a file, in a form of `kwire.zookeeper.znodes_in`.

    Raises:
        ZnodeError: a line is not a change of a znode. DumpError, OSError: see `open_dump`.
    """
    from ..zookeeper import znodes_in

    text = znode_text(path)
    try:
        found = None if text is None else znodes_in(text) or []
    except ZnodeError as error:
        error.znode = name_of(path)  # the line does not name a znode
        raise
    return None if found is None else [znode._replace(file=str(path)) for znode in found]


def znode_text(path: str | Path) -> str | None:
    """Return the text of a file that begins like znodes in JSON; None for other files. Raises the exceptions of
    `open_dump`.
    """
    from ..zookeeper import looks_like_znodes

    with open_unpacked(path) as opened:
        if not looks_like_znodes(opened.head[:HEAD].decode("utf-8", "replace")):
            return None
        return _whole(opened, str(path)).decode("utf-8", "replace").lstrip()


@contextmanager
def packets_of(path: str | Path) -> Iterator[Iterator[Packet]]:
    """Open the packets of a capture; raises DumpError if the file is not a capture, OSError like `open_dump`."""
    with open_unpacked(path) as opened:
        for magics, reader in CAPTURES.values():
            if opened.head[:4] in magics:
                packets = reader(opened.portions(), str(path), looks_ahead=_is_file(str(path)))
                yield (packet for packet in packets if isinstance(packet, Packet))
                return
        refuse_foreign(opened.head, str(path))
        raise DumpError(f"this is not a capture: {', '.join(CAPTURES)} are read", file=str(path))


def open_hex(text: str, file: str = "--hex", *, bare: bool = False, topic: str | None = None) -> Dump:
    """Open hex text that is in memory.

    Args:
        text: the text, in any dialect of `kwire.hex_text`.
        file: the name for sources and errors.
        bare: the bytes are one body, without size and header.
        topic: see `open_dump`.

    Raises:
        DumpError: a line cannot be read; the error has its number.

    >>> [frame.data.hex() for frame in open_hex("00 00 00 04 00 00 00 07").frames]
    ['0000000400000007']
    """
    from ..hex_text import read_hex_text

    return _hex_dump(read_hex_text(text, file), file, bare, topic)


def read_log(path: str | Path, *, topic: str | None = None) -> Iterator[LogBatch | LogBytes]:
    """Read the batches of a log segment, of a metadata log or of a snapshot, one by one.

    Args:
        path: a file, which may be compressed with gzip or zstd; `-` is standard input.
        topic: the topic of the log, by default taken from the name of the folder or from the records. Records of
            internal topics such as `__consumer_offsets` are decoded; other records have keys and values in bytes.

    Yields:
        `LogBatch`, whose `entries` are `LogRecord`s; and `LogBytes`, with the reason, for bytes outside batches.

    Raises:
        DumpError: the file is not a log; otherwise see `open_dump`.
        OSError: the file cannot be read.

    >>> batch = next(read_log("fixtures/logs/__consumer_offsets-1/00000000000000000000.log"))
    >>> [(entry.record.offset, entry.message.key.message.group_id) for entry in batch.entries()][:2]
    [(0, 'modern'), (1, 'modern')]
    """
    with open_dump(path, topic=topic) as dump:
        if dump.batches is None:
            raise DumpError(
                f"this is not a log: it was recognised as {dump.kind}", file=str(path), hint="try kwire.read_dump"
            )
        yield from dump.batches


def read_disk(path: str | Path) -> Iterator[DiskItem]:
    """Read the entries of a file of a broker's disk: an index, a producer snapshot, a checkpoint, and so on.

    Args:
        path: a file, which may be compressed with gzip or zstd; indexes are recognised by their names.

    Yields:
        `DiskEntry`, with the fields of an entry; and `LogBytes`, with the reason, for bytes that cannot be read.

    Raises:
        DumpError: the file has another format; otherwise see `open_dump`.
        OSError: the file cannot be read.

    >>> [entry.fields for entry in read_disk("fixtures/logs/broker-disk/tide-0/leader-epoch-checkpoint")]
    [{'epoch': 0, 'start_offset': 3}]
    """
    with open_dump(path) as dump:
        if dump.disk is None:
            raise DumpError(f"this is not a file beside the segments: it was recognised as {dump.kind}", file=str(path))
        yield from dump.disk.items


def read_dump(path: str | Path) -> Iterator[Frame]:
    """Read the frames of a dump, one by one.

    Args:
        path: a file of raw frames, hex text, a capture, a log of requests, or a fixture; `-` is standard input.

    Yields:
        Frames, with `source.file`, `source.frame` (from 0) and `source.offset` (bytes from the start).

    Raises:
        DumpError, OSError: see `open_dump`.

    >>> [(frame.source.frame, frame.source.offset) for frame in read_dump("fixtures/dumps/kafka-4.4-metadata.bin")]
    [(0, 0), (1, 54)]
    """
    with open_dump(path) as dump:
        yield from dump.frames


@contextmanager
def open_unpacked(path: str | Path) -> Iterator[Opened]:
    """Open a file and decompress it; `-` is standard input. For exceptions see `open_dump`."""
    if str(path) == "-":
        yield unpacked(_portions(sys.stdin.buffer), "-")
    else:
        with open_file(path) as stream:
            position = stream.tell if stream.seekable() else int  # a pipe has no position
            yield replace(unpacked(_portions(stream), str(path)), position=position)


def _is_file(name: str) -> bool:
    """Whether an input is a file; a pipe may still receive packets."""
    local = local_path(name)
    return name != "-" and (local is None or local.is_file())


def _portions(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes that are available, so that the first message is decoded before the input ends."""
    read1 = getattr(stream, "read1", stream.read)
    while portion := read1(PORTION):
        yield portion


def _capture(opened: Opened, file: str, catalog: Catalog, share: Share, zookeeper: bool) -> Dump | None:
    for kind, (magics, reader) in CAPTURES.items():
        if opened.head[:4] in magics:
            packets = reader(opened.portions(), file, looks_ahead=_is_file(file))
            streams = Streams(file, catalog, share=share, zookeeper=zookeeper)
            return _captured(kind, streams, packets)
    return None


def _dump(opened: Opened, file: str, bare: bool, catalog: Catalog, topic: str | None) -> Dump:
    from ..logs import looks_like_log
    from ..logs.disk_files import disk_kind
    from ..logs.segment_reader import bytes_needed

    opened = _read_until(opened, bytes_needed)
    head = opened.head
    if not (bare or topic) and (of_disk := disk_kind(Path(file).name, head)) and (head or of_disk.may_be_empty):
        return _disk_dump(of_disk, opened, file)
    if not head:
        raise DumpError("there is nothing in it", file=file, hint="is the file complete?")
    refuse_foreign(head, file)
    # Four characters of text, read as a size field, exceed the limit; the bytes of a BOM do as well.
    if _TEXT.issuperset(head[:4]) or head.startswith((_BOM, *_UTF16)):
        return _text_dump(opened, file, bare, catalog, topic)
    if bare:
        return Dump("a bare body", iter([Frame(_whole(opened, file), Source(file, 0, 0), bare=True)]))
    if looks_like_log(head):
        return _segment_dump(opened, file, topic)
    refuse_unknown(head, file)
    remarks = list[str]()
    return Dump("raw frames", raw_frames(opened.portions(), file, remarks), remarks)


def _read_until(opened: Opened, needed: Callable[[bytes], int]) -> Opened:
    """Read until `needed` returns at most the number of bytes read so far."""
    head = opened.head
    while len(head) < needed(head) and (portion := next(opened.rest, b"")):
        head += portion
    return Opened(head, opened.rest, opened.prefix)


def _segment_dump(opened: Opened, file: str, topic: str | None) -> Dump:
    from ..logs.segment_reader import log_kind, logged

    kind, topic, remarks = *log_kind(opened.head, file, topic), list[str]()
    return Dump(kind, _no_frames(file), remarks, logged(opened.portions(), file, topic, remarks))


def _disk_dump(kind: DiskKind, opened: Opened, file: str) -> Dump:
    from ..logs.disk_files import DiskFile, read_disk_file

    what = f"a file of a broker's disk: {kind.name}"
    hint = "kwire decode and kwire check read it; in Python, kwire.read_disk"
    items = read_disk_file(kind, opened.portions(), Path(file).name, file)
    frames = _no_frames(file, f"{what}, without requests and responses", hint)
    return Dump(what, frames, disk=DiskFile(kind.name, file, items))


_LOG = "a log: it has record batches, and no requests and responses"
_READ_LOGS = "kwire decode, explain (as text), check and cluster read logs; in Python, kwire.read_log"


def _no_frames(file: str, what: str = _LOG, hint: str = _READ_LOGS) -> Iterator[Frame]:
    raise DumpError(f"this is {what}", file=file, hint=hint)
    yield


def _whole(opened: Opened, file: str) -> bytes:
    data = bytearray()
    for portion in opened.portions():
        data += portion
        if len(data) > LONGEST_TEXT:
            raise DumpError(f"more than {LONGEST_TEXT} bytes in one piece", file=file, hint="split it")
    return bytes(data)


def _log_dump(opened: Opened, file: str, catalog: Catalog) -> Dump:
    from .request_log import Notes, lines_in, log_frames

    notes, remarks, errors = Notes(), list[str](), list[DumpError]()

    def frames() -> Iterator[Frame]:
        try:
            lines = up_to_damage(lines_in(opened.portions(), file), errors)
            yield from log_frames(lines, file, catalog, notes)
        except DumpError as error:
            raise (errors or [error])[0] from None
        finally:
            remarks.extend(notes.texts())
        yield from _broken(errors, file, remarks)

    return Dump("a log of requests", frames(), remarks)


def _text_dump(opened: Opened, file: str, bare: bool, catalog: Catalog, topic: str | None) -> Dump:
    from .packet_text_and_tls_keys import tshark_wrote
    from .request_log import looks_like_log as looks_like_request_log

    if opened.head.startswith(_UTF16):  # as PowerShell's > writes it
        opened = replace(opened, head=_decoded(_whole(opened, file), "utf-16", file).encode(), rest=iter(()))
    head = opened.head.decode("utf-8-sig", "replace")
    is_of_tshark = tshark_wrote(head)
    if looks_like_request_log(head) and not (bare or is_of_tshark):
        return _log_dump(opened, file, catalog)
    errors = list[DumpError]()
    data = _whole(replace(opened, rest=up_to_damage(opened.rest, errors)), file)
    if not errors:
        return _dump_of_text(data, file, bare, topic, is_of_tshark)
    try:
        dump = _dump_of_text(data[: data.rfind(b"\n") + 1], file, bare, topic, is_of_tshark)
    except DumpError:
        raise errors[0] from None
    return replace(dump, frames=chain(dump.frames, _broken(errors, file, dump.remarks)))


def _dump_of_text(data: bytes, file: str, bare: bool, topic: str | None, is_of_tshark: bool) -> Dump:
    from ..hex_text import parse_fixture
    from .packet_text_and_tls_keys import followed_streams, frames_of, packets_of_tshark

    text = data.decode("utf-8-sig", "replace")
    if is_of_tshark:
        return _hex_dump(packets_of_tshark(text, file), file, bare, topic)
    followed = [] if bare else followed_streams(text, file)
    if followed:
        what = "a followed TCP stream" if len(followed) == 1 else f"{len(followed)} followed TCP streams"
        return Dump(f"{what} ({followed[0].form})", frames_of(followed, file))
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
    return open_hex(text, file, bare=bare, topic=topic)


def _decoded(data: bytes, encoding: str, file: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DumpError(f"not text in {encoding}: {error.reason}", file=file, offset=error.start) from None


def _hex_dump(text: HexText, file: str, bare: bool, topic: str | None) -> Dump:
    from ..logs import looks_like_log
    from .packet_text_and_tls_keys import tcp_segment

    kind = f"hex text ({text.dialect})"
    found = next(filter(None, map(tcp_segment, text.pieces)), None) if text.packets and not bare else None
    if found is not None:
        remarks: list[str] = []
        return Dump(f"{kind}, packets: {found[0]}", _of_packets(text.pieces, file, remarks), remarks)
    raw = b"".join(text.pieces)
    if looks_like_log(raw) and not bare:
        dump = _segment_dump(Opened(raw, iter(())), file, topic)
        return replace(dump, kind=f"{kind}, {dump.kind}")
    frames = iter([Frame(raw, Source(file, 0, 0), bare=True)]) if bare else raw_frames(iter([raw]), file)
    remarks = ["no packet with TCP was recognised: the bytes are taken as they are"] if text.packets else []
    return Dump(kind, frames, remarks)


def _of_packets(packets: tuple[bytes, ...], file: str, remarks: list[str]) -> Iterator[Frame]:
    from .packet_text_and_tls_keys import PacketReader

    reader = PacketReader(file)
    for packet in packets:
        yield from reader.feed(packet)
    yield from reader.finish()
    if reader.gaps:
        remarks.append(f"{reader.gaps} bytes are missing between the packets")
    if reader.others:
        remarks.append(f"{reader.others} packets without TCP were left out")


LONGEST_FILE = 1 << 31  # bytes


def read_text(path: str | Path, hint: str) -> str:
    """Read a UTF-8 text file, which may be compressed.

    Args:
        path: a file; `-` is standard input.
        hint: the advice for a file that is not text.

    Raises:
        DumpError: the file is not text; the error names its format.
        OSError: it cannot be read.
    """
    data = bytearray()
    with open_unpacked(path) as opened:
        for portion in opened.portions():
            data += portion
            if len(data) > LONGEST_FILE:
                raise DumpError(f"more than {LONGEST_FILE} bytes of text", file=str(path), hint="split it")
    kind = _binary_kind(bytes(data[:128]))
    try:
        if kind is None:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = f"not UTF-8 text (byte 0x{data[error.start]:02x} at offset {error.start})"
    raise DumpError(f"this is {kind}", file=str(path), hint=hint)


def _binary_kind(head: bytes) -> str | None:
    """Return a description of a file with these first bytes; None if it is text.

    >>> _binary_kind(bytes.fromhex("00000004 00000007")), _binary_kind(b'{"kwire": 1}')
    ('not text, but raw frames or other bytes', None)
    """
    for kind, (magics, _) in CAPTURES.items():
        if head[:4] in magics:
            return f"a capture ({kind})"
    if b"\0" not in head:
        return None
    from ..logs import looks_like_log

    return "a log segment" if looks_like_log(head) else "not text, but raw frames or other bytes"
