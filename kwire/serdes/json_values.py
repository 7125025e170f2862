"""Values of JSON Schema: they are JSON. They are not validated, since a hostile schema could take any time."""

from __future__ import annotations

import msgspec

from .schema_document import SchemaDocument
from .schema_error import BAD_VALUE, SchemaError


class JsonReader:
    """Reads JSON.

    Args:
        document: the schema; its `title` becomes the name.

    >>> JsonReader(SchemaDocument("JSON", '{"title": "Order"}')).read(b'{"id":  7}', framed=False)
    ('Order', '{"id":7}', 0)
    """

    def __init__(self, document: SchemaDocument) -> None:
        self.name: str = _title_of(document.text)

    def read(self, payload: bytes, *, framed: bool) -> tuple[str, str, int]:
        """Return name, JSON and unread bytes of a value. Raises SchemaError."""
        try:
            msgspec.json.decode(payload)
            return self.name, msgspec.json.format(payload, indent=-1).decode(), 0
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SchemaError(BAD_VALUE, f"it is not JSON: {error}") from None


def _title_of(text: str) -> str:
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""  # values are JSON whatever the schema says
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) and len(title) <= 200 else ""
