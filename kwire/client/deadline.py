"""A point in time at which waiting ends, however many steps are waited for."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """The end of a wait that may have many steps: look-up, connection, TLS, SASL, requests and their responses.

    Kafka's clients bound a call in the same way (`default.api.timeout.ms`, KIP-266). A timeout for each step would not
    end while a broker sends one byte now and then.

    Args:
        seconds: how long all steps may take together, from now on.
        clock: returns the time in seconds; it must never go back.

    >>> times = iter([100.0, 102.0, 104.0])
    >>> deadline = Deadline(3, clock=lambda: next(times))
    >>> deadline.left()
    1.0
    >>> deadline.left()
    Traceback (most recent call last):
        ...
    TimeoutError: no answer in time
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends = clock() + seconds

    def left(self) -> float:
        """Return the seconds that are left, more than 0.

        Raises:
            TimeoutError: the time is up.
        """
        left = self._ends - self._clock()
        if left <= 0:
            raise TimeoutError("no answer in time")
        return left
