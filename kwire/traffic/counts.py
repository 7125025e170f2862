"""What is counted: a `Count` for each user of an api, and the rows that counts are added up to. Values only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

SECOND = 1_000_000_000  # nanoseconds
COLUMNS = ("client", "api", "version", "ip", "topic", "software")
NOTHING = "-"


class User(NamedTuple):
    """Who uses which version of an api."""

    api_key: int
    version: int
    client: str
    software: str
    ip: str


@dataclass(slots=True)
class Count:
    """What was counted of some frames. A frame about several topics counts in the rows of all of them.

    Bytes are those of whole frames; `time` is all that between request and answer, in nanoseconds: numbers that add up
    to the same in any order. `longest_time` is the longest of these.
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
        """The mean time between request and answer in seconds; None where there are no times."""
        return self.time / self.answered / SECOND if self.answered else None

    @property
    def longest(self) -> float:
        """The longest time between request and answer in seconds."""
        return self.longest_time / SECOND

    def add_request(self, size: int) -> None:
        """Count a request of so many bytes."""
        self.requests += 1
        self.request_bytes += size

    def add_response(self, size: int, time: int | None) -> None:
        """Count an answer of so many bytes, which took so many nanoseconds, if that is known."""
        self.responses += 1
        self.response_bytes += size
        if time is not None:
            self.add_time(time)

    def add_time(self, time: int) -> None:
        """Count that an answer took so many nanoseconds."""
        self.answered += 1
        self.time += time
        if time > self.longest_time:
            self.longest_time = time

    def add(self, other: Count) -> None:
        """Add what another has counted."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.answered += other.answered
        self.time += other.time
        self.longest_time = max(self.longest_time, other.longest_time)
        self.errors.update(other.errors)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the values of its columns, and what was counted."""

    key: tuple[str, ...]
    count: Count


def ip_of(end: str | None) -> str:
    """Return the address of an end.

    >>> ip_of("[::1]:9092"), ip_of(None)
    ('[::1]', '-')
    """
    return (end or NOTHING).rpartition(":")[0] or NOTHING
