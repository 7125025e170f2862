"""The benchmark of headers runs, and its frames are what it says. It times nothing here."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.test_capture_benchmarks import environment
from tests.conftest import ROOT


def test_all_tasks_are_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.codec.frame_headers", "--frames", "60", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.strip().split("  ")[0] for line in done.stdout.splitlines()[1:]]
    assert rows == [
        "cut",
        "cut and pair",
        "pair",
        "peek",
        "decode one api of three",
        "decode",
    ]
