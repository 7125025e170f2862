"""Regular expressions of users and of clients, which must not take more than linear time in hostile text.

With google-re2 (the extra `regex`) they are RE2's, whose time is linear; Kafka's brokers use RE2/J for the same reason
(KIP-848). Without it they are Python's, which try every way to match: patterns that could take exponential time are
refused, and of a text only the first characters are searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

MOST_SEARCHED = 1024  # characters of a text, without RE2; topics have 249 at most
MOST_REPEATS = 2  # without RE2: the time is at most the cube of the length of the text
_ADVICE = "pip install 'kwire[regex]' for an engine that matches it in linear time"
_RISKY = {"GROUPREF": "a backreference", "GROUPREF_EXISTS": "a condition", "ASSERT": "a lookahead or lookbehind"}
_RISKY["ASSERT_NOT"] = _RISKY["ASSERT"]


def _load_re2() -> Any:
    """Return google-re2, or None; imported by the first pattern, for most commands and brokers have none."""
    try:
        import re2
    except ImportError:
        return None
    return re2


class BadPattern(ValueError):
    """A text that is no regular expression, or one that could take too long: `str(error)` says why."""


class Pattern:
    """A compiled regular expression; create it by `compile_pattern`."""

    def __init__(self, search: Callable[[Any], object], fullmatch: Callable[[Any], object], *, is_linear: bool) -> None:
        self._search = search
        self._fullmatch = fullmatch
        self.is_linear: bool = is_linear

    def search(self, text: str) -> bool:
        """Return whether any part of a text matches."""
        return self._search(self._prepare_text(text)) is not None

    def fullmatch(self, text: str) -> bool:
        """Return whether the whole text matches; without RE2, no text of more than 1024 characters does."""
        return (self.is_linear or len(text) <= MOST_SEARCHED) and self._fullmatch(self._prepare_text(text)) is not None

    def _prepare_text(self, text: str) -> str:
        # RE2 works on UTF-8, which has no lone surrogates.
        return text.encode(errors="replace").decode() if self.is_linear else text[:MOST_SEARCHED]


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern:
    """Compile a regular expression.

    Args:
        pattern: in the syntax of RE2, or without google-re2 of Python's `re`.

    Raises:
        BadPattern: it is no regular expression; or, without google-re2, it could take too long.

    >>> compile_pattern("^orders-[0-9]+$").search("orders-7"), compile_pattern("orders").fullmatch("orders-7")
    (True, False)
    """
    re2 = _load_re2()
    if re2 is not None:
        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options=options)
        except re2.error as error:
            reason = error.args[0] if error.args else "it cannot be compiled"
            raise BadPattern(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
        except UnicodeError:
            raise BadPattern("it has a lone surrogate") from None
        return Pattern(compiled.search, compiled.fullmatch, is_linear=True)
    try:
        compiled = re.compile(pattern)
        repeats = _count_repeats(re._parser.parse(pattern))  # type: ignore[attr-defined] # `re` offers no other tree
    except re.error as error:
        raise BadPattern(error.msg) from None
    except (RecursionError, OverflowError):
        raise BadPattern("it is nested too deep, or repeats too often") from None
    if repeats > MOST_REPEATS:
        raise BadPattern(f"{repeats} repetitions in a row could take too long; {_ADVICE}")
    return Pattern(compiled.search, compiled.fullmatch, is_linear=False)


def _count_repeats(tree: Any) -> int:
    """Return how many repetitions of characters can follow each other in a pattern; raise BadPattern for others."""
    return sum(_repeats_of(str(operation), argument) for operation, argument in tree)


def _repeats_of(operation: str, argument: Any) -> int:
    if operation in _RISKY:
        raise BadPattern(f"{_RISKY[operation]} could take too long; {_ADVICE}")
    if operation == "BRANCH":
        return max(map(_count_repeats, argument[1]), default=0)
    if operation in ("SUBPATTERN", "ATOMIC_GROUP"):
        return _count_repeats(argument[-1] if operation == "SUBPATTERN" else argument)
    if not operation.endswith("_REPEAT"):
        return 0
    _, max_repeats, repeated = argument
    if max_repeats <= 1:
        return _count_repeats(repeated)
    if any(str(inner) not in ("LITERAL", "NOT_LITERAL", "IN", "ANY") for inner, _ in repeated) or len(repeated) != 1:
        raise BadPattern(f"a repetition of more than one character could take too long; {_ADVICE}")
    return 1
