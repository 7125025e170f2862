"""CreatePartitions: adds partitions to topics (KIP-195)."""

from __future__ import annotations

from collections.abc import Sequence

from .... import messages
from ....errors.refused import InvalidReplicaAssignment, InvalidRequest, Refused
from ...api import ServedApi
from ...request_context import RequestContext
from .unique_rows import unique_rows


def create_partitions(request: RequestContext[messages.CreatePartitionsRequest]) -> messages.CreatePartitionsResponse:
    """Handle CreatePartitions."""
    # Kafka: ReplicationControlManager.createPartitions
    rows = unique_rows(request.message.topics)
    return messages.CreatePartitionsResponse(
        results=tuple(_create_partitions(request, row, twice) for row, twice in rows)
    )


def _create_partitions(
    request: RequestContext[messages.CreatePartitionsRequest],
    row: messages.CreatePartitionsRequest.CreatePartitionsTopic,
    twice: bool,
) -> messages.CreatePartitionsResponse.CreatePartitionsTopicResult:
    result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    controller = request.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        if code := request.error(row.name):
            return result(name=row.name, **request.describe_denial(code))
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


def _given_assignment(
    placed: dict[int, list[int]], rows: Sequence[messages.CreatePartitionsRequest.CreatePartitionsAssignment]
) -> dict[int, list[int]]:
    if len(rows) != len(placed):
        raise InvalidReplicaAssignment("assignments_not_as_many", found=len(rows), wanted=len(placed))
    return {index: list(row.broker_ids) for index, row in zip(placed, rows, strict=True)}


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: THROTTLING_QUOTA_EXCEEDED (KIP-599)
    "CreatePartitions": ServedApi(0, 3, create_partitions),
}
