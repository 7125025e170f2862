"""The three nouns of a spec: `MessageSpec`, `StructSpec`, `FieldSpec`. Values only; made by `reading`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..names import attribute_for, camel_case
from ..versions import Versions

NONE = Versions()


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a struct.

    `type` is Kafka's: `int32`, `[]string`, `MetadataResponseBroker`, `[]MetadataResponseBroker` ...
    `default` is a Python value; `...` stands for a fresh struct. `struct` is there for struct types and
    arrays of them. `owner` is the name of the struct that has the field.
    """

    owner: str
    name: str
    type: str
    versions: Versions
    nullable_versions: Versions = NONE
    tagged_versions: Versions = NONE
    tag: int | None = None
    flexible_versions: Versions | None = None
    default: Any = None
    ignorable: bool = False
    map_key: bool = False
    zero_copy: bool = False
    entity_type: str = "unknown"
    about: str = ""
    struct: StructSpec | None = None

    @property
    def is_array(self) -> bool:
        """Whether the type begins with `[]`."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without `[]`."""
        return self.type.removeprefix("[]")

    @property
    def attribute(self) -> str:
        """The name in Python: `topic_id`."""
        return attribute_for(self.owner, self.name)

    @property
    def json_name(self) -> str:
        """The name in Kafka's JSON form: `topicId`."""
        return camel_case(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class StructSpec:
    """A struct: the message itself, one written inside a field, or one of `commonStructs`."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MessageSpec:
    """A message over all its versions. `type` is request, response, header, data, metadata,
    coordinator-key or coordinator-value; `api_key` is the api key or the record type, or None; `profile`
    is empty for what Kafka released; `release` is the last release with this layout, where a later one has
    another under the same version; `text` is the JSON it was read from."""

    name: str
    type: str
    api_key: int | None
    versions: Versions
    flexible_versions: Versions
    struct: StructSpec
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    deprecated_versions: Versions = NONE
    file: str = ""
    profile: str = ""
    release: str = ""
    text: str = field(default="", repr=False)

    @property
    def origin(self) -> str:
        """`KIP-36` or `Kafka 3.6` for a layout that the newest release does not have; else empty."""
        return self.profile or (f"Kafka {self.release}" if self.release else "")

    @property
    def api_name(self) -> str:
        """The api's name: a request's without `Request`, a response's without `Response`.

        >>> MessageSpec("MetadataRequest", "request", 3, NONE, NONE, StructSpec("", NONE, ())).api_name
        'Metadata'
        """
        return self.name.removesuffix(self.type.capitalize()) if self.type in ("request", "response") else self.name

    def structs(self) -> Iterator[StructSpec]:
        """Iterate over all structs, each once, inner ones first; the message's own comes last."""
        seen: dict[str, StructSpec] = {}
        _collect(self.struct, seen)
        yield from seen.values()


def _collect(struct: StructSpec, seen: dict[str, StructSpec]) -> None:
    for member in struct.fields:
        if member.struct is not None and member.struct.name not in seen:
            _collect(member.struct, seen)
    seen[struct.name] = struct
