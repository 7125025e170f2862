"""What other protocols say beside Kafka's: named in a remark, counted once, and no failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli.main import main
from tests.capture.building import Conversation, capture

ZOOKEEPER = bytes.fromhex("0000002d") + bytes(24) + b"\0\0\0\x10" + b"session password" + b"\0"
TLS = bytes.fromhex("16030100c8010000c40303")


def said(client: int, first: bytes) -> Conversation:
    conversation = Conversation(ports=(client, 9092)).open().say(0, first)
    for _ in range(20):
        conversation.say(1, bytes(100))
    return conversation.close()


def kafka(client: int = 50000) -> Conversation:
    return Conversation(ports=(client, 9092)).open().ask(1).ask(2).ask(3).close()


def file_of(folder: Path, *conversations: Conversation, left_out: slice = slice(0)) -> str:
    segments = [segment for conversation in conversations for segment in conversation.segments]
    del segments[left_out]
    path = folder / "all.pcap"
    path.write_bytes(capture(segments))
    return str(path)


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_each_protocol_is_one_remark_and_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, said(40001, ZOOKEEPER), said(40002, ZOOKEEPER), kafka(), said(40003, TLS))
    code, lines, remarks = run_command(capsys, "decode", path)
    assert (code, len(lines.splitlines())) == (0, 7)  # the date, and six messages
    size = 2 * (len(ZOOKEEPER) + 2000)
    assert f"2 connections of ZooKeeper, {size} bytes: not Kafka's protocol" in remarks
    assert "1 connection of TLS, 2011 bytes: not Kafka's protocol; kwire does not decrypt" in remarks
    assert "kwire help tls" in remarks
    for command in (["explain"], ["check"], ["report"], ["stats"], ["decode", "--jsonl"]):
        code, _, remarks = run_command(capsys, *command, path)
        assert (code, remarks.count("of ZooKeeper")) == (0, 1), command


def test_in_json_they_are_foreign_and_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, said(40001, ZOOKEEPER), kafka())
    _, lines, _ = run_command(capsys, "decode", "--jsonl", path)
    rows = [json.loads(line) for line in lines.splitlines()]
    foreign = [row for row in rows if row["type"] == "foreign"]
    assert len(foreign) == 2
    assert b"session password".hex() not in lines
    again = tmp_path / "again.jsonl"
    again.write_text(lines)
    code, _, remarks = run_command(capsys, "encode", str(again), "-o", str(tmp_path / "again.bin"))
    assert (code, "2 streams of other protocols were left out" in remarks) == (0, True)


def test_a_capture_without_kafka_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, remarks = run_command(capsys, "decode", file_of(tmp_path, said(40001, TLS)))
    assert (code, lines) == (0, "")
    assert "TLS" in remarks
