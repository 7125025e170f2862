"""Checks that a fault rule can have an effect."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf
from typing import Protocol

from msgspec import Struct

from .. import messages
from ..errors import excerpt, suggestion
from ..values import ErrorCode
from .fault_rules import ERROR, FaultRule

_KINDS = {"api": str, "broker": int, "client": str, "topic": str, "partition": int, "group": str, "times": int}
FIELDS = frozenset((*_KINDS, "where", "seconds", "after", "is_handled", "answer"))  # what a test sets
MOST_SECONDS = 24 * 3600  # of a delay


class RuledApi(Protocol):
    """The properties of a served api that rules are validated against."""

    @property
    def finds_errors(self) -> bool:
        """Whether the handler applies rules to parts of the request."""


def error_code(name: str | int) -> int:
    """Return the code for the name of an error; raises UnknownMessage if the name is unknown.

    >>> error_code("NOT_LEADER_OR_FOLLOWER"), error_code(6)
    (6, 6)
    """
    return int(ErrorCode(name))


def is_number(value: object) -> bool:
    """Return whether a value is a finite number.

    >>> is_number(1), is_number(float("nan")), is_number("1"), is_number(True)
    (True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and -inf < value < inf


def check_seconds(value: object, name: str) -> None:
    """Raise ValueError for a delay that is no number, negative, or above MOST_SECONDS."""
    if not (is_number(value) and 0 <= value <= MOST_SECONDS):  # type: ignore[operator]
        raise ValueError(f"{name} is {excerpt(value)}; it takes seconds, from 0 to {MOST_SECONDS}")


def check_rule(rule: FaultRule, apis: Mapping[str, RuledApi]) -> None:
    """Check that a rule can have an effect.

    Args:
        rule: the rule.
        apis: the served apis by name.

    Raises:
        ValueError: the api is unknown, its responses cannot contain the error, or a field has an impossible value.
    """
    _check_fields(rule)
    if rule.api is not None and rule.api not in apis:
        known = suggestion(rule.api, apis) or f"the served apis are {', '.join(sorted(apis))}"
        raise ValueError(f"api {rule.api!r} is not served; {known}")
    if rule.partition is not None and rule.topic is None:
        raise ValueError("a rule with a partition must also name the topic")
    if rule.times is not None and rule.times < 1:
        raise ValueError("`times` must be at least 1")
    if rule.action == ERROR:
        _check_error(rule, apis)


def _check_fields(rule: FaultRule) -> None:
    """Check values that would otherwise fail with each request that the rule matches."""
    for name, kind in _KINDS.items():
        value = getattr(rule, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            raise ValueError(f"`{name}` is {excerpt(value)}; it takes {'a number' if kind is int else 'text'}")
    check_seconds(rule.seconds, "`seconds`")
    if type(rule.after) is not int or rule.after < 0:
        raise ValueError(f"`after` is {excerpt(rule.after)}; it takes a number of bytes")
    if rule.where is not None and not callable(rule.where):
        raise ValueError("`where` is not a function")
    if rule.answer is not None and not (callable(rule.answer) or isinstance(rule.answer, Struct)):
        raise ValueError("`answer` is neither a response message nor a function")


def _check_error(rule: FaultRule, apis: Mapping[str, RuledApi]) -> None:
    if rule.api is None:
        raise ValueError("a rule that returns an error must name the api")
    if apis[rule.api].finds_errors:
        return
    if not has_code(rule.api):
        raise ValueError(f"a {rule.api} response has no error code; use respond() or change()")
    if rule.topic is not None:
        raise ValueError(f"a {rule.api} response has only a top-level error code: leave out the topic")


@cache
def has_code(api: str) -> bool:
    """Return whether the responses of an api have a top-level error code."""
    return hasattr(getattr(messages, f"{api}Response")(), "error_code")
