"""Applies messages to the state of a cluster one after the other, for readers with a single source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...codecs.message_codec import Codec
from ..state import ClusterState
from .draft_names import RELEASED, Body, body_of
from .event import Event, known_topic_id, merge_event
from .from_brokers import events_of_view
from .from_controllers import events_of_controller
from .listed_brokers import Listed, listed_by_controller, listed_by_view
from .metadata_records import RECORDS
from .observation import VIEWS


def learn(state: ClusterState, message: Any, codec: Codec | int) -> bool:
    """Apply a message to a state, overwriting earlier values: for readers with a single source.

    Args:
        state: the state to change.
        message: any decoded message, also of a draft or in a record of the metadata log.
        codec: the codec of the message, which determines its fields; for a released message the version is enough.

    Returns:
        Whether the message contains information about the cluster.

    >>> from kwire import messages
    >>> state = ClusterState()
    >>> learn(state, messages.UpdateMetadataRequest(controller_id=7), 4), state.controller_id
    (True, 7)
    """
    name = type(message).__name__
    if (record := RECORDS.get(name)) is not None:
        record(state, message)
        return True
    adapter = _ADAPTERS.get(RELEASED.get(name, name))
    if adapter is None:
        return False
    body = body_of(message, codec)
    if is_refusal(body):
        return False
    events, brokers = adapter(body)
    for event in events:
        _apply(state, event)
    if brokers:
        state.brokers = {broker.node_id: broker.broker for broker in brokers}
    learn_facts(state, body)
    return True


def is_refusal(body: Body) -> bool:
    """Whether a response contains an error instead of the requested data."""
    return bool(getattr(body.message, "error_code", 0)) and not getattr(body.message, "brokers", ())


def learn_facts(state: ClusterState, body: Body) -> None:
    """Copy the ids of the cluster and its controller, and the names of topics, from a message to a state."""
    message = body.message
    state.cluster_id = getattr(message, "cluster_id", None) or state.cluster_id
    if "controller_id" in body.fields:
        state.controller_id = message.controller_id
    for topic in (*getattr(message, "topics", ()), *getattr(message, "topic_states", ())):
        name = getattr(topic, "name", None) or getattr(topic, "topic_name", None)
        topic_id = known_topic_id(bytes(getattr(topic, "topic_id", b"")) or None)
        if name and topic_id:
            state.topic_names[topic_id] = name


def _apply(state: ClusterState, event: Event) -> None:
    # Kafka: a broker forgets a topic as soon as its deletion begins (ZkMetadataCache.updateMetadata).
    if event.partition is None or event.state.is_deleted or event.state.is_deleting:
        state.drop(event.topic, event.partition)
        return
    before = state.topics.get(event.topic, {}).get(event.partition)
    state.put(merge_event(before, event, event.partition))


def _of_controller(body: Body) -> tuple[Iterator[Event], tuple[Listed, ...]]:
    is_list = type(body.message).__name__ == "UpdateMetadataRequest"
    return events_of_controller(body), listed_by_controller(body) if is_list else ()


def _of_view(body: Body) -> tuple[Iterator[Event], tuple[Listed, ...]]:
    return events_of_view(body) if hasattr(body.message, "topics") else iter(()), listed_by_view(body)


_ADAPTERS: dict[str, Callable[[Body], tuple[Iterator[Event], tuple[Listed, ...]]]] = {
    "LeaderAndIsrRequest": _of_controller,
    "UpdateMetadataRequest": _of_controller,
    **dict.fromkeys(VIEWS, _of_view),
}
