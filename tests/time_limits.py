"""Ends what hangs, and says where: a run of the tests ends, with the name of the test and the stacks of its threads.

Three steps, each for what the step before cannot end:

1. SIGALRM interrupts a test whose set-up, call or tear-down takes longer than its limit. The stacks of all threads are
   printed, with the processes that the test started; these are killed, and the test fails.
2. If that does not end it, a thread of `faulthandler` ends the process, whatever holds the GIL. pytest-xdist names the
   test that "crashed" and goes on with another process.
3. The process that distributes the tests looks whether any other reports something. If none does, it prints which
   tests are unfinished and kills the others, and at last itself.

A limit is wall-clock time, because what hangs uses no processor; it grows with the load of the machine, so that a busy
one ends nothing that makes progress.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest

# Seconds, thrice as many for tests marked `ci`; the mark `limit` says another number.
LIMIT = float(os.environ.get("KWIRE_TEST_LIMIT", "300"))
MOST = 4 * LIMIT  # whatever the mark and the load
GRACE = min(60.0, 10 * LIMIT)  # seconds for what a test does when it was interrupted
SILENCE = 3 * MOST + 3 * GRACE  # seconds: more than a test can take before step 2 ends it
PHASE = Generator[None, object, object]


def patience(limit: float) -> float:
    """Return for how long something may take now that takes `limit` seconds at most where nothing else runs."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return min(limit * max(1.0, load), MOST)


class HangGuard:
    """Steps 1 and 2, in each process that runs tests."""

    def __init__(self) -> None:
        self.stderr = os.dup(2)  # the terminal: later, it is where pytest collects what a test prints
        self.phase, self.limit, self.begin = "", LIMIT, 0.0

    @pytest.hookimpl
    def pytest_sessionstart(self) -> None:
        """Get ready to be interrupted."""
        signal.signal(signal.SIGALRM, self.interrupt)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> PHASE:
        """Let a process end that runs a test for too long, whatever it does."""
        faulthandler.dump_traceback_later(3 * MOST + GRACE, file=self.stderr, exit=True)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @contextmanager
    def limited(self, item: pytest.Item, phase: str) -> Iterator[None]:
        """Let a phase of a test fail when its limit is over."""
        self.phase, self.limit, self.begin = f"{item.nodeid}: {phase}", LIMIT, time.monotonic()
        if item.get_closest_marker("ci"):
            self.limit *= 3
        if mark := item.get_closest_marker("limit"):
            self.limit = float(mark.args[0])
        signal.setitimer(signal.ITIMER_REAL, self.limit)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Wait longer where the machine is busy; otherwise print where a test is, kill its processes, and fail it."""
        __tracebackhide__ = True
        taken = time.monotonic() - self.begin
        if (left := patience(self.limit) - taken) > 0.1:
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        children = started_since(taken)
        words = f"{self.phase} hangs, for it takes more than {taken:.0f} s"
        lines = [f"\n== {words}", *(f"== its process {pid}: {command}" for pid, command in children.items()), ""]
        os.write(self.stderr, "\n".join(lines).encode(errors="replace"))
        faulthandler.dump_traceback(self.stderr)
        faulthandler.dump_traceback_later(GRACE, file=self.stderr, exit=True)
        for pid in children:
            kill(pid)
        pytest.fail(f"{words}; the output of the run has the stacks of its threads")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> PHASE:
        """Limit what fixtures do before a test."""
        with self.limited(item, "set-up"):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> PHASE:
        """Limit the test itself."""
        with self.limited(item, "call"):
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> PHASE:
        """Limit what fixtures do after a test, those of the whole run after the last one."""
        with self.limited(item, "tear-down"):
            return (yield)


class SilenceWatch:
    """Step 3, in the process that distributes tests to others."""

    def __init__(self) -> None:
        self.running: dict[str, float] = {}
        self.reported = time.monotonic()
        self.stderr = os.dup(2)
        self.ended = threading.Event()

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins."""
        self.reported = self.running[nodeid] = time.monotonic()

    @pytest.hookimpl
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that a test has ended."""
        self.reported = time.monotonic()
        self.running.pop(nodeid, None)

    @pytest.hookimpl
    def pytest_sessionstart(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self.watch, daemon=True).start()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Watch no longer."""
        self.ended.set()

    def watch(self) -> None:
        """Kill the processes that run tests after a long silence; end this process after another."""
        killed = False
        while not self.ended.wait(1):
            silence = time.monotonic() - self.reported
            if silence < SILENCE:
                continue
            names = sorted(self.running) or ["nothing"]
            words = [f"\n== no test has begun or ended for {silence:.0f} s; unfinished:", *names, ""]
            os.write(self.stderr, "\n".join(words).encode(errors="replace"))
            if killed:
                faulthandler.dump_traceback(self.stderr)
                os._exit(3)
            for pid in children_of(os.getpid(), processes()):
                kill(pid)
            killed, self.reported = True, time.monotonic()


def register(config: pytest.Config) -> None:
    """Set limits in this process, where signals can interrupt it."""
    if config.getoption("usepdb", False) or not hasattr(signal, "setitimer"):
        return
    distributes = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    config.pluginmanager.register(SilenceWatch() if distributes else HangGuard())


def processes() -> dict[int, tuple[int, float]]:
    """Return the parent of each process, and when it began, in seconds since the machine did; nothing without /proc."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(path.parent.name)] = int(fields[1]), int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return found


def children_of(pid: int, table: dict[int, tuple[int, float]]) -> list[int]:
    """Return the processes that a process has started, and those that these have started."""
    children = [child for child, (parent, _) in table.items() if parent == pid]
    return children + [grandchild for child in children for grandchild in children_of(child, table)]


def started_since(seconds: float) -> dict[int, str]:
    """Return the command of each process that descends from this one and has started within so many seconds."""
    if sys.platform != "linux":
        return {}
    begin = time.clock_gettime(time.CLOCK_BOOTTIME) - seconds - 0.01  # /proc has hundredths of a second
    table = processes()
    young = [pid for pid in children_of(os.getpid(), table) if table[pid][1] >= begin]
    return {pid: command_of(pid) for pid in young}


def command_of(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:500]
    except OSError:
        return "it has ended"


def kill(pid: int) -> None:
    """Kill a process, unless it has ended by itself."""
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
