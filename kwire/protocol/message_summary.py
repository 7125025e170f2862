"""The summary of a message: topics, error codes and client software, by the names and types of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..codecs.fast_path import table_of
from ..codecs.field_search import FieldLocation, find_values, leaf_steps, plan_fields
from ..codecs.message_codec import Codec
from ..codecs.native import ENGINE
from ..codecs.wire import Integer, String
from ..schema.field_names import snake_case
from ..values import Value, kind, kind_of

TOPIC_FIELDS = frozenset(("topic_name", "topic", "topic_names", "subscribed_topic_names", "source_topics"))
_CARRIERS = frozenset(("FetchResponse", "FetchSnapshotResponse"))
SOFTWARE = ("client_software_name", "client_software_version")
MOST_TOPICS = 100_000  # the number of topic ids that are stored
# `Topic.CLUSTER_METADATA_TOPIC_NAME` and `Uuid.METADATA_TOPIC_ID` of Kafka (KIP-516, KIP-595).
METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", bytes(15) + b"\1"
WELL_KNOWN = {METADATA_TOPIC_ID: METADATA_TOPIC}  # which no response names


if TYPE_CHECKING or ENGINE == "native":
    from ..codecs.native import BodyFacts


class MessageFacts(NamedTuple):
    """The summary of one message: distinct topics in order, and error codes other than 0 in order."""

    topics: tuple[str, ...] = ()
    errors: tuple[Value, ...] = ()


class MessageSummary:
    """Extracts topics and errors from messages; stores the topic names of topic ids.

    Attributes:
        names_by_id: topic id -> name, as far as messages contained both.
        look_ahead: reads on in the input, if it can be read twice, until a topic id has a name.

    >>> import kwire
    >>> Reply = kwire.messages.ControlledShutdownResponse
    >>> MessageSummary().facts(kwire.codec("ControlledShutdownResponse", 1), Reply(error_code=7)).errors
    (<ErrorCode 7 REQUEST_TIMED_OUT>,)
    """

    most_names: int = MOST_TOPICS

    def __init__(self) -> None:
        self.names_by_id: dict[bytes, str] = dict(WELL_KNOWN)
        self.look_ahead: Callable[[bytes], None] | None = None

    def facts(self, codec: Codec, message: Any) -> MessageFacts:
        """Return the topics and error codes of a decoded message.

        Args:
            codec: the codec of the message.
            message: the decoded message.

        A topic with only an id gets the name that an earlier message contained; otherwise `?` and the start of the id.
        """
        codes = tuple(kind("ErrorCode")(code) for _, code in error_codes(codec, message))
        self._learn_records(codec, message)
        return MessageFacts(self.names(self.pairs(codec, message)), codes)

    def learn_names(self, codec: Codec, message: Any) -> None:
        """Store the names of the topic ids in a decoded message, those of the metadata log that it carries included."""
        self._learn_records(codec, message)
        if names_topic_ids(codec):
            self.names(self.pairs(codec, message))

    def _learn_records(self, codec: Codec, message: Any) -> None:
        """Store the names in the metadata log: between KRaft's brokers and controllers, nothing else has them."""
        if not carries_metadata_log(codec) or not is_of_metadata_log(message):
            return
        from .record_fields import find_record_sets  # few captures need it

        for partition, records in find_record_sets(codec, message):
            if records and (partition.topic == METADATA_TOPIC or partition.topic_id == METADATA_TOPIC_ID):
                from .metadata_topics import topics_of_metadata_log

                self.names(topics_of_metadata_log(records))

    def pairs(self, codec: Codec, message: Any) -> list[tuple[bytes | None, str | None]]:
        """Return ids and names of the topics of a decoded message, as `names` takes them."""
        ids_and_names: list[tuple[bytes | None, str | None]] = []
        for step, structs, field_value in find_values(plan_fields(codec, _find_topic), message):
            if not isinstance(step.interest, _TopicIdField):
                ids_and_names += [(None, name) for name in (field_value if step.is_array else (field_value,))]
            elif any(field_value):
                name = step.interest.name
                ids_and_names.append((field_value, getattr(structs[-1], name) if name else ""))
        return ids_and_names

    def names(self, topics: Iterable[tuple[bytes | None, str | None]]) -> tuple[str, ...]:
        """Return distinct names of topics in order; a topic with an id is named as in `facts`.

        Args:
            topics: ids and names; either may be missing.
        """
        return tuple({name or "" if id_ is None else self.name_topic(id_, name): None for id_, name in topics})

    def named_ids(self, codec: Codec, message: Any) -> dict[bytes, str]:
        """Return the names of the topic ids that a decoded message contains without a name, as far as they are known.

        Names beside their ids are stored.

        Args:
            codec: the codec of the message.
            message: the decoded message.
        """
        named = dict[bytes, str]()
        self._learn_records(codec, message)
        for topic_id, own_name in self.pairs(codec, message) if has_topic_ids(codec) else ():
            if topic_id is None:
                continue
            if own_name:
                self.name_topic(topic_id, own_name)
            elif (name := self.topic_of(topic_id)) is not None:
                named[topic_id] = name
        return named

    def topic_of(self, topic_id: bytes) -> str | None:
        """Return the name of a topic id; None if it is unknown, or no topic's."""
        if topic_id not in self.names_by_id and self.look_ahead is not None and any(topic_id):
            self.look_ahead(topic_id)
        return self.names_by_id.get(topic_id)

    def name_topic(self, topic_id: bytes, name: str | None) -> str:
        """Return the name of a topic with an id; a name that a message contained is stored."""
        if name and len(self.names_by_id) < self.most_names:
            self.names_by_id[topic_id] = name
        return name or self.topic_of(topic_id) or f"?{topic_id.hex()[:8]}"


def error_codes(codec: Codec, message: Any) -> tuple[tuple[str, int], ...]:
    """Return (path without indices, code) for every error code of a message except 0 (no error).

    >>> import kwire
    >>> topic = kwire.messages.MetadataResponse.MetadataResponseTopic(error_code=3, name="t")
    >>> message = kwire.messages.MetadataResponse(topics=(topic,))
    >>> error_codes(kwire.codec("MetadataResponse", 0), message)
    (('topics.error_code', 3),)
    """
    return tuple(
        (step.path, code)
        for step, _, field_value in find_values(plan_fields(codec, _is_error_code), message)
        for code in (field_value if step.is_array else (field_value,))
        if code
    )


def software_of(message: Any) -> str:
    """Return name and version of the client software in an ApiVersions request; an empty string for other messages.

    >>> import kwire
    >>> software_of(kwire.messages.ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2"))
    'librdkafka 2'
    """
    return " ".join(filter(None, (getattr(message, attribute, "") for attribute in SOFTWARE)))


def is_topic_field(struct: str, attribute: str) -> bool:
    """Whether a text field of a struct contains names of topics.

    >>> is_topic_field("MetadataResponseTopic", "name"), is_topic_field("CreatableTopicConfig", "name")
    (True, False)
    """
    named = attribute == "name" and "_topic" in f"_{snake_case(struct)}" and "Config" not in struct
    return named or attribute in TOPIC_FIELDS


@lru_cache(maxsize=1024)
def has_topics(codec: Codec) -> bool:
    """Whether messages of a codec have fields with names or ids of topics."""
    return bool(plan_fields(codec, _find_topic))


@lru_cache(maxsize=1024)
def has_errors(codec: Codec) -> bool:
    """Whether messages of a codec have fields with error codes."""
    return bool(plan_fields(codec, _is_error_code))


@lru_cache(maxsize=1024)
def has_topic_ids(codec: Codec) -> bool:
    """Whether messages of a codec have fields with topic ids (KIP-516), with or without the names beside them."""
    return any(isinstance(step.interest, _TopicIdField) for step in leaf_steps(plan_fields(codec, _find_topic)))


def carries_metadata_log(codec: Codec) -> bool:
    """Whether messages of a codec can carry the metadata log.

    >>> import kwire
    >>> carries_metadata_log(kwire.codec("FetchResponse", 13)), carries_metadata_log(kwire.codec("ProduceRequest", 9))
    (True, False)
    """
    return codec.name in _CARRIERS


def is_of_metadata_log(message: Any) -> bool:
    """Whether a response to Fetch or FetchSnapshot concerns the metadata log."""
    topics = getattr(message, "responses", None) or getattr(message, "topics", None) or ()
    return any(
        _name(topic) == METADATA_TOPIC or getattr(topic, "topic_id", None) == METADATA_TOPIC_ID for topic in topics
    )


def _name(topic: Any) -> str | None:
    name: str | None = getattr(topic, "topic", None) or getattr(topic, "name", None)
    return name


@lru_cache(maxsize=1024)
def names_topic_ids(codec: Codec) -> bool:
    """Whether messages of a codec have topic ids beside the names of these topics: Metadata, CreateTopics, ...

    >>> import kwire
    >>> names_topic_ids(kwire.codec("MetadataResponse", 12)), names_topic_ids(kwire.codec("FetchResponse", 13))
    (True, False)
    """
    interests = (step.interest for step in leaf_steps(plan_fields(codec, _find_topic)))
    return any(isinstance(interest, _TopicIdField) and interest.name is not None for interest in interests)


@lru_cache(maxsize=1024)
def make_body_facts(codec: Codec, guarded: frozenset[str | bytes] = frozenset()) -> BodyFacts | None:
    """Return a native function that finds topics and error codes in bodies; None if bodies must be decoded.

    Args:
        codec: the codec of the bodies.
        guarded: names and ids of topics; bodies that contain one of them are not handled.
    """
    table = table_of(codec)
    if table is None:
        return None
    try:
        return BodyFacts(table, dict(step.interest for step in leaf_steps(plan_fields(codec, _mark_field))), guarded)
    except ValueError:
        return None


def _mark_field(location: FieldLocation) -> tuple[Any, str] | None:
    topic = _find_topic(location)
    if topic is not None:
        return location.field, "topic id" if isinstance(topic, _TopicIdField) else "topic name"
    return (location.field, "error code") if _is_error_code(location) else None


class _TopicIdField(NamedTuple):
    """A field with a topic id; `name` is the field beside it with the name of the topic."""

    name: str | None


def _find_topic(location: FieldLocation) -> _TopicIdField | bool | None:
    if location.name == "topic_id" and not location.is_array:
        names = [str(field.name) for field in location.struct.all_fields if isinstance(field.subcon, String)]
        return _TopicIdField(next((name for name in names if is_topic_field(location.owner, name)), None))
    # These fields are not topic indexes.
    return True if isinstance(location.node, String) and is_topic_field(location.owner, location.name) else None


def _is_error_code(location: FieldLocation) -> bool | None:
    is_number = isinstance(location.node, Integer)
    return (
        is_number and kind_of(location.message, location.owner, location.field.json_name) is kind("ErrorCode")
    ) or None
