"""Checks that the arguments of an operation on a running cluster are of the types that it names.

What is no number, text or flag is checked by the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ...errors import excerpt

_KINDS: dict[Any, tuple[type, str]] = {
    int: (Integral, "an integer"),
    float: (Real, "a number"),
    str: (str, "text"),
    bool: (bool, "true or false"),
    type(None): (type(None), "null"),
}


def check_arguments(operation: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise TypeError for an argument of another type than the operation names.

    Args:
        operation: the operation, with type hints.
        arguments: its arguments, by name.

    >>> def advance(seconds: float) -> None: ...
    >>> check_arguments(advance, {"seconds": "3"})
    Traceback (most recent call last):
    TypeError: seconds is a number, not '3'
    """
    for name, types in _scalars(getattr(operation, "__func__", operation)).items():
        if name in arguments and not any(_is(arguments[name], kind) for kind in types):
            kinds = " or ".join(_KINDS[kind][1] for kind in types)
            raise TypeError(f"{name} is {kinds}, not {excerpt(arguments[name])}")


def _is(value: object, wanted: type) -> bool:
    is_flag = isinstance(value, bool)  # which is an integer, too
    return isinstance(value, _KINDS[wanted][0]) and is_flag == (wanted is bool)


@cache
def _scalars(function: Callable[..., Any]) -> dict[str, tuple[type, ...]]:
    """Return the types of each argument of which all are in `_KINDS`."""
    hints = {name: hint for name, hint in get_type_hints(function).items() if name != "return"}
    types = {name: get_args(hint) if get_origin(hint) is UnionType else (hint,) for name, hint in hints.items()}
    return {name: kinds for name, kinds in types.items() if all(kind in _KINDS for kind in kinds)}
