"""The benchmark of reading captures runs, and sees what it compares. It times nothing here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.building import Conversation, capture
from tests.conftest import ROOT, spread


@pytest.mark.ci  # it measures tshark
def test_all_tasks_are_measured(tmp_path: Path) -> None:
    conversation = Conversation().open()
    for number in range(20):
        conversation.ask(number)
    source = tmp_path / "small.pcap"
    source.write_bytes(capture(conversation.close().segments))
    command = [sys.executable, "-m", "benchmarks.captures.tshark_speed", str(source)]
    command += ["--megabytes", "0.02", "--bodies", "0.01", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()[2:4]]
    assert rows == ["decode | -T fields", "decode --jsonl | -T json"]
    assert all(" MB" in line for line in done.stdout.splitlines()[2:4])


@pytest.mark.parametrize("name", spread(["large", "unlike"], 1))
def test_captures_are_measured_against_a_checkout(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks.captures.reading_speed", "--only", name, "--against", str(ROOT)]
    command += ["--megabytes", "0.1", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"walk {name}, 0 MB | ")
    assert ("decode --no-pager --jsonl unlike" in done.stdout) == (name == "unlike")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
