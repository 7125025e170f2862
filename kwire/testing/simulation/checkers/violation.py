"""What a checker finds, and the facts of a history that several checkers need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..history import FinalLog, History, HistoryEvent, Sent, TopicPartition


class Violation(NamedTuple):
    """A violated invariant: its name, what is wrong, and the events that show it."""

    invariant: str
    text: str
    events: tuple[HistoryEvent, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.invariant}: {self.text}", *(f"  {event}" for event in self.events)])


class Problem(NamedTuple):
    """What a checker yields: a violation without the name of its invariant."""

    text: str
    events: tuple[HistoryEvent, ...] = ()


class Invariant(NamedTuple):
    """Something that must hold in each history.

    Attributes:
        name: the name.
        about: one sentence.
        check: yields the problems in the facts of a history.
        is_lossless: whether it need not hold where acknowledged records may be lost, as with unclean elections.
    """

    name: str
    about: str
    check: Callable[[HistoryFacts], Iterator[Problem]]
    is_lossless: bool = True


@dataclass
class HistoryFacts:
    """A history, and what can be computed of it once."""

    history: History

    @cached_property
    def logs(self) -> dict[TopicPartition, FinalLog]:
        """The final log of each partition."""
        return {event.partition: event for event in self.history.of(FinalLog)}

    @cached_property
    def final_values(self) -> dict[TopicPartition, list[tuple[int, bytes]]]:
        """The offsets and values of all data records in the final logs."""
        return {
            partition: [
                (batch.offset + index, value)
                for batch in log.batches
                if batch.marker < 0
                for index, value in enumerate(batch.values)
            ]
            for partition, log in self.logs.items()
        }

    @cached_property
    def sent(self) -> dict[bytes, Sent]:
        """The batch in which each value was sent."""
        return {value: event for event in self.history.of(Sent) for value in event.values}
