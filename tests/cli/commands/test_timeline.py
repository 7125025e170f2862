"""`kwire timeline`: what happened, in order; what it tells is what the descriptions of captures tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.main import main
from tests.capture.captured import CAPTURES
from tests.cli.test_commands import out
from tests.conftest import ROOT, needs_shared

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def events(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out(capsys, "timeline", "--json", *arguments))["events"]
    return found


def test_events_are_in_order_and_selected(capsys: pytest.CaptureFixture[str]) -> None:
    every = events(capsys, CAPTURE)
    assert [event["time"] for event in every] == sorted(event["time"] for event in every)
    of_group = events(capsys, CAPTURE, "--about", "group:kcat-group")
    assert [event["kind"] for event in of_group] == ["group", "rebalance", "assignment", "commit", "group"]
    assert of_group == [event for event in every if "group:kcat-group" in event["about"]]
    leaders = events(capsys, CAPTURE, "--kind", "leader", "--from", "06:29:35", "--to", "06:29:35.5")
    assert {event["frame"] for event in leaders} == {106}
    assert events(capsys, CAPTURE, "--kind", "leader", "--about", "broker:2") != []


def test_connections_are_those_of_the_packets(capsys: pytest.CaptureFixture[str]) -> None:
    words = [event["text"].rpartition(" ")[0] for event in events(capsys, CAPTURE, "--kind", "connection")]
    assert sum(text.endswith("reset by the") for text in words) == 1


def test_json_lines_give_the_events_of_their_capture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text(out(capsys, "decode", "--jsonl", CAPTURE))
    without = [(event["kind"], event["text"]) for event in events(capsys, CAPTURE) if event["kind"] != "connection"]
    assert [(event["kind"], event["text"]) for event in events(capsys, str(lines))] == without


@pytest.mark.parametrize("arguments", [["--about", "orders"], ["--about", "topic:"], ["--kind", "leader,x"]])
def test_what_cannot_be_meant_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["timeline", CAPTURE, *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


@needs_shared
def test_a_disk_failure_is_told_as_it_was_described(capsys: pytest.CaptureFixture[str]) -> None:
    """kafka-3.9-zk.md: 06:27:40.48 Produce is answered -1; 06:27:41.83 leaders move, and broker 2 leaves ISRs; lonely-0
    has no leader; the replicas of the failed directory are offline.
    """
    files = [str(CAPTURES / f"kafka-3.9-zk.{part}.pcap") for part in ("clients", "controller")]
    told = events(capsys, *files, "--from", "06:27:40", "--to", "06:27:42")
    texts = [event["text"] for event in told if event["kind"] in ("error", "leader", "disk")]
    assert texts[0] == "client lab-producer: Produce: UNKNOWN_SERVER_ERROR (flaky)"
    assert "flaky-0, wander-1: leader 2 -> 3 (leader epoch 1)" in texts
    assert "lonely-0: leader 2 -> none (leader epoch 1)" in texts
    assert "broker 2: log directories offline: 0 -> 1" in texts
    offline = [event for event in told if event["kind"] == "offline"]
    assert all("broker:2" in event["about"] and "log directory" in event["text"] for event in offline)


@needs_shared
def test_states_that_are_written_during_a_deletion_create_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    history = str(CAPTURES / "kafka-3.9-zk.znodes.history.jsonl")
    of_topic = events(capsys, history, "--about", "topic:doomed", "--kind", "topic")
    assert [event["text"] for event in of_topic if "deleted" in event["text"]] != []
    capture = str(CAPTURES / "kafka-3.9-zk.controller.pcap")
    merged = events(capsys, capture, history, "--about", "topic:doomed", "--kind", "topic")
    assert [event["text"] for event in merged if "created" in event["text"]] == []
    assert merged[-1]["text"] == "doomed-0, doomed-1: deleted"


def test_page_shows_the_events(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    chosen = (CAPTURE, "--about", "group:kcat-group")
    assert out(capsys, "timeline", "--html", "-o", str(page), *chosen) == ""
    text = page.read_text("utf-8")
    assert text.count("<tr>") == 1 + len(events(capsys, *chosen))
    assert "leaves" in text
    assert "<script" not in text
    assert main(["timeline", CAPTURE, "-o", str(page)]) == 2
    assert "--html" in capsys.readouterr().err
