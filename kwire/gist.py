"""What matters of a message: the topics it is about, the error codes it carries, the client's software.

Knows the trees of messages and which field holds what; knows no frames and no text. A plan for each codec is made
once and kept by the `Gist` that the caller holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .codecs import Codec
from .names import snake_case
from .values import Value, kind_of
from .wire import Array, NullableStruct, String, Struct

TOPIC_FIELDS = frozenset(("topic_name", "topic", "topic_names", "subscribed_topic_names", "source_topics"))
SOFTWARE = ("client_software_name", "client_software_version")
MOST_TOPICS = 100_000  # ids remembered

_TOPIC, _TOPIC_ID, _ERROR, _INNER, _MANY = range(5)


class Facts(NamedTuple):
    """What was found in one message: topics in their order, each once; error codes other than 0, in their order."""

    topics: tuple[str, ...] = ()
    errors: tuple[Value, ...] = ()


class _Step(NamedTuple):
    attribute: str
    role: int
    inner: Any = None


class Gist:
    """Finds topics and errors in messages; remembers which topic has which id, as the messages say.

    >>> import kwire
    >>> Reply = kwire.messages.ControlledShutdownResponse
    >>> Gist().facts(kwire.codec("ControlledShutdownResponse", 1), Reply(error_code=7)).errors
    (<ErrorCode 7 REQUEST_TIMED_OUT>,)
    """

    def __init__(self) -> None:
        self._plans: dict[Codec, tuple[_Step, ...]] = {}
        self._names: dict[bytes, str] = {}

    def facts(self, codec: Codec, message: Any) -> Facts:
        """Return the topics and error codes of a decoded message.

        Args:
            codec: of the message.
            message: what it decoded to.

        A topic that has only an id is named if an earlier message named it; else it is `?` and the id's beginning.
        """
        if codec not in self._plans:
            self._plans[codec] = _plan(codec.name, codec.schema)
        finding = _Finding(self._named)
        finding.walk(self._plans[codec], message)
        return Facts(tuple(finding.topics), tuple(finding.errors))

    def _named(self, topic_id: bytes, name: str | None) -> str:
        if name is not None and len(self._names) < MOST_TOPICS:
            self._names[topic_id] = name
        return name or self._names.get(topic_id) or f"?{topic_id.hex()[:8]}"


class _Finding:
    """One message being looked through."""

    def __init__(self, named: Callable[[bytes, str | None], str]) -> None:
        self.named = named
        self.topics: dict[str, None] = {}
        self.errors: list[Value] = []

    def walk(self, plan: tuple[_Step, ...], value: Any) -> None:
        topic_id, name = b"", None
        for attribute, role, inner in plan:
            held = getattr(value, attribute)
            if not held:
                continue
            if role in (_INNER, _MANY):
                for item in held if role == _MANY else (held,):
                    self.walk(inner, item)
            elif role == _ERROR:
                self.errors.append(inner(held))
            elif role == _TOPIC_ID:
                topic_id = held
            else:
                name = held if isinstance(held, str) else None
                self.topics.update(dict.fromkeys((held,) if name else held))
        if any(topic_id):
            self.topics[self.named(topic_id, name)] = None


def software_of(message: Any) -> str:
    """Return name and version of the client's software that an ApiVersions request tells; empty for others.

    >>> import kwire
    >>> software_of(kwire.messages.ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2"))
    'librdkafka 2'
    """
    return " ".join(filter(None, (getattr(message, attribute, "") for attribute in SOFTWARE)))


def is_topic_field(struct: str, attribute: str) -> bool:
    """Whether a text field of a struct holds names of topics.

    >>> is_topic_field("MetadataResponseTopic", "name"), is_topic_field("CreatableTopicConfig", "name")
    (True, False)
    """
    named = attribute == "name" and "_topic" in f"_{snake_case(struct)}" and "Config" not in struct
    return named or attribute in TOPIC_FIELDS


def _plan(message: str, struct: Struct) -> tuple[_Step, ...]:
    """Return the steps to the fields that matter; none where nothing does."""
    return tuple(_steps(message, struct))


def _steps(message: str, struct: Struct) -> Iterator[_Step]:
    owner = struct.message_class.__name__
    for field in struct.all_fields:
        node: Any = field.subcon
        many = isinstance(node, Array)
        node = node.element if many else node
        node = node.subcon if isinstance(node, NullableStruct) else node
        if isinstance(node, Struct):
            inner = _plan(message, node)
            if inner:
                yield _Step(str(field.name), _MANY if many else _INNER, inner)
        elif field.name == "topic_id" and not many:
            yield _Step("topic_id", _TOPIC_ID)
        elif isinstance(node, String) and is_topic_field(owner, str(field.name)):  # not indexes of topics
            yield _Step(str(field.name), _TOPIC)
        else:
            kind = kind_of(message, owner, field.json_name)
            if kind is not None and kind.__name__ == "ErrorCode":
                yield _Step(str(field.name), _ERROR, kind)
