"""A dump: its detected format and what it contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from ..protocol import Frame
from ..protocol.frames.captured_frame import CapturedBatch
from ..runtime.former_dataclasses import was_dataclass

if TYPE_CHECKING:
    from .logs.disk_files import DiskFile
    from .logs.log_batch import LogBatch, LogBytes
    from .ranges.capture_ranges import CaptureRange
    from .ranges.frame_consumer import FrameConsumer


Divide = Callable[["FrameConsumer", int], "Iterator[CaptureRange]"]


@was_dataclass
class Dump(msgspec.Struct, frozen=True):
    """A dump: its detected format, and an iterator over its frames.

    Bytes outside of complete frames (a truncated tail, bytes after an impossible size) are a last frame whose data does
    not match its size field, so that no byte is lost; bytes that are certainly not a frame have a `fault`. `remarks`
    grows as frames are read: further facts about the dump, such as missing bytes. A file beside the segments of a
    broker has `disk` (its items are `DiskEntry`, and `LogBytes` for undecodable bytes) and no frames. A log segment or
    snapshot has `batches` (`LogBatch`, and `LogBytes` for bytes outside of batches) and no frames: reading frames
    raises DumpError. For other formats `batches` is None. Captures also have `captured`: the content of `frames` as
    tuples, which cost less than frames; only one of the two can be read. `file` is the source of their frames.
    `position` returns the number of bytes read from the file. `divide` yields the ranges of a capture instead, given
    what reads them and the size of a range in bytes; it is None for other files.
    """

    kind: str
    frames: Iterator[Frame]
    remarks: list[str] = msgspec.field(default_factory=list)
    batches: Iterator[LogBatch | LogBytes] | None = None
    captured: Iterator[CapturedBatch] | None = None
    file: str = ""
    disk: DiskFile | None = None
    position: Callable[[], int] = int
    divide: Divide | None = None
