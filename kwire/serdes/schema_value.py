"""What a key or value says by its schema."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from .schema_error import SchemaError


class SchemaValue(msgspec.Struct, frozen=True):
    """A key or value as its schema reads it, or why it cannot be read.

    Attributes:
        kind: `AVRO`, `JSON` or `PROTOBUF`; None if the schema is unknown.
        schema_id: the id in the value; None for a schema of the topic.
        name: the full name of the record or message, such as `shop.Order`; empty if the schema has none.
        json: the value as JSON on one line; empty if it cannot be read. One that does not fit its JSON Schema is kept.
            Bytes are base64; times are ISO 8601; decimals are strings; of a union, the value is written without the
            name of its type.
        unread: for `PROTOBUF`, the number of bytes in fields that the schema does not have.
        error: why it cannot be read, or does not fit its schema; None if it does.
    """

    kind: str | None
    schema_id: int | None
    name: str = ""
    json: str = ""
    unread: int = 0
    error: SchemaError | None = None

    @property
    def value(self) -> Any:
        """The value as Python has it in JSON: dicts, lists, strings, numbers."""
        return json.loads(self.json) if self.json else None

    @property
    def title(self) -> str:
        """The schema in words: `shop.Order, schema 7`."""
        parts = [self.name or self.kind or "", f"schema {self.schema_id}" if self.schema_id is not None else ""]
        return ", ".join(filter(None, parts))

    @property
    def problem(self) -> str:
        """The error with its schema, in one line; empty if there is none."""
        if self.error is None:
            return ""
        return f"{self.title}: {self.error}" if self.title else str(self.error)


def schema_json(value: SchemaValue) -> dict[str, Any]:
    """Return the JSON members that tell the schema of a key or value."""
    members = {
        "type": value.kind,
        "id": value.schema_id,
        "name": value.name or None,
        "unreadBytes": value.unread or None,
    }
    return {name: member for name, member in members.items() if member is not None}
