"""Reads Java's properties files, such as Kafka's server.properties."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"((?:[^\\=:\s]|\\.)*)\s*[=:]?\s*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    r"""Return the keys and values of a properties file; of a key that is there twice, the last value.

    >>> parse_properties("# a comment\na=1\nb : x\\\n  y\n")
    {'a': '1', 'b': 'xy'}
    """
    properties = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        assert match is not None
        properties[_unescape(match[1])] = _unescape(match[2]).strip()
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; a line that ends with an odd number of backslashes goes on in the next one."""
    begun = ""
    for line in text.splitlines():
        part = line.lstrip()
        if not begun and (not part or part[0] in "#!"):
            continue
        backslashes = len(part) - len(part.rstrip("\\"))
        begun += part[:-1] if backslashes % 2 else part
        if backslashes % 2 == 0:
            yield begun
            begun = ""
    if begun:
        yield begun


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", replace, text)
