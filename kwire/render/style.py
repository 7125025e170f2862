"""How text may look: colours where they are wanted, and never a raw control character."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What a terminal, or a reader's eye, could be fooled by: C0 but tab and newline, DEL, C1, bidirectional
# and invisible marks, line separators, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_CODES = {"dim": "2", "bold": "1", "error": "1;31", "warning": "33", "name": "36", "value": "", "title": "1;32"}


def escape(text: str) -> str:
    r"""Write control, bidirectional and invisible characters as \uXXXX, which JSON reads back as what they were.

    >>> escape("a\x1b[31mb\u202ec")
    'a\\u001b[31mb\\u202ec'
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@dataclass(frozen=True, slots=True)
class Style:
    """Whether to use colours, and how many columns there are."""

    colour: bool = False
    width: int = 80

    def paint(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind. Colour never carries meaning alone."""
        code = _CODES[kind]
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text


PLAIN = Style()
