"""`kwire cluster` shows what a dump tells of a cluster, at its end or before."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from kwire.cli import main
from kwire.net.serving import Serving
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, ran
from tests.frames.test_decoding import request
from tests.net.serving import serving
from tests.net.test_serving import place, used


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


def test_a_live_broker(capsys: pytest.CaptureFixture[str]) -> None:
    def use(made: Serving) -> tuple[str, Any]:
        made.cluster.controller.create("t", {0: [1, 2], 1: [3, 1]})
        where = str(place(made))
        return out(capsys, "cluster", where), json.loads(out(capsys, "cluster", where, "--topic", "t", "--json"))

    (text, found), notes = used(use, 3)
    assert "rack r1\n  broker 1  127.0.0.1:" in text
    assert "t      1          3       3,1       3,1  -        ok\n" in text
    assert [(one["racks"], one["rackViolation"]) for one in found["partitions"]] == [
        (["r1", "r2"], False),
        (["r3", "r1"], False),
    ]
    assert notes == []


def test_brokers_that_do_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["cluster", where, "--timeout", "0.1"]) == 2
        assert f"{where}: no answer in time" in capsys.readouterr().err
        assert main(["cluster", where, DUMP]) == 2
        assert main(["cluster", where, "--at", "1"]) == 2
    assert main(["cluster", where]) == 2
    assert "Connection refused" in capsys.readouterr().err
    with serving(lambda frame: b"HTTP/1.1 400 Bad Request\r\n\r\n") as other:
        assert main(["cluster", other]) == 2
    assert "it does not answer as Kafka does" in capsys.readouterr().err
    assert main(["cluster", str(tmp_path / "no:9092")]) == 2
    assert "No such file" in capsys.readouterr().err
