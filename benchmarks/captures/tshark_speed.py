"""Measure how fast captures are read, beside tshark: wall time and peak memory of both, in turn.

    .venv/bin/python -m benchmarks.captures.tshark_speed CAPTURE ... --megabytes 100 --rounds 5 --bodies 10

Each capture is grown in a temporary folder (`grow_pcap`). `kwire decode --jsonl` runs against `tshark -T json`, and
on the first megabytes (`--bodies`) `kwire decode` against `-T fields`; `reading_speed` compares what needs no bodies.
What both decode of these, and what one of them misses, is counted from their JSON by api and version
(`tshark_coverage`). Without tshark, kwire alone is measured. Like all benchmarks it needs kwire installed, as
`python3 dev.py` does in .venv. `--only TEXT` measures the tasks whose names hold the text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.captures.grow_pcap import grow
from benchmarks.captures.tshark_coverage import JSON, TSHARK
from benchmarks.captures.tshark_coverage import report as report_missed

KWIRE = [sys.executable, "-m", "kwire"]
NAMES = ("request_key", "request.version", "response_key", "response.version", "correlation_id")
FIELDS = ["-T", "fields", *(word for name in NAMES for word in ("-e", f"kafka.{name}"))]


class Run(NamedTuple):
    """One run of a command: seconds by the clock, and the most memory it had, in megabytes."""

    seconds: float
    megabytes: float


class Task(NamedTuple):
    """What is measured: what kwire is asked for, what tshark is asked for, and whether the first megabytes will do."""

    name: str
    kwire: list[str]
    tshark: list[str]
    head: bool


TASKS = [
    Task("decode | -T fields", ["decode", "--no-pager"], FIELDS, True),
    Task("decode --jsonl | -T json", ["decode", "--no-pager", "--jsonl"], JSON, False),
]


def measured(command: Sequence[str]) -> Run:
    """Run a command and throw away what it prints."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode not in (0, 1):  # 1: something in the capture does not decode
        raise SystemExit(f"dumps: {' '.join(command)} ends with {process.returncode}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Run(seconds, kilobytes / 1024)


def times(task: Task, path: Path, rounds: int, tshark: list[str]) -> tuple[list[Run], list[Run]]:
    """Run both in turn, so that what else the machine does slows both."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measured([*KWIRE, *task.kwire, str(path)]))
        if tshark:
            theirs.append(measured([*tshark, "-r", str(path), *task.tshark]))
    return ours, theirs


def row(name: str, ours: list[Run], theirs: list[Run]) -> str:
    """Write medians, the ratio of each round (least, median, most), and the peaks of memory."""
    mean = statistics.median(run.seconds for run in ours)
    cells = [f"{name:28}", f"{mean:8.2f} s", f"{max(run.megabytes for run in ours):6.0f} MB"]
    if theirs:
        ratios = sorted(other.seconds / run.seconds for run, other in zip(ours, theirs, strict=True))
        cells += [f"{statistics.median(run.seconds for run in theirs):8.2f} s"]
        cells += [f"{max(run.megabytes for run in theirs):6.0f} MB"]
        cells += [f"{ratios[0]:6.2f} {statistics.median(ratios):6.2f} {ratios[-1]:6.2f}"]
    return " ".join(cells)


def head_of(path: Path, folder: Path, megabytes: float) -> Path:
    """Copy the first packets of a capture."""
    target = folder / f"head-{path.name}"
    size = int(megabytes * 1_000_000)
    with path.open("rb") as source, target.open("wb") as out:
        out.write(source.read(24))
        while out.tell() < size and len(header := source.read(16)) == 16:
            out.write(header + source.read(int.from_bytes(header[8:12], "little")))
    return target


def report(source: Path, folder: Path, options: argparse.Namespace) -> None:
    """Grow one capture and measure all tasks with it."""
    large = folder / source.name
    with large.open("wb") as out:
        grow(source, out, int(options.megabytes * 1_000_000))
    small = head_of(large, folder, min(options.bodies, options.megabytes))
    tshark = TSHARK if shutil.which("tshark") else []
    print(f"{source.name}: {large.stat().st_size:,} bytes, of which {small.stat().st_size:,} with bodies")
    print(f"{'':28} {'kwire':>10} {'':9} {'tshark' if tshark else 'no tshark':>10} {'':9} tshark / kwire")
    for task in TASKS:
        if options.only in task.name:
            print(row(task.name, *times(task, small if task.head else large, options.rounds, tshark)), flush=True)
    if tshark:
        print("\n".join(report_missed(small)), flush=True)
    large.unlink()
    small.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("captures", type=Path, nargs="+")
    parser.add_argument("--megabytes", type=float, default=100, help="grow captures to so much (100)")
    parser.add_argument(
        "--bodies", type=float, default=10, help="megabytes that are decoded to lines, and counted (10)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="tasks whose names hold this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for source in options.captures:
            report(source, Path(folder), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
