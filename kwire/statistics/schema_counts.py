"""Counts keys and values by topic and schema, and what does not decode by its schema."""

from __future__ import annotations

from typing import NamedTuple

from ..serdes.schema_document import Part
from ..serdes.schema_value import SchemaValue
from .bounded_counter import BoundedCounter

KEYS = 1000  # different topics, parts and schemas; as many problems


class SchemaUse(NamedTuple):
    """Keys or values of a topic by one schema; `problem` is empty for those that decode."""

    topic: str
    part: Part
    schema: str
    problem: str


class SchemaCounts:
    """Counts keys and values in bounded memory.

    Attributes:
        uses: how many keys or values of a topic have a schema, and how many do not decode, by problem.
        first_places: where the first key or value of a use is.

    >>> counts = SchemaCounts()
    >>> counts.add("orders", "value", SchemaValue("AVRO", 7, "shop.Order", "{}"), "frame 3 at 100")
    >>> [(use.schema, count) for use, count in counts.uses.counts.items()]
    [('shop.Order, schema 7', 1)]
    """

    def __init__(self) -> None:
        self.uses: BoundedCounter[SchemaUse] = BoundedCounter(KEYS)
        self.first_places: dict[SchemaUse, str] = {}

    def add(self, topic: str | None, part: Part, value: SchemaValue | None, position: str) -> None:
        """Count a key or value; one without a schema is not counted."""
        if value is None:
            return
        use = SchemaUse(topic or "?", part, value.title, "" if value.error is None else str(value.error))
        self.uses.add(use)
        if use in self.uses.counts:
            self.first_places.setdefault(use, position)
