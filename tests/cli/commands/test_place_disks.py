"""`kwire place --disks` and `--leave-disk` on a served cluster, and from JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli.cluster import apply_plan, disks
from kwire.cli.main import main
from kwire.testing import Kafka


def out(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main([*arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def test_a_directory_is_left_on_a_served_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (disks, apply_plan):
        monkeypatch.setattr(module, "PAUSE", 0)
    with Kafka(brokers=2, log_dirs=2) as kafka:
        where = kafka.address(1)
        out(capsys, "place", where, "--topic", "t", "--partitions", "6", "--rf", "2", "--apply")
        state = json.loads(out(capsys, "cluster", where, "--json"))
        path = next(row["path"] for row in state["logDirs"] if row["broker"] == 1 and row["replicas"])
        file = tmp_path / "p.json"
        file.write_text(out(capsys, "place", where, "--leave-disk", f"1={path}", "--json"))
        rows = json.loads(file.read_text())["partitions"]
        assert rows
        assert all(len(row["log_dirs"]) == len(row["replicas"]) for row in rows)
        assert "not in" in out(capsys, "place", where, "--plan", str(file), "--verify", code=1)
        out(capsys, "place", where, "--plan", str(file), "--apply", "--batch", "2", "--throttle", "1000")
        assert "0 to come" in out(capsys, "place", where, "--plan", str(file), "--verify")
        after = json.loads(out(capsys, "cluster", where, "--json"))
        assert [row["replicas"] for row in after["logDirs"] if (row["broker"], row["path"]) == (1, path)] == [[]]
        assert "throttle" not in json.dumps(after["settings"])
        assert out(capsys, "place", where, "--plan", str(file), "--cancel").startswith("cancelled: 0 moves between")
        assert "nothing to move" in out(capsys, "place", where, "--leave-disk", f"1={path}", "--apply")


def test_a_replica_on_a_broker_that_is_down_is_not_carried_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "PAUSE", 0)
    with Kafka(brokers=2, log_dirs=2) as kafka:
        kafka.create_topic("t", assignment=[[1, 2]])
        paths = [kafka.log_dirs(2)[0], kafka.log_dirs(2)[1]]
        kafka.stop_broker(2)
        for path in paths:
            row = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", path]}
            (tmp_path / "p.json").write_text(json.dumps({"version": 1, "partitions": [row]}))
            assert main(["place", kafka.address(1), "--plan", str(tmp_path / "p.json"), "--apply"]) == 1
            assert "1 replica is on brokers that are down (2): left as they are\n" in capsys.readouterr().err


def test_directories_from_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = [{"topic": "t", "partition": index, "bytes": 100} for index in range(4)]
    row = {"broker": 1, "errorCode": 0, "totalBytes": -1, "usableBytes": -1}
    log_dirs = [{**row, "path": "/a", "replicas": held}, {**row, "path": "/b", "replicas": []}]
    partitions = [{"topic": "t", "partition": index, "replicas": [1]} for index in range(4)]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": [[1, "/A"]], "partitions": partitions, "logDirs": log_dirs}))
    text = out(capsys, "place", str(file), "--disks")
    assert text.startswith("2 replicas of 4 move, 200 bytes\n")
    assert "400 -> 200" in text
    plan = json.loads(out(capsys, "place", str(file), "--disks", "--json"))
    assert [row["log_dirs"] for row in plan["partitions"]] == [["/b"], ["/b"]]
    for arguments, message in (
        (["--leave-disk", "1=/x"], "there is no log directory '1=/x'; did you mean"),
        (["--leave-disk", "/a"], "write BROKER=PATH"),
        (["--disks", "--balance"], "give no other change"),
        (["--batch-bytes", "5"], "--batch-bytes is for log directories"),
        (["--disks", "--batch-bytes", "0"], "take numbers from 1 on"),
    ):
        assert main(["place", str(file), *arguments]) == 2
        assert message in capsys.readouterr().err
    file.write_text(json.dumps({"brokers": [], "partitions": partitions, "logDirs": [{"broker": 1}]}))
    assert main(["place", str(file), "--disks"]) == 2
    assert "its logDirs are not those of kwire cluster --json" in capsys.readouterr().err
    file.write_text(json.dumps({"brokers": [[1, "/A"]], "partitions": partitions}))
    assert main(["place", str(file), "--disks"]) == 2
    assert "nothing in the input lists log directories" in capsys.readouterr().err


def test_what_an_offline_directory_held_is_rebuilt_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"errorCode": 0, "totalBytes": -1, "usableBytes": -1, "replicas": []}
    log_dirs = [{**row, "broker": 1, "path": "/a", "errorCode": 56}, {**row, "broker": 2, "path": "/a"}]
    partitions = [{"topic": "t", "partition": 0, "replicas": [1]}, {"topic": "t", "partition": 1, "replicas": [2]}]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": [[1, "/A"], [2, "/A"]], "partitions": partitions, "logDirs": log_dirs}))
    assert main(["place", str(file), "--leave-disk", "1=/a"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("0 replicas, and nothing to move; 1 cannot leave\n")
    assert "t-0 stays on broker 1: its directory is offline\n" in shown.err
    assert shown.err.endswith("to rebuild on other brokers what an offline directory holds: --remove 1\n")
    assert main(["place", str(file), "--remove", "1"]) == 0
    assert "offline log directory" not in capsys.readouterr().err
    assert main(["place", str(file), "--remove", "2"]) == 0
    assert "broker 1 has an offline log directory: until it is restarted" in capsys.readouterr().err


def test_a_plan_with_another_number_of_directories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/a", "/b"]}]}')
    with Kafka() as kafka:
        kafka.create_topic("t")
        assert main(["place", kafka.address(1), "--plan", str(file), "--verify"]) == 2
    assert "log_dirs of t-0 does not have a directory for each replica" in capsys.readouterr().err
