"""AlterPartitionReassignments and ListPartitionReassignments: partitions move to other brokers (KIP-455)."""

from __future__ import annotations

from .... import messages
from ....errors.refused import InvalidReplicaAssignment
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.check_assignment import check_assignment
from ...request_context import RequestContext

# the first version of AlterPartitionReassignments that can forbid a change of the replication factor
FIRST_WITH_FACTOR = 1


def alter_partition_reassignments(
    request: RequestContext[messages.AlterPartitionReassignmentsRequest],
) -> messages.AlterPartitionReassignmentsResponse:
    """Handle AlterPartitionReassignments: copy replicas immediately, or, for a stopped broker, after its restart."""
    # Kafka: ReplicationControlManager.alterPartitionReassignments
    response = messages.AlterPartitionReassignmentsResponse
    body = request.message
    rows = []
    for topic in body.topics:
        parts = []
        for part in topic.partitions:
            code, message = _reassign(request, topic.name, part)
            row = response.ReassignablePartitionResponse
            parts.append(row(partition_index=part.partition_index, error_code=code, error_message=message))
        rows.append(response.ReassignableTopicResponse(name=topic.name, partitions=tuple(parts)))
    return response(error_message=None, responses=tuple(rows))


def _reassign(
    request: RequestContext[messages.AlterPartitionReassignmentsRequest],
    topic: str,
    part: messages.AlterPartitionReassignmentsRequest.ReassignablePartition,
) -> tuple[int, str | None]:
    if code := request.error(topic, part.partition_index):
        return code, request.describe_denial(code)["error_message"]
    partition = request.cluster.controller.partition(topic, part.partition_index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the partition does not exist"
    if part.replicas is None:
        is_cancelled = request.cluster.cancel_reassignment(partition)
        return (
            (ErrorCode.NONE, None)
            if is_cancelled
            else (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "the partition has no reassignment to cancel")
        )
    may_change = request.version < FIRST_WITH_FACTOR or request.message.allow_replication_factor_change
    if not may_change and len(part.replicas) != len(partition.replicas):
        return ErrorCode.INVALID_REPLICATION_FACTOR, "the replication factor must not change"
    try:
        nodes = request.cluster.controller.nodes
        check_assignment({part.partition_index: part.replicas}, nodes, part.partition_index)
    except InvalidReplicaAssignment as error:
        return error.error_code, str(error)
    request.cluster.reassign(partition, part.replicas)
    return ErrorCode.NONE, None


def list_partition_reassignments(
    request: RequestContext[messages.ListPartitionReassignmentsRequest],
) -> messages.ListPartitionReassignmentsResponse:
    """Handle ListPartitionReassignments."""
    # Kafka: ReplicationControlManager.listPartitionReassignments
    response = messages.ListPartitionReassignmentsResponse
    message = request.message
    wanted = (
        None
        if message.topics is None
        else {(row.name, index) for row in message.topics for index in row.partition_indexes}
    )
    rows: dict[str, list[messages.ListPartitionReassignmentsResponse.OngoingPartitionReassignment]] = {}
    for partition in request.cluster.controller.partitions():
        if partition.target is None or (wanted is not None and (partition.topic, partition.index) not in wanted):
            continue
        removing = tuple(node_id for node_id in partition.replicas if node_id not in partition.target)
        rows.setdefault(partition.topic, []).append(
            response.OngoingPartitionReassignment(
                partition_index=partition.index,
                replicas=tuple(partition.replicas),
                adding_replicas=tuple(partition.adding),
                removing_replicas=removing,
            )
        )
    topics = (response.OngoingTopicReassignment(name=name, partitions=tuple(parts)) for name, parts in rows.items())
    return response(error_message=None, topics=tuple(topics))


APIS = {  # what each version has changed
    # 1: the client may forbid a change of the replication factor (KIP-860)
    "AlterPartitionReassignments": ServedApi(0, 1, alter_partition_reassignments, finds_errors=True),
    "ListPartitionReassignments": ServedApi(0, 0, list_partition_reassignments),
}
