"""`kwire check`: frames that come back byte for byte, and those that do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import out
from tests.cli.test_main import DUMP
from tests.protocol.test_frame_decoder import request

# one boolean is 2; a tail of one byte; cut short
ODD = bytes.fromhex("00000011 0003 0004 00011170 0002 6d65 ffffffff 02")
TAIL = bytes.fromhex("00000011 0003 0001 00011170 0002 6d65 ffffffff ab")


def test_a_real_dump_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "check", DUMP) == "6 frames: 6 encoded to the same bytes, 0 not\n"
    assert json.loads(out(capsys, "check", "--json", DUMP)) == {"frames": 6, "exact": 6, "differences": []}


def test_the_first_byte_and_field_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(request(70000) + ODD + TAIL + request(1)[:-2])
    text = out(capsys, "check", str(path), code=1)
    assert "  byte 0x14 (20), field allow_auto_topic_creation\n  in the dump: 02; encoded again: 01\n" in text
    assert "  byte 0x14 (20), field after the last\n  in the dump: ab; encoded again: nothing\n" in text
    assert text.endswith("3 frames: 1 encoded to the same bytes, 2 not; 1 frame cut short\n")


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(ODD)
    assert json.loads(out(capsys, "check", "--json", str(path), code=1)) == {
        "frames": 1,
        "exact": 0,
        "differences": [
            {
                "file": str(path),
                "frame": 0,
                "offset": 0,
                "what": 'Metadata v4 request, correlation 70000, client "me", 21 bytes, frame 0 at 0',
                "byte": 20,
                "field": "allow_auto_topic_creation",
                "was": "02",
                "again": "01",
                "reason": "MetadataRequest v4: "
                "allow_auto_topic_creation: boolean byte 2; 0 and 1 are written (offset 20)",
            }
        ],
    }


def test_a_bare_body(capsys: pytest.CaptureFixture[str]) -> None:
    body = ["--body", "--as", "MetadataRequest:4"]
    assert out(capsys, "check", "--hex", "ffffffff 01", *body).startswith("1 frame: 1 encoded to the same bytes")
    assert "byte 0x4 (4), field allow_auto" in out(capsys, "check", "--hex", "ffffffff 02", *body, code=1)
