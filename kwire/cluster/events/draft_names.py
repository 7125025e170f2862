"""Gives messages of drafts and early-access releases the names of the released message.

Readers test for a field that a version carries instead of a version number. Sources: KIP-36, KIP-112.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ...codecs.message_codec import Codec
from ...schema.catalog import catalog_for
from ...schema.message_classes import message_class
from ...schema.message_spec import MessageSpec, StructSpec

# message of a draft -> the released message with the same content
RELEASED = {"TopicMetadataResponse": "MetadataResponse"}
# (struct of a draft, its attribute) -> attribute of the released message, if the names differ
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
# paths of the lists of offline replicas (KIP-112)
OFFLINE = (
    "topics.partitions.offline_replicas",
    "ungrouped_partition_states.offline_replicas",
    "topic_states.partition_states.offline_replicas",
)


class Body(NamedTuple):
    """A message of a released class, also if it was converted from a draft or an early-access release.

    Attributes:
        message: the message; fields that its version does not carry have Kafka's default.
        fields: paths of the fields that its version carries, such as `topics.partitions.offline_replicas`.
    """

    message: Any
    fields: frozenset[str]


def body_of(message: Any, codec: Codec | int) -> Body:
    """Return a decoded message with the released names.

    Args:
        message: a decoded body.
        codec: the codec that decoded it; for a released message the version is enough.

    Raises:
        UnknownMessage, UnsupportedVersion: `codec` is a number, and Kafka released no such message or version.

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
        message = _rebuild(message, spec.struct, catalog.spec(released).struct, message_class(catalog.spec(released)))
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


def _rebuild(value: Any, source: StructSpec, target: StructSpec, classes: Any) -> Any:
    """Build a struct of a released message from a struct of a draft; fields without a counterpart are left out.

    Args:
        value: the decoded struct.
        source: the spec of the decoded struct.
        target: the spec of the released struct.
        classes: the class of the released message, which has the classes of its structs as attributes.
    """
    known = {field.attribute: field for field in target.fields}
    values: dict[str, Any] = {}
    for field in source.fields:
        goal = known.get(_name(source, field.attribute))
        if goal is None or goal.is_array != field.is_array or (goal.struct is None) != (field.struct is None):
            continue
        member = getattr(value, field.attribute)
        if member is not None and field.struct is not None and goal.struct is not None:
            inner = field.struct, goal.struct, classes
            member = tuple(_rebuild(item, *inner) for item in member) if field.is_array else _rebuild(member, *inner)
        values[goal.attribute] = member
    cls = classes if classes.__name__ == target.name else getattr(classes, target.name)
    return cls(**values)


def offline_replicas_in(body: Body, partition: Any) -> tuple[int, ...] | None:
    """Return the offline replicas of a partition, ascending; None if the version does not carry them (KIP-112)."""
    return tuple(sorted(partition.offline_replicas)) if body.fields.intersection(OFFLINE) else None
