"""Texts in errors: paths of fields, excerpts of values, suggestions, hints about versions, URIs without passwords."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

MOST_COMPARED = 1000  # known words that are compared; a hostile spec may contain any number of names
Segments = tuple[str | int, ...]


def without_password(uri: str) -> str:
    """Return a URI without user and password, so that they are neither shown nor stored.

    >>> without_password("s3://key:secret@taps/a.pcap"), without_password("abfss://taps@host/a.pcap")
    ('s3://taps/a.pcap', 'abfss://taps@host/a.pcap')
    """
    return re.sub(r"(?<=://)[^/@:]*:[^/@]*@", "", uri)


def path_text(segments: Iterable[str | int]) -> str:
    """Format a path as in errors, traces and `kwire explain`.

    >>> path_text(["topics", 3, "partitions", 0, "isr"])
    'topics[3].partitions[0].isr'
    """
    text = ""
    for segment in segments:
        if isinstance(segment, int):
            text += f"[{segment}]"
        elif text:
            text += f".{segment}"
        else:
            text = segment
    return text


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known word that was probably meant, in any case; an empty string if there is none.

    >>> suggestion("METADATARESPONS", ["MetadataResponse", "FetchResponse"])
    'did you mean MetadataResponse?'
    """
    from difflib import get_close_matches  # needed by errors alone

    folded = {name.casefold(): name for name in islice(known, MOST_COMPARED)}
    close = get_close_matches(word.casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]}?" if close else ""


def version_hint(first: int | None, last: int | None = None, version: int | None = None) -> str:
    """Return a hint that names the first or last version with a field, for a `version` without it."""
    if first is None:
        return "no version has it"
    if last is not None and version is not None and version > last:
        return f"the last version that has it is {last}"
    return f"the first version that has it is {first}"


def excerpt(value: Any, max_length: int = 80) -> str:
    """Format a value for the text of an error, with a limited length.

    >>> excerpt("topic"), excerpt(b"x" * 100, 12)
    ("'topic'", "b'xxxxxxx...")
    """
    try:
        text = repr(value)
    except Exception:  # an integer with more than 4300 digits, or an object whose __repr__ fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= max_length else f"{text[: max_length - 3]}..."


def json_problem(error: ValueError | RecursionError) -> str:
    """Return why `json` refused a text: besides syntax, the depth, or a number with more than 4300 digits.

    >>> import json
    >>> try:
    ...     json.loads("9" * 5000)
    ... except ValueError as error:
    ...     json_problem(error)
    'a number has too many digits'
    """
    if isinstance(error, RecursionError):
        return "nested too deep"
    problem = getattr(error, "msg", "")  # of a JSONDecodeError
    return f"{error}" if problem else "a number has too many digits"
