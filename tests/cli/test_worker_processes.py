"""Several processes count what one counts, and an interrupted or killed one loses nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwire.capture.tcp.connection_share import ConnectionShare
from kwire.cli import worker_processes
from kwire.cli.commands import stats
from kwire.cli.main import main
from kwire.cli.worker_processes import WorkerProcesses, parts_for
from tests.capture.tcp.test_connection_share import many


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "many.pcap"
    path.write_bytes(many())
    return path


def counted(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, object, str]:
    code = main(["stats", "--json", *options, str(path)])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


@pytest.mark.parametrize("parts", [2, 3])
def test_all_processes_together_count_what_one_counts(
    parts: int, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [counted(path, capsys, *options) for options in ((), ("--by", "ip,client"), ("--removed-in", "4.0"))]
    assert "30 connections of HTTP" in alone[0][2]
    monkeypatch.setattr(stats, "parts_for", lambda files: parts)
    again = [counted(path, capsys, *options) for options in ((), ("--by", "ip,client"), ("--removed-in", "4.0"))]
    assert again == alone


@pytest.mark.parametrize("size", [10, 24, 100, -20])
def test_what_is_said_of_a_whole_capture_is_said_once(
    size: int, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(path.read_bytes()[:size])
    alone = counted(path, capsys)
    monkeypatch.setattr(stats, "parts_for", lambda files: 2)
    assert counted(path, capsys) == alone


def test_small_and_unseekable_inputs_are_counted_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert parts_for([str(path)]) == parts_for(["-"]) == parts_for([]) == parts_for(["not there"]) == 1
    monkeypatch.setattr(worker_processes, "LEAST", 10)
    assert parts_for([str(path)]) == 3
    assert parts_for([str(path)] * 2) == 1
    monkeypatch.setattr("sys.platform", "darwin")
    assert parts_for([str(path)]) == 1


@contextmanager
def pipe_closed(*ends: int) -> Iterator[None]:
    """Close the ends of pipes afterwards."""
    try:
        yield
    finally:
        for end in ends:
            os.close(end)


def test_helpers_send_what_they_have_when_they_are_interrupted() -> None:
    here, there = os.pipe()

    def work(part: int) -> bytes:
        try:
            os.write(there, b"r")  # ready
            time.sleep(60)
        except KeyboardInterrupt:
            return b"%d" % part
        return b""

    with WorkerProcesses(3, work) as started, pipe_closed(here, there):
        assert os.read(here, 1) + os.read(here, 1) == b"rr"
        started.interrupt()
        assert started.results() == [b"1", b"2"]


def test_the_share_of_a_killed_helper_is_counted_here() -> None:
    here = os.getpid()

    def work(part: int) -> bytes:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"counted"

    with WorkerProcesses(2, work) as started:
        assert started.results() == [b"counted"]


def test_a_killed_helper_is_not_replaced_when_all_stop() -> None:
    def work(part: int) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    with WorkerProcesses(2, work) as started:
        started.interrupt()
        assert started.results() == []


def test_a_helper_is_interrupted_once() -> None:
    (here, there), (ended, end) = os.pipe(), os.pipe()

    def work(part: int) -> bytes:
        try:
            os.write(there, b"r")  # ready
            time.sleep(60)
        except KeyboardInterrupt:
            os.write(there, b"i")  # interrupted
            os.read(ended, 1)
        return b"sent"

    with WorkerProcesses(2, work) as started, pipe_closed(here, there, ended, end):
        assert os.read(here, 1) == b"r"
        started.interrupt()
        assert os.read(here, 1) == b"i"
        started.interrupt()
        os.write(end, b"e")
        started.interrupt()
        assert started.results() == [b"sent"]


def test_none_is_left_behind() -> None:
    def work(part: int) -> bytes:
        time.sleep(60)
        return b""

    with pytest.raises(ValueError, match="this"), WorkerProcesses(2, work) as started:
        process = started._running[1][0]
        raise ValueError("this")
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_an_interrupted_count_is_shown(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = stats.DumpCounts.count

    def interrupted(self: stats.DumpCounts, share: ConnectionShare, others: WorkerProcesses | None = None) -> None:
        if others is None:
            count(self, share)
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(stats.DumpCounts, "count", interrupted)
    monkeypatch.setattr(stats, "parts_for", lambda files: 2)
    code, shown, _ = counted(path, capsys)
    assert code == 130
    assert shown["frames"] >= 0  # type: ignore[index]
