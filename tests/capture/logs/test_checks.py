"""Files of a broker's disk against their segments: real ones agree, and what is changed in them is found."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire.capture.open_dump import open_dump
from kwire.cli.input.files_beside_segments import disk_differences
from kwire.cli.main import main
from kwire.codecs.records.crc32c import crc32c
from tests.conftest import ROOT, SHARED, each_of, needs_shared

DISK = ROOT / "fixtures/logs/broker-disk"
RUNS = sorted((SHARED / "captures").glob("*.segments"))


def differences(path: Path) -> list[str]:
    with open_dump(path) as dump:
        assert dump.disk is not None
        return [f"{found.field}: {found.reason}" for found in disk_differences(dump.disk)]


@pytest.mark.parametrize(
    "path", [path for path in sorted(DISK.rglob("*")) if path.is_file()], ids=lambda path: path.name
)
def test_what_a_real_broker_left_agrees(path: Path) -> None:
    if path.suffix != ".log":
        assert differences(path) == []


@needs_shared
@each_of("path", RUNS)
def test_what_brokers_of_all_releases_left_agrees(path: Path) -> None:
    checked = 0
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.suffix not in (".log", ".checkpoint"):
            assert differences(file) == [], file
            checked += 1
    assert checked or path.name.startswith(("kafka-0.8", "kafka-0.10.0"))


def int32_at(at: int, value: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + struct.pack(">i", value) + data[at + 4 :]


def int64_at(at: int, value: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + struct.pack(">q", value) + data[at + 8 :]


def resealed(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def of(data: bytes) -> bytes:
        data = change(data)
        return data[:2] + struct.pack(">I", crc32c(data[6:])) + data[6:]

    return of


def text(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def of(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new)

    return of


INDEX, TIMES = "tide-0/00000000000000000000.index", "tide-0/00000000000000000000.timeindex"
ABORTED, PRODUCERS = "tide-0/00000000000000000000.txnindex", "tide-0/00000000000000000106.snapshot"
CHANGES = [
    (INDEX, int32_at(0, 0), "offset: offset 0 is not in the batches from "),
    (INDEX, int32_at(4, 395), "position: no batch of the log begins at 395; the next one is at "),
    (INDEX, int32_at(188, 99_999), "position: the log has no batch at 99999 or after it"),
    (INDEX, int32_at(8, 1), "offset: offset 1 at "),
    (INDEX, int32_at(184, 99_999), "offset: offset 99999 is not in the batches from "),
    (TIMES, int64_at(0, 1), "timestamp: the greatest timestamp of the batch with offset "),
    (TIMES, int64_at(12, 1), "timestamp: time 1 of offset "),
    (TIMES, int32_at(200, 99_999), "offset: no batch of the log holds offset 99999; it ends at 106"),
    (ABORTED, lambda data: data[34:], ": the transaction of producer 2, offsets 96 to 100, was aborted and is not in"),
    (ABORTED, lambda data: b"", ": the transaction of producer 2, offsets 96 to 100, was aborted and is not in"),
    (ABORTED, int64_at(10, 97), "first_offset: the transaction began at offset 96"),
    (ABORTED, int64_at(10, 101), "first_offset: the transaction would end at 100, before it begins at 101"),
    (ABORTED, int64_at(18, 103), "last_offset: the log has no abort marker at offset 103"),
    (ABORTED, int64_at(26, 102), "last_stable_offset: the last stable offset 102 is after"),
    (ABORTED, int64_at(2, 7), "producer_id: the marker at offset 100 is of producer 2"),
    (ABORTED, lambda data: b"\0\1" + data[2:], "version: version 1; 0 is known"),
    (ABORTED, lambda data: data + data[34:], "last_offset: offset 105 comes after offset 105"),
    (PRODUCERS, int32_at(20, 7), "crc: checksum "),
    (PRODUCERS, resealed(int32_at(20, 61)), "last_sequence: 61 of producer 0; its last batch in the log has 62"),
    (PRODUCERS, resealed(int64_at(24, 61)), "last_offset: 61 of producer 0; its last batch in the log has 62"),
    (PRODUCERS, resealed(int64_at(24, 106)), "last_offset: the snapshot is of offsets below 106"),
    (PRODUCERS, resealed(int64_at(148 + 38, 101)), "current_txn_first_offset: 101 of producer 1000; its last batch"),
    (PRODUCERS, resealed(int64_at(56, 0)), "producer_id: producer 0 occurs twice"),
    (
        "kept-0/leader-epoch-checkpoint",
        text(b"0 0\n1 24", b"0 0\n1 20"),
        "epoch: the batch at offset 20 has leader epoch 0",
    ),
    ("kept-0/leader-epoch-checkpoint", text(b"0 0\n1 24", b"1 0\n1 24"), "epoch: epoch 1 from 24 comes after 1 from 0"),
    (
        "kept-0/leader-epoch-checkpoint",
        text(b"2\n0 0\n1 24\n", b"0\n"),
        ": the batch at offset 0 has an epoch, and none",
    ),
    ("kept-0/partition.metadata", text(b"topic_id: ", b"topic_id: AAAAAAAAAAAAAAAAAAAAAA#"), ": two lines are needed"),
    ("__cluster_metadata-0/quorum-state", text(b'"leaderId":1', b'"leaderId":9'), "leaderId: leader 9 is not one of"),
    (
        "replication-offset-checkpoint",
        text(b"tide 0 106", b"tide 0 107"),
        "offset: offset 107; the log of tide-0 ends at 106",
    ),
    ("recovery-point-offset-checkpoint", text(b"tide 0", b"tide 9"), "partition: there is no folder tide-9 with a log"),
    ("recovery-point-offset-checkpoint", text(b"tide 0", b"kept 0"), "partition: kept-0 occurs twice"),
    ("log-start-offset-checkpoint", text(b" 3\n", b" -3\n"), "offset: offset -3"),
    ("meta.properties", text(b"version=1", b"version=2"), "version: version 2; 0 and 1 are known"),
    ("meta.properties", text(b"cluster.id", b"cluster.od"), "cluster.id: version 1 needs cluster.id"),
    ("meta.properties", text(b"node.id=1", b"node.id=one"), "node.id: one is not the id of a node"),
    ("meta.properties", text(b"directory.id=", b"directory.id=!"), "directory.id: "),
]


@pytest.mark.parametrize(
    ("name", "change", "reason"), CHANGES, ids=[f"{index}-{case[0]}" for index, case in enumerate(CHANGES)]
)
def test_each_change_is_found(name: str, change: Callable[[bytes], bytes], reason: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(DISK, disk)
    (disk / name).write_bytes(change((disk / name).read_bytes()))
    found = differences(disk / name)
    assert any(one.startswith(reason) for one in found), found


def test_without_segments_a_file_is_compared_with_itself(tmp_path: Path) -> None:
    for name in (INDEX, TIMES, ABORTED, PRODUCERS, "kept-0/leader-epoch-checkpoint"):
        copy = tmp_path / Path(name).name
        shutil.copy(DISK / name, copy)
        assert differences(copy) == []
    unordered = tmp_path / "5.index"
    unordered.write_bytes(struct.pack(">iiii", 5, 50, 4, 60))
    assert differences(unordered) == ["offset: offset 9 at 60 comes after offset 10 at 50"]


def test_check_names_file_byte_and_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(DISK, disk)
    index = disk / INDEX
    index.write_bytes(int32_at(12, 1)(index.read_bytes()))
    assert main(["check", "-r", str(disk)]) == 1
    out = capsys.readouterr().out
    assert f"{index}: offset index\n  byte 0x8 (8), field offset\n  offset " in out
    assert out.endswith("85 batches: all encode to the same bytes\n22 files beside segments: 1 with differences\n")
    assert main(["check", "--json", str(index)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["frames"], len(found["differences"])) == (1, 0, 1)


def test_decode_prints_entries_as_lines_trees_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DISK / TIMES)
    assert main(["decode", path]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "# time index"
    assert out[1].startswith("       0 timestamp=2026-11-22 21:25:0")
    assert main(["decode", "-v", path]) == 0
    assert capsys.readouterr().out.startswith("time index, entry 0 at 0\n  timestamp: 2026-11-22")
    assert main(["decode", "--jsonl", path]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["type"] == "diskEntry"
    assert first["kind"] == "time index"
    assert first["fields"]["timestamp"] > 1_795_000_000_000
    assert main(["decode", "--json", str(DISK / "meta.properties")]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert only["fields"]["node.id"] == "1"


def test_a_damaged_file_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(b"0\n1\n0 zero\n")
    assert main(["decode", str(path)]) == 1
    assert "undecodable at 4: not a line of an epoch" in capsys.readouterr().out
