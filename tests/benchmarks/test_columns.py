"""The comparison of columns and messages runs; what it measures is no matter of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.ci
@pytest.mark.parametrize("more", [[], ["--against", str(ROOT)]])
def test_bodies_become_columns_and_messages_in_turns(more: list[str]) -> None:
    command = [sys.executable, "-m", "benchmarks.codec.columns", "--rounds", "1", "--bytes", "1"]
    command += ["--only", "MetadataRe", *more]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, text=True)
    head, *rows = done.stdout.splitlines()
    assert head.split()[-5:] == ["all", "dictionary", "own", "two", "one"]
    assert any(row.startswith("MetadataResponse v12 1x1000 topics[].partitions") for row in rows)
    for row in rows:
        assert [float(cell.split("-")[0].lstrip("(")) > 0 for cell in row.split()[-10:]] == [True] * 10
