"""Colours of text on a terminal, and its width."""

from __future__ import annotations

from typing import NamedTuple

_CODES = {"dim": "2", "bold": "1", "error": "1;31", "warning": "33", "name": "36", "value": "", "title": "1;32"}
_END = "\x1b[0m"
_STARTS = {kind: f"\x1b[{code}m" if code else "" for kind, code in _CODES.items()}
COLOURS = (*filter(None, _STARTS.values()), _END)  # the control sequences that `Style.paint` writes


class Style(NamedTuple):
    """Whether to use colours, and the width in columns."""

    colour: bool = False
    width: int = 80

    def paint(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind. Colour never carries meaning alone."""
        start = _STARTS[kind]
        return f"{start}{text}{_END}" if self.colour and start and text else text


PLAIN = Style()
