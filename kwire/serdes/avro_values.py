"""Values of Avro, read by fastavro (the extra `values`) with the schema of their writer."""

from __future__ import annotations

import io
import math
from typing import Any

import msgspec

from .avro_bounds import needs_walk, walk_value
from .schema_document import SchemaDocument, load_schema
from .schema_error import BAD_SCHEMA, BAD_VALUE, SchemaError, library_reason, missing_library


class AvroReader:
    """Reads values of one schema.

    Args:
        document: the schema, with those that it refers to.

    Raises:
        SchemaError: it is not a schema of Avro, or fastavro is not installed.
    """

    def __init__(self, document: SchemaDocument) -> None:
        try:
            from fastavro import parse_schema, schemaless_reader
        except ImportError:
            raise missing_library("Avro", "fastavro") from None
        self._read_value = schemaless_reader
        self._named: dict[str, Any] = {}
        for part in (*document.references, document):
            parsed = load_schema(part.text)
            try:
                self._schema: Any = parse_schema(parsed, named_schemas=self._named)
            except Exception as error:  # a library on hostile input: KeyError, TypeError, RecursionError and its own
                raise SchemaError(BAD_SCHEMA, f"it is not a schema of Avro: {library_reason(error)}") from None
        name = self._schema.get("name") if isinstance(self._schema, dict) else None
        self.name: str = name if isinstance(name, str) else ""
        self._needs_walk = needs_walk(self._schema, self._named)

    def read(self, payload: bytes, *, framed: bool) -> tuple[str, str, int]:
        """Return name, JSON and unread bytes of a value. Raises SchemaError."""
        if self._needs_walk:
            walk_value(self._schema, self._named, payload)
        stream = io.BytesIO(payload)
        try:
            value = self._read_value(stream, self._schema, None)
            text = msgspec.json.encode(_plain(value), enc_hook=str).decode()
        except EOFError:
            raise SchemaError(BAD_VALUE, "it is cut short") from None
        except Exception as error:  # a library on hostile input: IndexError, ValueError, OverflowError and others
            raise SchemaError(BAD_VALUE, library_reason(error)) from None
        left = len(payload) - stream.tell()
        if left:
            raise SchemaError(BAD_VALUE, f"{left} byte{'s' * (left != 1)} after it")
        return self.name, text, 0


def _plain(value: Any) -> Any:
    """Return a value whose JSON says all of it: JSON has no NaN and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
