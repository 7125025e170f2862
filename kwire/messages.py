"""Makes one `msgspec.Struct` class per message, good for all its versions.

`kwire.messages.UpdateMetadataRequest` is made on first use; its inner structs are its attributes:
`UpdateMetadataRequest.UpdateMetadataBroker`. A profile's stand in `getattr(kwire.messages, "KIP-112")`, and
layouts that Kafka 3.6 was the last to have in `kwire.messages.kafka_3_6`.
The classes are plain values: frozen, compared by value, pickled by name; they know no versions.
"""

from __future__ import annotations

from functools import partialmethod
from types import SimpleNamespace
from typing import Any

import msgspec

from .caches import once
from .catalog import Catalog, catalog_for, profiles
from .errors import UnknownMessage
from .layers import is_shipped
from .spec import FieldSpec, MessageSpec, StructSpec

_TYPES: dict[str, Any] = {
    "bool": bool,
    "float64": float,
    "string": str,
    "bytes": bytes,
    "records": bytes,
    "uuid": bytes,
}


@once
def message_class(spec: MessageSpec) -> type[msgspec.Struct]:
    """Make the class of a message.

    Args:
        spec: the message, over all versions.

    Returns:
        A frozen `msgspec.Struct`. Its attributes are the fields in the order of the spec, each with Kafka's
        default, and `unknown_tags`: None, or the raw bytes of tagged fields that nobody here knows.
    """
    classes: dict[str, type[msgspec.Struct]] = {}
    home = spec.profile or (f"kafka_{spec.release.replace('.', '_')}" if spec.release else "")
    own = not is_shipped(spec)
    if own:
        home = f"<{spec.file}>"
    for struct in spec.structs():
        namespace: dict[str, Any] = dict(classes) if struct is spec.struct else {}
        if own:
            namespace["__reduce__"] = partialmethod(_reduced, spec, struct.name)
        cls = _class_for(struct, classes, namespace)
        owner = "" if struct is spec.struct else spec.name
        cls.__qualname__ = ".".join(filter(None, (home, owner, struct.name)))
        classes[struct.name] = cls
    return classes[spec.name]


def _reduced(message: Any, spec: MessageSpec, struct: str) -> tuple[Any, ...]:
    """Pickle a message of somebody's own specs: no module has its class, which is made of the spec there too."""
    return _message_of, (spec, struct, msgspec.structs.astuple(message))


def _message_of(spec: MessageSpec, struct: str, values: tuple[Any, ...]) -> Any:
    cls = message_class(spec)
    return (cls if struct == spec.name else getattr(cls, struct))(*values)


def default_for(field: FieldSpec, classes: Any) -> Any:
    """Return a field's default as its class has it; `classes` has the structs as attributes."""
    if field.default is not ...:
        return field.default
    assert field.struct is not None
    return getattr(classes, field.struct.name)()


def _class_for(
    struct: StructSpec, classes: dict[str, type[msgspec.Struct]], namespace: dict[str, Any]
) -> type[msgspec.Struct]:
    known = SimpleNamespace(**classes)
    fields = [(f.attribute, _annotation(f, classes), default_for(f, known)) for f in struct.fields]
    fields.append(("unknown_tags", bytes | None, None))
    return msgspec.defstruct(struct.name, fields, frozen=True, gc=False, module=__name__, namespace=namespace)


def _annotation(field: FieldSpec, classes: dict[str, type[msgspec.Struct]]) -> Any:
    base: Any = classes[field.struct.name] if field.struct else _TYPES.get(field.element, int)
    if field.is_array:
        base = tuple[base, ...]
    return base | None if field.nullable_versions or field.default is None else base


def __getattr__(name: str) -> Any:
    """Find a message class by name, or the classes of a profile or a release."""
    try:
        if name in profiles():
            return Messages(catalog_for(name))
        if name.startswith("kafka_"):
            return Messages(catalog_for(release=name.removeprefix("kafka_").replace("_", ".")))
        return message_class(catalog_for().spec(name))
    except UnknownMessage as error:
        raise AttributeError(str(error)) from None


class Messages:
    """The message classes of one catalog, as attributes; `kwire.Catalog.messages`.

    >>> import kwire
    >>> kwire.Catalog.of(profile="KIP-112").messages.MetadataResponse(controller_id=7).controller_id
    7
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __dir__(self) -> list[str]:
        return self._catalog.names()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return message_class(self._catalog.spec(name))
        except UnknownMessage as error:
            raise AttributeError(str(error)) from None
