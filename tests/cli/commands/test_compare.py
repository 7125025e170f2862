"""`kwire compare`: a regression test for upgrades of clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.conftest import ROOT

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def write(path: Path, errors: int, version: int) -> str:
    """Write 40 exchanges, as raw frames of one connection; the first ones have an error."""
    frames = []
    for number in range(40):
        request = kwire.messages.HeartbeatRequest(group_id="g")
        response = kwire.messages.HeartbeatResponse(error_code=25 if number < errors else 0)
        frames.append(kwire.encode_request(request, version, correlation_id=number, client_id="app"))
        frames.append(kwire.encode_response(response, version, correlation_id=number))
    path.write_bytes(b"".join(frames))
    return str(path)


def test_a_capture_is_no_different_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "compare", CAPTURE, CAPTURE) == ""


def test_what_is_worse_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = write(tmp_path / "a", 1, 3), write(tmp_path / "b", 4, 4)
    assert [line.split() for line in out(capsys, "compare", before, after, code=1).splitlines()] == [
        ["what", "of", "before", "after", "verdict"],
        ["version", "app", "Heartbeat", "3", "4"],
        ["error", "Heartbeat", "UNKNOWN_MEMBER_ID", "1", "of", "40", "4", "of", "40", "worse"],
    ]
    assert out(capsys, "compare", before, after, "--errors", "8").count("\n") == 2
    found = json.loads(out(capsys, "compare", "--json", after, before))["differences"]
    assert [(row["kind"], row["before"], row["after"], row["isWorse"]) for row in found] == [
        ("version", "4", "3", False),
        ("error", "4 of 40", "1 of 40", False),
    ]


@pytest.mark.parametrize("option", ["--errors", "--latency", "--least"])
def test_negative_limits_are_refused(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["compare", CAPTURE, CAPTURE, f"{option}=-1"]) == 2
    assert option in capsys.readouterr().err


def test_nothing_to_compare_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "x"
    empty.write_bytes(bytes.fromhex("00000004 00000007"))
    assert main(["compare", CAPTURE, str(empty)]) == 2
    assert "nothing to compare" in capsys.readouterr().err
