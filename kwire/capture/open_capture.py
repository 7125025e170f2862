"""Opens captures: pcap and pcapng, recognised by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import DumpError
from ..schema.catalog import Catalog
from .compressed_files import OpenedInput
from .dump import Dump
from .files import local_path
from .frame_extractor import FrameExtractor
from .kafka.captured_frames import build_frames
from .open_file import InputSource, open_unpacked
from .packets.capture_formats import CAPTURES
from .packets.damage import DamagedBytes
from .packets.packet import Packet
from .tcp.connection_share import ConnectionShare
from .unsupported_formats import refuse_foreign

if TYPE_CHECKING:
    from .ranges.capture_ranges import CaptureRange
    from .ranges.frame_consumer import FrameConsumer


def build_capture_dump(kind: str, streams: FrameExtractor, packets: Iterable[Packet | DamagedBytes]) -> Dump:
    """Return the dump of a capture, whose frames are not read yet."""
    captured = streams.batches(packets)
    return Dump(kind, build_frames(captured, streams.file), streams.remarks, captured=captured, file=streams.file)


@contextmanager
def open_packets(path: str | Path) -> Iterator[Iterator[Packet]]:
    """Open the packets of a capture; raises DumpError if the file is not a capture, OSError like `open_dump`."""
    with open_unpacked(path) as opened:
        for magics, reader in CAPTURES.values():
            if opened.head[:4] in magics:
                packets = reader(opened.portions(), str(path), looks_ahead=_is_complete(path))
                yield (packet for packet in packets if isinstance(packet, Packet))
                return
        refuse_foreign(opened.head, str(path))
        raise DumpError(f"this is not a capture: {', '.join(CAPTURES)} are read", file=str(path))


def _is_complete(source: InputSource) -> bool:
    """Whether all bytes of an input are there: it is in memory or a file. A pipe may still receive packets."""
    if isinstance(source, bytes | bytearray | memoryview):
        return True
    if not isinstance(source, str | os.PathLike):
        return hasattr(source, "seekable") and bool(source.seekable())
    local = local_path(source)
    return source != "-" and (local is None or local.is_file())


def _divide(path: str, streams: FrameExtractor, consumer: FrameConsumer, size: int) -> Iterator[CaptureRange]:
    from .ranges.capture_ranges import find_ranges  # which most reads do without

    return find_ranges([path], streams, consumer, size)


def open_capture(
    opened: OpenedInput, source: InputSource, file: str, catalog: Catalog, share: ConnectionShare, zookeeper: bool
) -> Dump | None:
    """Open a capture; None if the input has another format. `file` is the name of the source that is shown."""
    for kind, (magics, reader) in CAPTURES.items():
        if opened.head[:4] in magics:
            packets = reader(opened.portions(), file, looks_ahead=_is_complete(source))
            streams = FrameExtractor(file, catalog, share=share, zookeeper=zookeeper)
            dump = build_capture_dump(kind, streams, packets)
            if opened.prefix or not share.is_all or not isinstance(source, str | os.PathLike):
                return dump
            return replace(dump, divide=partial(_divide, str(source), streams)) if _is_complete(source) else dump
    return None
