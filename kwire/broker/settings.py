"""What can be set of a served cluster. Kafka's words and defaults, but where a line says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of all brokers; times are in seconds, sizes in bytes.

    `most_partitions`, `most_group_members`, `most_groups` and `most_group_bytes` bound what clients can make a broker
    remember; Kafka has no such bounds, or far higher ones. `fetch_max_bytes` is smaller than Kafka's 55 MiB: so much
    may wait for each slow client. `replica_assignor` is a name or `MODULE:FUNCTION`, as `assignor_for` takes it.
    `kip_879` serves CreateReplicaAssignment.
    """

    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    max_message_bytes: int = MEBIBYTE + 12
    fetch_max_bytes: int = 8 * MEBIBYTE
    retention_bytes: int = -1  # of each partition; -1 keeps all
    initial_rebalance_delay: float = 0.0  # Kafka: 3 s, for many consumers that start at once
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    offset_metadata_max_bytes: int = 4096
    most_partitions: int = 20_000
    most_group_members: int = 5_000
    most_groups: int = 10_000
    most_group_bytes: int = 128 * MEBIBYTE  # of all groups with their members and commits
    replica_assignor: str = "rack-aware"
    kip_879: bool = False
