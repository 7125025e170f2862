"""The files of a run, each identified by its size, first and last bytes, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import is_remote

from ...arrow.find_files import find_files
from ...arrow.read_options import Options
from ...capture.files import open_file

SAMPLE = 64 << 10  # bytes at the start and end of a file that, with its size, identify it
HEAD = 256  # first bytes that do not change when a file grows: the file header, and the time of the first packet
FEW = 64  # files that the driver, or one task, examines
_FILES = pa.schema([("path", pa.string()), ("size", pa.int64())])
_SOURCES = pa.schema([*_FILES, ("head", pa.string()), ("identity", pa.string())])


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
    wanted, options = list(paths), dict(given)

    def listed(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            files = [file for file in find_files(wanted, Options.parse(options)) if file.size]
            yield pa.RecordBatch.from_pylist([{"path": file.path, "size": file.size} for file in files], _FILES)

    columns = "path string, size long"
    if is_remote():
        named = spark.range(1).repartition(1).mapInArrow(listed, columns)
    else:
        (batch,) = listed(iter([None]))
        if batch.num_rows <= FEW:
            return [LakeFile(**row) for identified in _identify_files([batch]) for row in identified.to_pylist()]
        named = spark.createDataFrame([tuple(row.values()) for row in batch.to_pylist()], columns)
        named = named.repartition(-(-batch.num_rows // FEW))
    identified = named.mapInArrow(_identify_files, f"{columns}, head string, identity string").toArrow()
    return [LakeFile(**row) for row in identified.to_pylist()]


def _identify_files(batches: Any) -> Iterator[Any]:
    for batch in batches:
        rows = [identify_file(row["path"], row["size"])._asdict() for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, _SOURCES)


def identify_file(path: str, size: int) -> LakeFile:
    """Identify a file by its size, first and last bytes; its name may change."""
    with open_file(path, SAMPLE) as stream:
        head = stream.read(min(SAMPLE, size))
        stream.seek(max(0, size - SAMPLE))
        tail = stream.read(min(SAMPLE, size))
    identity = sha256(b"%d %d " % (size, len(head)) + head + tail).hexdigest()
    return LakeFile(path, size, sha256(head[:HEAD]).hexdigest(), identity)
