"""CreateTopics, CreatePartitions, DeleteTopics, DeleteRecords (KIP-107) and CreateReplicaAssignment (KIP-879).

Replicas are placed on brokers that the client lists, or that the configured assignor chooses. Everything is done before
the response, so timeouts are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from ... import messages
from ...cluster.replica_assignors import answer_create_replica_assignment, assignor_for
from ...codecs.json import uuid_text
from ...errors.refused import InvalidReplicaAssignment, InvalidRequest, Refused, UnknownTopicId
from ...values import AclOperation, ConfigSource, ResourceType
from .. import codes
from ..cluster import RequestContext
from ..configs import checked, topic_defaults
from ..controller import Controller
from ..topics import INTERNAL, NO_ID, Topic, check_name, unique_rows

NO_NUMBER = -1
FIRST_WITH_DETAILS = 5  # CreateTopics: from this version on the response has the topic's details (KIP-525)
FIRST_WITH_IDS = 6  # DeleteTopics (KIP-516)
ALL = -1  # DeleteRecords: all records of a partition


def create_topics(request: RequestContext) -> Any:
    """Answer CreateTopics."""
    rows = request.message.topics
    return messages.CreateTopicsResponse(topics=tuple(_create(request, row, twice) for row, twice in unique_rows(rows)))


def _create(request: RequestContext, row: Any, twice: bool) -> Any:
    result = messages.CreateTopicsResponse.CreatableTopicResult
    controller = request.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        if code := request.error() if request.may_create(row.name) else codes.TOPIC_AUTHORIZATION_FAILED:
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
    """Return the configs of the topic, or why the principal does not see them."""
    if request.version < FIRST_WITH_DETAILS:
        return {}
    if not request.allows(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
        hidden = {"configs": None, "num_partitions": -1, "replication_factor": -1}
        return {**hidden, "topic_config_error_code": codes.TOPIC_AUTHORIZATION_FAILED}
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
    """Answer CreatePartitions."""
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
    """Answer DeleteTopics; requests that wait for a deleted topic are answered, too."""
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
    """Answer DeleteRecords."""
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
    """Return an error code, and the first offset that is left."""
    partition = request.cluster.controller.partition(name, part.partition_index)
    code = request.error(name, part.partition_index)
    if partition is None or code:
        return code or codes.UNKNOWN_TOPIC_OR_PARTITION, -1
    log = partition.log_at(request.node_id)
    if isinstance(log, int):
        return log, -1
    topic = request.cluster.controller.known(name)
    if not topic.has_policy("delete"):
        return codes.POLICY_VIOLATION, -1
    offset = log.end if part.offset == ALL else part.offset
    if not 0 <= offset <= log.end:
        return codes.OFFSET_OUT_OF_RANGE, -1
    request.cluster.fail(*partition.delete_before(offset))
    request.cluster.controller.remember_start(partition)
    return codes.NONE, log.start


def create_replica_assignment(request: RequestContext) -> Any:
    """Answer CreateReplicaAssignment; a refused request gets an empty array."""
    cluster = request.cluster
    assignor = partial(cluster.controller.run, assignor_for(cluster.settings.replica_assignor))
    return answer_create_replica_assignment(request.message, cluster.controller.brokers(), cluster.rng, assignor)
