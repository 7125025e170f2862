"""Reads the values of paths from decoded frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..protocol import Result
from .expression import Expression, ManyValues, OneValue, Values
from .field_path import FieldPath
from .frame_context import FrameContext


def match_results(expression: Expression, context: FrameContext) -> Callable[[Result], bool]:
    """Return a function that tests decoded frames; it must be called for all frames, in order.

    Args:
        expression: the tests.
        context: names of topics, and groups of requests.
    """
    test = expression.compile(lambda path: read_results(path, context))
    if isinstance(test, bool):
        return lambda result: test
    if not any(path.name == "group" for path in expression.paths):
        return lambda result: bool(test(result))

    def match(result: Result) -> bool:
        context.groups.of(result)  # responses have the groups of their requests
        return bool(test(result))

    return match


def read_results(path: FieldPath, context: FrameContext) -> Values:
    """Return how the values of a path are read from decoded frames."""
    known = path.property
    if known is None:
        return ManyValues(path.values)
    if known.is_list:
        return ManyValues(lambda result: known.values(result, context))
    return OneValue(lambda result: known.read(result, context))


def path_values(path: FieldPath, result: Result, context: FrameContext) -> Iterator[Any]:
    """Yield all values of a path in a frame."""
    known = path.property
    yield from path.values(result) if known is None else known.values(result, context)
