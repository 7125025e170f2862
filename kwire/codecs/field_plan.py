"""Finds fields of interest in messages, by a plan that is created once per codec.

The caller defines which fields are of interest: topics, error codes, secrets, records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ..wire import Field, Struct, content_of
from . import Codec


class Place(NamedTuple):
    """A field that is not a struct: its message, its struct, and the node of its value or elements."""

    message: str
    struct: Struct
    field: Field
    node: Any
    is_array: bool

    @property
    def name(self) -> str:
        """The attribute name."""
        return str(self.field.name)

    @property
    def owner(self) -> str:
        """The name of its struct."""
        return str(self.struct.message_class.__name__)


class Step(NamedTuple):
    """A field of interest, or one that holds structs with such fields.

    Attributes:
        name: the attribute.
        path: from the message, with dots, without indices.
        is_array: whether it holds an array.
        interest: the caller's value for the field; None for a struct with fields of interest.
        steps: the fields of its struct.
    """

    name: str
    path: str
    is_array: bool
    interest: Any = None
    steps: tuple[Step, ...] = ()


Interest = Callable[[Place], Any]  # None: not of interest


@lru_cache(maxsize=1024)
def plan_of(codec: Codec, interest: Interest) -> tuple[Step, ...]:
    """Return the steps to the fields of interest in wire order; empty if there are none. Raises UnknownNode."""
    return tuple(_steps(codec.name, codec.schema, "", interest))


def _steps(message: str, struct: Struct, above: str, interest: Interest) -> Iterator[Step]:
    for field in struct.all_fields:
        content, name = content_of(field.subcon), str(field.name)
        if content.struct is not None:
            steps = tuple(_steps(message, content.struct, f"{above}{name}.", interest))
            if steps:
                yield Step(name, above + name, content.is_array, None, steps)
        else:
            value = interest(Place(message, struct, field, content.node, content.is_array))
            if value is not None:
                yield Step(name, above + name, content.is_array, value)


def leaves_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the last steps of a plan: the fields of interest."""
    for step in steps:
        if step.steps:
            yield from leaves_of(step.steps)
        else:
            yield step


def found_in(steps: tuple[Step, ...], *values: Any) -> list[tuple[Step, tuple[Any, ...], Any]]:
    """Return the non-empty fields of interest, in order: step, structs from the message to the field's owner, value.

    Args:
        steps: a plan.
        values: the message.
    """
    found: list[tuple[Step, tuple[Any, ...], Any]] = []
    _find(steps, values, found)
    return found


def _find(steps: tuple[Step, ...], values: tuple[Any, ...], found: list[tuple[Step, tuple[Any, ...], Any]]) -> None:
    """Append to a list: a generator for each struct, most of which hold nothing, took 1.5 times as long."""
    for step in steps:
        held = getattr(values[-1], step.name)
        if not held:
            continue
        if not step.steps:
            found.append((step, values, held))
        elif step.is_array:
            for item in held:
                _find(step.steps, (*values, item), found)
        else:
            _find(step.steps, (*values, held), found)


def leaves(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the last steps of a plan: the fields of interest."""
    for step in steps:
        yield from leaves(step.steps) if step.steps else (step,)


@lru_cache(maxsize=256)
def places_in(codec: Codec) -> dict[str, Place]:
    """Return the fields that are not structs, by their paths without indices."""
    return {step.path: step.interest for step in leaves(tuple(_steps(codec.name, codec.schema, "", _any)))}


def _any(place: Place) -> Place:
    return place
