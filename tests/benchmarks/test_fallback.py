"""The fallbacks of two checkouts are compared; what is measured is no matter of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.ci
def test_the_fallback_is_compared_with_that_of_another_checkout() -> None:
    command = [sys.executable, "-m", "benchmarks.codec.fallback", str(ROOT), "--rounds", "1"]
    command += ["--only", "HeartbeatRequest", "--slot", "0.0002"]
    env = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.partition("  ") for line in done.stdout.splitlines()]
    assert [row[0].split(",")[0] for row in rows] == ["decode"] * 3 + ["encode"] * 3
    assert all("(" in row[2] for row in rows)
