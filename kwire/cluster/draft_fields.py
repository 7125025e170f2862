"""Converts the decoded body of a draft to the released message, and lists the fields that its version carries.

Readers of messages about clusters test here whether a body carries a field, and not its version number: a draft of a
KIP has other versions, and may have other names. Sources: KIP-36 (TopicMetadataResponse v1), KIP-112 (MetadataResponse
v3).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ..codecs import Codec
from ..messages.classes import message_class
from ..spec import MessageSpec, StructSpec
from ..spec.catalog import catalog_for

# A draft's message -> the released message that carries the same.
RELEASED = {"TopicMetadataResponse": "MetadataResponse"}
# (struct of a draft, attribute there) -> attribute of the released message, where the names differ.
RENAMED = {
    ("TopicMetadataResponse", "broker_end_points"): "brokers",
    ("TopicMetadataResponse", "topics_meta_data"): "topics",
    ("BrokerEndPoint", "broker_id"): "node_id",
    ("TopicMetadata", "topic"): "name",
    ("TopicMetadata", "partitions_meta_data"): "partitions",
    ("PartitionMetadata", "partition_id"): "partition_index",
    ("PartitionMetadata", "leader"): "leader_id",
    ("PartitionMetadata", "replicas"): "replica_nodes",
    ("PartitionMetadata", "isr"): "isr_nodes",
}


class Body(NamedTuple):
    """A message of a released class, whatever draft or early access it came from.

    Attributes:
        message: the message; fields that its version does not carry have Kafka's default.
        fields: paths of the fields that its version carries: `topics.partitions.offline_replicas`.
    """

    message: Any
    fields: frozenset[str]


def body_of(message: Any, codec: Codec | int) -> Body:
    """Return a decoded message under the released names.

    Args:
        message: a decoded body.
        codec: what decoded it; of a released message its version is enough.

    Raises:
        UnknownMessage, UnsupportedVersion: the codec is a number, and Kafka released no such message or version.

    >>> import kwire
    >>> codec = kwire.codec("MetadataResponse", 3, profile="KIP-112")
    >>> "topics.partitions.offline_replicas" in body_of(codec.message_class(controller_id=1), codec).fields
    True
    >>> "topics.partitions.offline_replicas" in body_of(kwire.messages.MetadataResponse(), 3).fields
    False
    """
    name = type(message).__name__
    catalog = catalog_for()
    spec = codec.spec if isinstance(codec, Codec) else catalog.spec(name, codec)
    version = codec.version if isinstance(codec, Codec) else codec
    released = RELEASED.get(name, name)
    if released in catalog and spec is not catalog.spec(released):
        message = _rebuilt(message, spec.struct, catalog.spec(released).struct, message_class(catalog.spec(released)))
    return Body(message, _fields(spec, version))


@cache
def _fields(spec: MessageSpec, version: int) -> frozenset[str]:
    return frozenset(_paths(spec.struct, version, ""))


def _paths(struct: StructSpec, version: int, before: str) -> Iterator[str]:
    for field in struct.fields:
        if version in field.versions:
            path = before + _name(struct, field.attribute)
            yield path
            if field.struct is not None:
                yield from _paths(field.struct, version, f"{path}.")


def _name(struct: StructSpec, attribute: str) -> str:
    return RENAMED.get((struct.name, attribute), attribute)


def _rebuilt(value: Any, source: StructSpec, target: StructSpec, classes: Any) -> Any:
    """Build a struct of a released message out of another's; a field without a counterpart is left out.

    Args:
        value: the struct that was decoded, by `source`.
        target: the struct of the released message.
        classes: the class of the released message, which has those of its structs as attributes.
    """
    known = {field.attribute: field for field in target.fields}
    values: dict[str, Any] = {}
    for field in source.fields:
        goal = known.get(_name(source, field.attribute))
        if goal is None or goal.is_array != field.is_array or (goal.struct is None) != (field.struct is None):
            continue
        one = getattr(value, field.attribute)
        if one is not None and field.struct is not None and goal.struct is not None:
            inner = field.struct, goal.struct, classes
            one = tuple(_rebuilt(item, *inner) for item in one) if field.is_array else _rebuilt(one, *inner)
        values[goal.attribute] = one
    cls = classes if classes.__name__ == target.name else getattr(classes, target.name)
    return cls(**values)
