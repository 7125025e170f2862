"""Up to where a stream has read its files: the offsets in the checkpoints of Spark's streams.

A file's first and last bytes identify it, not its name.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from ...capture.files import open_file
from ..find_files import InputFile
from ..read_options import BadOption

SAMPLE = 1024  # bytes at both ends whose hashes identify a file
VERSION = 2
Offset = dict[str, Any]


class FilePosition(NamedTuple):
    """The position up to which a file was read.

    Attributes:
        path: the path of the file when it was read.
        stop: the position, in bytes from the start.
        kind: the kind of the file: `raw frames`, a kind of capture, or `whole`: read at once.
        mark: the hashes of its first and of its last bytes before `stop`.
        changed: its modification time, in seconds since 1970.
        done: whether that was the end of the file.
        header: the header to read on from there, as hexadecimal digits.
        begin: the time of its first packet, in nanoseconds since 1970; 0 if it is unknown.
        is_late: whether files of its capture with later packets were read before.
    """

    path: str
    stop: int = 0
    kind: str = ""
    mark: tuple[str, str] = ("", "")
    changed: int = 0
    done: bool = False
    header: str = ""
    begin: int = 0
    is_late: bool = False

    def same(self, file: InputFile) -> bool:
        """Whether the bytes that were read are at the start of a file."""
        return file.size >= self.stop and mark_of(file.path, self.stop) == self.mark

    def has_begun(self, file: InputFile) -> bool:
        """Whether a file begins with the same bytes, whatever follows them."""
        count = min(SAMPLE, self.stop)
        return file.size >= count and mark_of(file.path, count)[0] == self.mark[0]


FilePositions = Mapping[str, FilePosition]  # by the mark of a file when it was first read


def offset_of(places: FilePositions) -> Offset:
    """Serialize positions for Spark, compressed; `places_of` parses the result."""
    text = json.dumps(places, separators=(",", ":")).encode()
    return {"version": VERSION, "count": len(places), "files": b64encode(zlib.compress(text)).decode()}


def places_of(offset: Offset) -> FilePositions:
    """Parse the result of `offset_of`.

    Raises:
        BadOption: another version of kwire wrote the offset.

    >>> places_of(offset_of({"3f": FilePosition("/in/a", 12, "pcap", ("3f", "3f"), 1700000000)}))
    {'3f': FilePosition(path='/in/a', stop=12, kind='pcap', mark=('3f', '3f'), changed=1700000000, done=False, \
header='', begin=0, is_late=False)}
    """
    if offset.get("version") != VERSION:
        problem = f"its offsets have version {offset.get('version')}, not {VERSION}"
        raise BadOption(
            "checkpointLocation", None, problem, "take the kwire that wrote it, or begin another checkpoint"
        )
    return _parse_positions(offset["files"])


@lru_cache(maxsize=2)  # Spark asks for the end of the same offset until there is new data
def _parse_positions(files: str) -> dict[str, FilePosition]:
    values = json.loads(zlib.decompress(b64decode(files)))
    return {
        key: FilePosition(path, stop, kind, tuple(mark), *rest)
        for key, (path, stop, kind, mark, *rest) in values.items()
    }


def mark_of(path: str, stop: int) -> tuple[str, str]:
    """Return the hashes of the first and of the last bytes of a file before `stop`."""
    with open_file(path, SAMPLE) as stream:
        head = stream.read(min(SAMPLE, stop))
        stream.seek(max(0, stop - SAMPLE))
        tail = stream.read(min(SAMPLE, stop))
    return blake2b(head, digest_size=8).hexdigest(), blake2b(tail, digest_size=8).hexdigest()
