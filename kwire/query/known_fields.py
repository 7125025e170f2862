"""The fields of messages that a path can mean, found without reading the specs of messages that have none."""

from __future__ import annotations

from functools import lru_cache

from ..schema.catalog import Catalog
from ..schema.field_names import ATTRIBUTES
from ..schema.message_spec import FieldSpec, MessageSpec
from .field_path import FieldPath, fields_of

Known = tuple[tuple[MessageSpec, FieldSpec], ...]


def fields_at(path: FieldPath, catalog: Catalog) -> Known:
    """Return the fields that a path can mean in all versions of all messages, each with its message.

    >>> from kwire.schema.catalog import catalog_for
    >>> path = FieldPath("stored_key", (("stored_key", None),))
    >>> [(spec.name, field.name) for spec, field in fields_at(path, catalog_for())]
    [('UserScramCredentialRecord', 'StoredKey')]
    """
    return _find_fields(tuple(name for name, _ in path.steps), catalog)


@lru_cache(maxsize=64)
def _find_fields(names: tuple[str, ...], catalog: Catalog) -> Known:
    last = names[-1]
    spellings = [last, *(field for (_, field), attribute in ATTRIBUTES.items() if attribute == last)]
    specs = (spec for spec in map(catalog.spec, catalog.names_with(spellings)) if spec.type != "header")
    return tuple(
        (spec, member) for spec in specs for above, member in fields_of(spec.struct) if above[-len(names) :] == names
    )
