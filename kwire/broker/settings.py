"""The settings that all brokers of a served cluster share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that all brokers share; times are in seconds, sizes in bytes.

    `most_partitions`, `most_group_members`, `most_groups` and `most_group_bytes` limit the state that clients can
    create; Kafka has no such limits, or far higher ones. `fetch_max_bytes` is smaller than Kafka's 55 MiB, because this
    many bytes may be buffered for each slow client. `replica_assignor` is a name or `MODULE:FUNCTION`, as for
    `assignor_for`. `profile` enables a draft: TopicMetadata v1 (KIP-36) or CreateReplicaAssignment (KIP-879).
    """

    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    max_message_bytes: int = MEBIBYTE + 12
    fetch_max_bytes: int = 8 * MEBIBYTE
    retention_bytes: int = -1  # per partition; -1 disables the limit
    retention_ms: int = -1  # Kafka's default is 7 days
    delete_topics: bool = True  # delete.topic.enable
    initial_rebalance_delay: float = 0.0  # Kafka's default is 3 s, for many consumers that start together
    consumer_heartbeat_interval: float = 0.5  # for KIP-848 groups; Kafka's default of 5 s is too long for tests
    consumer_session_timeout: float = 45.0
    migration_policy: str = "bidirectional"  # or upgrade, downgrade, disabled (group.consumer.migration.policy)
    classic_group_max_size: int = 2**31 - 1  # group.max.size
    consumer_group_max_size: int = 2**31 - 1  # group.consumer.max.size
    max_transaction_timeout_ms: int = 900_000
    max_fetch_sessions: int = 1000
    max_described_partitions: int = 2000  # in a page of DescribeTopicPartitions
    max_request_bytes: int = 16 * MEBIBYTE  # a sixth of Kafka's, because so much may be buffered
    max_connections_per_ip: int = 2**31 - 1
    connections_max_idle: float = 600.0
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_retention_check_interval_ms: int = 600_000
    internal_partitions: int = 50  # for each internal topic
    most_partitions: int = 20_000
    most_group_members: int = 5_000
    most_groups: int = 10_000
    most_group_bytes: int = 128 * MEBIBYTE  # for all groups with members and commits
    replica_assignor: str = "rack-aware"
    rack_aware_fetch: bool = False  # whether consumers are sent to a replica in their rack (KIP-392)
    profile: str | None = None
    read_only: bool = False  # whether to refuse writes to log directories; groups still work
    release: str | None = None  # limits the served apis and versions to those of this Kafka release
    authorizer: bool = False  # whether ACLs are stored and enforced, as by Kafka's StandardAuthorizer
    super_users: tuple[str, ...] = ()
    allow_without_acls: bool = False  # allow.everyone.if.no.acl.found
    sasl_mechanisms: tuple[str, ...] = ()  # for all listeners; without mechanisms, clients do not authenticate
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)  # the passwords of users
    max_reauth: float = 0.0  # connections.max.reauth.ms in seconds; 0 disables re-authentication
    tls: bool = False
    realistic: bool = False  # whether defaults and first contact are as Kafka's, not as tests like them
    chaos: int | None = None  # the seed of lawful disturbances; None for none
    configs: Mapping[str, str] = field(default_factory=dict)  # broker configs that are set, by Kafka's names

    @property
    def protocol(self) -> str:
        """The security protocol that clients must use, named as in Kafka."""
        if self.sasl_mechanisms:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"
