"""Logs at the command line: decode, explain, check and cluster; what does not go with them says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import Record, build_batch
from kwire.cli.main import main
from tests.capture.logs.building import LOG

OFFSETS = "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"
SNAPSHOT = "fixtures/logs/__cluster_metadata-0/00000000000000000179-0000000001.checkpoint"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(one) for one in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    path.write_bytes(LOG)
    return path


def test_lines_fit_a_terminal_and_name_what_is_committed(run: Run) -> None:
    code, out, err = run("decode", OFFSETS)
    assert code == 0
    assert "read as a log segment of __consumer_offsets, as its records show" in err
    assert max(map(len, out.splitlines())) <= 80
    assert "      13 06:43:05.202 OffsetCommit modern flaky 1: offset=6 leader_epoch=0 co...\n" in out
    assert out.startswith("# batch at 0, 497 bytes: offsets 0-4, none, leader epoch 0\n# 2026-11-21\n")


def test_json_lines_are_one_record_each_with_its_batch(run: Run) -> None:
    lines = [json.loads(line) for line in run("decode", OFFSETS, "--jsonl")[1].splitlines()]
    assert [line["offset"] for line in lines] == list(range(len(lines)))
    commit = lines[6]
    assert commit["topic"] == "__consumer_offsets"
    assert commit["key"] == {
        "name": "OffsetCommitKey",
        "version": 0,
        "payload": {"group": "modern", "topic": "flaky", "partition": 1},
    }
    assert commit["value"]["payload"]["offset"] == 6
    assert commit["batch"]["baseOffset"] == 5
    assert json.loads(run("decode", OFFSETS, "--json")[1]) == lines


def test_bytes_of_any_kind_are_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(build_batch([Record(0, 5, None, b"\xff\0"), Record(1, 6, b"k", b"")]) + bytes(100))
    one, two, zeros = (json.loads(line) for line in run("decode", path, "--jsonl")[1].splitlines())
    assert (one["key"], one["value"]) == (None, {"base64": "/wA="})
    assert (two["key"], two["value"]) == ({"text": "k"}, {"base64": ""})
    assert (zeros["type"], zeros["count"]) == ("zeros", 100)


def test_all_fields_in_a_tree(run: Run, log: Path) -> None:
    out = run("decode", "-v", log)[1]
    assert out.count("\nbatch ") + out.startswith("batch 0, at 0, ") == 5
    assert "  compression: gzip\n" in out
    assert '    key: "older"\n' in out
    snapshot = run("decode", "-v", SNAPSHOT)[1]
    assert ", SNAPSHOT_HEADER\n" in snapshot
    assert ", SNAPSHOT_FOOTER\n" in snapshot
    assert "    value: PartitionRecord v" in snapshot


def test_damage_is_a_line_and_exit_code_1(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(LOG + b"\xff" * 30 + LOG[:30])
    code, out, err = run("decode", path)
    assert code == 1
    assert f"?  !undecodable at {len(LOG)}: 60 bytes are in no batch: length -1; " in out
    assert "6 records, 1 undecodable" in err
    (last,) = (json.loads(line) for line in run("decode", path, "--jsonl")[1].splitlines()[-1:])
    assert (last["type"], last["raw"]) == ("undecodable", (b"\xff" * 30 + LOG[:30]).hex())
    path.write_bytes(LOG.replace(b"older", b"OLDER"))
    assert "! batch at " in run("decode", path)[1]
    assert run("decode", "--strict", path)[0] == 1
    assert run("decode", path)[0] == 0


def test_filters_go_by_the_times_of_records(run: Run, log: Path) -> None:
    def shown(*options: str) -> list[int]:
        lines = run("decode", "--jsonl", *options, log)[1].splitlines()
        return [json.loads(line)["offset"] for line in lines]

    assert shown("--from", "1700000000.002") == [2, 3, 5]  # that of magic 0 has no time
    assert shown("--to", "2023-11-14T22:13:20.001") == [0, 1]
    assert shown("--errors") == []
    old = log.with_name("old.log")
    old.write_bytes(build_batch([Record(offset, key=b"k") for offset in range(5)], magic=0))
    assert [json.loads(line)["offset"] for line in run("decode", "--jsonl", "--from", "3", old)[1].splitlines()] == [
        3,
        4,
    ]
    assert run("decode", "--from", "2023-11-14", old)[0] == 2
    code, _, err = run("decode", "--client", "me", log)
    assert code == 2
    assert "--client: not available for records of a log" in err


def test_every_byte_is_explained(run: Run, tmp_path: Path, log: Path) -> None:
    code, out, _ = run("explain", OFFSETS)
    assert code == 0
    assert 'group = "modern"' in out
    code, out, _ = run("explain", log)
    assert "that its records decompress to" in out
    path = tmp_path / "cut.log"
    path.write_bytes(LOG[:-1])
    assert run("explain", path)[0] == 1


def test_check_builds_batches_again(run: Run, tmp_path: Path) -> None:
    assert run("check", OFFSETS, SNAPSHOT)[:2] == (0, "32 batches: all encode to the same bytes\n")
    path = tmp_path / "0.log"
    path.write_bytes(LOG.replace(b"older", b"OLDER"))
    code, out, _ = run("check", path)
    assert code == 1
    assert "field crc" in out
    assert "checksum 0x01a17b4e; the bytes have 0xae4b1f9c" in out
    assert json.loads(run("check", "--json", path)[1])["batches"] == 5


def test_a_cluster_is_told_by_its_snapshot(run: Run) -> None:
    code, out, _ = run("cluster", SNAPSHOT)
    assert code == 0
    assert "3 brokers, 6 topics, 22 partitions" in out
    assert "rack /dc1/r2\n  broker 2  127.0.0.1:19721" in out
    told = json.loads(run("cluster", SNAPSHOT, "--json")[1])
    assert all(len(one["directories"]) == len(one["replicas"]) for one in told["partitions"])
    assert all(one["logDirs"] for one in told["brokers"])
    assert run("cluster", OFFSETS)[0] == 2


@pytest.mark.parametrize("command", [["stats"], ["report"], ["decode", "--guess"], ["explain", "--html"]])
def test_what_reads_frames_says_that_a_log_has_none(run: Run, command: list[str]) -> None:
    code, _, err = run(*command, OFFSETS)
    assert code == 2
    assert "this is a log" in err


def test_options_of_frames_do_not_go_with_logs(run: Run) -> None:
    code, _, err = run("decode", "--as", "Metadata:1", OFFSETS)
    assert code == 2
    assert "--log-of" in err
    assert "OffsetCommit" not in run("decode", "--log-of", "orders", OFFSETS)[1]
