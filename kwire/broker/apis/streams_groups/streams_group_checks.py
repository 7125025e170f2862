"""What requests of streams groups share: whether there may be such groups, if they are valid, and their tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from .... import messages
from ....errors.texts import excerpt
from ....values import ErrorCode
from ...controller.topic_names import INTERNAL, is_valid_name
from ...groups.streams_group import Role, Task
from ...groups.streams_topology import ConfiguredTopology
from ...request_context import RequestContext

JOINS, LEAVES, LEAVES_FOR_A_WHILE = 0, -1, -2  # special member epochs
Heartbeat: TypeAlias = "RequestContext[messages.StreamsGroupHeartbeatRequest]"
Problem = tuple[int, str]  # an error code, and the reason
Row = TypeVar("Row")


def is_off(request: RequestContext[object]) -> bool:
    """Return whether streams groups are disabled: the level of the feature is 0."""
    return not request.cluster.feature_levels.get("streams.version")


def find_problem(message: messages.StreamsGroupHeartbeatRequest) -> Problem | None:
    """Return the error code of an invalid request, with the reason; None if the request is valid."""
    # Kafka: GroupCoordinatorService.throwIfStreamsGroupHeartbeatRequestIsInvalid
    epoch = message.member_epoch
    tasks = message.active_tasks, message.standby_tasks, message.warmup_tasks
    parts = message.topology.subtopologies if message.topology is not None else ()
    reasons = {
        "there is no member id": not message.member_id,
        "there is no group id": not message.group_id,
        "the instance id is empty": message.instance_id == "",
        "the rack id is empty": message.rack_id == "",
        "a member joins without a rebalance timeout": epoch == JOINS and message.rebalance_timeout_ms == -1,
        "a member joins with tasks": epoch == JOINS and any(tasks),
        "a member joins without a list of its tasks": epoch == JOINS and None in tasks,
        "a member joins without a topology": epoch == JOINS and message.topology is None,
        "only members that join send the topology": epoch != JOINS and message.topology is not None,
        "a member leaves for a while without an instance id": epoch == LEAVES_FOR_A_WHILE and not message.instance_id,
        f"there is no member epoch {epoch}": epoch < LEAVES_FOR_A_WHILE,
        "some kinds of tasks are listed, others not": None in tasks and tasks != (None, None, None),
        "patterns of source topics are not supported": any(part.source_topic_regex for part in parts),
    }
    for reason, is_so in reasons.items():
        if is_so:
            return ErrorCode.INVALID_REQUEST, reason
    reason = next((reason for reason in map(_find_part_problem, parts) if reason), "")
    return (ErrorCode.STREAMS_INVALID_TOPOLOGY, reason) if reason else None


def _find_part_problem(part: messages.StreamsGroupHeartbeatRequest.Subtopology) -> str:
    """Return what is wrong with a subtopology; the empty string if nothing is."""
    # Kafka: GroupCoordinatorService.throwIfInvalidTopology, KafkaApis.handleStreamsGroupHeartbeat
    inner = [*part.repartition_source_topics, *part.state_changelog_topics]
    names = [*part.source_topics, *part.repartition_sink_topics, *(topic.name for topic in inner)]
    invalid = [name for name in names if not is_valid_name(name) or name in INTERNAL]
    if invalid:
        return f"no application may use a topic called {excerpt(invalid[0])}"
    counted = [topic.name for topic in part.state_changelog_topics if topic.partitions]
    return f"the broker decides how many partitions the changelog topic {counted[0]} has" if counted else ""


def read_owned(message: messages.StreamsGroupHeartbeatRequest) -> set[Task] | None:
    """Return the tasks that a member reports; None if the request does not list them."""
    if message.active_tasks is None:
        return None
    owned = set()
    for role, rows in zip(Role, (message.active_tasks, message.standby_tasks, message.warmup_tasks), strict=True):
        for row in rows or ():
            owned |= {Task(role, row.subtopology_id, index) for index in row.partitions}
    return owned


def find_unknown_task(owned: Iterable[Task], configured: ConfiguredTopology) -> str:
    """Return which of a member's tasks does not exist; the empty string if all do, or if that is not known yet."""
    # Kafka: GroupMetadataManager.throwIfRequestContainsInvalidTasks
    if configured.problem is not None:
        return ""
    tasks = {part.name: part.tasks for part in configured.subtopologies}
    unknown = [task for task in owned if not 0 <= task.partition < tasks.get(task.subtopology, 0)]
    return f"there is no task {unknown[0].subtopology}_{unknown[0].partition}" if unknown else ""


def describe_tasks(
    tasks: Iterable[Task], row: Callable[..., Row]
) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]:
    """Return tasks as rows: active tasks, standby tasks and warm-up tasks, each by subtopology.

    Args:
        tasks: the tasks.
        row: makes a row of a `subtopology_id` and its `partitions`.
    """
    tasks_by_role: dict[Role, dict[str, list[int]]] = {role: {} for role in Role}
    for task in sorted(tasks):
        tasks_by_role[task.role].setdefault(task.subtopology, []).append(task.partition)

    def rows(role: Role) -> tuple[Row, ...]:
        parts = tasks_by_role[role].items()
        return tuple(row(subtopology_id=name, partitions=tuple(partitions)) for name, partitions in parts)

    return rows(Role.ACTIVE), rows(Role.STANDBY), rows(Role.WARMUP)
