"""Finds the values in which two messages, requests or responses differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from ...errors import Segments, excerpt, path_text
from ...redact.sensitive_configs import is_sensitive
from ...schema.sensitive_fields import ENVELOPED, SECRET_FIELDS, SECRET_PARTS, Hidden

LISTED_VALUES = 10  # maximum number of fields to list
VALUE_WIDTH = 60  # maximum characters of a value
FIRST = ("message", "header")  # parts of a decoded frame that are compared; its bytes follow
_RAW = frozenset(("data", "rest"))  # raw bytes, in which the position of secrets is unknown
_DERIVED = frozenset(("spans",))
_NONE: Any = object()  # the array has no such element


class ValueDifference(NamedTuple):
    """Two values that differ, and their path."""

    path: Segments
    left: Any
    right: Any


def value_differences(left: Any, right: Any, path: Segments = ()) -> Iterator[ValueDifference]:
    """Yield the innermost values in which two messages, requests or responses differ, in the order of their fields.

    >>> from kwire import messages as m
    >>> one, other = (m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name=name)]) for name in "ab")
    >>> [(path_text(found.path), found.left, found.right) for found in value_differences(one, other)]
    [('topics[0].name', 'a', 'b')]
    """
    if type(left) is type(right) and (names := _names_of(left)):
        for name in names:
            inner = path if name == "message" and not path else (*path, name)
            yield from value_differences(_held_value(left, name), _held_value(right, name), inner)
    elif (
        isinstance(left, tuple | list) and isinstance(right, tuple | list) and not (_names_of(left) or _names_of(right))
    ):
        for index, (old, new) in enumerate(zip_longest(left, right, fillvalue=_NONE)):
            yield from value_differences(old, new, (*path, index))
    elif left is _NONE or right is _NONE or left != right:
        yield ValueDifference(path, left, right)


def value_lines(left: Any, right: Any) -> list[str]:
    """Return differences as lines such as `topics[0].name: 'a' != 'b'`, without secrets; an empty list for equal
    values.
    """
    differences = list(islice(value_differences(left, right), LISTED_VALUES + 1))
    lines = [_value_line(*difference) for difference in differences[:LISTED_VALUES]]
    return [*lines, "and more"] if len(differences) > LISTED_VALUES else lines


def _names_of(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(value, "__struct_fields__", getattr(value, "_fields", ()))
    if not names and is_dataclass(value):
        names = tuple(field.name for field in fields(value) if field.compare and field.name not in _DERIVED)
    return (*(name for name in FIRST if name in names), *(name for name in names if name not in FIRST))


def _held_value(owner: Any, name: str) -> Any:
    """Return the value of a field, or a placeholder for a secret; placeholders are equal if the secrets are."""
    value = getattr(owner, name)
    if isinstance(value, dict):  # the parts of a SASL token
        return tuple((part, Hidden(member) if part in SECRET_PARTS else member) for part, member in value.items())
    is_secret = name in SECRET_FIELDS or name in ENVELOPED or name in _RAW
    is_secret = is_secret or (name == "value" and is_sensitive(str(getattr(owner, "name", ""))))
    return Hidden(value) if is_secret and value and isinstance(value, str | bytes) else value


def _value_line(path: Segments, left: Any, right: Any) -> str:
    one, other = _value_texts(left, right)
    return f"{path_text(path) or 'the whole'}: {one} != {other}"


def _value_texts(left: Any, right: Any) -> tuple[str, str]:
    """Format two values; if they are long, only the part from shortly before their first difference."""
    start = 0
    if isinstance(left, str | bytes) and type(left) is type(right) and max(len(left), len(right)) > VALUE_WIDTH // 2:
        pairs = enumerate(zip(left, right, strict=False))
        start = max(next((at for at, (one, other) in pairs if one != other), min(len(left), len(right))) - 8, 0)
    one, other = (_value_text(value, start) for value in (left, right))
    return one, other


def _value_text(value: Any, start: int) -> str:
    if value is _NONE:
        return "nothing"
    if _names_of(value):
        return f"{type(value).__name__}(...)"
    return f"...{excerpt(value[start:], VALUE_WIDTH)} from {start} on" if start else excerpt(value, VALUE_WIDTH)
