"""All served apis with their versions and handlers, and those that a release of Kafka serves."""

from __future__ import annotations

from ...schema.releases import Release, release, releases
from ..api import ServedApi
from ..settings import Settings
from .cluster.api_versions import api_versions
from .cluster.describe_cluster import describe_cluster
from .cluster.describe_topic_partitions import describe_topic_partitions
from .cluster.metadata import metadata, topic_metadata
from .cluster.raft_quorum import add_raft_voter, describe_quorum, remove_raft_voter, unregister_broker
from .cluster.update_features import update_features
from .configs.alter_configs import alter_configs, incremental_alter_configs
from .configs.client_quotas import alter_client_quotas, describe_client_quotas
from .configs.client_telemetry import get_telemetry_subscriptions, push_telemetry
from .configs.describe_configs import describe_configs
from .configs.list_config_resources import list_config_resources
from .groups.consumer_group_describe import consumer_group_describe
from .groups.consumer_group_heartbeat import consumer_group_heartbeat
from .groups.delete_groups import delete_groups
from .groups.describe_groups import describe_groups
from .groups.find_coordinator import find_coordinator
from .groups.heartbeat import heartbeat
from .groups.join_group import join_group
from .groups.leave_group import leave_group
from .groups.list_groups import list_groups
from .groups.offset_commit import offset_commit
from .groups.offset_delete import offset_delete
from .groups.offset_fetch import offset_fetch
from .groups.sync_group import sync_group
from .records.delete_records import delete_records
from .records.describe_producers import describe_producers
from .records.fetch import fetch
from .records.list_offsets import list_offsets
from .records.offset_for_leader_epoch import offset_for_leader_epoch
from .records.produce import produce
from .security.acls import create_acls, delete_acls, describe_acls
from .security.delegation_tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from .security.sasl import sasl_authenticate, sasl_handshake
from .security.scram_credentials import alter_user_scram_credentials, describe_user_scram_credentials
from .share_groups.share_acknowledge import share_acknowledge
from .share_groups.share_fetch import share_fetch
from .share_groups.share_group_describe import share_group_describe
from .share_groups.share_group_heartbeat import share_group_heartbeat
from .share_groups.share_group_offsets import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
)
from .topics.create_partitions import create_partitions
from .topics.create_replica_assignment import create_replica_assignment
from .topics.create_topics import create_topics
from .topics.delete_topics import delete_topics
from .topics.elect_leaders import elect_leaders
from .topics.partition_reassignments import alter_partition_reassignments, list_partition_reassignments
from .topics.replica_log_dirs import alter_replica_log_dirs, describe_log_dirs
from .transactions.add_offsets_to_txn import add_offsets_to_txn
from .transactions.add_partitions_to_txn import add_partitions_to_txn
from .transactions.describe_transactions import describe_transactions
from .transactions.end_txn import end_txn
from .transactions.init_producer_id import init_producer_id
from .transactions.list_transactions import list_transactions
from .transactions.txn_offset_commit import txn_offset_commit
from .transactions.write_txn_markers import write_txn_markers

APIS: dict[str, ServedApi] = {
    # Versions 0 to 2 are rejected per batch: some clients read a higher minimum as "no compression" (KAFKA-18659).
    "Produce": ServedApi(0, 13, produce, finds_errors=True),
    "Fetch": ServedApi(4, 18, fetch, finds_errors=True),
    "ListOffsets": ServedApi(1, 10, list_offsets, finds_errors=True),
    "Metadata": ServedApi(0, 13, metadata, finds_errors=True),
    "CreateTopics": ServedApi(0, 7, create_topics),
    "DeleteTopics": ServedApi(0, 6, delete_topics),
    "CreatePartitions": ServedApi(0, 3, create_partitions),
    "DescribeCluster": ServedApi(0, 2, describe_cluster),
    "DescribeConfigs": ServedApi(0, 4, describe_configs),
    "IncrementalAlterConfigs": ServedApi(0, 1, incremental_alter_configs),
    "DescribeLogDirs": ServedApi(0, 5, describe_log_dirs),
    "FindCoordinator": ServedApi(0, 6, find_coordinator, finds_errors=True),
    "JoinGroup": ServedApi(0, 9, join_group, finds_errors=True),
    "SyncGroup": ServedApi(0, 5, sync_group, finds_errors=True),
    "Heartbeat": ServedApi(0, 4, heartbeat, finds_errors=True),
    "LeaveGroup": ServedApi(0, 5, leave_group, finds_errors=True),
    "OffsetCommit": ServedApi(0, 10, offset_commit, finds_errors=True),
    "OffsetFetch": ServedApi(0, 10, offset_fetch, finds_errors=True),
    "ListGroups": ServedApi(0, 5, list_groups),
    "DescribeGroups": ServedApi(0, 6, describe_groups, finds_errors=True),
    "DeleteGroups": ServedApi(0, 3, delete_groups, finds_errors=True),
    "InitProducerId": ServedApi(0, 5, init_producer_id),
    "ApiVersions": ServedApi(0, 4, api_versions),
    "ConsumerGroupHeartbeat": ServedApi(0, 1, consumer_group_heartbeat, finds_errors=True),
    "ConsumerGroupDescribe": ServedApi(0, 1, consumer_group_describe, finds_errors=True),
    "ShareGroupHeartbeat": ServedApi(1, 1, share_group_heartbeat, finds_errors=True),
    "ShareGroupDescribe": ServedApi(1, 1, share_group_describe, finds_errors=True),
    "ShareFetch": ServedApi(1, 2, share_fetch, finds_errors=True),
    "ShareAcknowledge": ServedApi(1, 2, share_acknowledge, finds_errors=True),
    "DescribeShareGroupOffsets": ServedApi(0, 1, describe_share_group_offsets, finds_errors=True),
    "AlterShareGroupOffsets": ServedApi(0, 0, alter_share_group_offsets, finds_errors=True),
    "DeleteShareGroupOffsets": ServedApi(0, 0, delete_share_group_offsets, finds_errors=True),
    "DescribeQuorum": ServedApi(0, 2, describe_quorum),
    "UpdateFeatures": ServedApi(0, 2, update_features),
    "UnregisterBroker": ServedApi(0, 0, unregister_broker),
    "AddRaftVoter": ServedApi(0, 0, add_raft_voter),
    "RemoveRaftVoter": ServedApi(0, 0, remove_raft_voter),
    "GetTelemetrySubscriptions": ServedApi(0, 0, get_telemetry_subscriptions, is_advertised=False),
    "PushTelemetry": ServedApi(0, 0, push_telemetry, is_advertised=False),
    "ListConfigResources": ServedApi(0, 1, list_config_resources),
    "DescribeAcls": ServedApi(1, 3, describe_acls),
    "CreateAcls": ServedApi(1, 3, create_acls),
    "DeleteAcls": ServedApi(1, 3, delete_acls),
    "CreateDelegationToken": ServedApi(1, 3, create_delegation_token),
    "RenewDelegationToken": ServedApi(1, 2, renew_delegation_token),
    "ExpireDelegationToken": ServedApi(1, 2, expire_delegation_token),
    "DescribeDelegationToken": ServedApi(1, 3, describe_delegation_token),
    "DescribeClientQuotas": ServedApi(0, 1, describe_client_quotas),
    "AlterClientQuotas": ServedApi(0, 1, alter_client_quotas),
    "SaslHandshake": ServedApi(0, 1, sasl_handshake),
    "SaslAuthenticate": ServedApi(0, 2, sasl_authenticate),
    "DescribeUserScramCredentials": ServedApi(0, 0, describe_user_scram_credentials),
    "AlterUserScramCredentials": ServedApi(0, 0, alter_user_scram_credentials),
    "DeleteRecords": ServedApi(0, 2, delete_records, finds_errors=True),
    "AlterConfigs": ServedApi(0, 2, alter_configs),
    "OffsetDelete": ServedApi(0, 0, offset_delete, finds_errors=True),
    "ElectLeaders": ServedApi(0, 2, elect_leaders, finds_errors=True),
    "AlterPartitionReassignments": ServedApi(0, 1, alter_partition_reassignments, finds_errors=True),
    "ListPartitionReassignments": ServedApi(0, 0, list_partition_reassignments),
    "AlterReplicaLogDirs": ServedApi(1, 2, alter_replica_log_dirs, finds_errors=True),
    "OffsetForLeaderEpoch": ServedApi(2, 4, offset_for_leader_epoch, finds_errors=True),
    "DescribeTopicPartitions": ServedApi(0, 0, describe_topic_partitions, finds_errors=True),
    "AddPartitionsToTxn": ServedApi(0, 5, add_partitions_to_txn, finds_errors=True),
    "AddOffsetsToTxn": ServedApi(0, 4, add_offsets_to_txn),
    "TxnOffsetCommit": ServedApi(0, 6, txn_offset_commit, finds_errors=True),
    "EndTxn": ServedApi(0, 5, end_txn),
    "WriteTxnMarkers": ServedApi(1, 2, write_txn_markers, finds_errors=True),
    "DescribeTransactions": ServedApi(0, 0, describe_transactions, finds_errors=True),
    "ListTransactions": ServedApi(0, 2, list_transactions),
    "DescribeProducers": ServedApi(0, 0, describe_producers, finds_errors=True),
}
# Brokers with ZooKeeper do not serve these apis. KRaft became production-ready with Kafka 3.3.
OF_KRAFT = frozenset(("DescribeQuorum", "UnregisterBroker", "AddRaftVoter", "RemoveRaftVoter"))
FIRST_WITHOUT_OLD_FORMATS = "4.0.2"
FIRST_WITH_KRAFT = "3.3.2"
DRAFTS: dict[str, dict[str, ServedApi]] = {  # by profile
    "KIP-36": {"TopicMetadata": ServedApi(1, 1, topic_metadata, finds_errors=True)},
    "KIP-879": {"CreateReplicaAssignment": ServedApi(0, 0, create_replica_assignment)},
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
    found = {}
    for name, api in APIS.items():
        if name in OF_KRAFT and not is_kraft:
            continue
        shared = [one for one in spoken.stable_versions(name) if api.first <= one <= api.last]
        if shared:
            found[name] = api._replace(first=min(shared), last=max(shared))
    if names.index(spoken.name) >= names.index(FIRST_WITHOUT_OLD_FORMATS):
        # Kafka lists versions of Produce that it refuses: librdkafka before 2.8 compresses only if they are there
        found["Produce"] = found["Produce"]._replace(first=APIS["Produce"].first)
    return found
