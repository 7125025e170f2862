"""Workers run tasks in order, pass on what these raise, and end with the pool."""

from __future__ import annotations

import os
from typing import BinaryIO

import pytest

from kwire.errors import DumpError
from kwire.runtime.worker_pool import PoolTask, WorkerLost, WorkerPool

pytestmark = pytest.mark.ci  # each test starts processes


def write_number(number: int, file: BinaryIO) -> int:
    print("this is no answer")  # noqa: T201 - the answer is written beside it
    file.write(str(number).encode())
    return os.getpid()


def refuse(file: BinaryIO) -> None:
    raise DumpError("there is nothing in it", file="x")


def die(file: BinaryIO) -> None:
    os._exit(3)


def test_results_come_in_the_order_of_the_tasks() -> None:
    with WorkerPool(2) as workers:
        results = [
            (result.path.read_bytes(), result.value)
            for result in workers.run(PoolTask(write_number, (number,)) for number in range(9))
        ]
        processes = {process for _, process in results}
    assert [written for written, _ in results] == [str(number).encode() for number in range(9)]
    assert 1 <= len(processes) <= 2 and os.getpid() not in processes
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_what_a_task_raises_is_raised_in_its_turn() -> None:
    with WorkerPool(1) as workers:
        results = workers.run([PoolTask(write_number, (1,)), PoolTask(refuse), PoolTask(write_number, (2,))])
        assert next(results).path.read_bytes() == b"1"
        with pytest.raises(DumpError, match="there is nothing in it"):
            next(results)


def test_a_lost_worker_is_said_in_one_line() -> None:
    with WorkerPool(1) as workers, pytest.raises(WorkerLost, match="a worker process ended with status 3"):
        list(workers.run([PoolTask(die)]))
