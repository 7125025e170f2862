"""Creates one `msgspec.Struct` class per message, for all its versions.

The classes are plain values without a version: frozen, compared by value, pickled by name. Their constructors convert
lists to tuples, and a `uuid.UUID` to its 16 bytes, so that a message equals the one that its bytes decode to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from operator import index
from types import SimpleNamespace
from typing import Any, Self, SupportsIndex
from uuid import UUID

import msgspec

from ..errors import UnknownMessage, UnsupportedVersion
from ..runtime.caches import once
from .catalog import Catalog, catalog_for
from .docstrings import class_doc
from .message_spec import FieldSpec, MessageSpec, StructSpec
from .spec_layers import is_shipped

_TYPES: dict[str, Any] = {
    "bool": bool,
    "float64": float,
    "string": str,
    "bytes": bytes,
    "records": bytes,
    "uuid": bytes,
}


_SPECS: dict[type, MessageSpec] = {}  # message class -> its spec


class MessageMeta(msgspec.StructMeta):
    """The metaclass of messages with arrays or uuids: constructors convert their arguments to immutable values.

    Decoders have nothing to convert, so they call `constructor_of` instead.
    """

    def __call__(cls, *args: Any, **values: Any) -> Any:  # noqa: N805
        """Create a message."""
        kinds = _CONVERTED[cls]
        for name, kind in kinds.items():
            if name in values:
                values[name] = _make_immutable(kind, values[name])
        if not args:
            return super().__call__(**values)
        named = zip(cls.__struct_fields__, args, strict=False)  # the constructor reports surplus arguments
        by_position = [_make_immutable(kinds.get(name), value) for name, value in named]
        return super().__call__(*by_position, *args[len(by_position) :], **values)


_CONVERTED: dict[type, dict[str, tuple[bool, bool]]] = {}  # class -> field -> whether it is an array, and has uuids


def _make_immutable(kind: tuple[bool, bool] | None, value: Any) -> Any:
    """Return an array as a tuple, and a UUID as bytes; the encoder raises the error for any other value."""
    if kind is None or (type(value) is tuple and not kind[1]):
        return value
    is_array, has_uuids = kind
    if is_array and isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return tuple(_make_immutable((False, has_uuids), item) for item in value) if has_uuids else tuple(value)
    return value.bytes if has_uuids and not is_array and isinstance(value, UUID) else value


@once
def constructor_of(cls: Any) -> Callable[..., Any]:
    """Return the constructor that does not convert its arguments, for decoders, whose values are immutable."""
    return msgspec.StructMeta.__call__.__get__(cls) if isinstance(cls, MessageMeta) else cls  # type: ignore[no-any-return]


@once
def message_class(spec: MessageSpec) -> type[msgspec.Struct]:
    """Create the class of a message.

    Args:
        spec: the spec of the message, with all versions.

    Returns:
        A frozen `msgspec.Struct`. Its attributes are the fields in the order of the spec, each with Kafka's
        default, and `unknown_tags`: None, or the raw bytes of unknown tagged fields.
    """
    classes: dict[str, type[msgspec.Struct]] = {}
    home = spec.profile or (f"kafka_{spec.release.replace('.', '_')}" if spec.release else "")
    own = not is_shipped(spec)
    if own:
        home = f"<{spec.file}>"
    for struct in spec.structs():
        namespace: dict[str, Any] = dict(classes) if struct is spec.struct else {}
        namespace["__doc__"] = _Docstring(spec, struct)
        if own:
            namespace["__reduce__"] = partialmethod(_reduce, spec, struct.name)
        cls = _class_for(struct, classes, namespace)
        owner = "" if struct is spec.struct else spec.name
        cls.__qualname__ = ".".join(filter(None, (home, owner, struct.name)))
        classes[struct.name] = cls
    _SPECS[classes[spec.name]] = spec
    return classes[spec.name]


class _Docstring(str):
    """The docstring of a message's class, created when it is read: creating it costs more than creating the class.

    `cls.__doc__` calls `__get__`; `help` bypasses that, and calls `expandtabs` of the str that it expects.
    """

    def __new__(cls, spec: MessageSpec, struct: StructSpec) -> Self:
        made = super().__new__(cls)
        made.write = partial(class_doc, spec, struct)
        return made

    write: Callable[[], str]

    def __get__(self, instance: object, owner: object = None) -> str:
        return self.write()

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        return self.write().expandtabs(tabsize)


def _reduce(message: Any, spec: MessageSpec, struct: str) -> tuple[Any, ...]:
    """Pickle a message of a user's specs: its class is in no module, so unpickling creates it from the spec."""
    return _message_of, (spec, struct, msgspec.structs.astuple(message))


def _message_of(spec: MessageSpec, struct: str, values: tuple[Any, ...]) -> Any:
    cls = message_class(spec)
    return (cls if struct == spec.name else getattr(cls, struct))(*values)


def checked_version(version: SupportsIndex) -> int:
    """Return a version as an int; raise TypeError for anything else."""
    if isinstance(version, bool) or not hasattr(version, "__index__"):
        raise TypeError(f"a version is an integer, not {type(version).__name__} {version!r}")
    return index(version)


def find_spec(
    message: str | int | type[Any],
    version: SupportsIndex | None,
    *,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> MessageSpec:
    """Return the spec that has a version of a message; arguments and errors as `kwire.codec`; None is any version."""
    if catalog is not None and (profile or release):
        raise TypeError("catalog= goes without profile= and release=; those have a catalog: kwire.Catalog.of(...)")
    version = None if version is None else checked_version(version)
    known = catalog or catalog_for(profile, release)
    if isinstance(message, str):
        return known.spec(message, version)
    if isinstance(message, type) and message in _SPECS:
        return _spec_of_class(message, version, known if catalog or profile or release else None)
    if isinstance(message, bool | type) or not hasattr(message, "__index__"):
        what = f"the class {message.__name__}" if isinstance(message, type) else type(message).__name__
        raise TypeError(f"a message's name, its class or an api key is needed, not {what}")
    spec = known.find(int(message), "request", version) or known.find(int(message), "request")
    if spec is None:
        raise UnknownMessage("api key", str(int(message)))
    return known.spec(spec.name, version)


def _spec_of_class(cls: type[Any], version: int | None, catalog: Catalog | None) -> MessageSpec:
    own = _SPECS[cls]
    if catalog is None:
        if version is not None and version not in own.versions:
            raise UnsupportedVersion(own.name, version, str(own.versions), own.origin)
        return own
    spec = catalog.spec(own.name, version)
    if message_class(spec) is not cls:
        raise TypeError(f"{cls.__qualname__} is of other specs than this catalog's; catalog.messages has its classes")
    return spec


def default_for(field: FieldSpec, classes: Any) -> Any:
    """Return the default of a field in its class; `classes` has the classes of structs as attributes."""
    if field.default is not ...:
        return field.default
    assert field.struct is not None
    return getattr(classes, field.struct.name)()


def _class_for(
    struct: StructSpec, classes: dict[str, type[msgspec.Struct]], namespace: dict[str, Any]
) -> type[msgspec.Struct]:
    known = SimpleNamespace(**classes)
    annotations = {f.attribute: _annotate(f, classes) for f in struct.fields} | {"unknown_tags": bytes | None}
    namespace |= {f.attribute: default_for(f, known) for f in struct.fields}
    namespace |= {"unknown_tags": None, "__annotations__": annotations, "__module__": "kwire.messages"}
    kinds = {f.attribute: (f.is_array, f.element == "uuid") for f in struct.fields if f.is_array or f.element == "uuid"}
    meta: Any = MessageMeta if kinds else msgspec.StructMeta
    cls: type[msgspec.Struct] = meta(struct.name, (msgspec.Struct,), namespace, frozen=True, gc=False)
    if kinds:
        _CONVERTED[cls] = kinds
    return cls


def _annotate(field: FieldSpec, classes: dict[str, type[msgspec.Struct]]) -> Any:
    base: Any = classes[field.struct.name] if field.struct else _TYPES.get(field.element, int)
    if field.is_array:
        base = tuple[base, ...]
    return base | None if field.nullable_versions or field.default is None else base


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
