"""Recordings of clusters: the replay answers byte for byte, names what differs, and a file has no passwords."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import kwire
from kwire.cli.main import main
from kwire.errors import CallError, DumpError
from kwire.testing import AsyncKafka, Kafka
from kwire.testing.replay.player import replay
from kwire.testing.replay.recording import Recording
from tests.seeds import seeded
from tests.testing.test_kafka import asked, produced

M = kwire.messages


def find(kafka: Kafka, group: str) -> Any:
    return asked(kafka, "FindCoordinator", 4, M.FindCoordinatorRequest(key_type=0, coordinator_keys=(group,)))


def recorded(path: Path, **options: Any) -> Recording:
    """Record requests of each kind: records, a group, a transaction, errors by a rule, a stopped broker, the clock."""
    with Kafka(brokers=2, log_dirs=2, **options) as kafka:
        kafka.create_topic("t", 2, configs={"retention.ms": "60000"})
        assert (produced(kafka), produced(kafka, 1)) == (0, 0)
        rule = kafka.on("Produce", topic="t", partition=1).error("NOT_ENOUGH_REPLICAS", times=1)
        assert produced(kafka, 1) == 19
        rule.remove()
        kafka.on("FindCoordinator").respond(M.FindCoordinatorResponse(throttle_time_ms=7), times=1)
        assert find(kafka, "g").throttle_time_ms == 7
        leader = find(kafka, "g").coordinators[0].node_id
        join = M.JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer")
        row = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        asked(kafka, "JoinGroup", 3, M.JoinGroupRequest(**{**fields_of(join), "protocols": (row,)}), leader)
        asked(kafka, "InitProducerId", 4, M.InitProducerIdRequest("x", transaction_timeout_ms=1000), 1)
        kafka.produce("t", b"by hand", key=b"\xff", headers=[("h", None)])
        kafka.fail_log_dir(1, 0)
        kafka.advance(7200, keep_connected=False)
        kafka.stop_broker(2)
        asked(kafka, "Metadata", 12, M.MetadataRequest(topics=None), 1)
        kafka.start_broker(2)
        asked(kafka, "DescribeGroups", 5, M.DescribeGroupsRequest(groups=("g",)), leader)
        kafka.save_recording(path)
    return Recording.read(path)


def fields_of(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


def test_the_same_requests_get_the_same_bytes(tmp_path: Path) -> None:
    result = replay(recorded(tmp_path / "x.zip"))
    assert [request.differences() for request in result.requests] == [[]] * 9
    assert all(request.answer == request.recorded != b"" for request in result.requests)
    assert result.remarks == []


def test_chaos_is_repeated(tmp_path: Path) -> None:
    with Kafka(brokers=3, topics={"t": 2}, chaos=3) as kafka:
        for _ in range(40):
            with suppress(CallError):  # chaos has closed the connection
                asked(kafka, "ListOffsets", 5, M.ListOffsetsRequest(replica_id=-1), 1)
            with suppress(CallError):
                asked(kafka, "Metadata", 9, M.MetadataRequest(topics=None), 2)
        disturbed = kafka.disturbances()
        kafka.save_recording(tmp_path / "x.zip")
    result = replay(Recording.read(tmp_path / "x.zip"))
    assert disturbed
    assert (len(result.requests), result.different) == (80, [])


def test_what_differs_is_named_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.zip"
    recording = recorded(file)
    assert main(["replay", str(file)]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "kwire: 9 requests played, 9 answers compared, none differs\n")
    without_rule = [one for one in recording.operations if one.arguments.get("action") != "error"]
    replace(recording, operations=tuple(without_rule), test="test_it.py::test_x").write(file)
    assert main(["replay", str(file), "-w", str(tmp_path / "x.pcap")]) == 1
    captured = capsys.readouterr()
    first, second = captured.out.split("\n")[:2]
    assert first.startswith("request 3: Produce v9 of 'by-hand' to broker ")
    assert second == "  responses[0].partition_responses[0].error_code: 19 != 0"
    assert captured.err.startswith("kwire: recorded for test_it.py::test_x\n")
    assert captured.err.endswith(" differ\n")
    assert len(list(kwire.read_dump(tmp_path / "x.pcap"))) == 18
    assert main(["replay", str(file), "--json", "--all"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert (rows["test"], len(rows["requests"])) == ("test_it.py::test_x", 9)
    assert rows["requests"][2]["differences"][0] == second.strip()


def test_what_cannot_be_repeated_is_said(tmp_path: Path) -> None:
    with Kafka(topics=["t"], super_users=["admin"], configs={"num.partitions": "3"}) as kafka:
        kafka.on("Metadata").change(lambda request, response: response)
        kafka.on("Produce").drop(times=1)
        with pytest.raises(kwire.KwireError):
            produced(kafka)
        assert produced(kafka) == 0
        kafka.save_recording(tmp_path / "x.zip")
        kafka.forget_frames()
        asked(kafka, "Metadata", 12, M.MetadataRequest(topics=None), 1)
        kafka.save_recording(tmp_path / "y.zip")
    whole, later = (replay(Recording.read(tmp_path / name)) for name in ("x.zip", "y.zip"))
    function = "a rule for Metadata has a function, and is not applied"
    assert whole.remarks == ["not in the file, and not in force: super_users", function]
    assert [(request.is_open, request.recorded is None) for request in whole.requests] == [(False, True), (True, False)]
    assert later.remarks[0] == "the first 3 frames were not kept: answers that depend on them differ"
    assert [request.api for request in later.requests] == ["Metadata"]


def test_a_file_has_no_password(tmp_path: Path) -> None:
    secret = "correct-horse"
    options: Any = {"users": {"alice": secret}, "configs": {"ssl.keystore.password": secret}}
    with pytest.warns(UserWarning, match="without effect"), Kafka(topics=["t"], **options) as kafka:
        kafka.save_recording(tmp_path / "x.zip")
    with ZipFile(tmp_path / "x.zip") as archive:
        assert not any(secret.encode() in archive.read(name) for name in archive.namelist())
    assert replay(Recording.read(tmp_path / "x.zip")).remarks == ["not in the file, and not in force: users"]


def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.zip"
    with Kafka(topics=["t"]) as kafka:
        assert produced(kafka) == 0
        kafka.save_recording(file)
    data, rng = file.read_bytes(), seeded("damaged recordings")
    for _ in range(200):
        at = rng.randrange(len(data))
        file.write_bytes(rng.choice((data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :], data[at:])))
        try:
            replay(Recording.read(file))
        except (DumpError, OSError) as error:
            assert "\n" not in str(error)
    for text in ('{"kwireRecording": 2}', "{}", "[]", "no JSON", '{"kwireRecording": 1, "cluster": {"brokers": "x"}}'):
        with ZipFile(file, "w") as archive:
            archive.writestr("recording.json", text)
            archive.writestr("frames.pcap", b"")
        assert main(["replay", str(file)]) == 2
        error_lines = capsys.readouterr().err.splitlines()
        assert error_lines[0].startswith(f"kwire: error: {file}: a recording ")
    assert main(["replay", str(tmp_path / "none.zip")]) == 2


@pytest.mark.parametrize("kind", ["process", "loop"])
def test_a_process_and_a_loop_are_recorded_too(kind: str, tmp_path: Path) -> None:
    def ask(kafka: Any) -> None:
        answer = asked(kafka, "InitProducerId", 4, M.InitProducerIdRequest(None), 1)
        assert answer.error_code == 0

    async def run() -> None:
        async with AsyncKafka(topics={"t": 2}) as kafka:
            await asyncio.to_thread(ask, kafka)
            kafka.produce("t", b"x")
            kafka.save_recording(tmp_path / "x.zip")

    if kind == "loop":
        asyncio.run(run())
    else:
        with Kafka(topics={"t": 2}, process=True) as kafka:
            ask(kafka)
            kafka.produce("t", b"x")
            kafka.save_recording(tmp_path / "x.zip")
    recording = Recording.read(tmp_path / "x.zip")
    assert [operation.name for operation in recording.operations] == ["create_topic", "produce"]
    result = replay(recording)
    assert ([request.api for request in result.requests], result.different) == (["InitProducerId"], [])
