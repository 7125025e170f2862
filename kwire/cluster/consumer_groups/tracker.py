"""Derives consumer groups from captured frames: members, racks, subscriptions, partitions, lag, reads across racks.

Sources: KIP-881, KIP-848, KIP-392.

Groups are plain values. Decoded frames are processed in their order. Unknown values are None; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import DecodeError
from ...internal import decode_assignment, decode_cooperative_user_data, decode_sticky_user_data, decode_subscription
from ...protocol import Request, Response, Result
from ..assignors import UNREADABLE, Member, MetadataSnapshot, member_of, snapshot_of, topics_of
from ..assignors.members import TopicPartition
from ..events.apply import learn
from ..state import ClusterState
from .rows import MemberRow, PartitionRow


@dataclass(slots=True)
class FetchTraffic:
    """The Fetch traffic of a member for one partition and broker: the number of responses, and the bytes of records."""

    fetches: int = 0
    bytes: int = 0


@dataclass(slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        member_id: the id from the coordinator; with KIP-848, from the client.
        instance_id: the id of a static member (KIP-345).
        client_id, host: the client id and address of the connection on which it joined, without the port.
        rack: `client.rack`, from its subscription, heartbeats or fetches; None if there is none.
        topics: the topics that it subscribed to; None if unknown.
        regex: the regular expression that it subscribed with (KIP-848).
        partitions: the assigned partitions, in order; None if unknown.
        epoch: the member epoch (KIP-848), or the generation that it joined.
        since: when it got these partitions, in seconds since 1970; `generation` of the group at that time.
        reads: its fetches, by partition and by node id of the broker; None for an unknown broker.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str | None = None
    host: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    partitions: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    since: float | None = None
    generation: int | None = None
    reads: dict[TopicPartition, dict[int | None, FetchTraffic]] = field(default_factory=dict)


@dataclass(slots=True)
class CapturedGroup:
    """A group. `protocol` is classic, consumer (KIP-848) or share (KIP-932); for the latter two, `generation` is the
    epoch.

    `committed` has the offsets by partition; `state` is from the last describe response. `rebalances` has the last 100
    rebalances of a classic group whose leader was captured, in order.
    """

    group_id: str
    protocol: str = "classic"
    state: str | None = None
    generation: int | None = None
    assignor: str | None = None
    leader: str | None = None
    members: dict[str, GroupMember] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    rebalances: list[Rebalance] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        """Whether more than the name of the group is known."""
        return bool(self.members or self.committed or self.state or self.generation is not None)


@dataclass(slots=True)
class Rebalance:
    """The input and the result of an assignment by the leader of a classic group.

    Attributes:
        generation, assignor, leader: the generation, assignor and leader of the group.
        members: the input of the assignor, in the order of the JoinGroup response.
        topics: the subscribed topics that metadata had listed by then, with the racks of replicas.
        snapshot: the leader's copy of these topics, with which it detects changes of racks.
        assigned: the leader's assignment; None until it is captured.
        at: seconds since 1970.
        release: the Kafka release of the leader, if it is a Java client that sent its version (KIP-511).
    """

    generation: int
    assignor: str
    leader: str
    members: list[Member]
    topics: dict[str, dict[int, list[str | None]]]
    snapshot: MetadataSnapshot
    assigned: dict[str, tuple[TopicPartition, ...]] | None = None
    at: float | None = None
    release: str | None = None


_LATEST = -1  # the timestamp for which ListOffsets returns the end offset
_NO_ID = bytes(16)
_REBALANCES = 100  # the number of rebalances per group that are kept, with their metadata
_IN_FLIGHT = 1000  # requests of one connection that may wait for a response


class _PendingRequest(NamedTuple):
    """A request that waits for its response."""

    correlation_id: int | None
    api_key: int | None
    request: Request


class GroupTracker:
    """The consumer groups in frames; `see` processes one frame after the other.

    Attributes:
        groups: by id.
        cluster: brokers with racks, and partitions with replicas.
        ends: the end offset of each partition's log, from the last Fetch or ListOffsets response.
        ambiguous: the number of Fetch responses for partitions that are assigned in several groups to members with the
            same client id and host.
        unreadable: the number of subscriptions and assignments that did not decode.
    """

    def __init__(self) -> None:
        self.groups: dict[str, CapturedGroup] = {}
        self.cluster: ClusterState = ClusterState()
        self.ends: dict[TopicPartition, int] = {}
        self.ambiguous: int = 0
        self.unreadable: int = 0
        self._names: dict[bytes, str] = {}
        self._asked: dict[int | None, deque[_PendingRequest]] = {}
        self._past: list[MemberRow] = []
        self._nodes: dict[str, int] = {}
        self._racks: dict[int, str | None] = {}

    def see(self, result: Result) -> bool:
        """Process a frame; return whether it was about groups or the cluster."""
        for number in result.frame.closed:
            self._asked.pop(number, None)
        if isinstance(result, Request):
            if result.api_name in _ANSWERED:
                waiting = self._asked.setdefault(result.frame.source.connection, deque(maxlen=_IN_FLIGHT))
                waiting.append(_PendingRequest(result.correlation_id, result.api_key, result))
            return learn(self.cluster, result.message, result.codec) and self._learnt(result.message)
        if not isinstance(result, Response):
            return False
        if learn(self.cluster, result.message, result.codec):
            return self._learnt(result.message)
        lesson = _LESSONS.get(type(result.message).__name__)
        if lesson is None:
            return False
        asked = self._request_of(result)
        lesson(self, result, asked)
        return True

    def _request_of(self, response: Response) -> Request | None:
        """Return the request of a response; discard earlier requests of the connection, which have no response."""
        waiting = self._asked.get(response.frame.source.connection, deque())
        for place, asked in enumerate(waiting):
            if asked.correlation_id == response.correlation_id and asked.api_key == response.api_key:
                for _ in range(place + 1):
                    waiting.popleft()
                return asked.request
        return None

    def _learnt(self, message: Any) -> bool:
        """Record topic ids and addresses of brokers; return whether the message is about the cluster."""
        for broker in (self.cluster.brokers or {}).values():
            self._nodes[f"{broker.host}:{broker.port}"] = broker.node_id
            self._racks[broker.node_id] = broker.rack  # kept if the broker stops
        for topic in (*getattr(message, "topics", ()), *getattr(message, "topic_states", ())):
            topic_id = getattr(topic, "topic_id", _NO_ID)
            name = getattr(topic, "name", None) or getattr(topic, "topic_name", None)
            if name and topic_id != _NO_ID and self._names.get(topic_id) != name:
                self._names[topic_id] = name
                self._rename(topic_id.hex(), name)
        return True

    def _rename(self, word: str, name: str) -> None:
        """Rename the partitions of a topic that was known only by its id."""

        def named(partition: TopicPartition) -> TopicPartition:
            return (name, partition[1]) if partition[0] == word else partition

        self.ends = {named(one): end for one, end in self.ends.items()}
        for group in self.groups.values():
            group.committed = {named(one): offset for one, offset in group.committed.items()}
            for member in group.members.values():
                member.partitions = None if member.partitions is None else tuple(map(named, member.partitions))
                member.reads = {named(one): reads for one, reads in member.reads.items()}

    def topic(self, of: Any) -> str:
        """Return the topic name in a message; the topic id in hex while the name is unknown."""
        name = getattr(of, "name", None) or getattr(of, "topic_name", None) or getattr(of, "topic", None)
        topic_id = getattr(of, "topic_id", _NO_ID)
        return name or self._names.get(topic_id) or topic_id.hex()

    def flat(self, topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
        """Return the partitions in a list of topics."""
        return tuple((self.topic(one), number) for one in topics for number in one.partitions)

    def group(self, group_id: str, protocol: str | None = None) -> CapturedGroup:
        """Return a group, created if necessary."""
        group = self.groups.setdefault(group_id, CapturedGroup(group_id))
        if protocol is not None:
            group.protocol = protocol
        return group

    def member(self, group: CapturedGroup, member_id: str, request: Request | None = None) -> GroupMember:
        """Return a member, created if necessary, with the client id and host of its connection."""
        member = group.members.setdefault(member_id, GroupMember(member_id))
        if request is not None:
            source = request.frame.source
            member.client_id = request.client.client_id or member.client_id
            member.host = source.client.rpartition(":")[0] if source.client else member.host
        return member

    def assign(
        self, group: CapturedGroup, member: GroupMember, partitions: Iterable[TopicPartition], at: float | None
    ) -> None:
        """Record the new partitions of a member."""
        now = tuple(partitions)
        if member.partitions is not None and set(now) == set(member.partitions):
            return
        self._close(group, member, at)
        member.partitions, member.since, member.reads, member.generation = now, at, {}, group.generation

    def leave(self, group: CapturedGroup, member_id: str, at: float | None) -> None:
        """Remove a member."""
        member = group.members.pop(member_id, None)
        if member is not None:
            self._close(group, member, at)

    def _close(self, group: CapturedGroup, member: GroupMember, at: float | None) -> None:
        if member.partitions:
            self._past.append(self._member_row(group, member, at))

    def subscribe(self, member: GroupMember, data: bytes) -> None:
        """Record the subscription of a member of a classic group; count invalid subscriptions."""
        try:
            subscription = decode_subscription(data).message
        except DecodeError:
            self.unreadable += 1
            return
        member.topics = tuple(subscription.topics)
        member.rack = subscription.rack_id or member.rack

    def rebalance(self, group: CapturedGroup, response: Any) -> None:
        """Record the input of the leader's assignor."""
        message = response.message
        members: list[Member] = []
        for one in message.members:
            try:
                members.append(
                    assignor_member(message.protocol_name, one.member_id, one.metadata, one.group_instance_id)
                )
            except DecodeError:
                return  # counted where the member's own subscription is read
        known = topics_of(self.cluster)
        wanted = {topic for member in members for topic in member.topics}
        topics = {topic: known[topic] for topic in known if topic in wanted}
        at = response.frame.source.time
        now = snapshot_of(self.cluster, message.generation_id)
        snapshot = MetadataSnapshot(now.version, {topic: now.topics[topic] for topic in topics})
        what = message.generation_id, message.protocol_name, message.leader
        group.rebalances.append(Rebalance(*what, members, topics, snapshot, None, at, _release(response)))
        del group.rebalances[:-_REBALANCES]

    def assigned_to(self, group: CapturedGroup, member_id: str, data: bytes, at: float | None) -> None:
        """Record an assignment in a classic group; an empty value means no partitions."""
        try:
            topics = decode_assignment(data).message.assigned_partitions if data else ()
        except DecodeError:
            self.unreadable += 1
            return
        self.assign(group, self.member(group, member_id), self.flat(topics), at)

    def node_of(self, response: Response) -> int | None:
        """Return the node id of the broker that responded; None if no frame contained its address."""
        return self._nodes.get(response.frame.source.broker or "")

    def read(self, request: Request, response: Response, partition: TopicPartition, size: int) -> None:
        """Count records that the owner of a partition fetched."""
        host = (request.frame.source.client or "").rpartition(":")[0] or None
        found = [
            member
            for group in self.groups.values()
            for member in group.members.values()
            if member.client_id == request.client.client_id
            and member.host == host
            and partition in (member.partitions or ())
        ]
        if len(found) > 1:
            self.ambiguous += 1
        elif found:
            found[0].rack = found[0].rack or getattr(request.message, "rack_id", "") or None
            reading = found[0].reads.setdefault(partition, {}).setdefault(self.node_of(response), FetchTraffic())
            reading.fetches += 1
            reading.bytes += size

    def members(self, group_id: str | None = None) -> Iterator[MemberRow]:
        """Yield the members of all groups, or of one, by group and member."""
        for group in self._sorted(group_id):
            for member in sorted(group.members.values(), key=lambda one: one.member_id):
                yield self._member_row(group, member)

    def partitions(self, group_id: str | None = None) -> Iterator[PartitionRow]:
        """Yield the partitions that a group has assigned or committed, by group, topic and number."""
        for group in self._sorted(group_id):
            owners = {one: member for member in group.members.values() for one in member.partitions or ()}
            for partition in sorted({*owners, *group.committed}):
                yield self._partition_row(group, partition, owners.get(partition))

    def history(self, group_id: str | None = None) -> list[MemberRow]:
        """Return the intervals in which members had partitions, ordered by their end, followed by the current ones."""
        past = [row for row in self._past if group_id in (None, row.group)]
        return [*past, *self.members(group_id)]

    def _sorted(self, group_id: str | None) -> list[CapturedGroup]:
        return [self.groups[name] for name in sorted(self.groups) if group_id in (None, name)]

    def _rack(self, node: int | None) -> str | None:
        return None if node is None else self._racks.get(node)

    def _lag(self, group: CapturedGroup, partition: TopicPartition) -> int | None:
        committed, end = group.committed.get(partition), self.ends.get(partition)
        return None if committed is None or end is None else max(0, end - committed)

    def _replica_racks(self, partition: TopicPartition) -> tuple[str | None, ...] | None:
        known = self.cluster.topics.get(partition[0], {}).get(partition[1])
        return None if known is None else tuple(self._rack(node) for node in known.replicas)

    def _local(self, member: GroupMember) -> int | None:
        """Count the partitions with a replica in the member's rack."""
        racks = [self._replica_racks(one) for one in member.partitions or ()]
        if member.rack is None or member.partitions is None or None in racks:
            return None
        return sum(member.rack in of_one for of_one in racks if of_one is not None)

    def _is_across(self, member: GroupMember, partition: TopicPartition) -> bool | None:
        """Whether a member was seen to read a partition from another rack; None if unknown."""
        racks = {self._rack(node) for node in member.reads.get(partition, {})}
        if not racks or member.rack is None or None in racks:
            return None
        return racks != {member.rack}

    def _member_row(self, group: CapturedGroup, member: GroupMember, until: float | None = None) -> MemberRow:
        partitions = member.partitions
        lags = [lag for one in partitions or () if (lag := self._lag(group, one)) is not None]
        across = [self._is_across(member, one) for one in member.reads]
        readings = [(self._rack(node), one) for reads in member.reads.values() for node, one in reads.items()]
        is_known = member.rack is not None and None not in across
        return MemberRow(
            group.group_id,
            group.protocol,
            member.generation,
            group.assignor,
            member.member_id,
            member.instance_id,
            member.client_id,
            member.host,
            member.rack,
            member.topics,
            None if partitions is None else _texts(partitions),
            sum(lags) if lags else None,
            self._local(member),
            len(member.reads),
            sum(map(bool, across)) if is_known else None,
            sum(one.bytes for _, one in readings),
            sum(one.bytes for rack, one in readings if rack != member.rack) if is_known else None,
            member.since,
            until,
        )

    def _partition_row(
        self, group: CapturedGroup, partition: TopicPartition, member: GroupMember | None
    ) -> PartitionRow:
        known = self.cluster.topics.get(partition[0], {}).get(partition[1])
        nodes = () if member is None else member.reads.get(partition, {})
        return PartitionRow(
            group.group_id,
            *partition,
            None if member is None else member.member_id,
            None if member is None else member.rack,
            group.committed.get(partition),
            self.ends.get(partition),
            self._lag(group, partition),
            None if known is None else known.leader,
            self._replica_racks(partition),
            tuple(sorted(node for node in nodes if node is not None)),
            None if member is None else self._is_across(member, partition),
        )


def _release(response: Response) -> str | None:
    """Return the Kafka release of a Java client, from a version such as `apache-kafka-java 3.9.1`."""
    name, _, version = response.client.software.partition(" ")
    is_release = name == "apache-kafka-java" and re.fullmatch(r"[0-9]+(\.[0-9]+){1,3}", version, re.ASCII)
    return version if is_release else None


def assignor_member(assignor: str, member_id: str, subscription: bytes, instance_id: str | None = None) -> Member:
    """Create a member for an assignor from its subscription.

    Args:
        assignor: the assignor whose user data is in the subscription.
        member_id: the member id in the JoinGroup response.
        subscription: the bytes of the member's metadata in this response.
        instance_id: the instance id of a static member.

    Raises:
        DecodeError: the bytes are not a valid subscription.
    """
    message, user_data = decode_subscription(subscription).message, None
    reader = _USER_DATA.get(assignor)
    if reader is not None and message.user_data:
        try:
            user_data = reader(message.user_data)
        except DecodeError:
            user_data = UNREADABLE
    return member_of(member_id, message, user_data=user_data, group_instance_id=instance_id)


_USER_DATA: Mapping[str, Callable[[bytes], Any]] = {
    "sticky": decode_sticky_user_data,
    "cooperative-sticky": decode_cooperative_user_data,
}


def _texts(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    return tuple(f"{topic}-{number}" for topic, number in sorted(partitions))


def _joined(groups: GroupTracker, response: Any, request: Any) -> None:
    """Process a JoinGroup response: a member joined a generation; the leader receives all members."""
    message = response.message
    if request is None or message.error_code:
        return
    group = groups.group(request.message.group_id, "classic")
    asked = request.message
    member = groups.member(group, message.member_id, request)
    group.generation, group.leader = message.generation_id, message.leader
    group.assignor = message.protocol_name or group.assignor
    member.epoch, member.instance_id = message.generation_id, asked.group_instance_id
    if asked.protocol_type == "consumer":
        chosen = [one.metadata for one in asked.protocols if one.name == message.protocol_name]
        for metadata in chosen[:1]:
            groups.subscribe(member, metadata)
    if message.members:
        _leader_joined(groups, group, response, is_consumer=asked.protocol_type == "consumer")


def _leader_joined(groups: GroupTracker, group: CapturedGroup, response: Any, *, is_consumer: bool) -> None:
    """Process the response to a leader, which lists all members of the group."""
    message = response.message
    for gone in group.members.keys() - {one.member_id for one in message.members}:
        groups.leave(group, gone, response.frame.source.time)
    for one in message.members:
        other = groups.member(group, one.member_id)
        other.epoch, other.instance_id = message.generation_id, one.group_instance_id
        if is_consumer:
            groups.subscribe(other, one.metadata)
    if is_consumer:
        groups.rebalance(group, response)


def _synced(groups: GroupTracker, response: Any, request: Any) -> None:
    message = response.message
    if request is None or message.error_code:
        return
    group, at = groups.group(request.message.group_id), response.frame.source.time
    if (request.message.protocol_type or "consumer") != "consumer":
        return
    for one in request.message.assignments:
        groups.assigned_to(group, one.member_id, one.assignment, at)
    if request.message.assignments and group.rebalances:
        last = group.rebalances[-1]
        if last.generation == request.message.generation_id:
            members = {one.member_id: group.members.get(one.member_id) for one in request.message.assignments}
            if None not in members.values():  # otherwise an assignment did not decode
                last.assigned = {name: member.partitions or () for name, member in members.items() if member}
    groups.assigned_to(group, request.message.member_id, message.assignment, at)


def _left(groups: GroupTracker, response: Any, request: Any) -> None:
    if request is None or response.message.error_code:
        return
    group, at = groups.group(request.message.group_id), response.frame.source.time
    if not request.message.members:
        groups.leave(group, request.message.member_id, at)
    refused = {one.member_id for one in response.message.members if one.error_code}
    for one in request.message.members:
        by_instance = [
            m for m in group.members.values() if one.group_instance_id and m.instance_id == one.group_instance_id
        ]
        member_id = one.member_id or (by_instance[0].member_id if by_instance else "")
        if member_id not in refused:
            groups.leave(group, member_id, at)


def _heartbeat(groups: GroupTracker, response: Any, request: Any) -> None:
    """Update a member of KIP-848 or KIP-932: the request contains changes, the response the target assignment."""
    message = response.message
    if request is None or message.error_code:
        return
    asked, at = request.message, response.frame.source.time
    is_share = type(asked).__name__.startswith("Share")
    group = groups.group(asked.group_id, "share" if is_share else "consumer")
    member_id = message.member_id or asked.member_id
    if asked.member_epoch < 0:
        groups.leave(group, member_id, at)
        return
    member = groups.member(group, member_id, request)
    member.epoch = message.member_epoch
    group.generation = max(group.generation or 0, message.member_epoch)
    member.rack = asked.rack_id or member.rack
    member.instance_id = getattr(asked, "instance_id", None) or member.instance_id
    member.regex = getattr(asked, "subscribed_topic_regex", None) or member.regex
    group.assignor = getattr(asked, "server_assignor", None) or group.assignor
    if asked.subscribed_topic_names is not None:
        member.topics = tuple(asked.subscribed_topic_names)
    if message.assignment is not None:
        groups.assign(group, member, groups.flat(message.assignment.topic_partitions), at)


def _described(groups: GroupTracker, response: Any, request: Any) -> None:
    """Process a response that lists all members of KIP-848 or KIP-932 groups."""
    protocol = "share" if type(response.message).__name__.startswith("Share") else "consumer"
    at = response.frame.source.time
    for one in response.message.groups:
        if one.error_code:
            continue
        group = groups.group(one.group_id, protocol)
        group.state, group.generation, group.assignor = one.group_state, one.group_epoch, one.assignor_name
        for gone in group.members.keys() - {member.member_id for member in one.members}:
            groups.leave(group, gone, at)
        for described in one.members:
            member = groups.member(group, described.member_id)
            _describe(member, described)
            member.rack, member.epoch = described.rack_id or None, described.member_epoch
            member.topics = tuple(described.subscribed_topic_names)
            groups.assign(group, member, groups.flat(described.assignment.topic_partitions), at)


def _describe(member: GroupMember, described: Any) -> None:
    member.client_id, member.host = described.client_id, described.client_host.removeprefix("/")
    instance = getattr(described, "group_instance_id", None) or getattr(described, "instance_id", None)
    member.instance_id = instance or member.instance_id


def _described_classic(groups: GroupTracker, response: Any, request: Any) -> None:
    at = response.frame.source.time
    for one in response.message.groups:
        if one.error_code or one.protocol_type not in ("consumer", ""):
            continue
        group = groups.group(one.group_id)
        group.state, group.assignor = one.group_state, one.protocol_data or group.assignor
        for gone in group.members.keys() - {member.member_id for member in one.members}:
            groups.leave(group, gone, at)
        for described in one.members:
            member = groups.member(group, described.member_id)
            _describe(member, described)
            if described.member_metadata:
                groups.subscribe(member, described.member_metadata)
                groups.assigned_to(group, described.member_id, described.member_assignment, at)


def _committed(groups: GroupTracker, response: Any, request: Any) -> None:
    if request is None:
        return
    group = groups.group(request.message.group_id)
    refused = {
        (groups.topic(topic), one.partition_index)
        for topic in response.message.topics
        for one in topic.partitions
        if one.error_code
    }
    for topic in request.message.topics:
        for one in topic.partitions:
            partition = groups.topic(topic), one.partition_index
            if partition not in refused:
                group.committed[partition] = one.committed_offset


def _fetched_offsets(groups: GroupTracker, response: Any, request: Any) -> None:
    message = response.message
    for one in message.groups:
        if not one.error_code:
            _remember(groups, groups.group(one.group_id), one.topics)
    if request is not None and not message.groups and not message.error_code:
        _remember(groups, groups.group(request.message.group_id), message.topics)


def _remember(groups: GroupTracker, group: CapturedGroup, topics: Iterable[Any]) -> None:
    for topic in topics:
        for one in topic.partitions:
            if not one.error_code and one.committed_offset >= 0:
                group.committed[groups.topic(topic), one.partition_index] = one.committed_offset


def _listed(groups: GroupTracker, response: Any, request: Any) -> None:
    if request is None:
        return
    latest = {
        (topic.name, one.partition_index)
        for topic in request.message.topics
        for one in topic.partitions
        if one.timestamp == _LATEST
    }
    for topic in response.message.topics:
        for one in topic.partitions:
            if (topic.name, one.partition_index) in latest and not one.error_code:
                offset = one.offset if one.offset >= 0 else max(one.old_style_offsets, default=-1)
                if offset >= 0:
                    groups.ends[topic.name, one.partition_index] = offset


def _fetched(groups: GroupTracker, response: Any, request: Any) -> None:
    message = response.message
    is_consumer = request is not None and _replica(request.message) < 0
    for topic in message.responses:
        for one in topic.partitions:
            if one.error_code:
                continue
            partition = groups.topic(topic), one.partition_index
            if one.high_watermark >= 0:
                groups.ends[partition] = max(one.high_watermark, groups.ends.get(partition, -1))
            if is_consumer and one.records:
                groups.read(request, response, partition, len(one.records))


def _replica(request: Any) -> int:
    """Return the node id of a follower that fetches; -1 for consumers. From version 15 on the id is in a struct."""
    state = getattr(request, "replica_state", None)
    of_state: int = getattr(state, "replica_id", -1)
    return of_state if of_state >= 0 else int(request.replica_id)


def _deleted_offsets(groups: GroupTracker, response: Any, request: Any) -> None:
    if request is None or response.message.error_code:
        return
    group = groups.group(request.message.group_id)
    for topic in response.message.topics:
        for one in topic.partitions:
            if not one.error_code:
                group.committed.pop((topic.name, one.partition_index), None)


def _deleted(groups: GroupTracker, response: Any, request: Any) -> None:
    for one in response.message.results:
        if not one.error_code:
            groups.groups.pop(one.group_id, None)


_LESSONS: Mapping[str, Callable[[GroupTracker, Any, Any], None]] = {
    "JoinGroupResponse": _joined,
    "SyncGroupResponse": _synced,
    "LeaveGroupResponse": _left,
    "ConsumerGroupHeartbeatResponse": _heartbeat,
    "ShareGroupHeartbeatResponse": _heartbeat,
    "ConsumerGroupDescribeResponse": _described,
    "ShareGroupDescribeResponse": _described,
    "DescribeGroupsResponse": _described_classic,
    "OffsetCommitResponse": _committed,
    "OffsetFetchResponse": _fetched_offsets,
    "DeleteGroupsResponse": _deleted,
    "OffsetDeleteResponse": _deleted_offsets,
    "ListOffsetsResponse": _listed,
    "FetchResponse": _fetched,
}
_ANSWERED = frozenset(name.removesuffix("Response") for name in _LESSONS)
APIS = (*sorted(_ANSWERED), "Metadata", "DescribeCluster", "DescribeTopicPartitions", "UpdateMetadata")
