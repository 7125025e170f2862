"""Opens captures: pcap and pcapng, recognised by their first bytes."""

from __future__ import annotations

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
from .open_file import open_unpacked
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
                packets = reader(opened.portions(), str(path), looks_ahead=_is_file(str(path)))
                yield (packet for packet in packets if isinstance(packet, Packet))
                return
        refuse_foreign(opened.head, str(path))
        raise DumpError(f"this is not a capture: {', '.join(CAPTURES)} are read", file=str(path))


def _is_file(name: str) -> bool:
    """Whether an input is a file; a pipe may still receive packets."""
    local = local_path(name)
    return name != "-" and (local is None or local.is_file())


def _divide(path: str, streams: FrameExtractor, consumer: FrameConsumer, size: int) -> Iterator[CaptureRange]:
    from .ranges.capture_ranges import find_ranges  # which most reads do without

    return find_ranges([path], streams, consumer, size)


def open_capture(
    opened: OpenedInput, path: str, file: str, catalog: Catalog, share: ConnectionShare, zookeeper: bool
) -> Dump | None:
    """Open a capture; None if the input has another format. `file` is the name of `path` that is shown."""
    for kind, (magics, reader) in CAPTURES.items():
        if opened.head[:4] in magics:
            packets = reader(opened.portions(), file, looks_ahead=_is_file(file))
            streams = FrameExtractor(file, catalog, share=share, zookeeper=zookeeper)
            dump = build_capture_dump(kind, streams, packets)
            is_divisible = not opened.prefix and share.is_all and _is_file(path)
            return replace(dump, divide=partial(_divide, path, streams)) if is_divisible else dump
    return None
