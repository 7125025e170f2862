"""In PERMISSIVE, every option with every content gives rows: newer versions, foreign and damaged bytes included."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.input_splits import InputSplit
from kwire.arrow.read_options import BadOption, Options
from kwire.arrow.rows.row_schema import TYPES
from kwire.errors import UnknownMessage, UnsupportedVersion
from tests.capture.damaged_packets import damaged_capture
from tests.conftest import ROOT, SHARED, each_of

FIXTURES = [
    "dumps/kafka-3.9-zk.pcap",
    "dumps/kafka-3.9-zk.bin",
    "dumps/kafka-4.4-metadata.bin",
    "dumps/kafka-0.10.0-api-versions.bin",
    "logs/__consumer_offsets-1/00000000000000000000.log",
]
RELEASES = ["", "0.8.2", "0.9", "1.1", "2.4", "3.0", "3.9", "4.4"]
APIS = [(), ("Metadata",), ("FetchResponse",), ("ApiVersions", "LeaderAndIsr")]
OPTIONS = st.fixed_dictionaries(
    {
        "body": st.sampled_from(["json", "raw", "none", "struct"]),
        "release": st.sampled_from(RELEASES),
        "profile": st.sampled_from(["", "KIP-36", "KIP-112", "KIP-879"]),
        "apis": st.sampled_from(APIS),
        "direction": st.sampled_from(["auto", "request", "response"]),
        "dump_format": st.sampled_from(["auto", "auto", "frames", "hex", "pcap", "log"]),
        "zookeeper": st.booleans(),
        "metadata": st.booleans(),
        "columns": st.sampled_from([(), ("offset",), ("client_id", "api_name"), tuple(TYPES)[:6]]),
        "max_frame_bytes": st.sampled_from([8, 200, 100 << 20]),
        "max_corrupt_bytes": st.sampled_from([1, 100, 1 << 20]),
        "max_records_per_batch": st.sampled_from([1, 7, 4096]),
        "max_bytes_per_batch": st.sampled_from([1, 1000, 8 << 20]),
    }
)


@cache
def content(name: str) -> bytes:
    return (ROOT / "fixtures" / name).read_bytes()


def replace_bytes(data: bytes, rng: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.randrange(1, 20)):
        at = rng.randrange(len(damaged))
        damaged[at : at + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(9))
    return bytes(damaged)


def newer_versions(data: bytes, rng: Random) -> bytes:
    """Return frames some of which have versions that no release has yet."""
    damaged, at = bytearray(data), 0
    while at + 8 < len(damaged):
        if rng.random() < 0.5:
            damaged[at + 6 : at + 8] = rng.choice((b"\0\x63", b"\x7f\xff", b"\xff\xff"))
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return bytes(damaged)


def lossy(data: bytes, rng: Random) -> bytes:
    return damaged_capture(content(FIXTURES[0]), rng)


CHANGES: list[Callable[[bytes, Random], bytes]] = [
    lambda data, rng: data,
    lambda data, rng: data[: rng.randrange(1, len(data))],
    lambda data, rng: gzip.compress(data)[: -rng.randrange(1, 9)],
    lambda data, rng: rng.randbytes(rng.randrange(1, 3000)),
    lambda data, rng: json.dumps({"a": rng.random()}).encode(),
    replace_bytes,
    newer_versions,
    lossy,
]


def read_rows(path: Path, given_options: dict[str, Any]) -> int | None:
    """Return the number of rows; None if the options contradict each other, which is said before anything is read."""
    try:
        reading = BatchReader(Options(**given_options))
    except (BadOption, UnknownMessage, UnsupportedVersion):
        return None
    rows: int = sum(batch.num_rows for batch in reading.read([InputSplit(str(path))]))
    return rows


@given(options=OPTIONS, name=st.sampled_from(FIXTURES), change=st.sampled_from(CHANGES), seed=st.integers(0, 2**32))
def test_every_option_with_every_content_gives_rows(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any], name: str, change: Any, seed: int
) -> None:
    path = tmp_path_factory.mktemp("content") / "dump"
    path.write_bytes(change(content(name), Random(seed)))
    rows = read_rows(path, options)
    if rows is not None and not options["apis"] and options["direction"] == "auto":
        assert rows or change in (newer_versions, lossy) or options["dump_format"] == "frames"


@each_of("path", sorted((SHARED / "captures").glob("*.pcap*")), most=3)
@pytest.mark.parametrize("release", ["0.9", "2.4"])
def test_newer_clients_than_the_release_give_as_many_rows(path: Path, release: str) -> None:
    for body in ("json", "none", "raw"):
        assert read_rows(path, {"release": release, "body": body}) == read_rows(path, {"body": body})


@pytest.mark.parametrize("body", ["json", "none", "raw"])
def test_a_newer_version_than_the_release_is_a_row_with_its_error(body: str) -> None:
    reading = BatchReader(Options(release="0.9", body=body))
    rows = [
        row for batch in reading.read([InputSplit(str(ROOT / "fixtures" / FIXTURES[0]))]) for row in batch.to_pylist()
    ]
    (first, *_) = [row for row in rows if row["api_name"] == "Metadata" and row["_error"] is not None]
    assert first["_error"]["code"] == "UNSUPPORTED_VERSION"
    assert first["_error"]["reason"].startswith("MetadataRequest has no version 12; versions: 0")
    assert first["_corrupt_record"]
