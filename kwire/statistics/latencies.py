"""Exact latencies of requests: percentiles, and the slowest ones."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Sequence
from heapq import heappush, heappushpop
from typing import NamedTuple

from ..protocol.frames.captured_frame import SECOND
from .users import User

About = tuple[tuple[str, str], ...]  # combinations of a frame's topics and error codes; empty if no column has them


LONGEST = (1 << 63) - 1  # nanoseconds


class Answered(NamedTuple):
    """A request and its response: the latency in nanoseconds, the time of the request in seconds since 1970, the
    numbers of both frames in their file, the user, and the nanoseconds that the request let the broker wait.
    """

    latency: int
    file: str
    request_frame: int | None
    frame: int | None
    asked_at: float
    user: User
    asked_wait: int = 0

    @property
    def slowness(self) -> int:
        """The nanoseconds of latency beyond the wait that the request asked for."""
        return max(0, self.latency - self.asked_wait)


class Latencies:
    """All exact latencies by user, in 8 bytes each; and the slowest requests.

    Args:
        limit: how many of the slowest requests to keep.
        long_polls: rank requests by their whole latency, not by what is beyond the wait that they asked for.

    Attributes:
        times: the latencies by user, topic and error, in nanoseconds.
    """

    def __init__(self, limit: int, *, long_polls: bool = False) -> None:
        self.most: int = limit
        self.long_polls: bool = long_polls
        self.times: defaultdict[tuple[User, About], array[int]] = defaultdict(lambda: array("q"))
        self._slowest: list[tuple[int, int, Answered]] = []
        self._count = 0

    def add(self, answered: Answered, user: User, about: About = ()) -> None:
        """Count one request; `user` is its user as the columns need it."""
        # The times of pcapng blocks may be any number of seconds: what exceeds 64 bits is counted as 292 years.
        self.times[user, about].append(max(-LONGEST, min(answered.latency, LONGEST)))
        self._count += 1
        entry = answered.latency if self.long_polls else answered.slowness, -self._count, answered
        if len(self._slowest) < self.most:
            heappush(self._slowest, entry)
        elif self.most:
            heappushpop(self._slowest, entry)

    @property
    def slowest(self) -> list[Answered]:
        """The slowest requests in descending order; of equally slow requests, the earliest comes first."""
        return [answered for _, _, answered in sorted(self._slowest, reverse=True)]


def percentile(times: Sequence[int], share: float) -> float:
    """Return a percentile of latencies in seconds, interpolated as numpy.percentile does.

    Args:
        times: the latencies in nanoseconds, sorted; at least one.
        share: from 0 to 1.

    >>> percentile([10_000_000, 20_000_000], 0.5), percentile([10_000_000], 0.999)
    (0.015, 0.01)
    """
    position = share * (len(times) - 1)
    rank = math.floor(position)
    lower, upper = times[rank], times[min(rank + 1, len(times) - 1)]
    return (lower + (position - rank) * (upper - lower)) / SECOND
