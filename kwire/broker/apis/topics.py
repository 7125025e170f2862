"""Topics and replica placement: CreateTopics, CreatePartitions, DeleteTopics, DeleteRecords (KIP-107),
CreateReplicaAssignment (KIP-879), ElectLeaders (KIP-460), AlterPartitionReassignments and ListPartitionReassignments
(KIP-455), AlterReplicaLogDirs and DescribeLogDirs (KIP-113).

Replicas are placed on the brokers that a client lists, or that the configured assignor chooses. All changes are
complete before the response, so timeouts are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ... import messages
from ...cluster.placement.create_replica_assignment import answer_create_replica_assignment
from ...cluster.placement.replica_assignors import assignor_for
from ...codecs.json import uuid_text
from ...errors.refused import InvalidReplicaAssignment, InvalidRequest, Refused, UnknownTopicId
from ...values import AclOperation, ConfigSource, ErrorCode, ResourceType
from ..cluster_state import RequestContext
from ..kraft_controller import Controller
from ..partition_leader_and_isr import INTERNAL, NO_ID, Partition, Topic, check_assignment, check_name, unique_rows
from ..settings_and_quotas import LogDir, checked, topic_defaults

NO_NUMBER = -1
FIRST_WITH_DETAILS = 5  # the first version of CreateTopics whose response has the topic's details (KIP-525)
FIRST_WITH_IDS = 6  # the first version of DeleteTopics with topic ids (KIP-516)
ALL = -1  # the offset in DeleteRecords that stands for the high watermark


def create_topics(request: RequestContext) -> Any:
    """Handle CreateTopics."""
    rows = request.message.topics
    return messages.CreateTopicsResponse(topics=tuple(_create(request, row, twice) for row, twice in unique_rows(rows)))


def _create(request: RequestContext, row: Any, twice: bool) -> Any:
    result = messages.CreateTopicsResponse.CreatableTopicResult
    controller = request.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        if code := request.error() if request.may_create(row.name) else ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return result(name=row.name, **request.denied(code))
        check_name(row.name, controller.topics)
        configs = checked((config.name, config.value) for config in row.configs)
        assignment = _assignment(controller, row)
        controller.check_new(row.name, assignment)
        made = None if request.message.validate_only else controller.create(row.name, assignment, configs)
    except Refused as error:
        return result(name=row.name, error_code=error.error_code, error_message=str(error))
    return result(
        name=row.name,
        topic_id=made.topic_id if made is not None else bytes(16),
        error_message=None,
        **{"num_partitions": len(assignment), "replication_factor": len(assignment[0])}
        | _details(request, row.name, configs),
    )


def _details(request: RequestContext, name: str, configs: dict[str, str]) -> dict[str, Any]:
    """Return the configs of a new topic, or an error code if the principal may not read them."""
    if request.version < FIRST_WITH_DETAILS:
        return {}
    if not request.allows(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
        hidden = {"configs": None, "num_partitions": -1, "replication_factor": -1}
        return {**hidden, "topic_config_error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    return {"configs": _configs(request, configs)}


def _assignment(controller: Controller, row: Any) -> dict[int, list[int]]:
    if not row.assignments:
        return controller.place(row.num_partitions, row.replication_factor)
    if row.num_partitions != NO_NUMBER or row.replication_factor != NO_NUMBER:
        raise InvalidRequest("assignment_and_counts")
    assignment = {one.partition_index: list(one.broker_ids) for one in row.assignments}
    if len(assignment) < len(row.assignments):
        raise InvalidReplicaAssignment("in_request_twice", name="a partition")
    return assignment


def _configs(request: RequestContext, own: dict[str, str]) -> tuple[Any, ...]:
    config = messages.CreateTopicsResponse.CreatableTopicConfigs
    return tuple(
        config(
            name=name,
            value=own.get(name, default),
            config_source=ConfigSource.TOPIC_CONFIG if name in own else ConfigSource.DEFAULT_CONFIG,
        )
        for name, default in topic_defaults(request.cluster.settings).items()
    )


def create_partitions(request: RequestContext) -> Any:
    """Handle CreatePartitions."""
    rows = unique_rows(request.message.topics)
    return messages.CreatePartitionsResponse(
        results=tuple(_create_partitions(request, row, twice) for row, twice in rows)
    )


def _create_partitions(request: RequestContext, row: Any, twice: bool) -> Any:
    result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    controller = request.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        if code := request.error(row.name):
            return result(name=row.name, **request.denied(code))
        topic = controller.known(row.name)
        assignment = controller.place_more(topic, row.count)
        if row.assignments is not None:
            assignment = _given_assignment(assignment, row.assignments)
            controller.check_more(topic, assignment)
        if not request.message.validate_only:
            controller.grow(row.name, assignment)
    except Refused as error:
        return result(name=row.name, error_code=error.error_code, error_message=str(error))
    return result(name=row.name, error_message=None)


def _given_assignment(placed: dict[int, list[int]], rows: Sequence[Any]) -> dict[int, list[int]]:
    if len(rows) != len(placed):
        raise InvalidReplicaAssignment("assignments_not_as_many", found=len(rows), wanted=len(placed))
    return {index: list(row.broker_ids) for index, row in zip(placed, rows, strict=True)}


def delete_topics(request: RequestContext) -> Any:
    """Handle DeleteTopics; this also completes requests that wait for a deleted topic."""
    asked = request.message
    names = [(name, NO_ID) for name in asked.topic_names]
    if request.version >= FIRST_WITH_IDS:
        names = [(row.name, row.topic_id) for row in asked.topics]
    rows = (_delete(request, *named, count > 1) for named, count in Counter(names).items())
    return messages.DeleteTopicsResponse(responses=tuple(rows))


def _delete(request: RequestContext, name: str | None, topic_id: bytes, twice: bool) -> Any:
    result = messages.DeleteTopicsResponse.DeletableTopicResult
    by_id = request.cluster.controller.by_id.get(topic_id)
    known = by_id.name if by_id is not None else name
    if not twice and known is not None and (code := request.error(known)):
        sees = request.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, known) or name is not None
        return result(name=known if sees else None, topic_id=topic_id, **request.denied(code))
    try:
        topic = _topic_to_delete(request, name, topic_id, twice)
        if topic.name in INTERNAL:
            raise InvalidRequest("internal_topic", topic=topic.name)
    except Refused as error:
        return result(name=name, topic_id=topic_id, error_code=error.error_code, error_message=str(error))
    request.cluster.delete(topic)
    return result(name=topic.name, topic_id=topic.topic_id)


def _topic_to_delete(request: RequestContext, name: str | None, topic_id: bytes, twice: bool) -> Topic:
    if twice:
        raise InvalidRequest("in_request_twice", name=name or topic_id.hex())
    if name is not None and topic_id != NO_ID:
        raise InvalidRequest("name_and_id")
    if name is not None:
        return request.cluster.controller.known(name)
    if topic_id == NO_ID:
        raise InvalidRequest("neither_name_nor_id")
    topic = request.cluster.controller.by_id.get(topic_id)
    if topic is None:
        raise UnknownTopicId("unknown_topic_id", topic_id=uuid_text(topic_id))
    return topic


def delete_records(request: RequestContext) -> Any:
    """Handle DeleteRecords."""
    response = messages.DeleteRecordsResponse
    rows = []
    for topic in request.message.topics:
        parts = []
        for part in topic.partitions:
            code, start = _delete_records(request, topic.name, part)
            row = response.DeleteRecordsPartitionResult
            parts.append(row(partition_index=part.partition_index, error_code=code, low_watermark=start))
        rows.append(response.DeleteRecordsTopicResult(name=topic.name, partitions=tuple(parts)))
    return response(topics=tuple(rows))


def _delete_records(request: RequestContext, name: str, part: Any) -> tuple[int, int]:
    """Delete records of a partition; return an error code and the new log start offset."""
    found = request.led(name, part.partition_index)
    if isinstance(found, int):
        return found, -1
    partition, log = found
    topic = request.cluster.controller.known(name)
    if not topic.has_policy("delete"):
        return ErrorCode.POLICY_VIOLATION, -1
    offset = log.end if part.offset == ALL else part.offset
    if not 0 <= offset <= log.end:
        return ErrorCode.OFFSET_OUT_OF_RANGE, -1
    request.cluster.fail(*partition.delete_before(offset))
    request.cluster.controller.remember_start(partition)
    return ErrorCode.NONE, log.start


def create_replica_assignment(request: RequestContext) -> Any:
    """Handle CreateReplicaAssignment; a refused request gets an empty array."""
    cluster = request.cluster
    assignor = partial(cluster.controller.run, assignor_for(cluster.settings.replica_assignor))
    return answer_create_replica_assignment(request.message, cluster.controller.brokers(), cluster.rng, assignor)


PREFERRED = 0  # the type of a preferred leader election; the other type is unclean
# the first version of AlterPartitionReassignments that can forbid a change of the replication factor
FIRST_WITH_FACTOR = 1


def elect_leaders(request: RequestContext) -> Any:
    """Handle ElectLeaders: elect the preferred replica, or in an unclean election an out-of-sync replica if no
    in-sync replica is online."""
    response, asked = messages.ElectLeadersResponse, request.message
    if code := request.error():
        return request.failed(code)  # names no topic that the request does not name
    is_all = asked.topic_partitions is None
    rows: dict[str, list[Any]] = {}
    for topic, index in _asked(request):
        code = _elect(request, request.cluster.controller.partition(topic, index))
        if is_all and code == ErrorCode.ELECTION_NOT_NEEDED:
            continue
        message = ErrorCode(code).about if code else None
        rows.setdefault(topic, []).append(
            response.PartitionResult(partition_id=index, error_code=code, error_message=message)
        )
    results = (
        response.ReplicaElectionResult(topic=topic, partition_result=tuple(found)) for topic, found in rows.items()
    )
    return response(replica_election_results=tuple(results))


def _asked(request: RequestContext) -> Iterator[tuple[str, int]]:
    if request.message.topic_partitions is None:
        yield from ((one.topic, one.index) for one in request.cluster.controller.partitions())
        return
    for row in request.message.topic_partitions:
        yield from ((row.topic, index) for index in row.partitions)


def _elect(request: RequestContext, partition: Partition | None) -> int:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if code := request.error(partition.topic, partition.index):
        return code
    if request.message.election_type != PREFERRED:
        return _elect_unclean(request, partition)
    preferred = next(iter(partition.replicas))
    if partition.leader == preferred:
        return ErrorCode.ELECTION_NOT_NEEDED
    if preferred not in partition.isr or not partition.replicas[preferred].is_online:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    request.cluster.move_leader(partition, preferred)
    return ErrorCode.NONE


def _elect_unclean(request: RequestContext, partition: Partition) -> int:
    if partition.leader >= 0:
        return ErrorCode.ELECTION_NOT_NEEDED
    online = next(iter(partition.online_logs()), None)
    if online is None:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    request.cluster.elect_unclean_leader(partition, online)
    return ErrorCode.NONE


def alter_partition_reassignments(request: RequestContext) -> Any:
    """Handle AlterPartitionReassignments: copy replicas immediately, or, for a stopped broker, after its restart."""
    response, asked = messages.AlterPartitionReassignmentsResponse, request.message
    rows = []
    for topic in asked.topics:
        parts = []
        for part in topic.partitions:
            code, message = _reassign(request, topic.name, part)
            row = response.ReassignablePartitionResponse
            parts.append(row(partition_index=part.partition_index, error_code=code, error_message=message))
        rows.append(response.ReassignableTopicResponse(name=topic.name, partitions=tuple(parts)))
    return response(error_message=None, responses=tuple(rows))


def _reassign(request: RequestContext, topic: str, part: Any) -> tuple[int, str | None]:
    if code := request.error(topic, part.partition_index):
        return code, request.denied(code)["error_message"]
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


def list_partition_reassignments(request: RequestContext) -> Any:
    """Handle ListPartitionReassignments."""
    response, asked = messages.ListPartitionReassignmentsResponse, request.message
    wanted = (
        None if asked.topics is None else {(row.name, one) for row in asked.topics for one in row.partition_indexes}
    )
    rows: dict[str, list[Any]] = {}
    for one in request.cluster.controller.partitions():
        if one.target is None or (wanted is not None and (one.topic, one.index) not in wanted):
            continue
        removing = tuple(node_id for node_id in one.replicas if node_id not in one.target)
        rows.setdefault(one.topic, []).append(
            response.OngoingPartitionReassignment(
                partition_index=one.index,
                replicas=tuple(one.replicas),
                adding_replicas=tuple(node_id for node_id in one.target if node_id not in one.isr),
                removing_replicas=removing,
            )
        )
    topics = (response.OngoingTopicReassignment(name=name, partitions=tuple(parts)) for name, parts in rows.items())
    return response(error_message=None, topics=tuple(topics))


def alter_replica_log_dirs(request: RequestContext) -> Any:
    """Handle AlterReplicaLogDirs: move a replica of the broker that received the request to another of its
    directories."""
    response = messages.AlterReplicaLogDirsResponse
    rows: dict[str, list[Any]] = {}
    for row in request.message.dirs:
        for topic in row.topics:
            for index in topic.partitions:
                code = _move(request, row.path, topic.name, index)
                found = response.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                rows.setdefault(topic.name, []).append(found)
    results = (
        response.AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(parts)) for name, parts in rows.items()
    )
    return response(results=tuple(results))


def _move(request: RequestContext, path: str, topic: str, index: int) -> int:
    if code := request.error(topic, index):
        return code
    log_dirs = request.cluster.controller.nodes[request.node_id].log_dirs
    log_dir: LogDir | None = next((one for one in log_dirs if one.path == path), None)
    if log_dir is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    partition = request.cluster.controller.partition(topic, index)
    replica = partition.replicas.get(request.node_id) if partition is not None else None
    if partition is None or replica is None:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    if not log_dir.works or not replica.is_online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    try:
        request.cluster.move_replica(partition, request.node_id, log_dir)
    except Refused:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


def describe_log_dirs(request: RequestContext) -> Any:
    """Handle DescribeLogDirs for the broker that received the request."""
    node = request.cluster.controller.nodes[request.node_id]
    return messages.DescribeLogDirsResponse(results=tuple(_log_dir(request, one) for one in node.log_dirs))


def _log_dir(request: RequestContext, log_dir: LogDir) -> Any:
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult
    try:
        total, usable = (-1, -1) if log_dir.is_offline else log_dir.disk.space()
    except OSError:
        request.cluster.fail(log_dir)
    if log_dir.is_offline:
        return result(log_dir=log_dir.path, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return result(log_dir=log_dir.path, topics=_topics(request, log_dir), total_bytes=total, usable_bytes=usable)


def _topics(request: RequestContext, log_dir: LogDir) -> tuple[Any, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsTopic
    topics = request.cluster.controller.topics
    wanted: dict[str, set[int] | None] = dict.fromkeys(topics)
    if request.message.topics is not None:
        wanted = {one.topic: set(one.partitions) for one in request.message.topics if one.topic in topics}
    held = ((name, _partitions(request, topics[name], log_dir, indexes)) for name, indexes in wanted.items())
    return tuple(row(name=name, partitions=partitions) for name, partitions in held if partitions)


def _partitions(request: RequestContext, topic: Topic, log_dir: LogDir, wanted: set[int] | None) -> tuple[Any, ...]:
    row = messages.DescribeLogDirsResponse.DescribeLogDirsPartition
    found = []
    for partition in topic.partitions:
        replica = partition.replicas.get(request.node_id)
        if replica is None or replica.log_dir is not log_dir or replica.log is None:
            continue
        if wanted is None or partition.index in wanted:
            found.append(row(partition_index=partition.index, partition_size=replica.log.size))
    return tuple(found)
