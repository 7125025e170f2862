"""What the records of KRaft's metadata log say of a cluster, written into its state.

Knows messages by their attributes. Every record is a change to what was before; a snapshot has the records that are
still needed. Source: KIP-500, KIP-631, KIP-858 (directories).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .state import Broker, ClusterState, Partition

SAME_LEADER = -2
_UNFENCED, _FENCED = -1, 1  # of a change of a registration; 0 is none


def _register_broker(state: ClusterState, record: Any) -> None:
    first = record.end_points[0] if record.end_points else None
    host, port = (first.host, first.port) if first else ("", -1)
    broker = Broker(record.broker_id, host, port, record.rack, record.fenced, tuple(record.log_dirs))
    state.brokers = {**(state.brokers or {}), record.broker_id: broker}


def _unregister_broker(state: ClusterState, record: Any) -> None:
    state.brokers = {node: broker for node, broker in (state.brokers or {}).items() if node != record.broker_id}


def _change_broker(state: ClusterState, record: Any) -> None:
    broker = (state.brokers or {}).get(record.broker_id)
    if broker is None or state.brokers is None:
        return
    if record.fenced in (_FENCED, _UNFENCED):
        broker = replace(broker, fenced=record.fenced == _FENCED)
    if record.log_dirs:
        broker = replace(broker, log_dirs=tuple(record.log_dirs))
    state.brokers = {**state.brokers, record.broker_id: broker}


def _fence(state: ClusterState, record: Any) -> None:
    _set_fenced(state, record.id, True)


def _unfence(state: ClusterState, record: Any) -> None:
    _set_fenced(state, record.id, False)


def _set_fenced(state: ClusterState, node: int, fenced: bool) -> None:
    if state.brokers and node in state.brokers:
        state.brokers = {**state.brokers, node: replace(state.brokers[node], fenced=fenced)}


def _topic(state: ClusterState, record: Any) -> None:
    state.topic_names[record.topic_id] = record.name


def _remove_topic(state: ClusterState, record: Any) -> None:
    state.drop(_name(state, record.topic_id))
    state.topic_names.pop(record.topic_id, None)


def _partition(state: ClusterState, record: Any) -> None:
    state.put(
        Partition(
            _name(state, record.topic_id),
            record.partition_id,
            record.leader,
            tuple(record.replicas),
            tuple(record.isr),
            leader_epoch=record.leader_epoch,
            directories=tuple(record.directories),
        )
    )


def _change_partition(state: ClusterState, record: Any) -> None:
    name = _name(state, record.topic_id)
    before = state.topics.get(name, {}).get(record.partition_id) or Partition(name, record.partition_id)
    lists = {field: getattr(record, field) for field in ("replicas", "isr", "directories")}
    changes: dict[str, Any] = {field: tuple(value) for field, value in lists.items() if value is not None}
    if record.leader != SAME_LEADER:
        changes |= {"leader": record.leader, "leader_epoch": before.leader_epoch + 1}
    state.put(replace(before, **changes))


def _leader(state: ClusterState, record: Any) -> None:
    state.controller_id = record.leader_id


def _name(state: ClusterState, topic_id: bytes) -> str:
    return state.topic_names.get(topic_id) or topic_id.hex()


LESSONS: dict[str, Callable[[ClusterState, Any], None]] = {
    "RegisterBrokerRecord": _register_broker,
    "UnregisterBrokerRecord": _unregister_broker,
    "BrokerRegistrationChangeRecord": _change_broker,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _unfence,
    "TopicRecord": _topic,
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _change_partition,
    "LeaderChangeMessage": _leader,
}
