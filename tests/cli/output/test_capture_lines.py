"""The lines of a capture, written quickly: as decoded frame by frame, and as chosen by a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.cli.output.dump_lines import DumpLines
from kwire.protocol.frame_kinds import FrameKinds
from tests.capture.building import Conversation, capture
from tests.capture.captured import CAPTURES
from tests.cli.input.test_non_kafka_streams import ZOOKEEPER, kafka, run_command, said
from tests.cli.test_main import ran
from tests.conftest import each_of, needs_shared
from tests.protocol.test_frame_decoder import request

M: Any = kwire.messages
METADATA_LOG = bytes(15) + b"\1"  # the id of __cluster_metadata: KIP-595


def capture_of(folder: Path, *conversations: Conversation, name: str = "all.pcap") -> Path:
    path = folder / name
    path.write_bytes(capture([segment for conversation in conversations for segment in conversation.segments]))
    return path


def both_ways(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the JSON lines of a capture; those and the text are the same decoded frame by frame, and by a query."""
    results = []
    for form in ([], ["--jsonl"]):
        quick = run_command(capsys, "decode", *form, *arguments)
        assert run_command(capsys, "decode", *form, "--client", "*", *arguments) == quick
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DumpLines, "_is_quick", lambda *_: False)
            assert run_command(capsys, "decode", *form, *arguments) == quick
        results.append(quick)
    return results[1]


def test_the_lines_of_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture_of(tmp_path, kafka(), kafka(50001), said(40001, ZOOKEEPER))
    code, lines, remarks = both_ways(capsys, str(path))
    assert (code, lines.count("\n"), lines.count('"type":"foreign"')) == (0, 14, 2)
    assert "1 connection of ZooKeeper" in remarks
    assert f'"file":"{path}","frame":13,' in lines


def test_all_forms_number_frames_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(capture_of(tmp_path, kafka(), said(40001, ZOOKEEPER), kafka(50001)))
    _, lines, _ = run_command(capsys, "decode", path)
    objects = map(json.loads, run_command(capsys, "decode", path, "--jsonl")[1].splitlines())
    numbers = [one["source"]["frame"] for one in objects if one["type"] in ("request", "response")]
    assert [int(line[:5]) for line in lines.splitlines()[1:]] == numbers
    fields = run_command(capsys, "decode", path, "--fields", "frame", "--where", "api")[1]
    assert list(map(int, fields.split()[1:])) == numbers
    by_number = run_command(capsys, "decode", path, "--frame", str(numbers[-1]), "--fields", "frame")[1]
    assert list(map(int, by_number.split()[1:])) == numbers[-2:]


def test_frames_that_do_not_decode_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Conversation().open().ask(1).ask(2)
    broken.say(1, bytes.fromhex("00000008 00000063 ffffffff"))
    path = capture_of(tmp_path, broken.close())
    for options in ([], ["--strict"], ["--show-secrets"]):
        code, lines, remarks = both_ways(capsys, str(path), *options)
        assert (code, lines.count("\n"), lines.count('"type":"undecodable"')) == (1, 5, 1)
        assert "5 frames, 1 undecodable\n" in remarks


def test_several_files_in_order_of_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(capture_of(tmp_path, kafka(port), name=f"{port}.pcap")) for port in (50000, 50001)]
    (tmp_path / "raw.bin").write_bytes(bytes.fromhex("0000000a 0003 0001 00000007 0000"))
    _, lines, _ = both_ways(capsys, *paths, str(tmp_path / "raw.bin"))
    *frames, raw = map(json.loads, lines.splitlines())
    times = [frame["source"]["time"] for frame in frames]
    assert (times, len(times), "time" in raw["source"]) == (sorted(times), 12, False)


def test_what_is_broken_in_a_folder_ends_that_file_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture_of(tmp_path, kafka(), name="a.pcap")
    (tmp_path / "b.pcap").write_bytes((tmp_path / "a.pcap").read_bytes()[:24] + bytes(8))
    capture_of(tmp_path, kafka(), name="c.pcap")
    _, lines, _ = both_ways(capsys, "-r", str(tmp_path))
    assert lines.count("\n") >= 12


def test_a_pipe_gives_the_lines_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture_of(tmp_path, kafka())
    _, lines, _ = both_ways(capsys, str(path))
    assert ran("decode", "--jsonl", "-", data=path.read_bytes()).stdout.decode() == lines.replace(str(path), "-")


def test_many_lines_come_in_pieces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = capture_of(tmp_path, kafka(), kafka(50001))
    _, whole, _ = both_ways(capsys, str(path))
    monkeypatch.setattr("kwire.cli.output.capture_lines.MOST_TEXT", 600)
    monkeypatch.setattr("kwire.render.captured.line_writer.MOST_TEXT", 600)
    written: list[str] = []
    monkeypatch.setattr("kwire.cli.commands.decode._printer", lambda pager: written.append)
    run_command(capsys, "decode", "--jsonl", str(path))
    assert "".join(written) == whole
    assert len([text for text in written if text]) > 4


def test_an_interrupt_prints_what_was_read_and_counts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    meet, calls = FrameKinds.meet, []

    def interrupted(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return meet(self, *arguments)

    monkeypatch.setattr(FrameKinds, "meet", interrupted)
    code, lines, remarks = run_command(capsys, "decode", "--jsonl", str(capture_of(tmp_path, kafka(), kafka(50001))))
    assert (code, lines.count("\n")) == (130, 6)
    assert "6 frames, 0 undecodable" in remarks


def test_drafts_are_decoded_frame_by_frame(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both_ways(capsys, str(capture_of(tmp_path, kafka())), "--profile", "KIP-112")


def test_a_capture_of_one_frame_is_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture_of(tmp_path, Conversation().open().say(0, request(7)).close(), said(40001, ZOOKEEPER))
    _, lines, _ = both_ways(capsys, str(path))
    assert lines.count('"type":"request"') == 1
    assert "  topics" in run_command(capsys, "decode", str(path))[1]


def test_topics_that_other_messages_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topic = M.MetadataResponse.MetadataResponseTopic(name="orders", topic_id=b"\1" * 16)
    fetch = M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic_id=b"\1" * 16),))
    conversation = Conversation().open()
    for number, (message, answer, version) in enumerate(
        [
            (fetch, M.FetchResponse(), 13),
            (M.MetadataRequest(topics=None), M.MetadataResponse(topics=(topic,)), 12),
            (fetch, M.FetchResponse(), 13),
            (M.ListGroupsRequest(), M.ListGroupsResponse(error_code=15), 0),
        ]
        * 2
    ):
        conversation.say(0, kwire.encode_request(message, version, correlation_id=number, client_id="me"))
        conversation.say(1, kwire.encode_response(answer, version, correlation_id=number))
    path = capture_of(tmp_path, conversation.close())
    _, objects, _ = both_ways(capsys, str(path))
    lines = run_command(capsys, "decode", str(path))[1].splitlines()
    assert [line.split("me  ")[1] for line in lines if "-> Fetch" in line] == ["orders"] * 4
    named = {"topics": {"AQEBAQEBAQEBAQEBAQEBAQ": "orders"}}
    assert [names_in(line) for line in objects.splitlines()] == ([named] + [None] * 3 + [named] + [None] * 3) * 2
    chosen = run_command(capsys, "decode", "--jsonl", "--api", "Fetch", "--first", "1", str(path))[1]
    assert names_in(chosen) == named
    (shown,) = json.loads(run_command(capsys, "decode", "--json", "--api", "Fetch", "--first", "1", str(path))[1])
    assert shown["names"] == named
    assert all("names" not in line for line in run_command(capsys, "decode", str(path), "--fields", "api")[1])


def test_a_connection_is_chosen_by_its_endpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the groups of requests are noted for their responses, which is a part of the test of a frame."""
    heartbeat = M.HeartbeatRequest(group_id="billing"), M.HeartbeatResponse(), 4
    conversations = []
    for port in (50000, 50001):
        conversation = Conversation(ports=(port, 9092)).open()
        for number, (message, answer, version) in enumerate(
            [heartbeat, (M.ListGroupsRequest(), M.ListGroupsResponse(), 0)]
        ):
            conversation.say(0, kwire.encode_request(message, version, correlation_id=number, client_id="me"))
            conversation.say(1, kwire.encode_response(answer, version, correlation_id=number))
        conversations.append(conversation.close())
    path = str(capture_of(tmp_path, *conversations))
    _, objects, _ = both_ways(capsys, path)
    ends = dict.fromkeys(json.loads(line)["source"]["client"] for line in objects.splitlines())
    assert len(ends) == 2
    for end in ends:
        _, lines, _ = both_ways(capsys, path, "--conn", end)
        assert [json.loads(line)["source"]["client"] for line in lines.splitlines()] == [end] * 4
        fields = run_command(capsys, "decode", path, "--conn", end, "--fields", "api,group,client", "--format", "csv")[
            1
        ]
        assert fields.splitlines()[1:] == [f"Heartbeat,billing,{end}"] * 2 + [f"ListGroups,,{end}"] * 2


def test_json_lines_with_names_become_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch = M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic_id=METADATA_LOG),))
    data = kwire.encode_request(fetch, 13, correlation_id=7, client_id="me")
    (tmp_path / "x.bin").write_bytes(data)
    line = run_command(capsys, "decode", "--jsonl", str(tmp_path / "x.bin"))[1]
    assert names_in(line) == {"topics": {"AAAAAAAAAAAAAAAAAAAAAQ": "__cluster_metadata"}}
    (tmp_path / "x.jsonl").write_text(line)
    run_command(capsys, "encode", str(tmp_path / "x.jsonl"), "-o", str(tmp_path / "y.bin"))
    assert (tmp_path / "y.bin").read_bytes() == data


def names_in(line: str) -> Any:
    return json.loads(line).get("names")


@needs_shared
@pytest.mark.ci
@each_of("path", sorted(CAPTURES.glob("*.pcap")), most=6, ids=lambda path: path.stem)
def test_captures_of_brokers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both_ways(capsys, str(path))
