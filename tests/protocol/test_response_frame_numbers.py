"""Requests name the frame of their response: all that have one, in the same order, within a bounded window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.protocol.response_frame_numbers import with_response_frames
from tests.capture.building import Conversation, capture, request, response
from tests.capture.captured import CAPTURES
from tests.cli.input.test_non_kafka_streams import run_command
from tests.conftest import ROOT, each_of

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


def lines_of(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> list[dict[str, Any]]:
    return list(map(json.loads, run_command(capsys, "decode", "--jsonl", str(path), *options)[1].splitlines()))


@each_of("path", [DUMP, *sorted(CAPTURES.glob("*clients.pcap"))], 4, ids=lambda path: path.name)
def test_they_are_the_reverse_of_what_responses_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lines_of(capsys, path, "--response-frames")
    sources = [one["source"] for one in found]
    forth = {one["frame"]: one.pop("responseFrame") for one in sources if "responseFrame" in one}
    assert forth == {one["requestFrame"]: one["frame"] for one in sources if "requestFrame" in one}
    assert found == lines_of(capsys, path)


def results_of(*conversations: Conversation, path: Path) -> list[Any]:
    path.write_bytes(capture([segment for conversation in conversations for segment in conversation.segments]))
    return list(kwire.decode_frames(kwire.read_dump(path)))


def test_nothing_waits_behind_the_end_of_a_connection_or_a_later_response(tmp_path: Path) -> None:
    overtaken = Conversation().open().say(0, request(1)).say(0, request(2)).say(1, response(2)).say(0, request(3))
    results = results_of(overtaken, path=tmp_path / "a.pcap")
    assert [getattr(one, "response_frame", None) for one in with_response_frames(results)] == [None, 2, None, None]
    yielded = with_response_frames(iter(results))
    assert [next(yielded).frame.source.frame for _ in range(3)] == [0, 1, 2]


def test_the_window_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = Conversation().open().say(0, request(1))
    others = Conversation(ports=(50001, 9092)).open().ask(1).ask(2).ask(3).close()
    results = results_of(silent, others, path=tmp_path / "a.pcap")
    monkeypatch.setattr("kwire.protocol.response_frame_numbers.MOST_HELD", 3)
    taken: list[int] = []
    found = [(len(taken), one) for one in with_response_frames(taken.append(0) or one for one in results)]  # type: ignore[func-returns-value]
    assert found[0] == (4, results[0])  # without its response, when there was no room for another result
    assert [one.response_frame for _, one in found[1::2]] == [2, 4, 6]


def test_a_field_alone_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(capsys, "decode", str(DUMP), "--fields", "frame", "--where", "response_frame == 62")
    assert out.split() == ["frame", "61"]
