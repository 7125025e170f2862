"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """A pattern that is compiled when one of its methods is first used."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        method = vars(self)[name] = getattr(re.compile(self._text, self._flags), name)
        return method


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used.

    A command needs few of the modules' patterns: compiling all 150 takes a fourteenth of the start-up of `kwire
    decode`.

    >>> lazy_pattern("a+").match("aab").group()
    'aa'
    """
    return cast(re.Pattern[AnyStr], _LazyPattern(text, flags))
