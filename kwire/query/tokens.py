"""Splits a display filter into tokens: paths, words, signs, texts, numbers with units."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..runtime.lazy_patterns import lazy_pattern
from .filter_error import FilterError

_TOKENS = lazy_pattern(
    r"""\s*(?:
    (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>-?(?:0[xX][0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<unit>[A-Za-z]*))
  | (?P<path>\.?[A-Za-z_]\w*(?:\[\d*\])?(?:\.[A-Za-z_]\w*(?:\[\d*\])?)*)
  | (?P<sign>==|!=|<=|>=|&&|\|\||[<>=~!(),])
    )""",
    re.VERBOSE,
)
UNITS: dict[str, float] = {
    "": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_WORDS = frozenset(("and", "or", "not", "in", "contains", "matches", "true", "false", "null"))
_SIGNS = {"&&": "and", "||": "or", "!": "not", "~": "matches", "=": "=="}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
OPERATORS = (*COMPARISONS, "in", "contains", "matches")
_ESCAPED = lazy_pattern(r"\\(.)")
MOST_DIGITS = 100  # of a number


class FilterToken(NamedTuple):
    """A word of a filter, and the column where it starts."""

    kind: str  # text, number, path, word, sign, end
    value: Any
    column: int


def split_tokens(text: str) -> Iterator[FilterToken]:
    """Split a filter into tokens; the last one is of kind `end`. Raises FilterError."""
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKENS.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            is_open = text[column] in "\"'"
            problem = "the text has no closing quote" if is_open else f"{text[column]!r} has no meaning here"
            raise FilterError(text, column, problem)
        kind = str(match.lastgroup) if match["number"] is None else "number"
        column = match.start(kind)
        word = match[kind]
        if kind == "sign":
            word = _SIGNS.get(word, word)
            kind = "word" if word.isalpha() else "sign"
        elif kind == "path" and word in _WORDS:
            kind = "word"
        elif kind == "text":
            word = _ESCAPED.sub(r"\1", word[1:-1])
        elif kind == "number":
            word = _parse_number(text, match)
        yield FilterToken(kind, word, column)
        at = match.end()
    yield FilterToken("end", "", end)


def _parse_number(text: str, match: re.Match[str]) -> float | int:
    unit = match["unit"]
    if unit not in UNITS:
        hint = f"write one of {', '.join(filter(None, UNITS))}"
        raise FilterError(text, match.start("unit"), f"{unit} is not a unit", hint)
    digits = match["number"][: len(match["number"]) - len(unit)]
    if len(digits) > MOST_DIGITS:
        raise FilterError(text, match.start("number"), f"a number of {len(digits)} digits", "no field has such values")
    number: float | int = int(digits, 16) if "x" in digits.lower() else float(digits)
    number = int(digits) if isinstance(number, float) and digits.lstrip("-").isdigit() else number
    return number if UNITS[unit] == 1 else number * UNITS[unit]
