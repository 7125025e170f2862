"""The consumer groups that captured responses describe: members, racks, subscriptions, lag, reads across racks.

Sources: KIP-881, KIP-848, KIP-392. Unknown values are None; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import DecodeError
from ...protocol import Request, Response
from ...protocol.nested import decode_assignment, decode_subscription
from ..assignors import Member, MetadataSnapshot, snapshot_of, topics_of
from ..assignors.members import TopicPartition
from ..state import ClusterState
from .group import CapturedGroup, FetchTraffic, GroupMember, Rebalance
from .rows import MemberRow, PartitionRow
from .subscriptions import assignor_member

_NO_ID = bytes(16)
_REBALANCES = 100  # the number of rebalances per group that are kept, with their metadata


class CapturedGroups:
    """The consumer groups that responses describe, and the rows of their tables.

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
        self._unnamed: set[bytes] = set()  # ids that stand for names so far
        self._past: list[MemberRow] = []
        self._nodes: dict[str, int] = {}
        self._racks: dict[int, str | None] = {}

    def learn_brokers(self) -> None:
        """Remember the addresses and racks of the brokers; they are kept if a broker stops."""
        for broker in (self.cluster.brokers or {}).values():
            self._nodes[f"{broker.host}:{broker.port}"] = broker.node_id
            self._racks[broker.node_id] = broker.rack

    def learn_topic_ids(self, message: Any) -> None:
        """Record the topic ids in a message, and rename topics that were known by their ids only (KIP-516)."""
        for topic in (*getattr(message, "topics", ()), *getattr(message, "topic_states", ())):
            topic_id = getattr(topic, "topic_id", _NO_ID)
            name = getattr(topic, "name", None) or getattr(topic, "topic_name", None)
            if name and topic_id != _NO_ID:
                self.learn_topic_id(topic_id, name)

    def learn_topic_id(self, topic_id: bytes, name: str) -> None:
        """Record the name of a topic id, and rename the topic if it was known by its id only."""
        if self._names.get(topic_id) != name:
            self._names[topic_id] = name
            if topic_id in self._unnamed:
                self._unnamed.remove(topic_id)
                self._rename_topic(topic_id.hex(), name)

    def _rename_topic(self, old_name: str, name: str) -> None:
        def rename(partition: TopicPartition) -> TopicPartition:
            topic, index = partition
            return (name, index) if topic == old_name else partition

        self.ends = {rename(partition): end for partition, end in self.ends.items()}
        for group in self.groups.values():
            group.committed = {rename(partition): offset for partition, offset in group.committed.items()}
            group.lags = {rename(partition): lag for partition, lag in group.lags.items()}
            for member in group.members.values():
                if member.partitions is not None:
                    member.partitions = tuple(map(rename, member.partitions))
                member.reads = {rename(partition): reads for partition, reads in member.reads.items()}

    def topic(self, of: Any) -> str:
        """Return the topic name in a message; the topic id in hex while the name is unknown."""
        name = getattr(of, "name", None) or getattr(of, "topic_name", None) or getattr(of, "topic", None)
        topic_id = getattr(of, "topic_id", _NO_ID)
        name = name or self._names.get(topic_id)
        if not name:
            self._unnamed.add(topic_id)
        return name or topic_id.hex()

    def flat(self, topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
        """Return the partitions in a list of topics."""
        return tuple((self.topic(topic), number) for topic in topics for number in topic.partitions)

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
        assigned = tuple(partitions)
        if member.partitions is not None and set(assigned) == set(member.partitions):
            return
        self._close_row(group, member, at)
        member.partitions = assigned
        member.since = at
        member.reads = {}
        member.generation = group.generation

    def leave(self, group: CapturedGroup, member_id: str, at: float | None) -> None:
        """Remove a member."""
        member = group.members.pop(member_id, None)
        if member is not None:
            self._close_row(group, member, at)

    def _close_row(self, group: CapturedGroup, member: GroupMember, at: float | None) -> None:
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
        for joined in message.members:
            try:
                members.append(
                    assignor_member(message.protocol_name, joined.member_id, joined.metadata, joined.group_instance_id)
                )
            except DecodeError:
                return  # counted where the member's own subscription is read
        subscribed = {topic for member in members for topic in member.topics}
        topics = {topic: racks for topic, racks in topics_of(self.cluster).items() if topic in subscribed}
        metadata = snapshot_of(self.cluster, message.generation_id)
        rebalance = Rebalance(
            message.generation_id,
            message.protocol_name,
            message.leader,
            members,
            topics,
            MetadataSnapshot(metadata.version, {topic: metadata.topics[topic] for topic in topics}),
            at=response.frame.source.time,
            release=_java_client_release(response),
        )
        group.rebalances.append(rebalance)
        del group.rebalances[:-_REBALANCES]

    def record_assignment(self, group: CapturedGroup, member_id: str, data: bytes, at: float | None) -> None:
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
        owners = []
        for group in self.groups.values():
            for member in group.members.values():
                is_client = member.client_id == request.client.client_id and member.host == host
                if is_client and partition in (member.partitions or ()):
                    owners.append(member)
        if len(owners) > 1:
            self.ambiguous += 1
        elif owners:
            (owner,) = owners
            owner.rack = owner.rack or getattr(request.message, "rack_id", "") or None
            traffic = owner.reads.setdefault(partition, {}).setdefault(self.node_of(response), FetchTraffic())
            traffic.fetches += 1
            traffic.bytes += size

    def members(self, group_id: str | None = None) -> Iterator[MemberRow]:
        """Yield the members of all groups, or of one, by group and member."""
        for group in self._sort_groups(group_id):
            for member in sorted(group.members.values(), key=lambda member: member.member_id):
                yield self._member_row(group, member)

    def partitions(self, group_id: str | None = None) -> Iterator[PartitionRow]:
        """Yield the partitions that a group has assigned or committed, by group, topic and number."""
        for group in self._sort_groups(group_id):
            owners = {partition: member for member in group.members.values() for partition in member.partitions or ()}
            for partition in sorted({*owners, *group.committed}):
                yield self._partition_row(group, partition, owners.get(partition))

    def history(self, group_id: str | None = None) -> list[MemberRow]:
        """Return the intervals in which members had partitions, ordered by their end, followed by the current ones."""
        past = [row for row in self._past if group_id in (None, row.group)]
        return [*past, *self.members(group_id)]

    def _sort_groups(self, group_id: str | None) -> list[CapturedGroup]:
        return [self.groups[name] for name in sorted(self.groups) if group_id in (None, name)]

    def _rack(self, node: int | None) -> str | None:
        return None if node is None else self._racks.get(node)

    def _lag(self, group: CapturedGroup, partition: TopicPartition) -> int | None:
        if group.protocol == "share":
            return group.lags.get(partition)
        committed = group.committed.get(partition)
        end = self.ends.get(partition)
        return None if committed is None or end is None else max(0, end - committed)

    def _replica_racks(self, partition: TopicPartition) -> tuple[str | None, ...] | None:
        known = self.cluster.topics.get(partition[0], {}).get(partition[1])
        return None if known is None else tuple(self._rack(node) for node in known.replicas)

    def _count_local(self, member: GroupMember) -> int | None:
        """Count the partitions with a replica in the member's rack."""
        racks = [self._replica_racks(partition) for partition in member.partitions or ()]
        if member.rack is None or member.partitions is None or None in racks:
            return None
        return sum(member.rack in replica_racks for replica_racks in racks if replica_racks is not None)

    def _is_across(self, member: GroupMember, partition: TopicPartition) -> bool | None:
        """Whether a member was seen to read a partition from another rack; None if unknown."""
        racks = {self._rack(node) for node in member.reads.get(partition, {})}
        if not racks or member.rack is None or None in racks:
            return None
        return racks != {member.rack}

    def _member_row(self, group: CapturedGroup, member: GroupMember, until: float | None = None) -> MemberRow:
        partitions = member.partitions
        lags = [lag for partition in partitions or () if (lag := self._lag(group, partition)) is not None]
        across = [self._is_across(member, partition) for partition in member.reads]
        traffic_by_rack = [
            (self._rack(node), traffic) for reads in member.reads.values() for node, traffic in reads.items()
        ]
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
            None if partitions is None else _name_partitions(partitions),
            sum(lags) if lags else None,
            self._count_local(member),
            len(member.reads),
            sum(map(bool, across)) if is_known else None,
            sum(traffic.bytes for _, traffic in traffic_by_rack),
            sum(traffic.bytes for rack, traffic in traffic_by_rack if rack != member.rack) if is_known else None,
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


def _java_client_release(response: Response) -> str | None:
    """Return the Kafka release of a Java client, from a version such as `apache-kafka-java 3.9.1`."""
    name, _, version = response.client.software.partition(" ")
    is_release = name == "apache-kafka-java" and re.fullmatch(r"[0-9]+(\.[0-9]+){1,3}", version, re.ASCII)
    return version if is_release else None


def _name_partitions(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    return tuple(f"{topic}-{number}" for topic, number in sorted(partitions))
