"""Worker processes that compute results in order: each result is a file, since pipes are slow beside a busy thread.

Workers import what the functions need, not the program that started them, and end with it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple

START = "import sys; sys.path[:] = {path!r}; from kwire.runtime.worker_pool import serve_tasks; serve_tasks()"
AHEAD = 3  # tasks per worker that are under way or waiting for an earlier result


class PoolTask(NamedTuple):
    """A call in a worker.

    Attributes:
        function: a function of a module, called with the arguments and a file opened for writing.
        arguments: values that pickle.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class PoolResult(NamedTuple):
    """What a call returned, and the path of the file that it wrote. Remove the file once it is read."""

    value: Any
    path: Path


class WorkerLost(RuntimeError):
    """A worker process ended before its task was done, for example because memory ran out."""

    def __init__(self, status: int | None = None) -> None:
        super().__init__(
            f"a worker process ended with status {status} before its task was done; is there enough memory?"
        )


class WorkerPool:
    """Processes that run tasks. Leaving the `with` block ends them.

    Args:
        count: the number of processes; they are started when they are needed.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._folder = tempfile.TemporaryDirectory(prefix="kwire-", ignore_cleanup_errors=True)
        self._threads = ThreadPoolExecutor(count, "kwire-worker")
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._number = 0
        for _ in range(count):
            self._idle.put(None)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._folder.cleanup()

    def run(self, tasks: Iterable[PoolTask]) -> Iterator[PoolResult]:
        """Run tasks; yield their results in the order of the tasks.

        The next task is taken from `tasks` while earlier ones run. Whatever a task raises is raised here, in its turn;
        so is what `tasks` raises.

        Raises:
            WorkerLost: a process ended early.
        """
        running = deque[Future[PoolResult]]()
        failure: Exception | None = None
        coming = iter(tasks)
        while True:
            try:
                task = next(coming, None)
            except Exception as error:
                failure = error
                break
            if task is None:
                break
            running.append(self._submit(task))
            while running and (running[0].done() or len(running) > AHEAD * self.count):
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
        if failure is not None:
            raise failure

    def _submit(self, task: PoolTask) -> Future[PoolResult]:
        self._number += 1
        path = Path(self._folder.name, str(self._number))
        return self._threads.submit(self._call, task, path)

    def _call(self, task: PoolTask, path: Path) -> PoolResult:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker()
                self._workers.append(worker)
            return PoolResult(worker.call(task, path), path)
        finally:
            self._idle.put(worker)


class _Worker:
    """One process, seen from the process that started it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def call(self, task: PoolTask, path: Path) -> Any:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((task, path), process.stdin)
            process.stdin.flush()
            is_done, value = pickle.load(process.stdout)  # noqa: S301 - of a process that this one started
        except (EOFError, OSError, pickle.UnpicklingError):
            process.kill()
            raise WorkerLost(process.wait()) from None
        if not is_done:
            raise value
        return value

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def serve_tasks() -> None:
    """Run the tasks that arrive on standard input until it ends; what they print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            task, path = pickle.load(tasks)  # noqa: S301 - of the process that started this one
        except EOFError:
            return
        answer = _run(task, path)
        answers.write(answer)
        answers.flush()


def _run(task: PoolTask, path: Path) -> bytes:
    try:
        with path.open("wb") as file:
            return pickle.dumps((True, _call_with(task, file)))
    except Exception as error:
        return pickle.dumps((False, error))


def _call_with(task: PoolTask, file: BinaryIO) -> Any:
    return task.function(*task.arguments, file)
