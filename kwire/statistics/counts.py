"""The counts of some frames: requests, responses, bytes, times, errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..protocol.frames.captured_frame import SECOND


@dataclass(slots=True)
class Count:
    """The counts of some frames. A frame about several topics or errors counts in the rows of all of them.

    Bytes are sizes of whole frames; `time` is the total time between requests and responses, in nanoseconds: integers,
    whose sum is the same in any order. `longest_time` is the longest of these times.
    """

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    answered: int = 0
    time: int = 0
    longest_time: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """The mean time between request and response in seconds; None if there are no times."""
        return self.time / self.answered / SECOND if self.answered else None

    @property
    def longest(self) -> float:
        """The longest time between request and response in seconds."""
        return self.longest_time / SECOND

    def add_request(self, size: int) -> None:
        """Count a request, given its size in bytes."""
        self.requests += 1
        self.request_bytes += size

    def add_response(self, size: int, time: int | None) -> None:
        """Count a response, given its size in bytes and, if known, its time in nanoseconds."""
        self.responses += 1
        self.response_bytes += size
        if time is not None:
            self.add_time(time)

    def add_time(self, time: int) -> None:
        """Add the time of one response, in nanoseconds."""
        self.answered += 1
        self.time += time
        if time > self.longest_time:
            self.longest_time = time

    def add(self, other: Count) -> None:
        """Add the counts of another `Count`."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.answered += other.answered
        self.time += other.time
        self.longest_time = max(self.longest_time, other.longest_time)
        self.errors.update(other.errors)
