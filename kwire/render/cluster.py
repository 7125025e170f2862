"""The state of a cluster as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cluster import Broker, ClusterState, Partition
from ..cluster.rack_spread import KIP_36, KIP_879, RackRule
from ..codecs.json import uuid_text
from .style import PLAIN, Style, escape, table
from .values import count_text


def cluster_lines(state: ClusterState, topic: str | None = None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines: the cluster, its brokers by rack, its partitions, and what is wrong with them.

    Args:
        state: what is known.
        topic: show this topic alone.
        style: colours.
    """
    partitions = state.partitions(topic)
    rule = RackRule(state.brokers or {})
    known = "" if state.brokers is None else f"{count_text(len(state.brokers), 'broker')}, "
    topics = len({partition.topic for partition in partitions})
    counts = f"{known}{count_text(topics, 'topic')}, {count_text(len(partitions), 'partition')}"
    controller = f"controller {state.controller_id}, " if state.controller_id >= 0 else ""
    yield style.paint("title", escape(f"cluster {state.cluster_id or '(no id)'}: {controller}{counts}"))
    for rack, brokers in state.by_rack().items():
        yield escape("no rack" if rack is None else f"rack {rack}")
        for broker in brokers:
            yield escape(f"  broker {broker.node_id}  {_address(broker)}{'  fenced' if broker.fenced else ''}")
    if partitions:
        yield ""
        rows = [_row(state, partition, rule) for partition in partitions]
        yield from table(["topic", "partition", "leader", "replicas", "isr", "offline", "state"], rows, style)
    yield ""
    yield from _findings(state, partitions, rule, style)


def cluster_json(state: ClusterState, topic: str | None = None) -> dict[str, Any]:
    """Return the state as plain values for JSON.

    `rackViolation` is null if no racks are known, `rackRule` if no rule is violated (see `RackRule`).
    """
    rule = RackRule(state.brokers or {})
    return {
        "kwire": 1,
        "clusterId": state.cluster_id,
        "controllerId": state.controller_id,
        "brokers": [_broker_json(one) for one in (state.brokers or {}).values()],
        "partitions": [_partition_json(one, state, rule) for one in state.partitions(topic)],
    }


def _broker_json(broker: Broker) -> dict[str, Any]:
    return {
        "nodeId": broker.node_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "fenced": broker.fenced,
        **({"logDirs": [uuid_text(dir_id) for dir_id in broker.log_dirs]} if broker.log_dirs else {}),
    }


def _partition_json(partition: Partition, state: ClusterState, rule: RackRule) -> dict[str, Any]:
    directories = partition.directories
    return {
        "topic": partition.topic,
        "partition": partition.index,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offlineReplicas": state.offline(partition),
        **({} if directories is None else {"directories": [uuid_text(dir_id) for dir_id in directories]}),
        "underReplicated": partition.is_under_replicated,
        "racks": [rule.racks.get(node_id) for node_id in partition.replicas],
        "rackViolation": rule.is_violated(partition.replicas),
        "rackRule": rule.broken_by(partition.replicas),
    }


def troubles(partition: Partition) -> list[str]:
    """Say what is wrong with a partition, besides its offline replicas."""
    found = [] if partition.has_leader else ["no leader"]
    if partition.is_under_replicated:
        found.append("under-replicated")
    if partition.has_leader and partition.leader != partition.preferred:
        found.append("leader not preferred")
    return found


def _row(state: ClusterState, partition: Partition, rule: RackRule) -> list[str]:
    leader = str(partition.leader) if partition.has_leader else "none"
    nodes = (partition.replicas, partition.isr, state.offline(partition))
    lists = [",".join(map(str, one)) or "-" for one in nodes]
    found = troubles(partition)
    if broken := rule.broken_by(partition.replicas):
        what = "racks" if broken == KIP_36 else "rack levels"
        found.append(f"{what} {' '.join(rule.racks.get(node_id, '?') for node_id in partition.replicas)}")
    return [partition.topic, str(partition.index), leader, *lists, ", ".join(found) or "ok"]


def _findings(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    kinds = [
        ("without leader", [one for one in partitions if not one.has_leader]),
        ("with offline replicas", [one for one in partitions if state.offline(one)]),
        ("under-replicated", [one for one in partitions if one.is_under_replicated]),
    ]
    if rule.racks:
        broken = {key: [one for one in partitions if rule.broken_by(one.replicas) == key] for key in (KIP_36, KIP_879)}
        kinds.append(("with rack violations", broken[KIP_36]))
        if broken[KIP_879]:
            kinds.append(("uneven over rack levels (KIP-879, not a rule of Kafka)", broken[KIP_879]))
    for what, found in kinds:
        names = ", ".join(f"{one.topic}-{one.index}" for one in found)
        text = escape(f"{what}: {len(found)}" + (f": {names}" if found else ""))
        yield style.paint("warning", text) if found else text
    if partitions:
        yield "Replicas are in the order of the wire: the first is the preferred leader."


def _address(broker: Broker) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"
