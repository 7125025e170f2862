"""The apis that are served: their versions and their handlers.

Messages are good for all their versions, so a handler seldom asks for the version.
"""

from __future__ import annotations

from .api_versions import api_versions
from .assigning import create_replica_assignment
from .cluster import Api
from .configuring import describe_configs
from .create_partitions import create_partitions
from .creating import create_topics
from .deleting import delete_topics
from .describe_cluster import describe_cluster
from .describing import metadata
from .directories import describe_log_dirs
from .fetching import fetch
from .groups.committing import offset_commit
from .groups.delete_groups import delete_groups
from .groups.describe_groups import describe_groups
from .groups.finding import find_coordinator
from .groups.heartbeat import heartbeat
from .groups.joining import join_group
from .groups.leaving import leave_group
from .groups.managing import list_groups
from .groups.resuming import offset_fetch
from .groups.syncing import sync_group
from .incremental_alter_configs import incremental_alter_configs
from .listing import list_offsets
from .numbering import init_producer_id
from .producing import produce

APIS: dict[str, Api] = {
    # 0 to 2 are refused batch by batch: some clients take a higher first version for "no compression" (KAFKA-18659).
    "Produce": Api(0, 13, produce),
    "Fetch": Api(4, 17, fetch),
    "ListOffsets": Api(1, 10, list_offsets),
    "Metadata": Api(0, 13, metadata),
    "CreateTopics": Api(0, 7, create_topics),
    "DeleteTopics": Api(0, 6, delete_topics),
    "CreatePartitions": Api(0, 3, create_partitions),
    "DescribeCluster": Api(0, 2, describe_cluster),
    "DescribeConfigs": Api(0, 4, describe_configs),
    "IncrementalAlterConfigs": Api(0, 1, incremental_alter_configs),
    "DescribeLogDirs": Api(0, 5, describe_log_dirs),
    "FindCoordinator": Api(0, 6, find_coordinator),
    "JoinGroup": Api(0, 9, join_group),
    "SyncGroup": Api(0, 5, sync_group),
    "Heartbeat": Api(0, 4, heartbeat),
    "LeaveGroup": Api(0, 5, leave_group),
    "OffsetCommit": Api(0, 10, offset_commit),
    "OffsetFetch": Api(0, 10, offset_fetch),
    "ListGroups": Api(0, 5, list_groups),
    "DescribeGroups": Api(0, 6, describe_groups),
    "DeleteGroups": Api(0, 3, delete_groups),
    "InitProducerId": Api(0, 5, init_producer_id),
    "ApiVersions": Api(0, 4, api_versions),
}
DRAFTS: dict[str, Api] = {"CreateReplicaAssignment": Api(0, 0, create_replica_assignment)}


def table_for(kip_879: bool) -> dict[str, Api]:
    """Return the served apis by name."""
    return APIS | DRAFTS if kip_879 else APIS
