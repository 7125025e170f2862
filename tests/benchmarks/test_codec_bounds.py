"""Both bounds on the use of messages are measured; what they are, is no matter of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


def run(module: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", module, "--rounds", "1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.ci
def test_the_first_use_is_measured() -> None:
    lines = run("benchmarks.codec.first_use")
    assert [line[:25].strip() for line in lines[2:5]] == [
        "source written and run, o",
        "spec, tree and source, of",
        "spec, tree and source, ms",
    ]


@pytest.mark.ci
def test_the_memory_of_objects_is_measured() -> None:
    lines = run("benchmarks.codec.object_memory", "--bytes", "20000", "--only", "MetadataRequest")
    worst = lines[-6:]
    assert all("MetadataRequest v" in line[:36] for line in worst)
    stay = [float(line[76:83]) for line in worst]
    assert stay[0] > 5
    assert min(stay) > 1
