"""Commands return the exit codes that `kwire help exit-codes` lists: one case of 0, 1 and 2 for each command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli.command_table import COMMANDS
from kwire.cli.help.topics import TOPICS
from kwire.cli.main import main
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

PCAP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
BIN = str(ROOT / "fixtures/dumps/kafka-3.9-zk.bin")
UNKNOWN_API = b"\0\0\0\x0a\x27\x0f\0\0\0\0\0\0\xff\xff"
AT_ONCE = ("decode", "explain", "report", "check", "stats", "cluster", "redact", "slice", "diff")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.bin").write_bytes(request(1) + UNKNOWN_API + request(2))
    (tmp_path / "cut.bin").write_bytes(request(1) + request(2)[:-2])
    (tmp_path / "reply.bin").write_bytes(response(70000))
    (tmp_path / "bad.jsonl").write_text('{"header": {"apiName": "Metadata", "apiVersion": 1}, "payload": {}}\n')
    spec = {"apiKey": 3, "type": "request", "name": "BadRequest", "validVersions": "0-1", "fields": [{"name": "A"}]}
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "BadRequest.json").write_text(json.dumps(spec))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["decode", PCAP], 0),
        (["decode", "cut.bin"], 0),
        (["decode", "bad.bin"], 1),
        (["decode", "bad.bin", "--count"], 1),
        (["decode", "reply.bin", "--guess"], 0),
        (["explain", BIN], 0),
        (["explain", "bad.bin"], 1),
        (["explain", "bad.bin", "--html", "-o", "page.html"], 1),
        (["report", BIN, "-o", "page.html"], 0),
        (["report", "bad.bin", "-o", "page.html"], 1),
        (["check", BIN], 0),
        (["check", "bad.bin"], 1),
        (["stats", PCAP], 0),
        (["stats", PCAP, "--removed-in", "3.9"], 0),
        (["stats", BIN, "--removed-in", "4.0"], 1),
        (["cluster", BIN], 0),
        (["encode", "bad.jsonl", "-o", "out.bin"], 1),
        (["redact", BIN, "-o", "out.bin"], 0),
        (["slice", PCAP, "--api", "Metadata", "-w", "part.pcap"], 0),
        (["slice", PCAP, "--client", "nobody", "-w", "part.pcap"], 1),
        (["diff", "Fetch:9", "Fetch:9"], 0),
        (["diff", "Fetch:9", "Fetch:12"], 1),
        (["diff", BIN, BIN], 0),
        (["diff", BIN, "bad.bin"], 1),
        (["schema", "Fetch"], 0),
        (["apis"], 0),
        (["errors", "56"], 0),
        (["spec", "check", str(ROOT / "schemas" / "kafka")], 0),
        (["spec", "check", "specs"], 1),
        (["call", ":9092", "Metadata", "--offline", "topics:=null"], 0),
        (["help", "exit-codes"], 0),
    ],
    ids=lambda value: " ".join(Path(word).name for word in value) if isinstance(value, list) else "",
)
def test_exit_codes(words: list[str], code: int, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_options_are_usage_errors(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--no-such-option"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "error: " in shown.err


@pytest.mark.parametrize("command", AT_ONCE)
def test_files_that_are_not_there_are_code_2(command: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"redact": ["-o", "x.bin"], "slice": ["-w", "x.pcap"], "diff": [BIN]}.get(command, [])
    assert main([command, "no-such-file", *more]) == 2
    assert "no-such-file" in capsys.readouterr().err


def test_a_broker_that_is_not_there_is_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "127.0.0.1:1", "Metadata", "topics:=null"]) == 2
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_output_that_cannot_be_written_is_code_2(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["redact", BIN, "-o", "no-such-folder/x.bin"]) == 2
    assert "no-such-folder/x.bin" in capsys.readouterr().err


def test_the_topic_lists_the_commands() -> None:
    about = TOPICS["exit-codes"][1].split("\n2 ")[0]
    for command in ("decode", "check", "diff", "stats", "encode", "slice", "call", "place", "assign", "spec check"):
        assert f" {command} " in about
