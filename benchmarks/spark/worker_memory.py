"""How much memory the Python workers of a Spark take: the share that is their own, of the largest one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path


def largest_worker(call: Callable[[], object]) -> float:
    """Return the largest PSS of a Python process below this one while something runs, in MB."""
    done, most = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max([most[0], *map(pss, below(os.getpid()))])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        call()
    finally:
        done.set()
        thread.join()
    return most[0] / 1e3


def below(process: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that these have."""
    try:
        texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return
    for child in map(int, " ".join(texts).split()):
        yield from below(child)
        yield child


def pss(process: int) -> int:
    """Return the proportional share of memory of a Python process, in kB; of others, 0."""
    try:
        if not Path(f"/proc/{process}/comm").read_text().startswith("python"):
            return 0
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
