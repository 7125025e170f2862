"""The files of a run, each identified by its size, first and last bytes, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa

from ...arrow.find_files import InputFile
from ...arrow.read_options import Options
from ...capture.files import open_file
from ..task_inputs import collect_rows, find_files_on_server

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


def find_lake_files(spark: Any, paths: Sequence[str], given: Mapping[str, Any]) -> list[LakeFile]:
    """Return the non-empty files that match the paths; over Spark Connect, the files on the server.

    Raises:
        BadOption: see `kwire.arrow.find_files.find_files`.
    """
    files = [file for file in find_files_on_server(spark, paths, Options.parse(dict(given))) if file.size]
    columns = "path string, size long, head string, identity string"
    return [LakeFile(**row) for row in collect_rows(spark, files, _identify_files, columns)]


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
