"""StreamsGroupHeartbeat: a member of a streams group joins, reports its tasks, gets others, or leaves (KIP-1071)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .... import messages
from ....errors.refused import Refused
from ....values import ErrorCode
from ...api import ServedApi
from ...cluster import BrokerCluster
from ...configs import check_configs
from ...controller.kraft_controller import KRaftController
from ...controller.topic_names import check_name
from ...groups.classic_group import Group
from ...groups.streams_group import StreamsGroup, StreamsMember
from ...groups.streams_topology import (
    ConfiguredTopology,
    Topology,
    WantedTopic,
    configure_topology,
    hash_topics,
    required_topics,
)
from ...purgatory import Parked
from ...request_context import READ_ONLY
from ..groups.group_checks import membership_problem, problem_with
from .streams_group_checks import JOINS, Heartbeat, Problem, find_problem, find_unknown_task, is_off, read_owned
from .streams_group_members import add_member, find_member, leave_streams_group, tells_something_new, update_member
from .streams_group_response import heartbeat_response


def streams_group_heartbeat(request: Heartbeat) -> messages.StreamsGroupHeartbeatResponse:
    """Handle StreamsGroupHeartbeat."""
    # Kafka: GroupCoordinatorService.streamsGroupHeartbeat, GroupMetadataManager.streamsGroupHeartbeat
    message = request.message
    if is_off(request):
        return _make_error(ErrorCode.UNSUPPORTED_VERSION)
    code = problem_with(request, message.group_id)
    if code in (ErrorCode.NONE, ErrorCode.INVALID_GROUP_ID) and (problem := find_problem(message)):
        return _make_error(*problem)
    if code := code or _find_denial(request) or membership_problem(request):
        return _make_error(code)
    group = _group_for(request)
    if isinstance(group, int):
        return _make_error(group)
    streams = group.consumer
    assert isinstance(streams, StreamsGroup)
    if message.member_epoch < JOINS:
        return leave_streams_group(request, group, streams)
    response = _heartbeat(request, group, streams)
    if not streams.members and not streams.epoch:  # the first member was refused
        request.cluster.groups.end_consumers(group)
        if group.is_unused:
            request.cluster.groups.delete(group)
    return response


def _make_error(code: int, message: str | None = None) -> messages.StreamsGroupHeartbeatResponse:
    return messages.StreamsGroupHeartbeatResponse(error_code=code, error_message=message, status=())


def _find_denial(request: Heartbeat) -> int:
    """Return the error code for topics of the topology that the principal may not describe; 0 if there are none."""
    # Kafka: KafkaApis.handleStreamsGroupHeartbeat
    topology = _read_topology(request)
    names = sorted(required_topics(topology)) if topology is not None else ()
    return next((code for name in names if (code := request.error(name))), ErrorCode.NONE)


def _read_topology(request: Heartbeat) -> Topology | None:
    """Return the topology of a request as it is stored, its subtopologies ordered by their ids; None if it has none."""
    # Kafka: StreamsCoordinatorRecordHelpers.convertToStreamsGroupTopologyRecord
    if request.message.topology is None:
        return None
    topology = msgspec.convert(msgspec.to_builtins(request.message.topology, builtin_types=(bytes,)), Topology)
    parts = sorted(topology.subtopologies, key=lambda part: part.subtopology_id)
    return msgspec.structs.replace(topology, subtopologies=tuple(parts))


def _group_for(request: Heartbeat) -> Group | int:
    """Return the group of a request; a joining member creates it."""
    # Kafka: GroupMetadataManager.getOrCreateStreamsGroup, getStreamsGroupOrThrow
    message = request.message
    groups = request.cluster.groups
    group = groups.find(message.group_id)
    if group is not None and isinstance(group.consumer, StreamsGroup):
        return group
    is_free = group is None or (group.consumer is None and not group.members)
    if message.member_epoch != JOINS or not is_free:
        return ErrorCode.GROUP_ID_NOT_FOUND
    group = groups.find_or_create(message.group_id)
    if group is None:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    groups.begin_consumers(group, StreamsGroup())
    return group


def _heartbeat(request: Heartbeat, group: Group, streams: StreamsGroup) -> messages.StreamsGroupHeartbeatResponse:
    # 1. The member, the topology and the tasks must be right; until then, nothing changes.
    known_member = find_member(request, streams)
    if isinstance(known_member, int):
        return _make_error(known_member)
    metadata_hash, configured = _configure(request, streams)
    if problem := _find_topology_problem(request, streams, configured):
        return _make_error(*problem)
    code = request.cluster.groups.write_problem(request.message.group_id)
    if code and (known_member is None or not _is_settled(request, streams, known_member, metadata_hash)):
        return _make_error(code)
    message = request.message
    tags = [text for tag in message.client_tags or () for text in (tag.key, tag.value)]
    texts = message.process_id or "", *tags
    if any(texts) and not request.cluster.groups.has_room_for((message.member_id, *texts), known_member):
        return _make_error(ErrorCode.GROUP_MAX_SIZE_REACHED)
    is_first = not streams.members
    member = known_member if known_member is not None else add_member(request, streams)
    if isinstance(member, int):
        return _make_error(member)
    # 2. The member, and what is known of the topics.
    before = member.stored, streams.stored
    had_endpoint = member.endpoint
    bump = update_member(request, streams, member)
    bump = streams.configure(configured, metadata_hash) or bump
    _assign(request, group, streams, is_first=is_first, bump=bump)
    # 3. Its tasks.
    had_tasks = set(member.assigned)
    streams.reconcile(member, read_owned(request.message), request.now)
    request.cluster.groups.keep_consumer(group, member, request.now)
    if request.message.shutdown_application:
        streams.shutdown = member.member_id
    problems = _create_topics(request, configured)
    has_changed = before != (member.stored, streams.stored)
    if (has_changed or group.is_unwritten) and (code := request.cluster.groups.remember_or_revert(group)):
        return _make_error(code)
    is_full = request.message.member_epoch == JOINS or member.assigned != had_tasks
    has_moved = member.endpoint != had_endpoint
    return heartbeat_response(request, streams, member, problems, is_full=is_full, has_moved=has_moved)


def _is_settled(request: Heartbeat, streams: StreamsGroup, member: StreamsMember, metadata_hash: int) -> bool:
    """Return whether a heartbeat changes nothing that is stored, and can be answered while nothing can be written."""
    configs = request.cluster.groups.configs_of(request.message.group_id)
    is_same = metadata_hash == streams.metadata_hash and _assignment_configs(configs) == streams.configs
    is_due = streams.may_assign(request.cluster.time_ms(), int(configs["streams.assignment.interval.ms"]))
    is_same = is_same and not is_due and streams.is_reconciled(member)
    return is_same and not tells_something_new(request, member)


def _assignment_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """Return those configs of a group which its assignment depends on, as they are stored."""
    return {"num.standby.replicas": configs["streams.num.standby.replicas"]}


def _configure(request: Heartbeat, streams: StreamsGroup) -> tuple[int, ConfiguredTopology]:
    """Return the tasks of the group's topology, which the first member brings; and a number that changes with its
    topics."""
    topology = streams.topology or _read_topology(request)
    assert topology is not None  # members that join have one, and others have joined before
    metadata_hash = hash_topics(topology, request.cluster.controller.topics)
    if streams.configured is not None and metadata_hash == streams.metadata_hash:
        return metadata_hash, streams.configured
    return metadata_hash, configure_topology(topology, request.cluster.groups.partition_counts())


def _find_topology_problem(request: Heartbeat, streams: StreamsGroup, configured: ConfiguredTopology) -> Problem | None:
    """Return an error code if the member's topology or tasks do not suit the group, with the reason."""
    # Kafka: GroupMetadataManager.maybeUpdateTopology
    topology = _read_topology(request)
    ours = streams.topology
    if topology is not None and ours is not None and topology.epoch >= ours.epoch and topology != ours:
        return ErrorCode.INVALID_REQUEST, "the group has another topology, and topologies cannot be changed yet"
    if configured.problem is not None and configured.problem.status is None:
        return ErrorCode.STREAMS_INVALID_TOPOLOGY, configured.problem.text
    unknown = find_unknown_task(read_owned(request.message) or (), configured)
    return (ErrorCode.INVALID_REQUEST, unknown) if unknown else None


def _assign(request: Heartbeat, group: Group, streams: StreamsGroup, *, is_first: bool, bump: bool) -> None:
    """Begin a new epoch if something has changed, also in configs of the group; compute the target assignment."""
    configs = request.cluster.groups.configs_of(group.group_id)
    own = _assignment_configs(configs)
    if bump or own != streams.configs:
        streams.configs = own
        streams.bump()
        group.generation = streams.epoch
    delay = int(configs["streams.initial.rebalance.delay.ms"]) / 1000
    if is_first and delay > 0:
        _delay_assignment(request.cluster, group, streams, request.now + delay)
    now_ms = request.cluster.time_ms()
    if streams.may_assign(now_ms, int(configs["streams.assignment.interval.ms"])):
        streams.assign(now_ms)


def _delay_assignment(cluster: BrokerCluster, group: Group, streams: StreamsGroup, until: float) -> None:
    """Let the first assignment wait for more members."""

    def end(over: bool) -> None:
        # Kafka: GroupMetadataManager.computeDelayedTargetAssignment
        if group.consumer is streams and streams.members and streams.delayed_until == until:
            streams.assign(cluster.time_ms())
            group.state = streams.state
            cluster.groups.remember(group)

    streams.delayed_until = until
    cluster.waiting.park(Parked(end), until)


def _create_topics(request: Heartbeat, configured: ConfiguredTopology) -> list[str]:
    """Create the internal topics that are missing, for the next heartbeat; return why others were not created."""
    # Kafka: KafkaApis.handleStreamsGroupHeartbeat, AutoTopicCreationManager.createStreamsInternalTopics
    problems = []
    for topic in configured.missing:
        if topic.name in request.cluster.controller.topics:
            continue
        if request.cluster.settings.read_only:
            return [READ_ONLY]
        if not request.may_create(topic.name):
            problems.append(f"{request.principal} may not create {topic.name}")
            continue
        try:
            _create_topic(request.cluster.controller, topic)
        except Refused as error:
            problems.append(f"{topic.name} was not created: {error}")
    return problems


def _create_topic(controller: KRaftController, topic: WantedTopic) -> None:
    """Create an internal topic; raises Refused if that is not possible."""
    check_name(topic.name, controller.topics)
    configs = check_configs(topic.configs.items())
    assignment = controller.place(topic.partitions, topic.replication_factor)
    controller.check_new(topic.name, assignment)
    controller.create(topic.name, assignment, configs)


APIS = {  # what each version has changed
    # 1: whether a description of the topology is wanted; a longer recovery lag
    "StreamsGroupHeartbeat": ServedApi(0, 1, streams_group_heartbeat, finds_errors=True),
}
