"""The files of a run, each identified by its size, first and last bytes, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa

from ...arrow.find_files import InputFile
from ...capture.files import open_file
from ..task_inputs import collect_rows

SAMPLE = 64 << 10  # bytes at the start and end of a file that, with its size, identify it
HEAD = 256  # first bytes that do not change when a file grows: the file header, and the time of the first packet
_SOURCES = pa.schema([("path", pa.string()), ("size", pa.int64()), ("head", pa.string()), ("identity", pa.string())])


class LakeFile(NamedTuple):
    """A file of a capture: its path, its size, and two hashes.

    The first hash is of its first bytes; the second one is of its size, first and last bytes.
    """

    path: str
    size: int
    head: str
    identity: str


def identify_files(spark: Any, files: Sequence[InputFile]) -> list[LakeFile]:
    """Identify the files that are not empty; over Spark Connect, those of the server."""
    columns = "path string, size long, head string, identity string"
    filled = [file for file in files if file.size]
    return [LakeFile(**row) for row in collect_rows(spark, filled, _identify_files, columns)]


def _identify_files(files: Sequence[InputFile]) -> Iterator[Any]:
    rows = [identify_file(file.path, file.size)._asdict() for file in files]
    yield pa.RecordBatch.from_pylist(rows, _SOURCES)


def identify_file(path: str, size: int) -> LakeFile:
    """Identify a file by its size, first and last bytes; its name may change."""
    with open_file(path, SAMPLE) as stream:
        head = stream.read(min(SAMPLE, size))
        stream.seek(max(0, size - SAMPLE))
        tail = stream.read(min(SAMPLE, size))
    identity = sha256(b"%d %d " % (size, len(head)) + head + tail).hexdigest()
    return LakeFile(path, size, sha256(head[:HEAD]).hexdigest(), identity)
