"""Byte ranges of files: what one task of Spark reads of a capture."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import without_password
from ..find_files import InputFile, capture_of
from .concatenated_files import Extent


class ByteRange(NamedTuple):
    """A byte range of a file, and the capture to which the file belongs.

    `neighbour` is another file that may be a piece of the same capture; empty if there is none. With `extent`, it is a
    range of these bytes. `is_late` is whether a stream has read files with later packets before.
    """

    path: str
    start: int
    stop: int
    capture: str
    neighbour: str = ""
    extent: Extent | None = None
    is_late: bool = False

    @property
    def weight(self) -> int:
        """The size of the range in bytes."""
        return self.stop - self.start


def splits_of(file: InputFile, split_size: int, pattern: str, neighbour: str = "") -> list[ByteRange]:
    """Divide a file into byte ranges of at most `split_size` bytes.

    For a compressed file without blocks, the first range is the whole file.

    >>> [split[1:4] for split in splits_of(InputFile("/in/tap1-7.pcap", 100, 0), 60, "(tap[0-9]+)-")]
    [(0, 60, 'tap1'), (60, 100, 'tap1')]
    """
    capture, size = capture_of(without_password(file.path), pattern), file.size
    return [
        ByteRange(file.path, start, min(size, start + split_size), capture, neighbour)
        for start in range(0, size, split_size)
    ]
