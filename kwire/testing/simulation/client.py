"""The interface between the simulation and a client without I/O: its bytes to and from brokers, and its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from .history import HistoryEvent


class Send(NamedTuple):
    """Send bytes to a broker; opens a connection if none is open."""

    broker: int
    data: bytes


class Close(NamedTuple):
    """Close the connection to a broker. What was sent may still reach the broker."""

    broker: int


class Wake(NamedTuple):
    """Call `step` at this time, in seconds of the simulated clock."""

    at: float


Action = Send | Close | Wake | HistoryEvent


class Client(Protocol):
    """A client without I/O, clock and randomness of its own.

    Each method takes the simulated time in seconds and returns what the client does: `Send`, `Close`, `Wake`, or an
    event for the checkers, such as `Acknowledged`. Brokers are addressed by their ids, as in Metadata responses.
    """

    def step(self, now: float) -> Iterable[Action]:
        """Go on: called once at the beginning, and at the times of `Wake`."""

    def receive(self, broker: int, data: bytes, now: float) -> Iterable[Action]:
        """Take bytes from a broker: always one whole response, with its size in front."""

    def closed(self, broker: int, now: float) -> Iterable[Action]:
        """Learn that the connection to a broker is closed, or could not be opened."""


ClientFactory = Callable[[str, float], Client]  # takes the client's name, and the time at which it begins no new work
