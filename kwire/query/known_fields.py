"""The fields of messages that a path can mean, found without reading the specs of messages that have none.

Reading the 200 specs that have an `error_code` takes as long as decoding 5 MB: they are read as far as a filter needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schema.catalog import Catalog
from ..schema.field_names import ATTRIBUTES
from ..schema.message_spec import FieldSpec, MessageSpec
from .field_path import FieldPath, fields_of
from .frame_properties import PROPERTIES
from .record_properties import RECORD_PROPERTIES

Known = tuple[MessageSpec, FieldSpec]


def fields_at(path: FieldPath, catalog: Catalog) -> Iterator[Known]:
    """Yield the fields that a path can mean in all versions of all messages, each with its message.

    >>> from kwire.schema.catalog import catalog_for
    >>> path = FieldPath("stored_key", (("stored_key", None),))
    >>> [(spec.name, field.name) for spec, field in fields_at(path, catalog_for())]
    [('UserScramCredentialRecord', 'StoredKey')]
    """
    if path.part:
        return
    names = tuple(name for name, _ in path.steps)
    spellings = [names[-1], *(field for (_, field), attribute in ATTRIBUTES.items() if attribute == names[-1])]
    for spec in map(catalog.spec, catalog.names_with(spellings)):
        if spec.type != "header":
            yield from ((spec, member) for above, member in fields_of(spec.struct) if above[-len(names) :] == names)


def names_in_filters(catalog: Catalog) -> list[str]:
    """Return the names of all fields of messages, and of all properties of frames and records, sorted.

    It reads all specs, which takes about a second.
    """
    specs = (spec for spec in map(catalog.spec, catalog.names()) if spec.type != "header")
    fields = {attributes[-1] for spec in specs for attributes, _ in fields_of(spec.struct)}
    return sorted(fields | PROPERTIES.keys() | RECORD_PROPERTIES.keys())


class KnownFields:
    """Fields, each read from its spec when it is first needed.

    Args:
        fields: yields the fields.
    """

    def __init__(self, fields: Iterator[Known]) -> None:
        self._coming = fields
        self._read: list[Known] = []

    def __iter__(self) -> Iterator[Known]:
        yield from self._read
        for known in self._coming:
            self._read.append(known)
            yield known
