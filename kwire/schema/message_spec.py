"""The spec of a message in all its versions: MessageSpec, StructSpec and FieldSpec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .field_names import attribute_for, camel_case
from .version_ranges import NONE, Versions


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a struct.

    `type` is Kafka's type: `int32`, `[]string`, `MetadataResponseBroker`, `[]MetadataResponseBroker` and so on.
    `default` is a Python value; `...` means a new struct. `struct` is set for struct types and arrays of them. `owner`
    is the name of the struct that contains the field.
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
        """Whether the type starts with `[]`."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without `[]`."""
        return self.type.removeprefix("[]")

    @property
    def attribute(self) -> str:
        """The name in Python, such as `topic_id`."""
        return attribute_for(self.owner, self.name)

    @property
    def json_name(self) -> str:
        """The name in Kafka's JSON form, such as `topicId`."""
        return camel_case(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class StructSpec:
    """A struct: the message itself, a struct defined in a field, or one of `commonStructs`."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MessageSpec:
    """A message in all its versions.

    `type` is request, response, header, data, metadata, coordinator-key or coordinator-value; `api_key` is the api key
    or the record type, or None; `profile` is empty for released messages; `release` is the last release with this
    layout, if a later release has another layout in the same version; `text` is the JSON of the spec.
    """

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
        """`KIP-36` or `Kafka 3.6` for a layout that the newest release does not have; otherwise empty."""
        return self.profile or (f"Kafka {self.release}" if self.release else "")

    @property
    def api_name(self) -> str:
        """The name of the api: that of the request without `Request`, or of the response without `Response`.

        >>> MessageSpec("MetadataRequest", "request", 3, NONE, NONE, StructSpec("", NONE, ())).api_name
        'Metadata'
        """
        return self.name.removesuffix(self.type.capitalize()) if self.type in ("request", "response") else self.name

    def structs(self) -> Iterator[StructSpec]:
        """Iterate over all structs, each once, inner structs first; the struct of the message is last."""
        seen: dict[str, StructSpec] = {}
        _collect_structs(self.struct, seen)
        yield from seen.values()


def _collect_structs(struct: StructSpec, seen: dict[str, StructSpec]) -> None:
    for member in struct.fields:
        if member.struct is not None and member.struct.name not in seen:
            _collect_structs(member.struct, seen)
    seen[struct.name] = struct
