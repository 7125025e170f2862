"""Opens dumps: detects the format from the first bytes, and yields frames or records.

Formats are raw frames, hex text, captures, logs, request logs and golden fixtures. For a recognised but unsupported
format, the error names the command that converts it. Readers for formats other than captures and raw frames are
imported on first use, which halves the start-up of `kwire stats`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ..errors import DumpError
from ..protocol import LEAST, LIMIT, Frame, Source
from ..protocol.frames.frame_size import get_int32
from ..schema.catalog import Catalog, catalog_for
from .compressed_files import OpenedInput, unpack_input
from .dump import Dump
from .frame_extractor import FrameExtractor
from .open_capture import build_capture_dump, open_capture
from .open_file import InputSource, open_unpacked, read_whole, source_name
from .open_log import open_disk_file, open_segment
from .open_text import UTF16, open_text
from .packets.capture_formats import CAPTURES
from .raw_frames import read_raw_frames
from .tcp.connection_share import ALL, ConnectionShare
from .unsupported_formats import refuse_foreign, refuse_unknown

if TYPE_CHECKING:
    from .logs.disk_entry import DiskItem
    from .logs.log_batch import LogBatch, LogBytes

_BOM = b"\xef\xbb\xbf"
_TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))


@contextmanager
def open_dump(
    path: InputSource,
    *,
    bare: bool = False,
    catalog: Catalog | None = None,
    topic: str | None = None,
    share: ConnectionShare = ALL,
    zookeeper: bool = False,
    followed: Callable[[], bool] | None = None,
) -> Iterator[Dump]:
    """Open a dump.

    Args:
        path: a path or URI; `-` is standard input; or bytes, or a file that is open in binary mode.
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
    specs = catalog or catalog_for()
    file = source_name(path)
    if followed is not None:
        from .growing_files import read_growing

        opened = unpack_input(read_growing(Path(cast(str, path)), followed), file)
        yield _open_growing(opened, file, specs)
        return
    with open_unpacked(path) as opened:
        dump = open_capture(opened, path, file, specs, share, zookeeper) or _detect_format(
            opened, file, bare, specs, topic
        )
        yield replace(dump, kind=opened.prefix + dump.kind, position=opened.position)


def _open_growing(opened: OpenedInput, file: str, catalog: Catalog) -> Dump:
    """Open a growing file or folder: a capture, or raw frames."""
    if not opened.head:
        return Dump("nothing yet", iter(()), file=file)
    for kind, (magics, reader) in CAPTURES.items():
        if opened.head[:4] in magics and not opened.prefix:
            return build_capture_dump(
                kind, FrameExtractor(file, catalog), reader(opened.portions(), file, looks_ahead=False)
            )
    size = get_int32(opened.head, 0)
    if opened.prefix or not LEAST <= size <= LIMIT or _TEXT.issuperset(opened.head[:4]):
        raise DumpError("only captures and raw frames can be followed", file=file, hint="leave out --follow")
    remarks = list[str]()
    return Dump("raw frames", read_raw_frames(opened.portions(), file, remarks), remarks)


def read_log(path: InputSource, *, topic: str | None = None) -> Iterator[LogBatch | LogBytes]:
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
            problem = f"this is not a log: it was recognised as {dump.kind}"
            raise DumpError(problem, file=source_name(path), hint="try kwire.read_dump")
        yield from dump.batches


def read_disk(path: InputSource) -> Iterator[DiskItem]:
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
            problem = f"this is not a file beside the segments: it was recognised as {dump.kind}"
            raise DumpError(problem, file=source_name(path))
        yield from dump.disk.items


def read_dump(path: InputSource) -> Iterator[Frame]:
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


def _detect_format(opened: OpenedInput, file: str, bare: bool, catalog: Catalog, topic: str | None) -> Dump:
    from .logs.batch_recognition import count_bytes_needed, looks_like_log
    from .logs.disk_files import recognise_disk_file

    opened = _read_until(opened, count_bytes_needed)
    head = opened.head
    disk_kind = None if bare or topic else recognise_disk_file(Path(file).name, head)
    if disk_kind is not None and (head or disk_kind.may_be_empty):
        return open_disk_file(disk_kind, opened, file)
    if not head:
        raise DumpError("file is empty", file=file)
    refuse_foreign(head, file)
    # Four characters of text, read as a size field, exceed the limit; the bytes of a BOM do as well.
    if _TEXT.issuperset(head[:4]) or head.startswith((_BOM, *UTF16)):
        return open_text(opened, file, bare, catalog, topic)
    if bare:
        return Dump("a bare body", iter([Frame(read_whole(opened, file), Source(file, 0, 0), bare=True)]))
    if looks_like_log(head):
        return open_segment(opened, file, topic)
    refuse_unknown(head, file)
    remarks = list[str]()
    return Dump("raw frames", read_raw_frames(opened.portions(), file, remarks), remarks)


def _read_until(opened: OpenedInput, needed: Callable[[bytes], int]) -> OpenedInput:
    """Read until `needed` returns at most the number of bytes read so far."""
    head = opened.head
    while len(head) < needed(head) and (portion := next(opened.rest, b"")):
        head += portion
    return OpenedInput(head, opened.rest, opened.prefix)
