"""What is incomplete (frames cut short, gaps, streams begun before the capture) is counted apart from what did not
decode, and is no exit code 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.capture.building import ACK, FIN, RST, Conversation, capture, request, response


def written(folder: Path, conversation: Conversation, *, left_out: tuple[int, ...] = (), cut: int = 0) -> str:
    segments = [segment for index, segment in enumerate(conversation.segments) if index not in left_out]
    path = folder / "x.pcap"
    path.write_bytes(capture(segments)[: -cut or None])
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def cut_by(flags: int) -> Conversation:
    """A conversation whose second response ends after 12 bytes: the broker closes, resets, or falls silent."""
    conversation = Conversation().open().ask(1).say(0, request(2)).say(1, response(2)[:12])
    return conversation.say(1, flags=flags) if flags != ACK else conversation


CAUSES = {FIN | ACK: "the connection closed", RST: "the connection closed", ACK: "the capture ended"}


@pytest.mark.parametrize("flags", CAUSES)
def test_a_frame_cut_short_says_how_much_is_there(
    flags: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, cut_by(flags))
    words = f"cut short: 12 of {len(response(2))} bytes, then {CAUSES[flags]}"
    code, lines, summary = run(capsys, "decode", path)
    assert code == 0
    assert words in lines.splitlines()[-1]
    assert "undecodable" not in lines
    assert "3 frames; 1 frame cut short" in summary
    code, lines, _ = run(capsys, "decode", "--jsonl", path)
    row = json.loads(lines.splitlines()[-1])
    assert (code, row["type"], row["header"]["apiName"]) == (0, "incomplete", "Metadata")
    assert (row["error"]["code"], row["error"]["message"]) == ("CUT_SHORT", words)
    assert (row["error"]["have"], row["error"]["need"], row["raw"]) == (12, len(response(2)), response(2)[:12].hex())
    for command in ("check", "report", "explain"):
        assert run(capsys, command, path)[0] == 0, command
    assert "3 frames, " in run(capsys, "stats", path)[2]
    assert "; 1 frame cut short" in run(capsys, "stats", path)[2]


def begun_late() -> Conversation:
    conversation = Conversation().open()
    for number in range(1, 5):
        conversation.ask(number)
    return conversation


def test_streams_begun_before_the_capture_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, begun_late(), left_out=(0, 1, 2, 3, 4, 5))
    code, lines, summary = run(capsys, "decode", path)
    assert code == 0
    assert [line for line in lines.splitlines() if "began before the capture" in line and "10.0.0.1:50000" in line]
    assert lines.count("began before") == 1
    assert "6 frames; 2 streams begun before the capture" in summary
    rows = [json.loads(line) for line in run(capsys, "decode", "--jsonl", path)[1].splitlines()]
    assert [row["error"]["code"] for row in rows if row["type"] == "incomplete"] == ["BEGUN_BEFORE"] * 2
    _, trees, _ = run(capsys, "decode", "-v", path)
    assert trees.count("began before") == 1
    assert ", 0 bytes" not in trees
    _, _, summary = run(capsys, "stats", "--by", "api", path)
    assert "6 frames, " in summary
    assert "; 2 streams begun before the capture" in summary
    counted = json.loads(run(capsys, "stats", "--json", path)[1])
    assert (counted["frames"], counted["unread"]) == (6, {"BEGUN_BEFORE": 2})


def test_a_response_to_a_request_before_the_capture_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, begun_late(), left_out=(0, 1, 2, 3))  # the first segment is a response
    code, lines, summary = run(capsys, "decode", path)
    assert code == 0
    assert "the request with correlation id 1 was not captured" in lines
    assert "1 response whose request was not captured" in summary
    path = written(tmp_path, Conversation().open().say(0, request(1)).say(1, response(9)).close())
    code, lines, _ = run(capsys, "decode", path)
    assert code == 1  # nothing of this connection is missing
    assert "no request with correlation id 9 is in flight" in lines


def test_gaps_are_one_note_a_connection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conversation = begun_late().close()
    asked = [index for index, segment in enumerate(conversation.segments) if segment.payload == request(2)]
    also = [index for index, segment in enumerate(conversation.segments) if segment.payload == response(3)]
    path = written(tmp_path, conversation, left_out=(*asked, *also))
    code, lines, summary = run(capsys, "decode", path)
    assert (code, lines.count("were not captured")) == (0, 1)
    assert f"gap: {len(request(2))} bytes of this stream" in lines
    assert "2 gaps" in summary
    assert "undecodable" not in summary
    _, rows, _ = run(capsys, "decode", "--jsonl", path)
    assert rows.count('"code":"GAP"') == 2


def test_what_is_complete_and_does_not_decode_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = bytearray(response(2))
    bad[8:12] = (9999).to_bytes(4, "big")  # brokers that are not there
    path = written(tmp_path, Conversation().open().ask(1).ask(2, answer=bytes(bad)).ask(3).close())
    code, _, summary = run(capsys, "decode", path)
    assert code == 1
    assert "6 frames, 1 undecodable" in summary
    whole = tmp_path / "whole.bin"
    whole.write_bytes(request(1) + request(2)[:13])
    code, lines, summary = run(capsys, "decode", str(whole))
    assert (code, "1 frame; 1 frame cut short" in summary) == (0, True)
    assert f"cut short: 13 of {len(request(2))} bytes, then the dump ended" in lines
    whole.write_bytes(request(1) + bytes.fromhex("0000000c 7ff00000 00000007 ffff"))  # cut, and of no api
    assert run(capsys, "decode", str(whole))[0] == 1


def test_removed_in_says_what_was_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, begun_late(), left_out=(0, 1, 2, 3))
    code, lines, _ = run(capsys, "stats", "--removed-in", "3.9", path)
    assert (code, lines.splitlines()[0]) == (0, "no client breaks with Kafka 3.9.2")
    assert "not read: 2 streams begun before the capture, 1 response whose request was not captured" in lines
    whole = written(tmp_path, begun_late().close())
    assert "not read" not in run(capsys, "stats", "--removed-in", "3.9", whole)[1]


def test_conn_prints_what_it_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = (
        Conversation(ports=(40001, 9092))
        .open()
        .say(0, b"GET / HTTP/1.1\r\n\r\n")
        .say(1, b"HTTP/1.1 200\r\n\r\n")
        .close()
    )
    kafka = Conversation().open().ask(1).close()
    path = tmp_path / "x.pcap"
    path.write_bytes(capture([*other.segments, *kafka.segments]))
    code, lines, summary = run(capsys, "decode", "--conn", "10.0.0.1:40001", str(path))
    assert (code, len(lines.splitlines())) == (0, 3)  # the date, and two pieces
    assert lines.count("bytes of HTTP, not Kafka's protocol") == 2
    assert "2 frames, 0 undecodable, 2 shown" in summary


def test_only_another_protocol_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, Conversation().open().say(0, b"GET / HTTP/1.1\r\n\r\n").close())
    for command in ("decode", "check", "report", "explain"):
        assert run(capsys, command, path)[0] == 0, command


def test_sizes_are_no_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = kwire.messages.SaslAuthenticateResponse(auth_bytes=b"v=0123456789abcdefghijklmnopqrstuvwxyz")
    data = kwire.encode_response(secret, 1, correlation_id=2)
    asked = kwire.encode_request(
        kwire.messages.SaslAuthenticateRequest(auth_bytes=b"n,,n=u,r=abcdef"), 1, correlation_id=2
    )
    path = written(tmp_path, Conversation().open().ask(1).say(0, asked).say(1, data[:-9]))
    code, lines, _ = run(capsys, "decode", "--jsonl", path)
    assert (code, "0123456789" in lines, b"0123456789".hex() in lines) == (0, False, False)
    assert f"cut short: {len(data) - 9} of {len(data)} bytes, then the capture ended" in lines
