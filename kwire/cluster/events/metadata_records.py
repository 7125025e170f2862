"""Records of KRaft's metadata log, each a change of the state of a cluster.

Sources: KIP-631 (records), KIP-858 (directories), KIP-966 (ELR).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from typing import Any

from ...redact.sensitive_configs import is_sensitive
from ...values import AclOperation, AclPermissionType, ConfigResourceType, PatternType, ResourceType, ScramMechanism
from ..state import Broker, ClusterState, Partition

SAME_LEADER = -2
_UNFENCED, _FENCED = -1, 1  # values of `fenced` in BrokerRegistrationChangeRecord; 0 means no change
HIDDEN = "[hidden]"
# attribute of a partition -> attribute of PartitionChangeRecord, null if it does not change
_CHANGES = {
    "replicas": "replicas",
    "isr": "isr",
    "directories": "directories",
    "adding": "adding_replicas",
    "removing": "removing_replicas",
    "elr": "eligible_leader_replicas",
    "last_known_elr": "last_known_elr",
}


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
    _set_fencing(state, record.id, True)


def _unfence(state: ClusterState, record: Any) -> None:
    _set_fencing(state, record.id, False)


def _set_fencing(state: ClusterState, node: int, fenced: bool) -> None:
    if state.brokers and node in state.brokers:
        state.brokers = {**state.brokers, node: replace(state.brokers[node], fenced=fenced)}


def _add_topic(state: ClusterState, record: Any) -> None:
    state.topic_names[record.topic_id] = record.name


def _remove_topic(state: ClusterState, record: Any) -> None:
    name = topic_name(state, record.topic_id)
    state.drop(name)
    state.topic_names.pop(record.topic_id, None)
    state.settings.configs.pop(("topic", name), None)


def _add_partition(state: ClusterState, record: Any) -> None:
    state.put(
        Partition(
            topic_name(state, record.topic_id),
            record.partition_id,
            record.leader,
            tuple(record.replicas),
            tuple(record.isr),
            leader_epoch=record.leader_epoch,
            directories=tuple(record.directories),
            partition_epoch=record.partition_epoch,
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
            adding=tuple(record.adding_replicas),
            removing=tuple(record.removing_replicas),
            topic_id=bytes(record.topic_id),
        )
    )


def _change_partition(state: ClusterState, record: Any) -> None:
    """Change a partition as Kafka's PartitionRegistration.merge does (KIP-631).

    1. Null fields stay.
    2. A leader other than NO_LEADER_CHANGE (-2) starts a new leader epoch, also if it is the same broker.
    3. Each change has a new partition epoch.
    """
    name = topic_name(state, record.topic_id)
    known = state.topics.get(name, {}).get(record.partition_id)
    before = known or Partition(name, record.partition_id, topic_id=bytes(record.topic_id))
    given = {field: getattr(record, attribute) for field, attribute in _CHANGES.items()}
    changes: dict[str, Any] = {field: tuple(value) for field, value in given.items() if value is not None}
    if record.leader != SAME_LEADER:
        changes |= {"leader": record.leader, "leader_epoch": before.leader_epoch + 1}
    if known is not None:
        changes["partition_epoch"] = before.partition_epoch + 1
    state.put(replace(before, **changes))


def _clear_elr(state: ClusterState, record: Any) -> None:
    for partition in state.partitions(record.topic_name or None):
        state.put(replace(partition, elr=(), last_known_elr=()))


def _set_controller(state: ClusterState, record: Any) -> None:
    state.controller_id = record.leader_id


def _name_value(value: IntEnum) -> str:
    """Return the name of an enum value; its number if it has no name."""
    return value.name or str(int(value))


def _set_config(state: ClusterState, record: Any) -> None:
    key = _name_value(ConfigResourceType(record.resource_type)).lower(), record.resource_name
    configs = state.settings.configs.setdefault(key, {})
    if record.value is None:
        configs.pop(record.name, None)
    else:
        configs[record.name] = HIDDEN if is_sensitive(record.name) else record.value
    if not configs:
        del state.settings.configs[key]


def _set_feature(state: ClusterState, record: Any) -> None:
    state.settings.features[record.name] = record.feature_level
    if not record.feature_level:
        del state.settings.features[record.name]


def _add_acl(state: ClusterState, record: Any) -> None:
    state.settings.acls[bytes(record.id)] = (
        _name_value(ResourceType(record.resource_type)),
        record.resource_name,
        _name_value(PatternType(record.pattern_type)),
        record.principal,
        record.host,
        _name_value(AclOperation(record.operation)),
        _name_value(AclPermissionType(record.permission_type)),
    )


def _remove_acl(state: ClusterState, record: Any) -> None:
    state.settings.acls.pop(bytes(record.id), None)


def _set_quota(state: ClusterState, record: Any) -> None:
    entity = tuple((part.entity_type, part.entity_name or "") for part in record.entity)
    quotas = state.settings.quotas.setdefault(entity, {})
    quotas[record.key] = record.value
    if record.remove:
        del quotas[record.key]
    if not quotas:
        del state.settings.quotas[entity]


def _add_scram(state: ClusterState, record: Any) -> None:
    known = set(state.settings.scram.get(record.name, ()))
    state.settings.scram[record.name] = tuple(sorted(known | {_mechanism(record)}))


def _remove_scram(state: ClusterState, record: Any) -> None:
    remaining = tuple(
        mechanism for mechanism in state.settings.scram.pop(record.name, ()) if mechanism != _mechanism(record)
    )
    if remaining:
        state.settings.scram[record.name] = remaining


def _mechanism(record: Any) -> str:
    return _name_value(ScramMechanism(record.mechanism)).replace("_", "-")


def _add_token(state: ClusterState, record: Any) -> None:
    state.settings.tokens[record.token_id] = record.owner


def _remove_token(state: ClusterState, record: Any) -> None:
    state.settings.tokens.pop(record.token_id, None)


def _set_voters(state: ClusterState, record: Any) -> None:
    ends = {voter.voter_id: voter.endpoints[0] if voter.endpoints else None for voter in record.voters}
    state.settings.voters = {node: f"{end.host}:{end.port}" if end else "" for node, end in ends.items()}


def topic_name(state: ClusterState, topic_id: bytes) -> str:
    """Return the name of a topic; its id in hex if no record has the name."""
    return state.topic_names.get(bytes(topic_id)) or bytes(topic_id).hex()


RECORDS: dict[str, Callable[[ClusterState, Any], None]] = {
    "RegisterBrokerRecord": _register_broker,
    "UnregisterBrokerRecord": _unregister_broker,
    "BrokerRegistrationChangeRecord": _change_broker,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _unfence,
    "TopicRecord": _add_topic,
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _add_partition,
    "PartitionChangeRecord": _change_partition,
    "ClearElrRecord": _clear_elr,
    "LeaderChangeMessage": _set_controller,
    "ConfigRecord": _set_config,
    "FeatureLevelRecord": _set_feature,
    "AccessControlEntryRecord": _add_acl,
    "RemoveAccessControlEntryRecord": _remove_acl,
    "ClientQuotaRecord": _set_quota,
    "UserScramCredentialRecord": _add_scram,
    "RemoveUserScramCredentialRecord": _remove_scram,
    "DelegationTokenRecord": _add_token,
    "RemoveDelegationTokenRecord": _remove_token,
    "VotersRecord": _set_voters,
}
