"""Opens log segments and the other files of a broker's disk as dumps without frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DumpError
from ..protocol import Frame
from .compressed_files import OpenedInput
from .dump import Dump

if TYPE_CHECKING:
    from .logs.disk_files import DiskKind

_LOG = "a log: it has record batches, and no requests and responses"
_READ_LOGS = "kwire decode, explain (as text), check and cluster read logs; in Python, kwire.read_log"


def open_segment(opened: OpenedInput, file: str, topic: str | None) -> Dump:
    """Open a log segment, a metadata log or a snapshot."""
    from .logs.log_reader import describe_log, read_log_items

    kind, topic = describe_log(opened.head, file, topic)
    remarks: list[str] = []
    return Dump(kind, refuse_frames(file), remarks, read_log_items(opened.portions(), file, topic, remarks))


def open_disk_file(kind: DiskKind, opened: OpenedInput, file: str) -> Dump:
    """Open a file beside the segments."""
    from .logs.disk_files import DiskFile, read_disk_file

    what = f"a file of a broker's disk: {kind.name}"
    hint = "kwire decode and kwire check read it; in Python, kwire.read_disk"
    items = read_disk_file(kind, opened.portions(), Path(file).name, file)
    frames = refuse_frames(file, f"{what}, without requests and responses", hint)
    return Dump(what, frames, disk=DiskFile(kind.name, file, items))


def refuse_frames(file: str, what: str = _LOG, hint: str = _READ_LOGS) -> Iterator[Frame]:
    """Raise DumpError when frames are read: the dump has none."""
    raise DumpError(f"this is {what}", file=file, hint=hint)
    yield
