"""Wrong uses of the engine's objects end in an exception or a harmless answer; the uses are in `misuse`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kwire
from tests.conftest import ROOT
from tests.seeds import SEED


@pytest.mark.skipif(kwire.engine != "native", reason="another engine was chosen")
def test_wrong_uses_of_the_engine_do_not_end_the_process() -> None:
    """In a process of its own: without these repairs, most uses end it."""
    command = [sys.executable, "-m", "tests.codecs.native.misuse", str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done"), (done.stdout, done.stderr)
