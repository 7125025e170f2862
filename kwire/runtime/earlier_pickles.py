"""Pickles of earlier versions, whose dataclasses had fewer fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any


def restore_fields(instance: Any, values: Mapping[str, Any]) -> None:
    """Set the fields of a dataclass from a pickle; fields that it lacks take their defaults.

    Args:
        instance: an object without fields, as `__setstate__` gets it.
        values: the pickled fields, by name.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Broker:
    ...     node_id: int
    ...     rack: str = "-"
    >>> broker = Broker.__new__(Broker)
    >>> restore_fields(broker, {"node_id": 3})
    >>> broker.rack
    '-'
    """
    for field in fields(instance):
        if field.name in values:
            value = values[field.name]
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            value = field.default
        object.__setattr__(instance, field.name, value)


def restore_slots(instance: Any, state: Sequence[object]) -> None:
    """Set the fields of a dataclass with slots from a pickle; the last fields, which it may lack, take their defaults.

    Args:
        instance: an object without fields, as `__setstate__` gets it.
        state: the pickled values, in the order of the fields.

    >>> from dataclasses import dataclass
    >>> @dataclass(slots=True)
    ... class Broker:
    ...     node_id: int
    ...     rack: str = "-"
    >>> broker = Broker.__new__(Broker)
    >>> restore_slots(broker, [3])
    >>> broker.rack
    '-'
    """
    names = (field.name for field in fields(instance))
    restore_fields(instance, dict(zip(names, state, strict=False)))
