"""Values of JSON Schema: JSON, validated by its schema."""

from __future__ import annotations

import msgspec

from .json_schema import JsonSchema
from .schema_document import SchemaDocument
from .schema_error import BAD_VALUE, SchemaError


class JsonReader:
    """Reads JSON, and validates it.

    A value that its schema does not allow, or that cannot be validated, is JSON nevertheless: the error has it.

    Args:
        document: the schema; its `title` becomes the name.

    >>> reader = JsonReader(SchemaDocument("JSON", '{"title": "Order", "properties": {"id": {"type": "integer"}}}'))
    >>> reader.read(b'{"id":  7}', framed=False)
    ('Order', '{"id":7}', 0)
    >>> reader.read(b'{"id": "7"}', framed=False)
    Traceback (most recent call last):
        ...
    kwire.serdes.schema_error.SchemaError: $.id: '7' is not of type 'integer'
    """

    def __init__(self, document: SchemaDocument) -> None:
        self.name: str = _title_of(document.text)
        self._schema: JsonSchema | SchemaError
        try:
            self._schema = JsonSchema(document)
        except SchemaError as error:
            self._schema = error.with_traceback(None)

    def read(self, payload: bytes, *, framed: bool) -> tuple[str, str, int]:
        """Return name, JSON and unread bytes of a value. Raises SchemaError."""
        try:
            value = msgspec.json.decode(payload)
            text = msgspec.json.format(payload, indent=-1).decode()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SchemaError(BAD_VALUE, f"it is not JSON: {error}") from None
        if isinstance(self._schema, SchemaError):
            raise SchemaError(self._schema.code, self._schema.problem, text)
        try:
            problem = self._schema.find_problem(value, len(payload))
        except SchemaError as error:
            raise SchemaError(error.code, error.problem, text) from None
        if problem:
            raise SchemaError(BAD_VALUE, problem, text)
        return self.name, text, 0


def _title_of(text: str) -> str:
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""  # values are JSON whatever the schema says
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) and len(title) <= 200 else ""
