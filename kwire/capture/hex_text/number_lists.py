"""Reads lists of numbers, as programs print arrays of bytes and as source code has them."""

from __future__ import annotations

import re

from ...errors import DumpError
from ...runtime.lazy_patterns import lazy_pattern
from .dialects import DIALECTS

_DECIMAL = r"-?(?:0|[1-9][0-9]{0,2})"
# Text next to a number in source code: casts of C and Java before it; suffixes as in 0x12L, 0x12u8, 0x12.toByte().
_BESIDE = lazy_pattern(
    r"\( *(?:byte|char|unsigned char|u?int8(?:_t)?|u8) *\) *"
    r"|(?<=[0-9A-Fa-f])(?:_?[ui](?:8|16|32|64)|[uU]?[lL]{1,2}|[uU]|\.toU?Byte\(\))(?=[\s,)\]}>])"
)


def _build_list_pattern(number: str) -> re.Pattern[str]:
    """Return the pattern of at least eight numbers in brackets."""
    numbers = rf"{number}(?:(?:\s*,\s*|\s+){number}){{7,}}"
    return lazy_pattern(rf"[^\n]{{0,80}}?(?:[\[{{(]|<<)\s*({numbers})\s*,?\s*(?:[\])}}]|>>)+[\s;.}}]*")


# Arrays as Java, Go, Python, JavaScript and Erlang print them, without leading zeros, or as in source code.
_LIST, _WRITTEN_LIST = _build_list_pattern(_DECIMAL), _build_list_pattern(rf"(?:0[xX][0-9A-Fa-f]{{1,2}}|{_DECIMAL})")


def find_list(text: str) -> str | None:
    """Return the numbers of a list in a program's output or source; None if the text is not a list, or only hex, which
    may be truncated.
    """
    match = _LIST.fullmatch(text)
    if match is None:
        plain = _BESIDE.sub("", text)
        is_other = plain == text and any(dialect.sign.search(text) for dialect in DIALECTS)
        match = None if is_other else _WRITTEN_LIST.fullmatch(plain)
    return None if match is None else match[1]


def convert_numbers(text: str, file: str) -> bytes:
    """Convert the numbers of a list to bytes; Java prints bytes above 127 as negative numbers."""
    numbers = [int(word, 16 if word[:2] in ("0x", "0X") else 10) for word in text.replace(",", " ").split()]
    wrong = next((number for number in numbers if not -128 <= number <= 255), None)
    if wrong is not None:
        raise DumpError(f"{wrong} in a list of numbers is not a byte", file=file, hint="bytes are -128 to 255")
    return bytes(number & 0xFF for number in numbers)
