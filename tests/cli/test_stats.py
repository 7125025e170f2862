"""`kwire stats` counts, and says in words who breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli import main
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP


def test_by_api_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", DUMP]) == 0
    captured = capsys.readouterr()
    assert captured.out == (
        "api             version  requests  responses  bytes out  bytes in\n"
        "LeaderAndIsr    7               1          1        116        38\n"
        "Metadata        12              1          1         55       238\n"
        "UpdateMetadata  8               1          1        359        12\n"
    )
    assert captured.err == f"kwire: {DUMP}: read as raw frames\nkwire: 6 frames, 818 bytes\n"


def test_by_topic_with_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "stats", DUMP, "--by", "topic,client", "--errors").splitlines() == [
        "topic               client        requests  responses  bytes out  bytes in  errors",
        "lonely              1                    1          1        116        38       0",
        "lonely              lab-producer         1          1         55       238       1",
        "born-after-restart  1                    1          0        359         0       0",
        "-                   1                    0          1          0        12       0",
        "  1 x LEADER_NOT_AVAILABLE",
    ]


def test_who_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "stats", DUMP, "--removed-in", "4.0", code=1) == (
        "1 client breaks with Kafka 4.0.2:\n"
        '  client "1"\n'
        "    uses LeaderAndIsr v7 (1 request); 4.0.2 has no such api\n"
        "    uses UpdateMetadata v8 (1 request); 4.0.2 has no such api\n"
    )
    assert out(capsys, "stats", DUMP, "--removed-in", "3.9").startswith("no incompatible clients found: Kafka 3.9.2")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    seen = json.loads(out(capsys, "stats", DUMP, "--by", "client", "--json", "--removed-in", "4.0", code=1))
    assert seen["rows"][1] == {
        "client": "lab-producer",
        "requests": 1,
        "responses": 1,
        "requestBytes": 55,
        "responseBytes": 238,
    }
    assert [one["api"] for one in seen["removedIn"]["clients"]] == ["LeaderAndIsr", "UpdateMetadata"]


def test_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, text in (
        (["--by", "colour"], "--by colour: write some of client, api, version, ip, topic, software"),
        (["--by", ","], "--by ,: write some of"),
        (["--removed-in", "5.7"], "there is no release '5.7'"),
    ):
        assert main(["stats", DUMP, *arguments]) == 2
        assert text in capsys.readouterr().err
