"""`kwire latency`: where the time went, from captures and with the brokers' logs."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import Any

import pytest

from kwire.cli.main import main
from tests.capture.captured import CAPTURES
from tests.cli.test_commands import out
from tests.conftest import ROOT, needs_shared

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def measure(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(out(capsys, "latency", "--json", *arguments))
    return members


def test_a_capture_alone_tells_waits_from_slowness(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["api"]: row for row in measure(capsys, CAPTURE)["rows"]}
    joined = json.loads(out(capsys, "stats", "--json", "--by", "api", CAPTURE))["rows"]
    answered = {row["api"]: row["responses"] for row in joined}
    assert {api: row["requests"] for api, row in rows.items()} == {
        api: count for api, count in answered.items() if count and api in rows
    }
    assert rows["JoinGroup"]["meanSeconds"]["beyond"] == 0
    assert rows["Metadata"]["meanSeconds"]["asked"] == 0
    for row in rows.values():
        parts = row["meanSeconds"]
        assert parts["latency"] == pytest.approx(parts["asked"] + parts["beyond"])
        assert parts["local"] is None
        assert 0 < parts["round_trip"] < 0.001


def test_slow_requests_have_their_frames(capsys: pytest.CaptureFixture[str]) -> None:
    slowest = measure(capsys, CAPTURE, "--slow", "3")["slowest"]
    assert [row["api"] for row in slowest][:1] == ["LeaderAndIsr"]
    assert (slowest[0]["requestFrame"], slowest[0]["frame"]) == (106, 107)
    beyond = [row["seconds"]["beyond"] for row in slowest]
    assert beyond == sorted(beyond, reverse=True)


@pytest.mark.parametrize("arguments", [["--by", "x"], ["--slow", "-1"], ["--by", ","]])
def test_what_cannot_be_meant_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["latency", CAPTURE, *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_without_a_response_there_is_no_latency(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["latency", "--hex", "00 00 00 0a 00 12 00 00 00 00 00 07 ff ff"]) == 2
    assert "no request with a known latency" in capsys.readouterr().err


@needs_shared
def test_the_log_of_the_brokers_accounts_for_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(CAPTURES / f"kafka-2.4-zk.{part}.pcap") for part in ("clients", "replication", "controller")]
    log = CAPTURES / "kafka-2.4-zk.requests.jsonl.gz"
    told = measure(capsys, *files, str(log))
    lines = [json.loads(line)["text"] for line in gzip.decompress(log.read_bytes()).splitlines()]
    assert told["logged"] == len(lines)
    assert told["joined"] == sum(row["requests"] for row in told["rows"])
    local = defaultdict[str, list[float]](list)
    for text in lines:
        api = text.partition("apiKey=")[2].partition(",")[0]
        local[api].append(float(text.partition(",localTime:")[2].partition(",")[0]))
    rows = {row["api"]: row for row in told["rows"]}
    produce = rows["Produce"]["meanSeconds"]
    assert produce["local"] == pytest.approx(sum(local["PRODUCE"]) / len(local["PRODUCE"]) / 1000)
    parts = ("queue", "local", "remote", "response_queue", "send", "network")
    assert produce["latency"] == pytest.approx(sum(produce[part] for part in parts), abs=0.003)
    assert rows["Fetch"]["meanSeconds"]["beyond"] < 0.02 < rows["Fetch"]["meanSeconds"]["latency"]
