"""A schema as a registry or a folder has it, and what every source of schemas can be asked."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from .schema_error import BAD_SCHEMA, SchemaError

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"  # the registry's `schemaType`
KINDS = AVRO, JSON, PROTOBUF
MOST_BYTES = 1 << 20  # of one schema
MOST_NESTED = 200  # brackets in each other, in the text of a schema
MOST_REFERENCES = 64  # schemas that one schema uses, directly or not

Part = Literal["key", "value"]


class SchemaDocument(msgspec.Struct, frozen=True):
    """A schema that is not parsed yet.

    Attributes:
        kind: `AVRO`, `JSON` or `PROTOBUF`.
        text: the schema as text; for `PROTOBUF` that of a `.proto` file, or empty.
        descriptors: for `PROTOBUF`, instead of text, the bytes of a FileDescriptorSet whose last file is the schema.
        descriptor: or those of one FileDescriptorProto, as registries give it.
        name: the name by which other schemas refer to it; of Protobuf, the path that they import.
        references: the schemas that it refers to, each after those that it needs itself.
    """

    kind: str
    text: str = ""
    descriptors: bytes = b""
    descriptor: bytes = b""
    name: str = ""
    references: tuple[SchemaDocument, ...] = ()


class SchemaSource(Protocol):
    """Where schemas come from. A source is asked for each schema once, and must answer in bounded time."""

    @property
    def name(self) -> str:
        """The name of the source, for messages; without secrets."""

    def find_by_id(self, schema_id: int) -> SchemaDocument:
        """Return the schema with an id. Raises SchemaError."""

    def find_by_topic(self, topic: str, part: Part) -> SchemaDocument | None:
        """Return the schema of the keys or values of a topic; None, at once, if there is none. Raises SchemaError."""


def load_schema(text: str) -> Any:
    """Return the JSON of a schema of Avro or JSON Schema; the bare name of a type is one, too.

    Raises:
        SchemaError: it is not JSON, too large, or nested too deep.
    """
    if len(text) > MOST_BYTES or not _is_shallow(text):
        raise SchemaError(BAD_SCHEMA, f"more than {MOST_BYTES:,} characters, or {MOST_NESTED} brackets in each other")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise SchemaError(BAD_SCHEMA, f"it is not JSON: {error}") from None


def _is_shallow(text: str) -> bool:
    depth = 0
    for character in text:
        if character in "[{":
            depth += 1
            if depth > MOST_NESTED:
                return False
        elif character in "]}":
            depth -= 1
    return True
