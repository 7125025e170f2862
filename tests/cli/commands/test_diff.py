"""`kwire diff A B` for two dumps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request


def test_the_same_dump_does_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "diff", DUMP, DUMP) == "6 frames: 6 the same, 0 not\n"


def test_fields_and_bytes_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(request(70000) + request(70001))
    two.write_bytes(request(70000, client_id="you") + request(70001) + request(70002))
    lines = out(capsys, "diff", str(one), str(two), code=1).splitlines()
    assert lines[:2] == [
        'Metadata v1 request, correlation 70000, client "me", 20 bytes, frame 0 at 0',
        'Metadata v1 request, correlation 70000, client "you", 21 bytes, frame 0 at 0',
    ]
    assert lines[2:] == [
        "  ~ size: 16 -> 17",
        '  ~ header.client_id: "me" -> "you"',
        "  first byte that differs: 0x3 (3): 10 00 03 00 01 00 01 11 -> 11 00 03 00 01 00 01 11; 20 and 21 bytes",
        f'only in {two}: Metadata v1 request, correlation 70002, client "me", 20 bytes, frame 2 at 41',
        "3 frames: 1 the same, 2 not",
    ]


def test_versions_are_still_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert "allow_auto_topic_creation: bool" in out(capsys, "diff", "Metadata:3", "Metadata:4", code=1)
    assert main(["diff", DUMP]) == 2
    assert "diff takes two of NAME:VERSION, two files, or --release A B" in capsys.readouterr().err


def test_a_pipe_of_the_shell(tmp_path: Path) -> None:
    kwire = f"{sys.executable} -m kwire"
    one, two = request(7).hex(), request(8).hex()
    command = f"{kwire} diff <(echo {one}) <(echo {two}); echo {one} | {kwire} diff - <(echo {one})"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if "~" in line or "same" in line] == [
        "  ~ header.correlation_id: 7 -> 8",
        "1 frame: 0 the same, 1 not",
        "1 frame: 1 the same, 0 not",
    ]


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", DUMP, "nosuch.bin"]) == 2
    assert capsys.readouterr().err.endswith("kwire: error: nosuch.bin: No such file or directory\n")


def test_keys_are_for_captures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "Metadata:9", "Metadata:12", "--keylog", "keys"]) == 2
    assert "--keylog is for two captures: kwire diff A.pcap B.pcap --keylog KEYS" in capsys.readouterr().err
