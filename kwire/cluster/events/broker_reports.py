"""Log directories and configurations that brokers report (KIP-112, KIP-113, KIP-226)."""

from __future__ import annotations

from typing import Any

from ...redact.sensitive_configs import is_sensitive
from ...values import ConfigResourceType, ConfigSource, ErrorCode
from ..state import MIN_ISR, ClusterState, LogDir, Quorum, QuorumReplica, Settings
from .draft_names import Body
from .metadata_records import HIDDEN

NO_DIRECTORY = bytes(16)
ALL_BROKERS = "broker", ""
_WITH_CONFIGS = {ConfigResourceType.TOPIC: "topic", ConfigResourceType.BROKER: "broker"}
_SET = ConfigSource.TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
_OF_ALL_BROKERS = (
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
    ConfigSource.DEFAULT_CONFIG,
)


def log_dirs_of(body: Body) -> dict[str, LogDir] | None:
    """Return the log directories in a DescribeLogDirs response, by path; None if the broker refused the request."""
    if getattr(body.message, "error_code", 0):
        return None
    log_dirs = {}
    for directory in body.message.results:
        rows = [(topic.name, part) for topic in directory.topics for part in topic.partitions]
        here = {(name, part.partition_index): part.partition_size for name, part in rows if not part.is_future_key}
        future = {(name, part.partition_index): part.partition_size for name, part in rows if part.is_future_key}
        log_dirs[directory.log_dir] = LogDir(
            directory.log_dir, directory.error_code, directory.total_bytes, directory.usable_bytes, here, future
        )
    return log_dirs


def learn_configs(settings: Settings, body: Body) -> None:
    """Update settings from the configurations of topics and brokers in a DescribeConfigs response.

    A `min.insync.replicas` that a topic does not set itself is the default of all brokers: what becomes of a cluster
    without some of them depends on it, also where nobody has ever set it.
    """
    has_source = "results.configs.config_source" in body.fields
    for resource in body.message.results:
        if resource.error_code or resource.resource_type not in _WITH_CONFIGS:
            continue
        owner = _WITH_CONFIGS[resource.resource_type], resource.resource_name
        for row in resource.configs:
            value = HIDDEN if row.is_sensitive or is_sensitive(row.name) else row.value
            is_set = row.config_source in _SET if has_source else not row.is_default
            _store_config(settings, owner, row.name, value if is_set else None)
            is_of_all_brokers = row.config_source in _OF_ALL_BROKERS if has_source else row.is_default
            if row.name == MIN_ISR and is_of_all_brokers:
                _store_config(settings, ALL_BROKERS, MIN_ISR, value)


def _store_config(settings: Settings, owner: tuple[str, str], name: str, value: str | None) -> None:
    """Store what a topic or broker sets, or forget it if it sets nothing."""
    configs = settings.configs.setdefault(owner, {})
    if value is None:
        configs.pop(name, None)
    else:
        configs[name] = value
    if not configs:
        del settings.configs[owner]


def learn_quorum(state: ClusterState, body: Body) -> None:
    """Update the quorum of controllers and its voters from a DescribeQuorum response (KIP-595, KIP-853)."""
    endpoints = {
        node.node_id: ",".join(f"{listener.host}:{listener.port}" for listener in node.listeners)
        for node in body.message.nodes
    }
    for topic in body.message.topics:
        for partition in topic.partitions:
            if partition.error_code:
                continue
            voters = [_quorum_replica(replica, is_voter=True) for replica in partition.current_voters]
            observers = [_quorum_replica(replica, is_voter=False) for replica in partition.observers]
            replicas = (*voters, *observers)
            state.quorum = Quorum(partition.leader_id, partition.leader_epoch, partition.high_watermark, replicas)
            state.settings.voters = {voter.node_id: endpoints.get(voter.node_id, "") for voter in voters}


def _quorum_replica(replica: Any, *, is_voter: bool) -> QuorumReplica:
    directory = bytes(replica.replica_directory_id)
    return QuorumReplica(
        replica.replica_id, is_voter, replica.log_end_offset, directory if directory != NO_DIRECTORY else None
    )


def offline_count(log_dirs: dict[str, LogDir]) -> int:
    """Return the number of offline log directories."""
    return sum(directory.error_code == ErrorCode.KAFKA_STORAGE_ERROR for directory in log_dirs.values())
