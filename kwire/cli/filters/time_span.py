"""--from and --to: a span of time, or of frame numbers where there are no times."""

from __future__ import annotations

from datetime import UTC, date, datetime

from ...protocol import Result
from ...query.times import seconds_of
from ..options.usage_error import UsageError

SINCE_1970 = 100_000_000  # seconds; a smaller number counts from the first frame


class TimeSpan:
    """Frames from one point to another, both included: times, or frame numbers where there are no times."""

    def __init__(self, since: str | None, until: str | None) -> None:
        self.texts: dict[str, str | None] = {"--from": since, "--to": until}
        self.first: float | None = None
        for option, text in self.texts.items():
            self._point(option, text, 0.0)  # so that an invalid one is reported immediately

    def __call__(self, result: Result) -> bool:
        """Whether a frame is in the span."""
        return self.covers(result.frame.source.time, result.frame.source.frame or 0)

    def begin(self, time: float) -> None:
        """Set the time of the first frame, to which relative times refer, unless it is set."""
        self.first = time if self.first is None else self.first

    def covers(self, time: float | None, number: int) -> bool:
        """Whether a time (seconds since 1970) is in the span; without a time, tests the frame number."""
        if time is None:
            low, high = (_frame_number(option, text) for option, text in self.texts.items())
            at: float = number
        else:
            self.begin(time)
            assert self.first is not None
            low, high = (self._point(option, text, self.first) for option, text in self.texts.items())
            at = time
        return (low is None or at >= low) and (high is None or at <= high)

    def _point(self, option: str, text: str | None, first: float) -> float | None:
        if text is None:
            return None
        try:
            number = float(text)
            return number if number >= SINCE_1970 else first + number
        except ValueError:
            pass
        try:
            return seconds_of(text, _day_of(first))
        except ValueError:
            raise UsageError(
                f"{option} {text}: write a time such as 2026-11-21T09:30:00, seconds, or a frame"
            ) from None


def _day_of(first: float) -> date | None:
    """Return the day (UTC) of the first frame, to which a time of day refers; None if the date is out of range."""
    try:
        return datetime.fromtimestamp(first, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def _frame_number(option: str, text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError(f"{option} {text}: this dump has no times; give a frame number, or an offset") from None
