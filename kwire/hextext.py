"""Hex text becomes bytes: what `xxd`, `xxd -p`, `hexdump.py` and `kwire explain` write.

The offsets in the text are checked against the bytes read so far, so that a misread line cannot pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .errors import DumpError

_ANNOTATED = re.compile(r"([0-9a-f]{8})  ((?:[0-9a-f]{2} ){0,7}[0-9a-f]{2})(?: {2,}.*)?")
# hexdump.py: two groups of eight in capitals, then at column 50 the characters; narrow lines of xxd have them earlier
_EIGHT = "[0-9A-F]{2}(?: [0-9A-F]{2}){0,7}"
_HEXDUMP_PY = re.compile(f"([0-9A-F]{{8,}}): (?=.{{50}}.|[20 ]+$)({_EIGHT}(?:  {_EIGHT})?) *(?:  .{{1,16}})?")
_XXD = re.compile(r"([0-9A-Fa-f]{8,}): ((?:[0-9A-Fa-f]{2,} )*[0-9A-Fa-f]{2,}) ?(?: .*)?")
_PLAIN = re.compile(r"()([0-9A-Fa-f \t]+)")


class _Dialect(NamedTuple):
    name: str
    pattern: re.Pattern[str]  # offset, hex


DIALECTS = (
    _Dialect("annotated hexdump", _ANNOTATED),
    _Dialect("hexdump.py", _HEXDUMP_PY),
    _Dialect("xxd", _XXD),
    _Dialect("plain hex", _PLAIN),
)


def parse_hex_text(text: str, file: str = "") -> tuple[bytes, str]:
    """Read hex text.

    Args:
        text: the whole text. Empty lines and lines that begin with `#` are left out, and so are the
            headings of annotated hexdumps, which begin with spaces.
        file: its name, for errors.

    Returns:
        The bytes, and the name of the dialect.

    Raises:
        DumpError: with the line that is none of the dialects, or whose offset does not fit.

    >>> parse_hex_text("00000000: 0000 0004 0000 0007  ........")
    (b'\\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x07', 'xxd')
    """
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    for dialect in DIALECTS:
        kept = [item for item in lines if dialect.name != "annotated hexdump" or not item[1].startswith("  ")]
        if kept and dialect.pattern.fullmatch(kept[0][1]):
            return _read(kept, dialect, file), dialect.name
    tried = ", ".join(dialect.name for dialect in DIALECTS)
    raise DumpError("this text is no hex that is known here", file=file, line=lines[0][0] if lines else 1, hint=tried)


def _read(lines: Iterable[tuple[int, str]], dialect: _Dialect, file: str) -> bytes:
    data = bytearray()
    first: int | None = None
    start = 0  # of this hexdump in the data: several annotated ones may stand one after the other
    for number, line in lines:
        match = dialect.pattern.fullmatch(line)
        if match is None:
            raise DumpError(f"this line is no {dialect.name}, as those before it are", file=file, line=number)
        if match[1]:
            offset = int(match[1], 16)
            if first is None or (offset == 0 and dialect is DIALECTS[0]):
                first, start = offset, len(data)
            if offset != first + len(data) - start:
                problem = f"the offset says {offset:#x}, but {len(data) - start:#x} bytes were read from {first:#x} on"
                raise DumpError(problem, file=file, line=number, hint="a line is missing or damaged")
        data += _bytes(match[2], file, number)
    return bytes(data)


def _bytes(text: str, file: str, line: int) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise DumpError("an odd number of hex digits", file=file, line=line, hint="two digits make a byte") from None
