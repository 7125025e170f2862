"""`kwire decode --guess` lists what a frame could be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.protocol.identify import guess_types
from tests.cli.test_commands import out
from tests.conftest import ROOT, SHARED, each_of
from tests.protocol.test_frame_decoder import response

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"


def test_a_response_alone_is_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reply.bin"
    path.write_bytes(DUMP.read_bytes()[116:154])
    assert out(capsys, "decode", "--guess", str(path)).splitlines() == [
        "# frame 0 at 0, 38 bytes",
        "4 messages that the frame could be, best first",
        "  LeaderAndIsr:5-7                   response  no evidence",
        "  SyncGroup:4                        response  1 odd value",
    ]


def test_what_it_names_can_be_given_to_as(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reply.bin"
    path.write_bytes(response(70000))
    assert "  Metadata:1 " in out(capsys, "decode", "--guess", str(path))
    out(capsys, "decode", str(path), "--as", "Metadata:1")


def test_nothing_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(bytes.fromhex("00000005 00000007 99"))
    assert "0 messages that the frame could be\n" in out(capsys, "decode", "--guess", str(path), code=1)


def test_guessing_and_knowing_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--guess", "--as", "Metadata:1", str(DUMP)]) == 2
    assert "--guess and --as cannot be combined" in capsys.readouterr().err


MIDDLE = sorted((SHARED / "captures").glob("*begun-in-the-middle*"))


@each_of("path", MIDDLE, ids=[path.name for path in MIDDLE])
def test_answers_at_the_beginning_of_a_capture_are_guessed_and_named(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = [
        result
        for result in kwire.decode_frames(kwire.read_dump(path))
        if isinstance(result, kwire.Undecodable) and result.frame.fault is None
    ]
    assert main(["decode", "--guess", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.count("that the frame could be") == len(lost)
    for result in lost:
        found = guess_types(result.frame)
        assert found
        assert {guess.codec.spec.type for guess in found} == {"response"}
        codec = found[0].codec
        main(["decode", str(path), "--as", f"{codec.spec.api_name}:{codec.version}", "--jsonl"])
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        row = next(row for row in rows if row["source"]["frame"] == result.frame.source.frame)
        assert (row["type"], row["header"]["apiName"]) == ("response", codec.spec.api_name)


def test_without_frames_there_is_nothing_to_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "head.pcap"
    path.write_bytes((ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()[:24])
    assert main(["decode", "--guess", str(path)]) == 0
    assert capsys.readouterr().err.endswith("kwire: nothing to guess: 0 frames\n")
