"""The clusters for tests of this process, for the report of a failing test: their chaos, and their recordings."""

from __future__ import annotations

import sys
from typing import Protocol
from weakref import WeakSet

from .replay.recording import Recording


class ReportedCluster(Protocol):
    """What a report needs of a cluster."""

    @property
    def chaos(self) -> int | None:
        """The seed of its chaos; None without."""

    def make_recording(self, test: str = "") -> Recording:
        """Return what it was asked and what it answered."""


_running: WeakSet[ReportedCluster] = WeakSet()
_seeds: set[int] = set()  # of clusters that have begun since the test began
_kept: list[Recording] = []  # of clusters that have ended since then, because of an exception


def note_start(cluster: ReportedCluster) -> None:
    """Note that a cluster begins."""
    _running.add(cluster)
    if cluster.chaos is not None:
        _seeds.add(cluster.chaos)


def note_stop(cluster: ReportedCluster) -> None:
    """Note that a cluster is about to end; if an exception ends it within pytest, its recording is kept."""
    _running.discard(cluster)
    if sys.exc_info()[0] is not None and "kwire.pytest_plugin" in sys.modules:
        _kept.append(cluster.make_recording())


def begin_test() -> None:
    """Forget the clusters that ended before a test."""
    _seeds.clear()
    _kept.clear()


def list_seeds() -> list[int]:
    """Return the seeds of the clusters that run, or have ended since the test began.

    >>> list_seeds()
    []
    """
    return sorted(_seeds | {cluster.chaos for cluster in _running if cluster.chaos is not None})


def list_recordings() -> list[Recording]:
    """Return the recordings of the clusters that run, or that an exception has ended since the test began.

    >>> list_recordings()
    []
    """
    return [*_kept, *(cluster.make_recording() for cluster in _running)]
