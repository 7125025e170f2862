"""CreateTopics: creates topics, with chosen or given replicas."""

from __future__ import annotations

from typing import Any

from .... import messages
from ....errors.refused import InvalidReplicaAssignment, InvalidRequest, Refused
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...configs import check_configs
from ...controller.kraft_controller import KRaftController
from ...controller.topic_names import check_name
from ...request_context import RequestContext
from ..configs.alter_configs import check_tiers
from ..configs.describe_configs import topic_values
from .unique_rows import unique_rows

NO_NUMBER = -1
FIRST_WITH_DETAILS = 5  # the first version of CreateTopics whose response has the topic's details (KIP-525)


def create_topics(request: RequestContext[messages.CreateTopicsRequest]) -> messages.CreateTopicsResponse:
    """Handle CreateTopics."""
    # Kafka: ReplicationControlManager.createTopics
    rows = request.message.topics
    return messages.CreateTopicsResponse(topics=tuple(_create(request, row, twice) for row, twice in unique_rows(rows)))


def _create(
    request: RequestContext[messages.CreateTopicsRequest], row: messages.CreateTopicsRequest.CreatableTopic, twice: bool
) -> messages.CreateTopicsResponse.CreatableTopicResult:
    result = messages.CreateTopicsResponse.CreatableTopicResult
    controller = request.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        if code := request.error() if request.may_create(row.name) else ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return result(name=row.name, **request.describe_denial(code))
        check_name(row.name, controller.topics)
        configs = check_configs(
            ((config.name, config.value) for config in row.configs), controller.configs.topic_definitions
        )
        check_tiers(configs)
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


def _details(
    request: RequestContext[messages.CreateTopicsRequest], name: str, configs: dict[str, str]
) -> dict[str, Any]:
    """Return the configs of a new topic, or an error code if the principal may not read them."""
    if request.version < FIRST_WITH_DETAILS:
        return {}
    if not request.allows(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
        hidden = {"configs": None, "num_partitions": -1, "replication_factor": -1}
        return {**hidden, "topic_config_error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    return {"configs": _configs(request, configs)}


def _assignment(controller: KRaftController, row: messages.CreateTopicsRequest.CreatableTopic) -> dict[int, list[int]]:
    if not row.assignments:
        return controller.place(row.num_partitions, row.replication_factor)
    if row.num_partitions != NO_NUMBER or row.replication_factor != NO_NUMBER:
        raise InvalidRequest("assignment_and_counts")
    assignment = {assignment.partition_index: list(assignment.broker_ids) for assignment in row.assignments}
    if len(assignment) < len(row.assignments):
        raise InvalidReplicaAssignment("in_request_twice", name="a partition")
    return assignment


def _configs(
    request: RequestContext[messages.CreateTopicsRequest], own: dict[str, str]
) -> tuple[messages.CreateTopicsResponse.CreatableTopicConfigs, ...]:
    config = messages.CreateTopicsResponse.CreatableTopicConfigs
    return tuple(
        config(
            name=value.name,
            value=value.value,
            config_source=value.effective_source,
        )
        for value in topic_values(request.cluster.controller.configs, own, request.node_id)
    )


APIS = {  # what each version has changed
    # 1: validation only, and error messages
    # 2: the throttle time (KIP-124)
    # 3: the response is sent before the client is throttled (KIP-219)
    # 4: default numbers of partitions and replicas (KIP-464)
    # 5: flexible (KIP-482); the details of the new topic (KIP-525)
    # 6: THROTTLING_QUOTA_EXCEEDED (KIP-599)
    # 7: topic ids (KIP-516)
    "CreateTopics": ServedApi(0, 7, create_topics),
}
