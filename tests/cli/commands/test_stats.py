"""`kwire stats` counts, and says in words who breaks."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP
from tests.conftest import ROOT

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def test_by_api_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", DUMP]) == 0
    captured = capsys.readouterr()
    assert captured.out == (
        "api             version  requests  responses  bytes out  bytes in\n"
        "LeaderAndIsr    7               1          1        116        38\n"
        "Metadata        12              1          1         55       238\n"
        "UpdateMetadata  8               1          1        359        12\n"
    )
    assert captured.err == f"kwire: {DUMP}: read as raw frames\nkwire: 6 frames, 818 bytes\n"


def test_by_topic_with_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "stats", DUMP, "--by", "topic,client", "--errors").splitlines() == [
        "topic               client        requests  responses  bytes out  bytes in  errors",
        "lonely              1                    1          1        116        38       0",
        "lonely              lab-producer         1          1         55       238       1",
        "born-after-restart  1                    1          0        359         0       0",
        "-                   1                    0          1          0        12       0",
        "  1 x LEADER_NOT_AVAILABLE",
    ]


def test_who_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "stats", DUMP, "--removed-in", "4.0", code=1) == (
        "1 client breaks with Kafka 4.0.2:\n"
        '  client "1"\n'
        "    uses LeaderAndIsr v7 (1 request); 4.0.2 has no such api\n"
        "    uses UpdateMetadata v8 (1 request); 4.0.2 has no such api\n"
    )
    assert out(capsys, "stats", DUMP, "--removed-in", "3.9").startswith("no client breaks with Kafka 3.9.2")


def test_who_must_negotiate_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.bin"
    asking = kwire.encode_request(kwire.messages.ApiVersionsRequest(), 3, client_id="asks")
    news = (kwire.encode_request(kwire.messages.FetchRequest(), 18, client_id=name) for name in ("asks", "silent"))
    path.write_bytes(b"".join((asking, *news)))
    assert out(capsys, "stats", str(path), "--removed-in", "4.0") == (
        "no client breaks with Kafka 4.0.2; 2 clients use newer versions and must negotiate down:\n"
        '  client "asks" uses Fetch v18 and asks for versions; 4.0.2 supports 4-17\n'
        '  client "silent" uses Fetch v18 and was not seen asking for versions; 4.0.2 supports 4-17\n'
    )


def test_without_requests_nothing_is_known_of_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "head.pcap"
    path.write_bytes((ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()[:24])
    text = out(capsys, "stats", str(path), "--removed-in", "4.0")
    assert text == "unknown whether clients break with Kafka 4.0.2: no request was read\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    seen = json.loads(out(capsys, "stats", DUMP, "--by", "client", "--json", "--removed-in", "4.0", code=1))
    assert seen["rows"][1] == {
        "client": "lab-producer",
        "requests": 1,
        "responses": 1,
        "requestBytes": 55,
        "responseBytes": 238,
    }
    assert [one["api"] for one in seen["removedIn"]["clients"]] == ["LeaderAndIsr", "UpdateMetadata"]


def test_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, text in (
        (["--by", "colour"], "--by colour: write some of client, api, version, ip, broker, topic, software"),
        (["--by", ","], "--by ,: write some of"),
        (["--removed-in", "5.7"], "there is no release '5.7'"),
    ):
        assert main(["stats", DUMP, *arguments]) == 2
        assert text in capsys.readouterr().err


def latencies_of(capsys: pytest.CaptureFixture[str]) -> dict[str, list[float]]:
    """Return the latencies of a capture by api, as JSON lines have them."""
    found: dict[str, list[float]] = {}
    for line in out(capsys, "decode", "--jsonl", CAPTURE).splitlines():
        members = json.loads(line)
        if "latencySeconds" in members["source"]:
            found.setdefault(members["header"]["apiName"], []).append(members["source"]["latencySeconds"])
    return found


@pytest.mark.parametrize("options", [[], ["--errors"]], ids=["headers", "bodies"])
def test_percentiles_of_latencies_are_exact(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    wanted = latencies_of(capsys)
    rows = json.loads(out(capsys, "stats", "--latency", "--json", *options, CAPTURE))["latencies"]
    assert {row["api"]: row["responses"] for row in rows} == {api: len(all_) for api, all_ in wanted.items()}
    for row in rows:
        times, found = wanted[row["api"]], row["latencySeconds"]
        assert found["max"] == pytest.approx(max(times), abs=1e-6)
        if len(times) > 1:
            cuts = statistics.quantiles(times, n=1000, method="inclusive")
            for name, cut in (("p50", 499), ("p90", 899), ("p99", 989), ("p99.9", 998)):
                assert found[name] == pytest.approx(cuts[cut], abs=1e-6)
    p99 = [row["latencySeconds"]["p99"] for row in rows]
    assert p99 == sorted(p99, reverse=True)


def test_latencies_by_client(capsys: pytest.CaptureFixture[str]) -> None:
    head, first, *_ = out(capsys, "stats", "--latency", "--by", "client,api", CAPTURE).splitlines()
    assert head.split() == [
        "client",
        "api",
        "responses",
        "p50",
        "ms",
        "p90",
        "ms",
        "p99",
        "ms",
        "p99.9",
        "ms",
        "max",
        "ms",
    ]
    assert first.split() == ["lab-rack-range-2", "JoinGroup", "2", "451.82", "812.54", "893.70", "901.82", "902.72"]


def test_the_slowest_requests_and_their_frames(capsys: pytest.CaptureFixture[str]) -> None:
    slowest = max((time, api) for api, times in latencies_of(capsys).items() for time in times)
    for options in ([], ["--errors"]):
        arguments = ("--slow", "2", "--long-polls", "--json", *options, CAPTURE)
        found = json.loads(out(capsys, "stats", *arguments))["slowest"]
        assert len(found) == 2
        assert (found[0]["latencySeconds"], found[0]["api"]) == (pytest.approx(slowest[0], abs=1e-6), slowest[1])
        number = str(found[0]["requestFrame"])
        line = out(capsys, "decode", "--where", f"request_frame == {number}", "--fields", "frame,latency", CAPTURE)
        assert line.splitlines()[1:] == [f"{found[0]['frame']}\t{slowest[0]}"]


def test_a_file_may_stand_behind_slow(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "stats", "--slow", CAPTURE).splitlines()
    assert lines == out(capsys, "stats", CAPTURE, "--slow", "10").splitlines()
    assert len(lines) == 11
    assert " ".join(lines[1].split()) == "98.15 - 106 107 2026-11-21 06:29:35.431 2 LeaderAndIsr:7"
    assert main(["stats", "--slow", "0", CAPTURE]) == 2
    assert "1 or more" in capsys.readouterr().err


def test_frames_are_numbered_anew_in_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(Path(CAPTURE).read_bytes())
    arguments = ("--slow", "2", "--long-polls", "--json", CAPTURE, str(copy))
    found = json.loads(out(capsys, "stats", *arguments))["slowest"]
    assert [(one["file"], one["requestFrame"]) for one in found] == [(CAPTURE, 22), (str(copy), 22)]


def test_a_wait_that_was_asked_for_is_no_slowness(capsys: pytest.CaptureFixture[str]) -> None:
    """Consumers fetch with max_wait_ms 500 here, followers with 1500; a JoinGroup waits for the other members."""
    rows = json.loads(out(capsys, "stats", "--slow", "1000", "--json", CAPTURE))["slowest"]
    beyond = [max(0.0, row["latencySeconds"] - row["askedWaitSeconds"]) for row in rows]
    assert beyond == sorted(beyond, reverse=True)
    waits = {(row["api"], row["client"]): row["askedWaitSeconds"] for row in rows}
    assert waits["JoinGroup", "lab-rack-range-2"] == 300
    assert {wait for (api, _), wait in waits.items() if api == "Fetch"} <= {0.1, 0.5, 1.5}
    assert {api for (api, _), wait in waits.items() if wait} == {"Fetch", "JoinGroup", "SyncGroup"}


def test_errors_by_client(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split()[:5] for line in out(capsys, "stats", "--by", "client,api,error", CAPTURE).splitlines()]
    assert ["kcat-group", "JoinGroup", "-", "2", "1"] in rows
    assert ["kcat-group", "JoinGroup", "MEMBER_ID_REQUIRED", "0", "1"] in rows
    named = [row[2] for row in rows[1:] if row[2] != "-"]
    assert sorted(set(named)) == ["KAFKA_STORAGE_ERROR", "MEMBER_ID_REQUIRED", "STALE_CONTROLLER_EPOCH"]
    by_topic = out(capsys, "stats", "--by", "error,topic", CAPTURE)
    assert "KAFKA_STORAGE_ERROR     payments" in by_topic


def test_the_broker_is_a_column_in_every_way_of_counting(capsys: pytest.CaptureFixture[str]) -> None:
    ends = Counter(frame.source.broker for frame in kwire.read_dump(CAPTURE) if frame.source.direction == "request")
    for more in ([], ["--errors"]):  # by headers alone, and with bodies
        text = out(capsys, "stats", "--by", "broker", "--json", CAPTURE, *more)
        counted = Counter[str]()
        for row in json.loads(text)["rows"]:
            counted[row["broker"]] += row["requests"]
        assert counted == ends
    assert '"broker"' not in out(capsys, "stats", "--by", "ip", "--json", CAPTURE)
