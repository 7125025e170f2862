"""The seeds of chaos in clusters of this process, for the report of a failing test."""

from __future__ import annotations

from collections import Counter

_running: Counter[int] = Counter()
_since_test_began: set[int] = set()


def note_start(seed: int | None) -> None:
    """Note that a cluster begins; its seed is None without chaos."""
    if seed is not None:
        _running[seed] += 1
        _since_test_began.add(seed)


def note_stop(seed: int | None) -> None:
    """Note that a cluster has ended."""
    if seed is not None:
        _running[seed] -= 1


def begin_test() -> None:
    """Forget the clusters that ended before a test."""
    _since_test_began.clear()


def list_seeds() -> list[int]:
    """Return the seeds of the clusters that run, or have ended since the test began.

    >>> list_seeds()
    []
    """
    return sorted(_since_test_began | set(+_running))
