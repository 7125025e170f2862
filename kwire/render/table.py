"""Tables of text, as wide as their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .colours import PLAIN, Style
from .escaping import escape


def table(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style = PLAIN, right: int = 0) -> Iterator[str]:
    """Yield the lines of a table. Nothing is truncated: a long value makes its column wide.

    Args:
        head: the names of the columns.
        rows: the values, as many as columns.
        style: colours of the head.
        right: how many columns at the end are aligned to the right.

    >>> for line in table(["api", "count"], [["Metadata", "7"], ["Fetch", "100"]], right=1):
    ...     print(line)
    api       count
    Metadata      7
    Fetch       100
    """
    texts = [[_flat(value) for value in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    left = len(head) - right
    for number, row in enumerate(texts):
        cells = [
            value.ljust(width) if index < left else value.rjust(width)
            for index, (value, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        yield style.paint("bold", line) if number == 0 else line


def _flat(value: str) -> str:
    return escape(value).replace("\n", " ").replace("\t", " ")
