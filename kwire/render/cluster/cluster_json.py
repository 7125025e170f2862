"""The state of a cluster as JSON: brokers, partitions, log directories, settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...cluster import Broker, ClusterState, LogDir, Partition, Settings, Tables
from ...cluster.placement.rack_rule import RackRule
from ...cluster.state import Quorum
from ...codecs.json_writer import uuid_text

# Of an ACL in `Settings.acls`, in this order.
ACL_FIELDS = "resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType"


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
        "settings": _settings_json(state.settings),
        "quorum": None if state.quorum is None else _quorum_json(state.quorum),
        "logDirs": [_log_dir_json(node, log_dir) for node, dirs in state.log_dirs.items() for log_dir in dirs.values()],
    }
    if state.deleted_topics:
        ends = sorted(state.deleted_topics.items())
        members["deletedTopics"] = [{"topic": topic, "time": end.time, "isExact": end.is_exact} for topic, end in ends]
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
        "deletionWaitsFor": partition.deleting,
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


def _quorum_json(quorum: Quorum) -> dict[str, Any]:
    replicas = [
        {
            "replicaId": replica.node_id,
            "voter": replica.is_voter,
            "logEndOffset": replica.log_end_offset,
            "lag": quorum.lag(replica),
            "directoryId": None if replica.directory is None else uuid_text(replica.directory),
        }
        for replica in quorum.replicas
    ]
    return {
        "leaderId": quorum.leader,
        "leaderEpoch": quorum.leader_epoch,
        "highWatermark": quorum.high_watermark,
        "replicas": replicas,
    }


def _settings_json(settings: Settings) -> dict[str, Any]:
    """Return the settings under the names of Kafka's requests; null as an entity's name is the default of its type."""
    acls = [dict(zip(ACL_FIELDS, acl, strict=True)) for acl in settings.acls.values()]
    return {
        "features": settings.features,
        "configs": [
            {"resourceType": kind, "resourceName": name, "configs": values}
            for (kind, name), values in sorted(settings.configs.items())
        ],
        "quotas": [
            {"entity": [{"entityType": kind, "entityName": name or None} for kind, name in entity], "values": values}
            for entity, values in sorted(settings.quotas.items())
        ],
        "acls": sorted(acls, key=lambda acl: tuple(acl.values())),
        "scram": {user: list(mechanisms) for user, mechanisms in settings.scram.items()},
        "tokens": settings.tokens,
        "voters": [{"voterId": node_id, "endpoint": endpoint} for node_id, endpoint in settings.voters.items()],
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
