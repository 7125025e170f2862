"""CreateTopics and CreatePartitions: on brokers that the client names, or that the setting's assignor chooses.

All is done, or refused, before the answer leaves, so timeouts do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .. import messages
from ..refusals import InvalidReplicaAssignment, InvalidRequest, Refused
from ..values import ConfigSource
from .asks import Ask
from .configs import checked, topic_defaults
from .controller import Controller
from .topics import check_name

NO_NUMBER = -1
FIRST_WITH_DETAILS = 5  # from this version on the answer says what the topic got (KIP-525)


def create_topics(ask: Ask) -> Any:
    """Answer CreateTopics."""
    rows = ask.message.topics
    return messages.CreateTopicsResponse(topics=tuple(_topic(ask, row, twice) for row, twice in _once(rows)))


def _once(rows: Sequence[Any]) -> list[tuple[Any, bool]]:
    """Return one row for each name, and whether the request has more."""
    counts = Counter(row.name for row in rows)
    return [(row, counts[row.name] > 1) for row in {row.name: row for row in rows}.values()]


def _topic(ask: Ask, row: Any, twice: bool) -> Any:
    result = messages.CreateTopicsResponse.CreatableTopicResult
    controller = ask.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        check_name(row.name, controller.topics)
        configs = checked((config.name, config.value) for config in row.configs)
        assignment = _assignment(controller, row)
        controller.check_new(row.name, assignment)
        made = None if ask.message.validate_only else controller.create(row.name, assignment, configs)
    except Refused as error:
        return result(name=row.name, error_code=error.error_code, error_message=str(error))
    return result(
        name=row.name,
        topic_id=made.topic_id if made is not None else bytes(16),
        error_message=None,
        num_partitions=len(assignment),
        replication_factor=len(assignment[0]),
        configs=_configs(ask, configs) if ask.version >= FIRST_WITH_DETAILS else (),
    )


def _assignment(controller: Controller, row: Any) -> dict[int, list[int]]:
    if not row.assignments:
        return controller.place(row.num_partitions, row.replication_factor)
    if row.num_partitions != NO_NUMBER or row.replication_factor != NO_NUMBER:
        raise InvalidRequest("assignment_and_counts")
    assignment = {one.partition_index: list(one.broker_ids) for one in row.assignments}
    if len(assignment) < len(row.assignments):
        raise InvalidReplicaAssignment("in_request_twice", name="a partition")
    return assignment


def _configs(ask: Ask, own: dict[str, str]) -> tuple[Any, ...]:
    config = messages.CreateTopicsResponse.CreatableTopicConfigs
    return tuple(
        config(
            name=name,
            value=own.get(name, default),
            config_source=ConfigSource.TOPIC_CONFIG if name in own else ConfigSource.DEFAULT_CONFIG,
        )
        for name, default in topic_defaults(ask.cluster.settings).items()
    )


def create_partitions(ask: Ask) -> Any:
    """Answer CreatePartitions."""
    rows = _once(ask.message.topics)
    return messages.CreatePartitionsResponse(results=tuple(_more(ask, row, twice) for row, twice in rows))


def _more(ask: Ask, row: Any, twice: bool) -> Any:
    result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    controller = ask.cluster.controller
    try:
        if twice:
            raise InvalidRequest("in_request_twice", name=row.name)
        topic = controller.known(row.name)
        assignment = controller.place_more(topic, row.count)
        if row.assignments is not None:
            assignment = _given(assignment, row.assignments)
            controller.check_more(topic, assignment)
        if not ask.message.validate_only:
            controller.grow(row.name, assignment)
    except Refused as error:
        return result(name=row.name, error_code=error.error_code, error_message=str(error))
    return result(name=row.name, error_message=None)


def _given(placed: dict[int, list[int]], rows: Sequence[Any]) -> dict[int, list[int]]:
    if len(rows) != len(placed):
        raise InvalidReplicaAssignment("assignments_not_as_many", found=len(rows), wanted=len(placed))
    return {index: list(row.broker_ids) for index, row in zip(placed, rows, strict=True)}
