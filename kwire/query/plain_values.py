"""Values of fields and properties for --fields: names of errors, times in ISO form, uuids, structs as JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ..codecs.json_writer import json_writer, uuid_text
from ..codecs.message_codec import Codec
from ..codecs.wire import Uuid, content_of
from ..protocol import Request, Response, Result
from ..schema.catalog import Catalog
from ..schema.message_spec import StructSpec
from ..schema.sensitive_fields import HIDDEN, Hidden
from ..values import kind_of
from .field_path import FieldPath, FieldSite, fields_of
from .frame_context import FrameContext
from .known_fields import fields_at
from .record_properties import RECORD_PROPERTIES, read_records, sited_record_values

Plain = Callable[[Any], Any]
_PLAIN_TYPES = frozenset({int, str})


@lru_cache(maxsize=1024)
def plain_writer(codec: Codec, site: FieldSite) -> Plain:
    """Return the function that makes values of a field plain; structs have the JSON of --jsonl."""
    content = content_of(site.field.subcon)
    if content.struct is not None:
        write = json_writer(content.struct)
        return lambda value: None if value is None or write is None else write(value)
    names = kind_of(codec.name, site.owner, site.field.json_name)
    if names is not None and names.__name__ == "ErrorCode":
        return NamesOfCodes(names).__getitem__
    return _write_uuid if isinstance(content.node, Uuid) else plain


class NamesOfCodes(dict[Any, Any]):
    """The names of error codes, each looked up once; what is no code is made plain.

    >>> from kwire.values import ErrorCode
    >>> NamesOfCodes(ErrorCode)[3]
    'UNKNOWN_TOPIC_OR_PARTITION'
    """

    def __init__(self, codes: Callable[[int], Any]) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, value: Any) -> Any:
        if not isinstance(value, int):
            return plain(value)
        name = self[value] = self._codes(value).name or value
        return name


def _write_uuid(value: Any) -> Any:
    return uuid_text(value) if isinstance(value, bytes) else plain(value)


def plain(value: Any) -> Any:
    """Return a value for JSON: bytes as hex, masked values as in --jsonl."""
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str | int | float | dict | None):
        return value
    return [plain(element) for element in value] if isinstance(value, list | tuple) else str(value)


def time_text(seconds: float) -> Any:
    """Return a time in ISO form, in UTC, with microseconds; the number if no calendar has it.

    >>> time_text(1795243745.84898)
    '2026-11-21T06:49:05.848980Z'
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).isoformat(timespec='microseconds')[:-6]}Z"
    except (OverflowError, ValueError, OSError):
        return seconds


def plain_result(path: FieldPath, result: Result, context: FrameContext) -> list[Any]:
    """Return all values of a path in a frame as plain values."""
    known = path.property
    if known is not None:
        return plain_property(path, known.values(result, context))
    if not isinstance(result, Request | Response):
        return []
    values = [
        plain_writer(result.codec, site)(value) for site, value in path.sited_values(result.codec, result.message)
    ]
    inside = result.inside
    return values + (plain_result(path, inside, context) if isinstance(inside, Request | Response) else [])


def plain_property(path: FieldPath, values: Any) -> list[Any]:
    """Return the values of a property as plain values."""
    known = path.property
    write = time_text if known is not None and known.kind == "time" else plain
    return [write(value) for value in values]


def plain_entry(path: FieldPath, entry: Any) -> list[Any]:
    """Return all values of a path in a record of a log as plain values."""
    known = RECORD_PROPERTIES.get(path.name)
    if known is not None:
        write = time_text if known.kind == "time" else plain
        return [write(value) for value in known.read(entry)]
    sited = [plain_writer(part_codec, site)(value) for part_codec, site, value in sited_record_values(entry, path)]
    values = read_records(path)
    read = getattr(values, "read", None)
    return sited or [plain(value) for value in (read(entry) if read is not None else ())]


def has_one_value(path: FieldPath, catalog: Catalog) -> bool:
    """Return whether an item has at most one value at a path, so that JSON needs no array for it."""
    if path.part:
        return False  # arrays may be on the way
    known = path.property or RECORD_PROPERTIES.get(path.name)
    if known is not None:
        return not getattr(known, "is_list", False) and path.name != "header"
    specs = dict.fromkeys(spec for spec, _ in fields_at(path, catalog))
    return all(_count_values(spec.struct, path) <= 1 for spec in specs)


def _count_values(struct: StructSpec, path: FieldPath) -> int:
    """Return 0, 1 or 2 for several: how many values a message can have at a path."""
    names = tuple(name for name, _ in path.steps)
    members = dict(fields_of(struct))
    count = 0
    for member_path, member in members.items():
        if member_path[-len(names) :] != names:
            continue
        above = [members[member_path[:end]] for end in range(1, len(member_path))]
        count += 2 if member.is_array or any(parent.is_array for parent in above) else 1
    return count
