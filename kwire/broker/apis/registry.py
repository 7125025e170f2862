"""All served apis with their versions and handlers, and those that a release of Kafka serves."""

from __future__ import annotations

from ...schema.releases import Release, release, releases
from ..api import ServedApi
from ..settings import Settings
from .cluster import api_versions, describe_cluster, describe_topic_partitions, metadata, raft_quorum, update_features
from .configs import alter_configs, client_quotas, client_telemetry, describe_configs, list_config_resources
from .groups import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from .records import delete_records, describe_producers, fetch, list_offsets, offset_for_leader_epoch, produce
from .security import acls, delegation_tokens, sasl, scram_credentials
from .share_groups import (
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    share_group_offsets,
)
from .streams_groups import streams_group_describe, streams_group_heartbeat, topology_description_update
from .topics import (
    create_partitions,
    create_replica_assignment,
    create_topics,
    delete_topics,
    elect_leaders,
    partition_reassignments,
    replica_log_dirs,
)
from .transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)

TABLES: tuple[dict[str, ServedApi], ...] = (
    produce.APIS,
    fetch.APIS,
    list_offsets.APIS,
    metadata.APIS,
    create_topics.APIS,
    delete_topics.APIS,
    create_partitions.APIS,
    describe_cluster.APIS,
    describe_configs.APIS,
    alter_configs.APIS,
    replica_log_dirs.APIS,
    find_coordinator.APIS,
    join_group.APIS,
    sync_group.APIS,
    heartbeat.APIS,
    leave_group.APIS,
    offset_commit.APIS,
    offset_fetch.APIS,
    list_groups.APIS,
    describe_groups.APIS,
    delete_groups.APIS,
    init_producer_id.APIS,
    api_versions.APIS,
    consumer_group_heartbeat.APIS,
    consumer_group_describe.APIS,
    share_group_heartbeat.APIS,
    share_group_describe.APIS,
    share_fetch.APIS,
    share_acknowledge.APIS,
    share_group_offsets.APIS,
    streams_group_heartbeat.APIS,
    streams_group_describe.APIS,
    topology_description_update.APIS,
    raft_quorum.APIS,
    update_features.APIS,
    client_telemetry.APIS,
    list_config_resources.APIS,
    acls.APIS,
    delegation_tokens.APIS,
    client_quotas.APIS,
    sasl.APIS,
    scram_credentials.APIS,
    delete_records.APIS,
    offset_delete.APIS,
    elect_leaders.APIS,
    partition_reassignments.APIS,
    offset_for_leader_epoch.APIS,
    describe_topic_partitions.APIS,
    add_partitions_to_txn.APIS,
    add_offsets_to_txn.APIS,
    txn_offset_commit.APIS,
    end_txn.APIS,
    write_txn_markers.APIS,
    describe_transactions.APIS,
    list_transactions.APIS,
    describe_producers.APIS,
)
APIS: dict[str, ServedApi] = {name: api for table in TABLES for name, api in table.items()}
# Brokers with ZooKeeper do not serve these apis. KRaft became production-ready with Kafka 3.3.
OF_KRAFT = frozenset(("DescribeQuorum", "UnregisterBroker", "AddRaftVoter", "RemoveRaftVoter"))
FIRST_WITHOUT_OLD_FORMATS = "4.0.2"
FIRST_WITH_KRAFT = "3.3.2"
DRAFTS: dict[str, dict[str, ServedApi]] = {  # by profile
    "KIP-36": metadata.DRAFT_APIS,
    "KIP-879": create_replica_assignment.DRAFT_APIS,
}


def table_for(settings: Settings) -> dict[str, ServedApi]:
    """Return the served apis by name, limited to those of the release in the settings.

    Raises:
        UnknownMessage: the release in the settings is unknown.
    """
    drafts = DRAFTS.get(settings.profile or "", {})
    return (APIS if settings.release is None else _apis_of_release(release(settings.release))) | drafts


def _apis_of_release(spoken: Release) -> dict[str, ServedApi]:
    """Return the served apis of a release, with the versions that both support."""
    names = releases().names
    is_kraft = names.index(spoken.name) >= names.index(FIRST_WITH_KRAFT)
    served = {}
    for name, api in APIS.items():
        if name in OF_KRAFT and not is_kraft:
            continue
        shared = [version for version in spoken.stable_versions(name) if api.first <= version <= api.last]
        if shared:
            served[name] = api._replace(first=min(shared), last=max(shared))
    if names.index(spoken.name) >= names.index(FIRST_WITHOUT_OLD_FORMATS):
        # Kafka lists versions of Produce that it refuses: librdkafka before 2.8 compresses only if they are there
        served["Produce"] = served["Produce"]._replace(first=APIS["Produce"].first)
    return served
