"""`kwire simulate`: text, JSON, the capture and the znodes; other commands read the capture back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli.main import main


def test_steps_are_printed_and_the_capture_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, znodes = tmp_path / "failed.pcap", tmp_path / "znodes.jsonl"
    steps = ["create=orders:1,2;2,3", "fail=1:/a"]
    assert main(["simulate", *steps, "--racks", "a,b,a", "-w", str(capture), "--znodes", str(znodes)]) == 0
    printed = capsys.readouterr()
    assert "fail=1:/a: log directory /a of broker 1 fails: orders-0 offline there\n" in printed.out
    assert "1 <- 1 LeaderAndIsr:7 orders-0 KAFKA_STORAGE_ERROR\n" in printed.out
    assert "  orders-0   2       2    1,2       1\n  orders-1   2       2,3  2,3       -\n" in printed.out
    assert printed.out.endswith("  OfflineReplicaCount of broker 1: 1\n\n")
    assert " frames on 3 connections in " in printed.err
    assert main(["cluster", "--json", str(capture)]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["partitions"]
    assert [(one["leader"], one["isr"], one["offlineReplicas"]) for one in rows] == [
        (2, [2], [1]),
        (2, [2, 3], []),
    ]
    assert main(["check", str(capture)]) == 0
    assert main(["decode", str(capture), "--errors"]) == 0
    assert "!KAFKA_STORAGE_ERROR" in capsys.readouterr().out
    rows = [json.loads(line) for line in znodes.read_text().splitlines()]
    assert [row["op"] for row in rows if row["path"].startswith("/log_dir_event_notification/")] == ["create", "delete"]


def test_all_scenarios_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [one["step"] for one in steps][:4] == ["start", "create=orders", "fail", "repair"]
    assert steps[-1]["partitions"] == []
    assert steps[2]["offlineReplicaCount"] == {"1": 0, "2": 1, "3": 0}
    kinds = {one.get("type", "znode") for step in steps for one in step["happened"]}
    assert kinds == {"request", "response", "znode"}


def test_the_capture_on_standard_output_stands_alone(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["simulate", "create=t:1", "-w", "-"]) == 0
    assert capfdbinary.readouterr().out[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["burn"], "burn"),
        (["fail=9"], "there is no broker 9"),
        (["--brokers", "0"], "0 brokers"),
        (["--racks", "a"], "1 racks for 3 brokers"),
        (["--log-dirs", ","], "name different directories"),
        (["--protocol", "9.9"], "inter.broker.protocol.version 9.9 has no ZooKeeper-era controller"),
        (["--protocol", "newest"], "inter.broker.protocol.version newest"),
        (["--behaviour", "released", "--release", "0.8"], "0.8"),
        (["--json", "-w", "-"], "name a file"),
    ],
)
def test_bad_input_is_named(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *options]) == 2
    assert words in capsys.readouterr().err


def test_nothing_stays_of_a_capture_that_was_not_finished(tmp_path: Path) -> None:
    assert main(["simulate", "create=t:1", "burn", "-w", str(tmp_path / "out.pcap")]) == 2
    assert [*tmp_path.iterdir()] == []


def test_an_unknown_step_is_refused_before_any_is_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "fail=1:a", "nosuch"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "there is no step 'nosuch'" in printed.err
