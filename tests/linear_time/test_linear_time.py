"""Twice the input takes twice the work, in the worst shape of each form of input.

Work is lines of Python that run, and bytes that they allocate: seconds differ by machine. What the native engine does
inside one call is not seen; in CI, the same shapes are read without it too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.capture.logs.log_batch import LogBatch
from kwire.codecs.native import ENGINE
from kwire.errors import KwireError
from kwire.query.display_filter import parse_filter
from kwire.render.json_objects.frame_json import json_line
from kwire.schema.spec_reader import read_spec
from kwire.statistics.traffic import Traffic
from kwire.zookeeper import znodes_in
from tests.conftest import ROOT
from tests.linear_time.effort import Effort, effort_of
from tests.linear_time.worst_shapes import FILES
from tests.messages.small_specs import document, field, struct

SIZE, LARGE = 30, 200
MOST = 2.25  # times the work, for twice the input
PORTIONS = 400_000  # bytes: buffers of a fixed size
CHEAP = ["interfaces of pcapng", "packets with an interface each", "damaged batches of a log"]


def read(path: Path) -> None:
    """Decode a file to its end, as `kwire decode --jsonl` and `kwire stats` do."""
    with suppress(KwireError), kwire.open_dump(path) as dump:
        for item in dump.batches or ():
            for _ in item.entries() if isinstance(item, LogBatch) else ():
                pass
        if dump.batches is None:
            traffic = Traffic(["client"])
            for result in kwire.decode_frames(dump.frames):
                json_line(result)
                traffic.add(result.frame)


def check_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Fail if twice the size takes more than about twice the work."""
    work(size)()  # fills caches, and imports what is needed
    once, twice = (effort_of(work(count)) for count in (size, 2 * size))
    assert is_linear(once, twice), (once.lines, twice.lines, once.allocated, twice.allocated)


def is_linear(once: Effort, twice: Effort) -> bool:
    """Whether the second is at most about twice the first."""
    return twice.lines <= MOST * once.lines and twice.allocated <= MOST * once.allocated + PORTIONS


def check_file(shape: str, size: int, folder: Path) -> None:
    """Check a file's shape."""

    def work(count: int) -> Callable[[], object]:
        path = folder / f"{count}"
        path.write_bytes(FILES[shape](count))
        return lambda: read(path)

    check_linear(work, size)


@pytest.mark.parametrize(
    "shape", [shape if shape in CHEAP else pytest.param(shape, marks=pytest.mark.ci) for shape in FILES]
)
def test_files_are_read_in_linear_time(shape: str, tmp_path: Path) -> None:
    check_file(shape, LARGE, tmp_path)


@pytest.mark.ci
@pytest.mark.skipif(ENGINE != "native", reason="this is what runs anyway")
def test_files_are_read_in_linear_time_without_the_native_engine() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        [*command, "-k", "test_files_are_read_in_linear_time and not without"],
        cwd=ROOT,
        env={**os.environ, "KWIRE_ENGINE": "python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def fetched(batches: bytes) -> bytes:
    """Return the body of a Fetch response with records."""
    response = kwire.messages.FetchResponse
    partition = response.PartitionData(records=batches, high_watermark=1)
    topics = [response.FetchableTopicResponse(topic="t", partitions=[partition])]
    return kwire.codec("FetchResponse", 4).encode(response(responses=topics))


def tags(count: int) -> bytes:
    """Return a body with unknown tags: of ApiVersionsRequest v3."""
    body = bytearray(b"\2a\2b") + varint(count)
    for number in range(count):
        body += varint(100 + number) + b"\1x"
    return bytes(body)


def varint(number: int) -> bytes:
    """Return an unsigned varint."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def records(count: int) -> bytes:
    """Return a batch with records."""
    return kwire.build_batch(
        [kwire.Record(number, 1, b"k", b"v", (kwire.RecordHeader("h", b"x"),)) for number in range(count)]
    )


def read_records(data: bytes, salvage: bool) -> None:
    """Read all records."""
    for batch in kwire.parse_records(data, salvage=salvage):
        if isinstance(batch, kwire.RecordBatch):
            list(batch.records(salvage=salvage))


def decode(name: str, version: int, body: bytes) -> None:
    """Decode a body in each way, then one that lacks its last byte."""
    codec = kwire.codec(name, version)
    message = codec.decode(body)
    codec.encode(message)
    codec.from_json(json.loads(json.dumps(codec.to_json(message))))
    codec.trace(body)
    with suppress(KwireError):
        codec.decode(body[:-1], salvage=True)


def metadata(count: int) -> bytes:
    """Return a body with an array."""
    topics = [kwire.messages.MetadataRequest.MetadataRequestTopic(name=f"t{number}") for number in range(count)]
    return kwire.codec("MetadataRequest", 9).encode(kwire.messages.MetadataRequest(topics=topics))


ZNODE = '{"path": "/brokers/topics/t", "data": "{}", "op": "set", "version": 1, "zxid": 1}\n'


def structs(count: int) -> str:
    """Return a spec with structs."""
    fields = [field(f"F{number}", f"S{number}") for number in range(count)]
    return document(*fields, commonStructs=[struct(f"S{number}", field()) for number in range(count)])


# name -> what a size makes, and what is done with it
VALUES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "elements of an array": (metadata, lambda body: decode("MetadataRequest", 9, body)),
    "unknown tags": (tags, lambda body: decode("ApiVersionsRequest", 3, body)),
    "records of a batch": (records, lambda data: read_records(data, False)),
    "batches of records": (lambda n: records(1) * n, lambda data: read_records(data, False)),
    "damaged records": (lambda n: records(n)[:-5], lambda data: read_records(data, True)),
    "batches of a body": (lambda n: fetched(records(1) * n), lambda body: decode("FetchResponse", 4, body)),
    "building records": (int, records),
    "fields of a spec": (lambda n: document(*(field(f"F{number}") for number in range(n))), read_spec),
    "structs of a spec": (structs, read_spec),
    "comments of a spec": (lambda n: "// a comment\n" * n + document(field()), read_spec),
    "terms of a filter": (lambda n: " or ".join(["version == 3"] * n), parse_filter),
    "values of a filter": (lambda n: f"version in ({', '.join(map(str, range(n)))})", parse_filter),
    "text in a filter": (lambda n: f'client_id == "{"x" * 20 * n}"', parse_filter),
    "changes of znodes": (lambda n: ZNODE * n, znodes_in),
}


def check_value(name: str, size: int) -> None:
    """Check a value's shape."""
    make, use = VALUES[name]

    def work(count: int) -> Callable[[], object]:
        value = make(count)
        return lambda: use(value)

    check_linear(work, size)


@pytest.mark.parametrize("name", VALUES)
def test_values_are_read_in_linear_time(name: str) -> None:
    check_value(name, SIZE)


@pytest.mark.ci
@pytest.mark.parametrize("name", VALUES)
def test_larger_values_are_read_in_linear_time(name: str) -> None:
    check_value(name, LARGE)
