"""Records in messages: which fields hold them, and the topic and partition of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

from ..codecs import wire
from ..codecs.field_search import FieldLocation, FieldStep, find_values, plan_fields
from ..codecs.message_codec import Codec

_NAMES = {"topic": ("topic", "name"), "topic_id": ("topic_id",), "partition": ("partition_index", "index", "partition")}
_NOBODY = "", bytes(16)  # placeholders for a name or an id that a version does not have


class RecordsPartition(NamedTuple):
    """The topic and partition of records, if known."""

    topic: str | None = None
    topic_id: bytes | None = None
    partition: int | None = None


UNKNOWN = RecordsPartition()


def plan_record_fields(codec: Codec) -> tuple[FieldStep, ...]:
    """Return the paths of records fields in a message; an empty tuple if it has none."""
    return plan_fields(codec, _is_records)


def _is_records(location: FieldLocation) -> bool | None:
    return isinstance(location.node, wire.Records) or None


def find_record_sets(codec: Codec, message: Any) -> Iterator[tuple[RecordsPartition, bytes]]:
    """Yield all records fields of a message, with topic and partition."""
    for _, structs, records in find_values(plan_record_fields(codec), message):
        yield reduce(_within, structs[1:], UNKNOWN), records


def _within(partition: RecordsPartition, value: Any) -> RecordsPartition:
    """Return a place updated from the fields of a struct."""
    names = value.__struct_fields__
    fields = {part: next((name for name in words if name in names), None) for part, words in _NAMES.items()}
    values = {part: getattr(value, name) for part, name in fields.items() if name is not None}
    return partition._replace(**{part: None if number in _NOBODY else number for part, number in values.items()})
