"""Finds fields of interest in messages, by a plan that is created once per codec.

The caller defines which fields these are: topics, error codes, secrets, records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from . import wire


class HasTree(Protocol):
    """What has the name and the tree of a message: a codec."""

    name: str

    @property
    def tree(self) -> wire.Struct:
        """The construct tree."""


class FieldLocation(NamedTuple):
    """A field that is not a struct: the message, the struct that contains it, and the node of its value or elements."""

    message: str
    struct: wire.Struct
    field: wire.Field
    node: Any
    is_array: bool

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return str(self.field.name)

    @property
    def owner(self) -> str:
        """The name of the struct."""
        return str(self.struct.message_class.__name__)


class FieldStep(NamedTuple):
    """A field of interest, or one that holds structs with such fields.

    Attributes:
        name: the name of the attribute.
        path: the path from the message, with dots, without indices.
        is_array: whether the field is an array.
        interest: the caller's value for the field; None for a struct with fields of interest.
        steps: the steps to the fields of its struct.
    """

    name: str
    path: str
    is_array: bool
    interest: Any = None
    steps: tuple[FieldStep, ...] = ()


Interest = Callable[[FieldLocation], Any]  # None means not of interest


@lru_cache(maxsize=1024)
def plan_fields(codec: HasTree, interest: Interest) -> tuple[FieldStep, ...]:
    """Return the steps to the fields of interest in wire order; empty if there are none. Raises UnknownNode."""
    return tuple(_find_steps(codec.name, codec.tree, "", interest))


def _find_steps(message: str, struct: wire.Struct, above: str, interest: Interest) -> Iterator[FieldStep]:
    for field in struct.all_fields:
        content = wire.content_of(field.subcon)
        name = str(field.name)
        if content.struct is not None:
            steps = tuple(_find_steps(message, content.struct, f"{above}{name}.", interest))
            if steps:
                yield FieldStep(name, above + name, content.is_array, None, steps)
        else:
            value = interest(FieldLocation(message, struct, field, content.node, content.is_array))
            if value is not None:
                yield FieldStep(name, above + name, content.is_array, value)


def find_values(steps: tuple[FieldStep, ...], *values: Any) -> list[tuple[FieldStep, tuple[Any, ...], Any]]:
    """Return the non-empty fields of interest, in order: step, structs from the message to the field's owner, value.

    Args:
        steps: a plan.
        values: the message.
    """
    matches: list[tuple[FieldStep, tuple[Any, ...], Any]] = []
    _collect_values(steps, values, matches)
    return matches


def _collect_values(
    steps: tuple[FieldStep, ...], values: tuple[Any, ...], matches: list[tuple[FieldStep, tuple[Any, ...], Any]]
) -> None:
    """Append to a list: a generator per struct, most of which find nothing, took 1.5 times as long."""
    for step in steps:
        value = getattr(values[-1], step.name)
        if not value:
            continue
        if not step.steps:
            matches.append((step, values, value))
        elif step.is_array:
            for item in value:
                _collect_values(step.steps, (*values, item), matches)
        else:
            _collect_values(step.steps, (*values, value), matches)


def leaf_steps(steps: tuple[FieldStep, ...]) -> Iterator[FieldStep]:
    """Yield the last steps of a plan: the fields of interest."""
    for step in steps:
        yield from leaf_steps(step.steps) if step.steps else (step,)


@lru_cache(maxsize=256)
def field_locations(codec: HasTree) -> dict[str, FieldLocation]:
    """Return the fields that are not structs, by their paths without indices."""
    return {
        step.path: step.interest for step in leaf_steps(tuple(_find_steps(codec.name, codec.tree, "", _accept_all)))
    }


def _accept_all(location: FieldLocation) -> FieldLocation:
    return location
