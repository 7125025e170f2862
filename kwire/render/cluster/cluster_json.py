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
    found: dict[str, Any] = {
        "kwire": 1,
        "clusterId": state.cluster_id,
        "controllerId": state.controller_id,
        "brokers": [_broker_json(state, one) for one in (state.brokers or {}).values()],
        "partitions": [_partition_json(state, one, rule) for one in state.partitions()],
        "settings": settings_as_text(state),
        "logDirs": [_log_dir_json(node, one) for node, dirs in state.log_dirs.items() for one in dirs.values()],
    }
    if tables is not None:
        found["metrics"] = [asdict(one) for one in tables.metrics]
        found["contradictions"] = [asdict(one) for one in tables.conflicts]
    return found


def _broker_json(state: ClusterState, one: Broker) -> dict[str, Any]:
    return {
        "nodeId": one.node_id,
        "host": one.host,
        "port": one.port,
        "rack": one.rack,
        "fenced": one.fenced,
        "offlineLogDirs": state.offline_dirs.get(one.node_id),
        **({"logDirs": [uuid_text(dir_id) for dir_id in one.log_dirs]} if one.log_dirs else {}),
    }


def _partition_json(state: ClusterState, one: Partition, rule: RackRule) -> dict[str, Any]:
    known = {
        "elr": one.elr,
        "lastKnownElr": one.last_known_elr,
        "addingReplicas": one.adding,
        "removingReplicas": one.removing,
        "directories": None if one.directories is None else [uuid_text(dir_id) for dir_id in one.directories],
        "topicId": None if one.topic_id is None else uuid_text(one.topic_id),
        "bytes": state.size(one.topic, one.index),
    }
    return {
        "topic": one.topic,
        "partition": one.index,
        "leader": one.leader,
        "leaderEpoch": one.leader_epoch,
        "partitionEpoch": one.partition_epoch,
        "replicas": one.replicas,
        "isr": one.isr,
        "offlineReplicas": state.offline(one),
        **{name: value for name, value in known.items() if value is not None},
        "underReplicated": one.is_under_replicated,
        "underMinIsr": state.is_under_min_isr(one),
        "racks": [rule.racks.get(node_id) for node_id in one.replicas],
        "rackViolation": rule.is_violated(one.replicas),
        "rackRule": rule.broken_by(one.replicas),
    }


def _log_dir_json(node: int, one: LogDir) -> dict[str, Any]:
    sizes = [{"topic": topic, "partition": index, "bytes": size} for (topic, index), size in sorted(one.sizes.items())]
    return {
        "broker": node,
        "path": one.path,
        "errorCode": one.error_code,
        "totalBytes": one.total,
        "usableBytes": one.usable,
        "replicas": sizes,
    }
