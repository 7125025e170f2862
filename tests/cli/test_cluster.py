"""`kwire cluster` shows what a dump tells of a cluster, at its end or before."""

from __future__ import annotations

import json

import pytest

from kwire.cli import main
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, ran
from tests.frames.test_decoding import request


def test_at_the_end_and_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lonely              0          none    2         2    2        no leader" in out(capsys, "cluster", DUMP)
    assert out(capsys, "cluster", DUMP, "--at", "1").startswith("cluster (no id): controller 1, 1 topic, 1 partition\n")


def test_one_topic_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    seen = json.loads(out(capsys, "cluster", DUMP, "--topic", "born-after-restart", "--json"))
    assert [(one["partition"], one["replicas"], one["offlineReplicas"]) for one in seen["partitions"]] == [
        (0, [2, 3], [2])
    ]
    assert [one["rack"] for one in seen["brokers"]] == ["/dc1/r2", "/dc2/r1", "/dc1/r1"]


def test_what_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", DUMP, "--topic", "lonly"]) == 2
    assert "there is no topic 'lonly'; did you mean lonely?" in capsys.readouterr().err
    assert main(["cluster", DUMP, DUMP, "--at", "3"]) == 2
    done = ran("cluster", "-", data=request(1))
    assert done.returncode == 2
    assert b"no message tells of a cluster" in done.stderr
