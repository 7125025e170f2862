"""Lines for an operator, of which clients can cause any number: equal ones are printed once, and counted."""

from __future__ import annotations

from collections.abc import Callable

MOST = 1000  # different lines that are printed


class Notes:
    """Prints a line when it comes first, and at the end how often it came.

    Args:
        write: prints a line.
        most: different lines that are printed and remembered; those behind are counted only.

    >>> notes = Notes(print, most=2)
    >>> for text in ["a", "b", "a", "c", "a"]:
    ...     notes(text)
    a
    b
    further lines are counted only
    >>> notes.close()
    3 times: a
    1 line more
    """

    def __init__(self, write: Callable[[str], None], most: int = MOST) -> None:
        self._write, self._most = write, most
        self._counts: dict[str, int] = {}
        self._more = 0

    def __call__(self, text: str) -> None:
        """Print a line if it is new."""
        if text in self._counts:
            self._counts[text] += 1
        elif len(self._counts) < self._most:
            self._counts[text] = 1
            self._write(text)
        else:
            if not self._more:
                self._write("further lines are counted only")
            self._more += 1

    def close(self) -> None:
        """Print how often lines came that came more than once."""
        for text, count in self._counts.items():
            if count > 1:
                self._write(f"{count} times: {text}")
        if self._more:
            self._write(f"{self._more} line{'s' if self._more > 1 else ''} more")
        self._counts, self._more = {}, 0
