"""Where two messages or decoded frames differ, as values: each field by its path, and what both sides hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from ..errors import Segments, excerpt, path_text
from ..sensitive_fields import ENVELOPED, SECRET_FIELDS, SECRET_PARTS, Hidden, is_sensitive

LISTED = 10  # fields that differ
WIDTH = 60  # of a value
FIRST = ("message", "header")  # of a decoded frame: what somebody looks for; its bytes follow
_RAW = frozenset(("data", "rest"))  # bytes as they are, of which nothing says where secrets lie in them
_DERIVED = frozenset(("spans",))
_NONE: Any = object()  # an array ends before it


class Difference(NamedTuple):
    """Two values that differ, and their path."""

    path: Segments
    left: Any
    right: Any


def value_differences(left: Any, right: Any, path: Segments = ()) -> Iterator[Difference]:
    """Yield the innermost values in which two messages, requests or responses differ, in the order of their fields.

    >>> from kwire import messages as m
    >>> one, other = (m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name=name)]) for name in "ab")
    >>> [(path_text(found.path), found.left, found.right) for found in value_differences(one, other)]
    [('topics[0].name', 'a', 'b')]
    """
    if type(left) is type(right) and (names := _names(left)):
        for name in names:
            inner = path if name == "message" and not path else (*path, name)
            yield from value_differences(_held(left, name), _held(right, name), inner)
    elif isinstance(left, tuple | list) and isinstance(right, tuple | list) and not (_names(left) or _names(right)):
        for index, (one, other) in enumerate(zip_longest(left, right, fillvalue=_NONE)):
            yield from value_differences(one, other, (*path, index))
    elif left is _NONE or right is _NONE or left != right:
        yield Difference(path, left, right)


def value_lines(left: Any, right: Any) -> list[str]:
    """Write differences as lines, such as `topics[0].name: 'a' != 'b'`; secrets are not shown. None: they are equal."""
    found = list(islice(value_differences(left, right), LISTED + 1))
    lines = [_line(*one) for one in found[:LISTED]]
    return [*lines, "and more"] if len(found) > LISTED else lines


def _names(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(value, "__struct_fields__", getattr(value, "_fields", ()))
    if not names and is_dataclass(value):
        names = tuple(field.name for field in fields(value) if field.compare and field.name not in _DERIVED)
    return (*(name for name in FIRST if name in names), *(name for name in names if name not in FIRST))


def _held(owner: Any, name: str) -> Any:
    """Return a field's value, or what stands for a secret: two of these are equal if the secrets are."""
    value = getattr(owner, name)
    if isinstance(value, dict):  # the parts of a SASL token
        return tuple((part, Hidden(held) if part in SECRET_PARTS else held) for part, held in value.items())
    is_secret = name in SECRET_FIELDS or name in ENVELOPED or name in _RAW
    is_secret = is_secret or (name == "value" and is_sensitive(str(getattr(owner, "name", ""))))
    return Hidden(value) if is_secret and value and isinstance(value, str | bytes) else value


def _line(path: Segments, left: Any, right: Any) -> str:
    one, other = _texts(left, right)
    return f"{path_text(path) or 'the whole'}: {one} != {other}"


def _texts(left: Any, right: Any) -> tuple[str, str]:
    """Write two values; of long ones the part from shortly before they differ."""
    start = 0
    if isinstance(left, str | bytes) and type(left) is type(right) and max(len(left), len(right)) > WIDTH // 2:
        pairs = enumerate(zip(left, right, strict=False))
        start = max(next((at for at, (one, other) in pairs if one != other), min(len(left), len(right))) - 8, 0)
    one, other = (_text(value, start) for value in (left, right))
    return one, other


def _text(value: Any, start: int) -> str:
    if value is _NONE:
        return "nothing"
    if _names(value):
        return f"{type(value).__name__}(...)"
    return f"...{excerpt(value[start:], WIDTH)} from {start} on" if start else excerpt(value, WIDTH)
