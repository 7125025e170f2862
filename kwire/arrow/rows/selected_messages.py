"""Which messages a read decodes, and which of their fields: from its options, or from a user's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from ...protocol.headers.apis import Api
from ...schema.catalog import Catalog
from ..read_options import JSON, STRUCT, BadOption, Options
from .masked_rows import RowMasking
from .message_column import Bodies, JsonBodies, ProjectedBodies, RawBodies, RequestOrResponseBodies, StructBodies
from .row_schema import MESSAGE

PARTS = ("request", "response")


def chooser(options: Options, catalog: Catalog) -> Callable[[Api], None]:
    """Return the function that marks an api's frames as wanted."""
    wanted = set(_messages(options, catalog))

    def choose(api: Api) -> None:
        names = [codec.name if codec else None for codec in (api.request, api.response)]
        if api.message is not None and api.version is not None:
            names = [api.message, api.message]
        api.asks, api.answers = [not options.apis or name in wanted for name in names]
        if options.direction != "auto":
            api.asks, api.answers = (
                api.asks and options.direction == PARTS[0],
                api.answers and options.direction == PARTS[1],
            )

    return choose


def _messages(options: Options, catalog: Catalog) -> Iterator[str]:
    """Yield the names of the selected messages of apis."""
    for word in options.apis:
        names = catalog.named(word)
        is_api = len(names) > 1
        yield from (name for name in names if not is_api or options.direction in ("auto", catalog.spec(name).type))


def bodies_for(options: Options, catalog: Catalog, schema: Any = None) -> Bodies:
    """Return the builder of the column `message`."""
    field = None if schema is None else schema.field(MESSAGE)
    if options.body == STRUCT:
        return _structs(options, catalog, field)
    are_masked = options.mask_secrets
    raw = RawBodies(RowMasking(catalog).mask_frame if are_masked else None)
    bodies: Bodies = JsonBodies(are_masked=are_masked) if options.body == JSON else raw
    if field is not None and field.type != bodies.type:
        hint = "body=struct is for structs, body=raw for binary, body=json for text"
        raise BadOption("body", options.body, f"message is {bodies.type} then, not {field.type}", hint)
    return bodies


def _structs(options: Options, catalog: Catalog, field: Any) -> Bodies:
    messages = list(dict.fromkeys(_messages(options, catalog)))
    apis = {catalog.spec(name).api_key for name in messages}
    if len(apis) != 1:
        hint = "apis=MetadataResponse, or apis=Metadata for its requests and responses in one struct"
        raise BadOption("body", STRUCT, "a struct is of one api: name it in the option apis", hint)
    if len(messages) == 1:
        structs = StructBodies(
            messages[0], _field_paths(field and field.type), catalog, are_masked=options.mask_secrets
        )
        return _project(structs, field)
    parts = {catalog.spec(name).type: name for name in messages}
    inner = {part: None if field is None else _inner(field.type, part) for part in parts}
    both = RequestOrResponseBodies(
        {
            part: StructBodies(name, _field_paths(inner[part]), catalog, are_masked=options.mask_secrets)
            for part, name in parts.items()
            if field is None or inner[part] is not None
        }
    )
    return _project(both, field)


def _project(bodies: Bodies, field: Any) -> Bodies:
    if field is None:
        return bodies
    if not are_equal_types(bodies.type, field.type):
        raise BadOption("schema", None, f"message is {bodies.type}, not {field.type}")
    return ProjectedBodies(bodies, field.type)


def _inner(type_: Any, name: str) -> Any:
    """Return the type of a field of a struct; None if it does not exist."""
    index = type_.get_field_index(name) if pa.types.is_struct(type_) else -1
    return None if index < 0 else type_.field(index).type


def _field_paths(type_: Any) -> list[str] | None:
    """Return the fields of a struct type in the notation of `kwire.columns`; None, meaning all, without a type."""
    if type_ is None:
        return None
    if not pa.types.is_struct(type_):
        raise BadOption("schema", None, f"message is a struct, not {type_}")
    return list(_names(type_, ""))


def _names(type_: Any, before: str) -> Iterator[str]:
    for field in type_:
        inner = field.type
        while pa.types.is_list(inner):
            inner = inner.value_type
        if pa.types.is_struct(inner) and inner.num_fields:
            yield from _names(inner, f"{before}{field.name}.")
        else:
            yield before + field.name


def are_equal_types(left: Any, other: Any) -> bool:
    """Whether two types differ only in the order of fields in structs.

    >>> one, other = ([("a", pa.int8()), ("b", pa.string())], [("b", pa.string()), ("a", pa.int8())])
    >>> are_equal_types(pa.list_(pa.struct(one)), pa.list_(pa.struct(other))), are_equal_types(pa.int8(), pa.int16())
    (True, False)
    """
    if pa.types.is_list(left) and pa.types.is_list(other):
        return are_equal_types(left.value_type, other.value_type)
    if not (pa.types.is_struct(left) and pa.types.is_struct(other)):
        return bool(left == other)
    inner = {field.name: field.type for field in left}
    same = sorted(inner) == sorted(field.name for field in other)
    return same and all(are_equal_types(inner[field.name], field.type) for field in other)
