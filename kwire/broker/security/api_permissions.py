"""The operations that each api requires, after the table "Operations and Resources on Protocols" in Kafka's
documentation, and the operations that responses list as allowed (KIP-430).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...values import AclOperation as Op
from ...values import ErrorCode
from ...values import ResourceType as Kind

CLUSTER_NAME = "kafka-cluster"
UNASKED = -(1 << 31)  # the value of the field if the client did not request authorized operations
DENIALS: dict[int, int] = {
    Kind.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Kind.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Kind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Kind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
# The operations that each type of resource supports (KIP-430).
OPERATIONS: dict[int, tuple[Op, ...]] = {
    Kind.TOPIC: (
        Op.READ,
        Op.WRITE,
        Op.CREATE,
        Op.DELETE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
    Kind.GROUP: (Op.READ, Op.DELETE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS),
    Kind.CLUSTER: (
        Op.CREATE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.CLUSTER_ACTION,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
        Op.IDEMPOTENT_WRITE,
    ),
}
Allows = Callable[[int, int, str], bool]  # (operation, resource type, name) -> whether it is allowed


class RequiredOperations(NamedTuple):
    """The operations that an api requires on its topics, its groups (or transactional ids), and the cluster."""

    topic: Op | None = None
    group: Op | None = None
    cluster: Op | None = None
    transactional_id: Op | None = None


NEEDS: dict[str, RequiredOperations] = {
    "Produce": RequiredOperations(topic=Op.WRITE, transactional_id=Op.WRITE),
    "Fetch": RequiredOperations(topic=Op.READ),
    "ListOffsets": RequiredOperations(topic=Op.DESCRIBE),
    "Metadata": RequiredOperations(topic=Op.DESCRIBE),
    "OffsetForLeaderEpoch": RequiredOperations(topic=Op.DESCRIBE),
    "DescribeTopicPartitions": RequiredOperations(topic=Op.DESCRIBE),
    "DeleteTopics": RequiredOperations(topic=Op.DELETE),
    "CreatePartitions": RequiredOperations(topic=Op.ALTER),
    "DeleteRecords": RequiredOperations(topic=Op.DELETE),
    "DescribeProducers": RequiredOperations(topic=Op.READ),
    "JoinGroup": RequiredOperations(group=Op.READ),
    "SyncGroup": RequiredOperations(group=Op.READ),
    "Heartbeat": RequiredOperations(group=Op.READ),
    "LeaveGroup": RequiredOperations(group=Op.READ),
    "ConsumerGroupHeartbeat": RequiredOperations(topic=Op.DESCRIBE, group=Op.READ),
    "ShareGroupHeartbeat": RequiredOperations(topic=Op.DESCRIBE, group=Op.READ),
    "StreamsGroupHeartbeat": RequiredOperations(topic=Op.DESCRIBE, group=Op.READ),
    "ShareFetch": RequiredOperations(topic=Op.READ, group=Op.READ),
    "ShareAcknowledge": RequiredOperations(topic=Op.READ, group=Op.READ),
    "DescribeShareGroupOffsets": RequiredOperations(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "AlterShareGroupOffsets": RequiredOperations(topic=Op.READ, group=Op.READ),
    "DeleteShareGroupOffsets": RequiredOperations(topic=Op.READ, group=Op.DELETE),
    "OffsetCommit": RequiredOperations(topic=Op.READ, group=Op.READ),
    "OffsetFetch": RequiredOperations(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "OffsetDelete": RequiredOperations(topic=Op.READ, group=Op.DELETE),
    "DeleteGroups": RequiredOperations(group=Op.DELETE),
    "DescribeGroups": RequiredOperations(group=Op.DESCRIBE),
    "ConsumerGroupDescribe": RequiredOperations(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "ShareGroupDescribe": RequiredOperations(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "StreamsGroupDescribe": RequiredOperations(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "FindCoordinator": RequiredOperations(group=Op.DESCRIBE, transactional_id=Op.DESCRIBE),
    "InitProducerId": RequiredOperations(transactional_id=Op.WRITE),
    "AddPartitionsToTxn": RequiredOperations(topic=Op.WRITE, transactional_id=Op.WRITE),
    "AddOffsetsToTxn": RequiredOperations(group=Op.READ, transactional_id=Op.WRITE),
    "TxnOffsetCommit": RequiredOperations(topic=Op.READ, group=Op.READ, transactional_id=Op.WRITE),
    "EndTxn": RequiredOperations(transactional_id=Op.WRITE),
    "DescribeTransactions": RequiredOperations(transactional_id=Op.DESCRIBE),
    "WriteTxnMarkers": RequiredOperations(cluster=Op.CLUSTER_ACTION),
    "DescribeAcls": RequiredOperations(cluster=Op.DESCRIBE),
    "CreateAcls": RequiredOperations(cluster=Op.ALTER),
    "DeleteAcls": RequiredOperations(cluster=Op.ALTER),
    "DescribeClientQuotas": RequiredOperations(cluster=Op.DESCRIBE_CONFIGS),
    "AlterClientQuotas": RequiredOperations(cluster=Op.ALTER_CONFIGS),
    "DescribeUserScramCredentials": RequiredOperations(cluster=Op.DESCRIBE),
    "AlterUserScramCredentials": RequiredOperations(cluster=Op.ALTER),
    "DescribeLogDirs": RequiredOperations(cluster=Op.DESCRIBE),
    "AlterReplicaLogDirs": RequiredOperations(cluster=Op.ALTER),
    "ElectLeaders": RequiredOperations(cluster=Op.ALTER),
    "AlterPartitionReassignments": RequiredOperations(cluster=Op.ALTER),
    "ListPartitionReassignments": RequiredOperations(cluster=Op.DESCRIBE),
    "DescribeQuorum": RequiredOperations(cluster=Op.DESCRIBE),
    "ListConfigResources": RequiredOperations(cluster=Op.DESCRIBE_CONFIGS),
    "UpdateFeatures": RequiredOperations(cluster=Op.ALTER),
    "UnregisterBroker": RequiredOperations(cluster=Op.ALTER),
    "AddRaftVoter": RequiredOperations(cluster=Op.ALTER),
    "RemoveRaftVoter": RequiredOperations(cluster=Op.ALTER),
}


NOTHING = RequiredOperations()


def denial(
    allows: Allows,
    api: str,
    topic: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
) -> int:
    """Return the error code of a denied operation; 0 if the operation is allowed.

    Args:
        allows: returns whether the principal may perform an operation.
        api: the name of the api.
        topic, group, transactional_id: the resource that a part of the request names.
    """
    needs = NEEDS.get(api, NOTHING)
    for operation, kind, name in (
        (needs.cluster, Kind.CLUSTER, CLUSTER_NAME),
        (needs.transactional_id, Kind.TRANSACTIONAL_ID, transactional_id),
        (needs.group, Kind.GROUP, group),
        (needs.topic, Kind.TOPIC, topic),
    ):
        if operation is not None and name is not None and not allows(operation, kind, name):
            return DENIALS[kind]
    return ErrorCode.NONE


def operations(allows: Allows, kind: int, name: str) -> int:
    """Return the operations that the principal may perform on a resource, as a bit field (KIP-430)."""
    return sum(1 << operation for operation in OPERATIONS[kind] if allows(operation, kind, name))
