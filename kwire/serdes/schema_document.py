"""A schema as a registry or a folder has it, and what every source of schemas can be asked."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"  # the registry's `schemaType`
KINDS = AVRO, JSON, PROTOBUF
MOST_BYTES = 1 << 20  # of one schema
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
