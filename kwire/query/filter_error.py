"""The error for a display filter that cannot be parsed, with the column."""

from __future__ import annotations

from ..errors import KwireError


class FilterError(KwireError):
    """A display filter that cannot be parsed.

    Attributes:
        text: the filter.
        column: the position of the mistake, counted from 0.
        problem: the mistake.
        hint: what to write instead; may be empty.
    """

    def __init__(self, text: str = "", column: int = 0, problem: str = "", hint: str = "") -> None:
        self.text: str = text
        self.column: int = column
        self.problem: str = problem
        self.hint: str = hint
        self.add_note(f"  {text}\n  {' ' * column}^")

    def __str__(self) -> str:
        return f"column {self.column + 1}: {self.problem}" + (f"; {self.hint}" if self.hint else "")
