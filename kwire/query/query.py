"""A query: which frames, or records of a log, are chosen. One plan for all commands and inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

from ..protocol import Result
from .expression import Expression, Some
from .field_path import FieldPath
from .frame_context import FrameContext
from .record_properties import read_records
from .result_values import match_results

NOTHING: Expression = Some(())  # holds for no item


class Moments(Protocol):
    """A span of time, or of numbers where there are no times.

    Attributes:
        first: the time of the first frame in seconds since 1970; None before one with a time.
    """

    first: float | None

    def begin(self, time: float) -> None:
        """Set the time of the first frame, to which relative times refer, unless it is set."""

    def covers(self, time: float | None, number: int) -> bool:
        """Whether a time in seconds since 1970 is in the span; without a time, tests the number."""


class Query:
    """Chooses frames and records.

    Args:
        expression: the tests; None chooses all.
        moments: the span of time; None for all times.
        context: names of topics, and groups of requests; shared with lines and fields.
    """

    def __init__(
        self, expression: Expression | None = None, moments: Moments | None = None, context: FrameContext | None = None
    ) -> None:
        self.expression: Expression | None = expression
        self.moments: Moments | None = moments
        self.context: FrameContext = context or FrameContext()

    @property
    def chooses_all(self) -> bool:
        """Whether nothing is excluded."""
        return self.expression is None and self.moments is None

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths that the tests name."""
        return () if self.expression is None else self.expression.paths

    @cached_property
    def _test_result(self) -> Callable[[Result], bool]:
        return (lambda result: True) if self.expression is None else match_results(self.expression, self.context)

    @cached_property
    def _test_entry(self) -> Callable[[Any], Any]:
        test = True if self.expression is None else self.expression.compile(read_records)
        return (lambda entry: test) if isinstance(test, bool) else test

    def matches(self, result: Result) -> bool:
        """Return whether a decoded frame is chosen; call it for all frames, in order."""
        source = result.frame.source
        if self.moments is not None and not self.moments.covers(source.time, source.frame or 0):
            return False
        return self._test_result(result)

    def matches_entry(self, entry: Any) -> bool:
        """Return whether a record of a log, or another entry, is chosen; what could not be read is in any span."""
        return (self.moments is None or self._is_in(entry, self.moments)) and bool(self._test_entry(entry))

    def _is_in(self, entry: Any, moments: Moments) -> bool:
        record, fields = getattr(entry, "record", None), getattr(entry, "fields", None)
        if record is not None:
            timestamp, offset = record.timestamp, record.offset
        elif fields is not None:  # an entry of a file beside the segments: most have no time
            timestamp = fields.get("timestamp", -1)
            offset = next((fields[name] for name in ("offset", "start_offset", "last_offset") if name in fields), 0)
        else:
            return True
        if timestamp >= 0:
            moments.begin(timestamp / 1000)
            return moments.covers(timestamp / 1000, offset)
        return moments.first is None and moments.covers(None, offset)  # in no span among records with times
