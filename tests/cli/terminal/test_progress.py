"""Progress is shown on a terminal, after a second, and leaves no trace."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from kwire.capture.open_dump import open_dump
from kwire.cli.input.dumps import dumps_in
from kwire.cli.input.fraction_read import part_read
from kwire.cli.main import main
from kwire.cli.terminal.progress import progress_text, with_progress
from kwire.protocol.frames.captured_frame import CapturedBatch, count_frames
from kwire.statistics.report_counts import CapturedReportCounts
from tests.cli.terminal.test_terminal_style import Terminal
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def ran(stream: io.StringIO, step: float, wanted: bool = True, part: Callable[[], float | None] = lambda: None) -> str:
    ticks = count()
    items = list(with_progress(iter(range(5)), part, stream=stream, clock=lambda: next(ticks) * step, wanted=wanted))
    assert items == [0, 1, 2, 3, 4]
    return stream.getvalue()


def test_nothing_in_the_first_second() -> None:
    assert ran(Terminal(), 0.1) == ""


def test_then_a_line_that_is_cleared() -> None:
    assert ran(Terminal(), 0.5) == (
        "\r\x1b[Kkwire: 2 frames, 2 a second"
        "\r\x1b[Kkwire: 3 frames, 2 a second"
        "\r\x1b[Kkwire: 4 frames, 2 a second"
        "\r\x1b[Kkwire: 5 frames, 2 a second"
        "\r\x1b[K"
    )


def test_not_in_files_and_not_where_it_is_unwanted() -> None:
    assert ran(io.StringIO(), 0.5) == ""
    assert ran(Terminal(), 0.5, wanted=False) == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_not_in_ci_and_on_dumb_terminals(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert ran(Terminal(), 0.5) == ""


def test_the_part_that_is_done_and_the_time_left() -> None:
    parts = iter((0.0, 0.5, 0.75, 1.0))
    assert re.findall("2 a second(.*?)[\r]", ran(Terminal(), 0.5, part=lambda: next(parts))) == [
        "",
        ", 50 %, 2 s left",
        ", 75 %, 1 s left",
        ", 100 %, 0 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (1e6, "277 h")]
)
def test_time_left(seconds: float, text: str) -> None:
    assert progress_text(2, seconds, 0.5) == f"2 frames, {2 / seconds:,.0f} a second, 50 %, {text} left"


def test_the_part_of_files_that_was_read(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("one.bin", "two.bin.gz")]
    data = b"".join(request(number) for number in range(40_000))
    (tmp_path / "one.bin").write_bytes(data)
    (tmp_path / "two.bin.gz").write_bytes(gzip.compress(data[: len(data) // 2], 0))
    options = argparse.Namespace(files=names, profile=None, schemas=None, hex=None)
    assert part_read(options) is None
    found = [part_read(options) for dump in dumps_in(options) for _ in dump.frames]
    parts = [part for part in found if part is not None]
    assert len(parts) == len(found) == 60_000
    assert parts == sorted(parts)
    assert 0 < parts[0] < 0.3
    assert 0.6 < parts[40_000] < 0.9
    assert parts[-1] == 1


def test_the_part_of_a_pipe_is_not_known(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    options = argparse.Namespace(files=[str(tmp_path / "pipe")], position=lambda: 5)
    assert part_read(options) is None


def test_connections_that_end_are_no_frames() -> None:
    with open_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap") as dump:
        assert dump.captured is not None
        assert sum(map(count_frames, dump.captured)) == 114


def test_an_interrupted_report_holds_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(CapturedReportCounts):
        def add(self, batch: CapturedBatch) -> None:
            super().add(batch)
            raise KeyboardInterrupt

    monkeypatch.setattr("kwire.cli.commands.report.CapturedReportCounts", Interrupted)
    assert main(["report", str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"), "-o", str(tmp_path / "page.html")]) == 130
    (count,) = re.findall(r"interrupted after (\d+) frames: ", capsys.readouterr().err)
    page = (tmp_path / "page.html").read_text()
    assert f"interrupted after {count} frames" in page
    assert f"<dt>frames</dt><dd>{count}</dd>" in page
