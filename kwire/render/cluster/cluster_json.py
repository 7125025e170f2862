"""The state of a cluster as JSON: brokers, partitions, log directories, settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...cluster import Broker, ClusterState, LogDir, Partition, Tables
from ...cluster.placement.rack_rule import RackRule
from ...codecs.json_writer import uuid_text
from .cluster_text import settings_as_text


def cluster_json(state: ClusterState, tables: Tables | None = None) -> dict[str, Any]:
    """Return the state as plain values for JSON. `rackViolation` is null if no racks are known; `rackRule` is null if
    no rule is broken (see `RackRule`). With `tables`, includes metrics and contradictions.
    """
    rule = RackRule(state.brokers or {})
    members: dict[str, Any] = {
        "kwire": 1,
        "clusterId": state.cluster_id,
        "controllerId": state.controller_id,
        "brokers": [_broker_json(state, broker) for broker in (state.brokers or {}).values()],
        "partitions": [_partition_json(state, partition, rule) for partition in state.partitions()],
        "settings": settings_as_text(state),
        "logDirs": [_log_dir_json(node, log_dir) for node, dirs in state.log_dirs.items() for log_dir in dirs.values()],
    }
    if tables is not None:
        members["metrics"] = [asdict(metric) for metric in tables.metrics]
        members["contradictions"] = [asdict(conflict) for conflict in tables.conflicts]
    return members


def _broker_json(state: ClusterState, broker: Broker) -> dict[str, Any]:
    return {
        "nodeId": broker.node_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "fenced": broker.fenced,
        "offlineLogDirs": state.offline_dirs.get(broker.node_id),
        **({"logDirs": [uuid_text(dir_id) for dir_id in broker.log_dirs]} if broker.log_dirs else {}),
    }


def _partition_json(state: ClusterState, partition: Partition, rule: RackRule) -> dict[str, Any]:
    known = {
        "elr": partition.elr,
        "lastKnownElr": partition.last_known_elr,
        "addingReplicas": partition.adding,
        "removingReplicas": partition.removing,
        "directories": None
        if partition.directories is None
        else [uuid_text(dir_id) for dir_id in partition.directories],
        "topicId": None if partition.topic_id is None else uuid_text(partition.topic_id),
        "bytes": state.size(partition.topic, partition.index),
    }
    return {
        "topic": partition.topic,
        "partition": partition.index,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offlineReplicas": state.offline(partition),
        **{name: value for name, value in known.items() if value is not None},
        "underReplicated": partition.is_under_replicated,
        "underMinIsr": state.is_under_min_isr(partition),
        "racks": [rule.racks.get(node_id) for node_id in partition.replicas],
        "rackViolation": rule.is_violated(partition.replicas),
        "rackRule": rule.broken_by(partition.replicas),
    }


def _log_dir_json(node: int, log_dir: LogDir) -> dict[str, Any]:
    sizes = [
        {"topic": topic, "partition": index, "bytes": size} for (topic, index), size in sorted(log_dir.sizes.items())
    ]
    return {
        "broker": node,
        "path": log_dir.path,
        "errorCode": log_dir.error_code,
        "totalBytes": log_dir.total,
        "usableBytes": log_dir.usable,
        "replicas": sizes,
    }
