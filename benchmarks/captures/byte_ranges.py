"""What it costs to decode a capture in byte ranges: the first pass, each range, and the whole by one process.

    .venv/bin/python -m benchmarks.captures.grow_pcap IN.pcap big.pcap --megabytes 100
    .venv/bin/python -m benchmarks.captures.byte_ranges big.pcap --workers 2

Everything runs in this process, by turns, so that a busy machine disturbs all alike: the bound is what several workers
would reach on idle cores, without the half second that each takes to start. The rows are compared first.
"""

from __future__ import annotations

import argparse
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa

import kwire.arrow
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.find_files import find_files
from kwire.arrow.ranges.range_tasks import RowChoice, plan_tasks
from kwire.arrow.read_options import Options
from kwire.runtime.worker_pool import Task


def plan(path: Path, options: Options, workers: int) -> list[Task]:
    """Return the tasks of a scan: the first pass."""
    return list(plan_tasks(find_files([str(path)], options), BatchReader(options), RowChoice(), workers))


def run(task: Task) -> Any:
    """Return the rows of a task, written and read again as between processes."""
    file = BytesIO()
    task.function(*task.arguments, file)
    return pa.ipc.open_stream(file.getbuffer()).read_all()


def compare(path: Path, body: str, workers: int, rounds: int) -> None:
    options = Options(body=body)
    tasks = plan(path, options, workers)
    assert pa.concat_tables(map(run, tasks)).equals(kwire.arrow.read(path, body=body).read_all())
    states = sum(len(task.arguments[2].state) for task in tasks)
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in (
            ("whole", lambda: sum(batch.num_rows for batch in kwire.arrow.read(path, body=body))),
            ("first pass", lambda: len(plan(path, options, workers))),
            ("ranges", lambda: sum(run(task).num_rows for task in tasks)),
        ):
            start = time.process_time()
            work()
            best[name] = min(best.get(name, 1e9), time.process_time() - start)
    together = best["first pass"] + best["ranges"]
    parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    share = states / path.stat().st_size
    print(
        f"body={body}: {parts}; {best['whole'] / together:.2f} of the speed of one process, "
        f"at most {workers * best['whole'] / together:.2f} times with {workers}; "
        f"{len(tasks)} ranges, states {states:,} bytes ({share:.2%})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("capture", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for body in ("json", "raw", "none"):
        compare(options.capture, body, options.workers, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
