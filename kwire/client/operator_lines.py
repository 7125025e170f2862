"""Lines for the operator: each is printed the first time only. Sans-IO."""

from __future__ import annotations

from collections.abc import Callable

MOST_LINES = 1000  # different lines that are printed


class OperatorLines:
    """Prints each line the first time, and at the end how often it occurred.

    Args:
        write: prints a line.
        limit: how many different lines are printed and remembered; further lines are only counted.

    >>> notes = OperatorLines(print, limit=2)
    >>> for text in ["a", "b", "a", "c", "a"]:
    ...     notes(text)
    a
    b
    further lines are counted only
    >>> notes.close()
    3 times: a
    1 line more
    """

    def __init__(self, write: Callable[[str], None], limit: int = MOST_LINES) -> None:
        self._write, self._limit = write, limit
        self._counts: dict[str, int] = {}
        self._more = 0

    def __call__(self, text: str) -> None:
        """Print a line if it is new."""
        if text in self._counts:
            self._counts[text] += 1
        elif len(self._counts) < self._limit:
            self._counts[text] = 1
            self._write(text)
        else:
            if not self._more:
                self._write("further lines are counted only")
            self._more += 1

    def close(self) -> None:
        """Print how often each repeated line occurred."""
        for text, count in self._counts.items():
            if count > 1:
                self._write(f"{count} times: {text}")
        if self._more:
            self._write(f"{self._more} line{'s' if self._more > 1 else ''} more")
        self._counts = {}
        self._more = 0
