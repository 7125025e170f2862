"""What bounds the first use of messages and their objects is measured; what it is, is no matter of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.ci
def test_first_use_and_objects_are_measured() -> None:
    command = [sys.executable, "benchmarks/bounds.py", "--rounds", "1", "--bytes", "20000", "--only", "MetadataRequest"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line[:25].strip() for line in lines[2:5]] == [
        "source written and run, o",
        "spec, tree and source, of",
        "spec, tree and source, ms",
    ]
    worst = lines[-6:]
    assert all("MetadataRequest v" in line[:36] for line in worst)
    stay = [float(line[76:83]) for line in worst]
    assert stay[0] > 5
    assert min(stay) > 1
