"""The records of KRaft's metadata log in a journal: how the state of the cluster is written and read again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ... import messages
from ...cluster import ClusterState, learn
from ...cluster.events.metadata_records import SAME_LEADER
from ...codecs.records import Record
from ...protocol.nested import decode_metadata_frame, encode_frame, framed_record
from ...protocol.sasl.mechanisms import SCRAM
from ...protocol.sasl.scram_credentials import ScramCredential
from ...values import ConfigResourceType
from ..client_quota_manager import QuotaEntity
from ..node import Node
from ..security.acls import AclBinding, acl_of
from .partition import Partition
from .topic import Topic

CLUSTER_ID = "cluster.id"


@dataclass(slots=True)
class JournaledState:
    """The topics, brokers and cluster id in the journal of one directory."""

    cluster_id: str = ""
    state: ClusterState = field(default_factory=ClusterState)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    client_metrics: dict[str, dict[str, str]] = field(default_factory=dict)
    acls: dict[AclBinding, bytes] = field(default_factory=dict)
    scram: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)

    def ids(self) -> dict[str, bytes]:
        """Return the topic ids by topic name."""
        return {name: topic_id for topic_id, name in self.state.topic_names.items()}

    def learn(self, record: Record) -> None:
        """Apply a record; raises DecodeError if it is invalid."""
        value = decode_metadata_frame(record.value or b"").value
        learn(self.state, value.message, value.version or 0)
        name = type(value.message).__name__
        if name == "ConfigRecord":
            self._configure(value.message)
        elif name == "TopicRecord":
            self.configs.pop(value.message.name, None)
        else:
            self._learn_security(name, value.message)

    def _learn_security(self, name: str, record: Any) -> None:
        if name == "AccessControlEntryRecord":
            self.acls[acl_of(record)] = bytes(record.id)
        elif name == "RemoveAccessControlEntryRecord":
            self.acls = {acl: acl_id for acl, acl_id in self.acls.items() if acl_id != record.id}
        elif name == "UserScramCredentialRecord":
            keys = bytes(record.salt), bytes(record.stored_key), bytes(record.server_key)
            self.scram[record.name, SCRAM[record.mechanism]] = ScramCredential(*keys, record.iterations)
        elif name == "RemoveUserScramCredentialRecord":
            self.scram.pop((record.name, SCRAM[record.mechanism]), None)

    def _configure(self, record: Any) -> None:
        if record.resource_type == ConfigResourceType.BROKER and record.name == CLUSTER_ID:
            self.cluster_id = record.value or ""
            return
        resources = {
            ConfigResourceType.BROKER: self.broker_configs,
            ConfigResourceType.CLIENT_METRICS: self.client_metrics,
            ConfigResourceType.GROUP: self.group_configs,
        }.get(record.resource_type, self.configs)
        configs = resources.setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value


def cluster_record(cluster_id: str) -> bytes:
    """Return the record of the cluster id: a broker default config, because KRaft's log has no record type for it."""
    kind = ConfigResourceType.BROKER
    return _encode_record(
        messages.ConfigRecord(resource_type=kind, resource_name="", name=CLUSTER_ID, value=cluster_id)
    )


def broker_record(node: Node) -> bytes:
    """Return the registration record of a broker, which readers of metadata logs expect."""
    host, port = node.address
    endpoint = messages.RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host=host, port=port)
    return _encode_record(
        messages.RegisterBrokerRecord(broker_id=node.node_id, rack=node.rack, end_points=(endpoint,), fenced=False)
    )


def acl_record(acl: AclBinding, acl_id: bytes) -> bytes:
    """Return the record of an ACL."""
    fields = acl._asdict()
    fields["permission_type"] = fields.pop("permission")
    return _encode_record(messages.AccessControlEntryRecord(id=acl_id, **fields))


def acl_removal_record(acl_id: bytes) -> bytes:
    """Return the record of a removed ACL."""
    return _encode_record(messages.RemoveAccessControlEntryRecord(id=acl_id))


def credential_record(name: str, mechanism: str, credential: ScramCredential | None) -> bytes:
    """Return the record of a user's SCRAM credential; None is the removal."""
    number = next(number for number, known in SCRAM.items() if known == mechanism)
    if credential is None:
        return _encode_record(messages.RemoveUserScramCredentialRecord(name=name, mechanism=number))
    return _encode_record(
        messages.UserScramCredentialRecord(
            name=name,
            mechanism=number,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    )


def quota_record(entity: QuotaEntity, key: str, value: float | None) -> bytes:
    """Return the record of a client quota; None is the removal."""
    part = messages.ClientQuotaRecord.EntityData
    names = tuple(part(entity_type=kind, entity_name=name) for kind, name in sorted(entity, key=str))
    is_removed = value is None
    return _encode_record(messages.ClientQuotaRecord(entity=names, key=key, value=value or 0.0, remove=is_removed))


def topic_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Return the records of a topic and of some of its partitions."""
    topic_record = _encode_record(messages.TopicRecord(name=topic.name, topic_id=topic.topic_id))
    configs = [config_record(topic, name) for name in topic.configs]
    return [topic_record, *configs, *partition_records(topic, partitions)]


def config_record(topic: Topic, name: str) -> bytes:
    """Return the record of a topic's config; its value is null if the config is not set."""
    value, kind = topic.configs.get(name), ConfigResourceType.TOPIC
    return _encode_record(messages.ConfigRecord(resource_type=kind, resource_name=topic.name, name=name, value=value))


def group_config_record(group_id: str, name: str, value: str | None) -> bytes:
    """Return the record of a group's config; its value is null if the config is not set."""
    return resource_config_record(ConfigResourceType.GROUP, group_id, name, value)


def resource_config_record(kind: int, resource: str, name: str, value: str | None) -> bytes:
    """Return the record of a config of a resource; its value is null if the config is not set."""
    return _encode_record(messages.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value))


def partition_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Return the records of partitions."""
    return [
        _encode_record(
            messages.PartitionRecord(
                partition_id=partition.index,
                topic_id=topic.topic_id,
                replicas=tuple(partition.replicas),
                isr=tuple(partition.isr),
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
            )
        )
        for partition in partitions
    ]


def change_record(topic: Topic, partition: Partition, new_leader: bool) -> bytes:
    """Return the record of a changed ISR, and of the leader if it is new."""
    leader = partition.leader if new_leader else SAME_LEADER
    isr = tuple(partition.isr)
    return _encode_record(
        messages.PartitionChangeRecord(partition_id=partition.index, topic_id=topic.topic_id, isr=isr, leader=leader)
    )


def removal_record(topic: Topic) -> bytes:
    """Return the record of a deleted topic."""
    return _encode_record(messages.RemoveTopicRecord(topic_id=topic.topic_id))


def _encode_record(message: Any) -> bytes:
    return encode_frame(framed_record(message))
