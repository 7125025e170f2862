"""Worker processes that count shares of one large capture beside the first process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..codecs.native import ENGINE

# Bytes of a file. Each process reads all packets, which is half of the work with the native engine: 20 MB take 0.2 s,
# and starting another process takes as long and saves only a quarter of that.
LEAST = 256_000_000 if ENGINE == "native" else 16_000_000
MOST = 4  # processes
KILLED = ProcessLookupError, ChildProcessError


def parts_for(files: list[str], jobs: int | None = None) -> int:
    """Return the number of processes that count: `jobs` if it is given, and one file is read."""
    if sys.platform != "linux" or len(files) != 1 or not Path(files[0]).is_file():
        return 1
    if jobs is not None:
        return jobs
    if Path(files[0]).stat().st_size < LEAST:
        return 1
    return min(len(os.sched_getaffinity(0)), MOST)


class WorkerProcesses:
    """Processes that count all shares except the first; leaving the `with` block ends them.

    Args:
        parts: the number of shares.
        work: counts the share with a given number, and returns the counts, even when interrupted.
    """

    def __init__(self, parts: int, work: Callable[[int], bytes]) -> None:
        self._work, self._stopped = work, False
        self._running: dict[int, tuple[int, int]] = {}  # share -> its process, and the pipe from there
        for part in range(1, parts):
            here, there = os.pipe()
            # A helper is not interrupted before its signal handler is installed.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            process = os.fork()
            if not process:
                self._serve(part, there, blocked)
            os.close(there)
            self._running[part] = process, here
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _serve(self, part: int, pipe: int, blocked: set[int | signal.Signals]) -> None:
        """Run as a worker process: without output, because the first process reports everything."""
        try:
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
            signal.signal(signal.SIGINT, _interrupt)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            sent = self._work(part)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            with open(pipe, "wb") as stream:
                stream.write(len(sent).to_bytes(8, "big") + sent)
        finally:
            os._exit(0)

    def results(self) -> list[bytes]:
        """Wait for all workers, and return their counts.

        The share of a worker that was killed is counted in this process, unless the command was interrupted.
        """
        results = []
        for part, (process, pipe) in list(self._running.items()):
            with open(pipe, "rb", closefd=False) as stream:
                sent = stream.read()
            del self._running[part]
            _reap(process, pipe)
            whole = len(sent) == 8 + int.from_bytes(sent[:8], "big")
            if whole or not self._stopped:
                results.append(sent[8:] if whole else self._work(part))
        return results

    def interrupt(self) -> None:
        """Interrupt all workers, which then send their counts so far."""
        self._stopped = True
        for process, _ in self._running.values():
            with suppress(*KILLED):
                os.kill(process, signal.SIGINT)

    def __enter__(self) -> WorkerProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process, pipe in self._running.values():
            with suppress(*KILLED):
                os.kill(process, signal.SIGKILL)
            _reap(process, pipe)


def _interrupt(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt once: the terminal and the first process may both send the signal."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _reap(process: int, pipe: int) -> None:
    os.close(pipe)
    with suppress(*KILLED):
        os.waitpid(process, 0)
