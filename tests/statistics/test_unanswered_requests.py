"""Requests without a response: all of them, no others, and the reason as far as a capture has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwire
from tests.capture.building import Conversation, capture, request, response
from tests.capture.captured import CAPTURES
from tests.cli.input.test_non_kafka_streams import run_command
from tests.conftest import each_of

M: Any = kwire.messages


def listed(capsys: pytest.CaptureFixture[str], path: Path) -> list[tuple[int, str]]:
    code, out, _ = run_command(capsys, "stats", "--unanswered", "--json", str(path))
    assert code == 0
    return [(one["frame"], one["reason"]) for one in json.loads(out)["unanswered"]]


def written(path: Path, *conversations: Conversation, left_out: int | None = None) -> Path:
    segments = [segment for conversation in conversations for segment in conversation.segments]
    if left_out is not None:
        del segments[left_out]
    path.write_bytes(capture(segments))
    return path


def silent(number: int, acks: int) -> bytes:
    return kwire.encode_request(M.ProduceRequest(acks=acks, timeout_ms=100), 7, correlation_id=number, client_id="me")


def test_the_end_of_the_capture_is_not_the_end_of_a_connection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = Conversation(ports=(50001, 9092)).open().ask(1).say(0, request(2)).close()
    still_open = Conversation().open().ask(1).say(0, request(2)).say(0, silent(3, acks=0)).say(0, silent(4, acks=1))
    path = written(tmp_path / "a.pcap", closed, still_open)
    assert listed(capsys, path) == [(2, "CONNECTION_ENDED"), (5, "CAPTURE_ENDED"), (7, "CAPTURE_ENDED")]
    _, out, remarks = run_command(capsys, "stats", "--unanswered", str(path))
    assert remarks.endswith("6 requests, 3 without a response; 1 with acks=0 expect none\n")
    assert out.splitlines()[2].split() == [
        *("5", "2023-11-14", "22:13:20.007", "0.002", "me", "Metadata:1"),
        *("the", "capture", "ended"),
    ]


def test_how_long_each_has_waited_when_the_capture_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = Conversation().open().say(0, request(1)).say(0, request(2)).ask(3)
    timed, raw = written(tmp_path / "a.pcap", conversation), tmp_path / "a.bin"
    raw.write_bytes(request(1))
    for path, expected in ((timed, [0.003, 0.002]), (raw, [None])):
        _, out, _ = run_command(capsys, "stats", "--unanswered", "--json", str(path))
        assert [one["secondsBeforeEnd"] for one in json.loads(out)["unanswered"]] == expected


def test_a_later_request_was_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = Conversation().open().say(0, request(1)).say(0, request(2)).say(1, response(2)).close()
    assert listed(capsys, written(tmp_path / "a.pcap", conversation)) == [(0, "LATER_ANSWERED")]


def test_what_is_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = Conversation().open().ask(1).say(0, request(2)[:-3]).close()
    answered = Conversation(ports=(50001, 9092)).open().say(0, request(1)).say(1, response(1)[:-3]).close()
    reasons = [reason for _, reason in listed(capsys, written(tmp_path / "a.pcap", asked, answered))]
    assert sorted(reasons) == ["CUT_SHORT", "RESPONSE_CUT_SHORT"]


def test_the_response_may_be_among_missing_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = Conversation().open().ask(1).ask(2).ask(3).close()
    lost = next(i for i, one in enumerate(conversation.segments) if one.payload == response(2))
    assert listed(capsys, written(tmp_path / "a.pcap", conversation, left_out=lost)) == [(2, "PACKETS_MISSING")]


def test_raw_frames_have_the_same_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(request(1) + response(1) + request(2) + silent(3, acks=0))
    assert listed(capsys, path) == [(2, "CAPTURE_ENDED")]


def test_it_goes_with_no_other_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, remarks = run_command(capsys, "stats", "--unanswered", "--slow", "3", "fixtures/dumps/kafka-3.9-zk.pcap")
    assert (code, remarks.count("it cannot be combined with --slow")) == (2, 1)


@each_of("path", sorted(CAPTURES.glob("*.pcap*")), 12, ids=lambda path: path.name)
def test_they_are_the_requests_that_no_response_names(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if ".zookeeper." in path.name:
        pytest.skip("no Kafka connections")
    frames = list(map(json.loads, run_command(capsys, "decode", "--jsonl", str(path))[1].splitlines()))
    named = {one["source"].get("requestFrame") for one in frames if one["type"] == "response"}
    asked = [one for one in frames if one["type"] == "request" and one["payload"].get("acks") != 0]
    numbers = [one["source"]["frame"] for one in asked if one["source"]["frame"] not in named]
    assert [number for number, reason in listed(capsys, path) if reason != "CUT_SHORT"] == numbers
