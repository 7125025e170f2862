"""Files beside the segments: what Kafka reads from its indexes, what real brokers left, and damage."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import DiskEntry, LogBytes
from kwire.capture.logs.disk_files import read_disk_file, recognise_disk_file
from kwire.codecs.records.crc32c import crc32c
from kwire.errors import DumpError
from tests.conftest import ROOT, SHARED, needs_shared
from tests.seeds import seeded

DISK = ROOT / "fixtures/logs/broker-disk"
FILES = sorted(path for path in DISK.rglob("*") if path.is_file() and path.suffix != ".log")
SEGMENT = SHARED / "kafka/records/segment.jsonl.gz"


def items(name: str, data: bytes, portion: int = 1 << 20) -> list[DiskEntry | LogBytes]:
    kind = recognise_disk_file(name, data)
    assert kind is not None
    portions = [data[start : start + portion] for start in range(0, len(data), portion)]
    return [*read_disk_file(kind, portions, name)]


def fields(name: str, data: bytes, portion: int = 1 << 20) -> list[dict[str, Any]]:
    found = items(name, data, portion)
    assert all(isinstance(item, DiskEntry) and not item.faults for item in found), found
    return [item.fields for item in found if isinstance(item, DiskEntry)]


def errors(name: str, data: bytes) -> list[str]:
    return [item.error.reason for item in items(name, data) if isinstance(item, LogBytes) and item.error is not None]


@needs_shared
@pytest.mark.parametrize("portion", [1, 7, 1 << 20])
def test_indexes_have_the_entries_that_kafka_reads(portion: int) -> None:
    with gzip.open(SEGMENT, "rt") as lines:
        (case,) = map(json.loads, lines)
    stem = f"{case['base_offset']:020}"
    data = {name.rpartition(".")[2]: bytes.fromhex(text) for name, text in case["files"].items()}
    found = fields(f"{stem}.index", data["index"], portion)
    assert [[one["offset"], one["position"]] for one in found] == case["offset_index"]
    found = fields(f"{stem}.timeindex", data["timeindex"], portion)
    assert [[one["timestamp"], one["offset"]] for one in found] == case["time_index"]
    found = fields(f"{stem}.txnindex", data["txnindex"], portion)
    assert [{name: one[name] for name in one if name != "version"} for one in found] == case["aborted_transactions"]


def test_entries_of_a_real_broker() -> None:
    def of(name: str) -> list[dict[str, Any]]:
        return fields(Path(name).name, (DISK / name).read_bytes())

    assert of("__transaction_state-0/00000000000000000000.index")[0] == {"offset": 3, "position": 394}
    assert of("kept-0/leader-epoch-checkpoint") == [{"epoch": 0, "start_offset": 0}, {"epoch": 1, "start_offset": 24}]
    assert of("log-start-offset-checkpoint") == [{"topic": "tide", "partition": 0, "offset": 3}]
    assert [one["offset"] for one in of("replication-offset-checkpoint")] == [10, 24, 106]
    assert of("cleaner-offset-checkpoint") == []
    assert of("meta.properties")[0]["directory.id"] == "Dwo81IPhhFFKVUznkMxPQg"
    assert of("kept-0/partition.metadata")[0]["version"] == 0
    assert of("__cluster_metadata-0/quorum-state")[0]["currentVoters"] == [{"voterId": 1}]
    header, first, *_ = of("tide-0/00000000000000000106.snapshot")
    assert header["producers"] == 4
    assert first["producer_id"] == 0
    assert first["current_txn_first_offset"] == -1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DISK)))
def test_files_are_recognised_by_name_and_all_but_indexes_by_content(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    named = recognise_disk_file(path.name)
    assert named is not None
    assert recognise_disk_file(f"{path.name}.gz") == named
    if data and not named.name.endswith("index"):
        found = recognise_disk_file("-", data)
        assert found is not None
        assert found.name == named.name or (found.name, named.read) == ("offset checkpoint", found.read)
    assert [item for item in kwire.read_disk(path) if not isinstance(item, DiskEntry)] == []
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(data))
    assert [entry.fields for entry in kwire.read_disk(packed)] == [entry.fields for entry in kwire.read_disk(path)]  # type: ignore[union-attr]


def test_other_files_are_none_of_these() -> None:
    for path in sorted((ROOT / "fixtures").rglob("*")):
        if path.is_file() and DISK not in path.parents:
            assert recognise_disk_file(path.name, path.read_bytes()[: 1 << 16]) is None, path
    with pytest.raises(DumpError, match="recognised as a log segment"):
        list(kwire.read_disk(DISK / "kept-0/00000000000000000000.log"))
    with pytest.raises(DumpError, match="a file of a broker's disk: leader epochs, without requests"):
        list(kwire.read_dump(DISK / "kept-0/leader-epoch-checkpoint"))
    with pytest.raises(DumpError, match="file is empty"), kwire.open_dump("/dev/null"):
        pass


def test_space_allocated_ahead_is_no_entry() -> None:
    entry = struct.pack(">ii", 45, 4178)
    for portion in (5, 8, 100, 1 << 20):
        found = items("0.index", entry + bytes(8 * 1000), portion)
        assert [type(item) for item in found] == [DiskEntry, LogBytes]
        assert isinstance(found[1], LogBytes)
        assert (found[1].position, found[1].error) == (8, None)
    assert errors("0.index", entry + bytes(16) + entry) == ["16 zeros before an entry"]
    assert errors("0.index", entry + b"\0\1") == ["2 bytes at the end are not a complete entry of 8 bytes"]
    first = items("7.timeindex", bytes(12) + struct.pack(">qi", 1, 1))
    assert [item.fields for item in first if isinstance(item, DiskEntry)] == [
        {"timestamp": 0, "offset": 7},
        {"timestamp": 1, "offset": 8},
    ]


def test_a_damaged_snapshot_is_marked() -> None:
    data = bytearray((DISK / "tide-0/00000000000000000106.snapshot").read_bytes())
    data[20] ^= 1
    header, *rest = items("106.snapshot", bytes(data))
    assert isinstance(header, DiskEntry)
    assert [type(fault).__name__ for fault in header.faults] == ["BadChecksum"]
    assert len(rest) == 4
    assert "length" in errors("106.snapshot", b"\0\1" + bytes(4) + b"\x7f\xff\xff\xff" + bytes(40))[0]
    assert errors("106.snapshot", b"\0\7" + bytes(8)) == ["not a supported producer snapshot: version 7; 1 is known"]
    body = struct.pack(">i", 0) + b"?"
    (longer,) = items("1.snapshot", b"\0\1" + struct.pack(">I", crc32c(body)) + body)
    assert isinstance(longer, DiskEntry)
    assert [type(fault).__name__ for fault in longer.faults] == ["TrailingBytes"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("leader-epoch-checkpoint", b"1\n0\n", "the first line of a checkpoint is its version, 0"),
        ("leader-epoch-checkpoint", b"0\nx\n", "the second line of a checkpoint is the number of its entries"),
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n1\n", "not a line of an epoch and its first offset"),
        ("leader-epoch-checkpoint", b"0\n3\n0 0\n1 5\n", "the count is 3 entries, there are 2"),
        ("replication-offset-checkpoint", b"0\n1\nto pic 0 5\n", "not a line of topic, partition and offset"),
        ("partition.metadata", b"version: 0\n", "two lines are needed"),
        ("quorum-state", b"{}", "no quorum state: a JSON object with data_version is needed"),
        ("quorum-state", b'{"data_version":9}', "no quorum state: data_version 9; 0-1 is known"),
        ("quorum-state", b"[" * 100_000, "no quorum state: "),
        ("quorum-state", b'{"leaderId":"x","data_version":1}', "no quorum state: "),
        ("meta.properties", b"version\n", "not a line of NAME=VALUE"),
        ("meta.properties", b"version=0\nversion=0\n", "version occurs twice"),
    ],
)
def test_what_is_wrong_with_text_is_named(name: str, data: bytes, reason: str) -> None:
    assert errors(name, data)[0].startswith(reason)


def test_damage_never_raises_and_takes_no_more_than_the_bytes() -> None:
    rng = seeded("files of a disk")
    for path in FILES:
        data = path.read_bytes()
        for _ in range(40):
            damaged = bytearray(data[: rng.randrange(len(data) + 1)])
            for _ in range(rng.randrange(4)):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            assert len(items(path.name, bytes(damaged))) <= len(damaged) // 2 + 2
