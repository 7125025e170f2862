"""What is counted: a `Count` for each user of an api, and the rows that counts are added up to. Values only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

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

    Bytes are those of whole frames; `seconds` are between request and answer.
    """

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    answered: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """The mean time between request and answer in seconds; None where there are no times."""
        return self.seconds / self.answered if self.answered else None

    def add_request(self, size: int) -> None:
        """Count a request of so many bytes."""
        self.requests += 1
        self.request_bytes += size

    def add_response(self, size: int, seconds: float | None) -> None:
        """Count an answer of so many bytes, which took so long, if that is known."""
        self.responses += 1
        self.response_bytes += size
        if seconds is not None:
            self.add_time(seconds)

    def add_time(self, seconds: float) -> None:
        """Count that an answer took so long."""
        self.answered += 1
        self.seconds += seconds
        if seconds > self.longest:
            self.longest = seconds

    def add(self, other: Count) -> None:
        """Add what another has counted."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.answered += other.answered
        self.seconds += other.seconds
        self.longest = max(self.longest, other.longest)
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
