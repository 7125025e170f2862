"""Styles of text: colours, tables, escaped control characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_CODES = {"dim": "2", "bold": "1", "error": "1;31", "warning": "33", "name": "36", "value": "", "title": "1;32"}
_END = "\x1b[0m"
_STARTS = {kind: f"\x1b[{code}m" if code else "" for kind, code in _CODES.items()}
COLOURS = (*filter(None, _STARTS.values()), _END)  # the control sequences that `Style.paint` writes
_PLAIN = bytes(range(0x20, 0x7F))  # the printable characters of ASCII


def escape(text: str) -> str:
    r"""Write unprintable characters as \uXXXX, which JSON reads as the same characters; newline and tab stay.

    Control, bidirectional and invisible characters could mislead a terminal or a reader.

    >>> escape("a\x1b[31mb\u202ec")
    'a\\u001b[31mb\\u202ec'
    """
    if text.isascii() and not text.encode().translate(None, _PLAIN):  # a fifth of the time of `isprintable`
        return text
    return text if text.isprintable() else "".join(map(_escaped, text))


def json_text(value: object) -> str:
    r"""Return a JSON value as indented text that is safe to show.

    >>> json_text({"client": "a\x1b"})
    '{\n  "client": "a\\u001b"\n}'
    """
    return escape(json.dumps(value, indent=2, ensure_ascii=False))


def _escaped(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


@dataclass(frozen=True, slots=True)
class Style:
    """Whether to use colours, and the width in columns."""

    colour: bool = False
    width: int = 80

    def paint(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind. Colour never carries meaning alone."""
        start = _STARTS[kind]
        return f"{start}{text}{_END}" if self.colour and start and text else text


PLAIN = Style()


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
