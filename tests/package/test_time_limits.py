"""A run of the tests ends whatever hangs, and names it; see tests/time_limits.py."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.time_limits import LIMIT, MOST, HangGuard, kill, patience, started_since

HANGS = """
import os, signal, subprocess, sys, threading, time
import pytest

sleeper = [sys.executable, "-c", "import time; time.sleep(100)"]

def test_that_waits_for_a_lock():
    threading.Event().wait()

@pytest.mark.limit(1.2)
def test_that_waits_for_a_process():
    with subprocess.Popen(sleeper, stdout=subprocess.PIPE) as process:
        process.stdout.read()

@pytest.fixture
def stuck():
    yield
    threading.Event().wait()

def test_whose_fixture_does_not_end(stuck):
    pass

def test_that_cannot_be_interrupted():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait()

def test_after_it():
    pass
"""
STOPS = """
import os, signal

def test_that_stops_its_process():
    os.kill(os.getpid(), signal.SIGSTOP)

def test_after_it():
    pass
"""
PLUGIN = "from tests import time_limits\n\ndef pytest_configure(config):\n    time_limits.register(config)\n"


def test_this_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    assert any(isinstance(plugin, HangGuard) for plugin in request.config.pluginmanager.get_plugins())
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= LIMIT


@pytest.mark.ci  # it waits for limits to pass, 20 s
def test_a_run_ends_with_the_name_of_what_hangs(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        interrupted = pool.submit(run, tmp_path / "hangs", HANGS)
        killed = pool.submit(run, tmp_path / "stops", STOPS)
    report = interrupted.result().stdout
    assert re.findall(r"^(?:FAILED|ERROR) test_it.py::(\w+) - (?:Failed|worker)", report, re.MULTILINE) == [
        "test_that_waits_for_a_lock",
        "test_that_waits_for_a_process",
        "test_that_cannot_be_interrupted",
        "test_whose_fixture_does_not_end",
    ]
    assert "3 failed, 2 passed, 1 error" in report
    errors = interrupted.result().stderr
    assert "== test_it.py::test_that_waits_for_a_lock: call hangs, for it takes more than" in errors
    assert re.search(r"== its process \d+: .*time.sleep\(100\)", errors)
    for function in ("a_lock", "a_process", "cannot_be_interrupted", "stuck"):
        assert re.search(rf'File ".*test_it.py", line \d+ in \w*{function}\n', errors), function
    report = killed.result().stdout
    assert "crashed while running 'test_it.py::test_that_stops_its_process'" in report
    assert "1 failed, 1 passed" in report
    words = r"== no test has begun or ended for \d+ s; unfinished:\ntest_it.py::test_that_stops_its_process\n"
    assert re.search(words, killed.result().stderr)


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests with limits of seconds, in a process beside the one that distributes them."""
    folder.mkdir()
    (folder / "test_it.py").write_text(program)
    (folder / "conftest.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "-p", "no:kwire"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "ignore", "-n", "1", str(folder)]
    environment = {**os.environ, "KWIRE_TEST_LIMIT": "0.3", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)


def test_the_processes_of_a_test_are_those_that_began_after_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert str(process.pid) not in map(str, started_since(-1))
        assert "input()" in started_since(60)[process.pid]
        kill(process.pid)
    assert process.returncode == -signal.SIGKILL
    kill(process.pid)  # which has ended


def test_limits_grow_with_the_load_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    expected = {0.5: 10.0, 2.0: 10.0, 5.0: 25.0}
    for load, seconds in expected.items():
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert patience(10.0) == seconds
    assert patience(LIMIT * 3) == MOST
