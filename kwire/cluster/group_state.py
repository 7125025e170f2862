"""Consumer groups as plain values: members, rebalances, and the rows of their tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .assignors import Member, Snapshot
from .assignors.members import TopicPartition


@dataclass(slots=True)
class Reading:
    """The Fetch traffic of a member for one partition and broker: Fetch answers, and bytes of records."""

    fetches: int = 0
    bytes: int = 0


@dataclass(slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        member_id: given by the coordinator, or from KIP-848 on by the client.
        instance_id: of a static member (KIP-345).
        client_id, host: of the connection it joined on, without the port.
        rack: `client.rack`, from its subscription, its heartbeats or its fetches; None if there is none.
        topics: that it subscribed to; None if unknown.
        regex: the pattern it subscribed with (KIP-848).
        partitions: assigned to it, in order; None if unknown.
        epoch: of the member (KIP-848), or the generation it joined.
        since: when it got these partitions, in seconds since 1970; `generation` of the group at that time.
        reads: what it fetched, by partition and by the broker's node id; None for an unknown broker.
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
    reads: dict[TopicPartition, dict[int | None, Reading]] = field(default_factory=dict)


@dataclass(slots=True)
class GroupState:
    """A group: `protocol` is classic, consumer (KIP-848) or share (KIP-932), `generation` the epoch of the latter two.

    `committed` are the offsets by partition; `state` is that of the last describe response. `rebalances` are the last
    100 of a classic group whose leader was seen, in order.
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
        """Whether more than its name was seen."""
        return bool(self.members or self.committed or self.state or self.generation is not None)


@dataclass(slots=True)
class Rebalance:
    """The input and the result of an assignment by the leader of a classic group.

    Attributes:
        generation, assignor, leader: of the group.
        members: the assignor's input, in the order of the JoinGroup response.
        topics: those that they subscribe to and that metadata had listed by then, with the racks of replicas.
        snapshot: the leader's copy of these, with which it detects changes of racks.
        assigned: the leader's assignment; None until it is captured.
        at: seconds since 1970.
        release: of the leader, if it is a Java client that stated its software (KIP-511).
    """

    generation: int
    assignor: str
    leader: str
    members: list[Member]
    topics: dict[str, dict[int, list[str | None]]]
    snapshot: Snapshot
    assigned: dict[str, tuple[TopicPartition, ...]] | None = None
    at: float | None = None
    release: str | None = None


class MemberRow(NamedTuple):
    """A member of a group with the partitions that it had from one moment to another.

    `since` and `until` are seconds since 1970; `until` is None as long as it has them, both where no frame had a time.

    `local_partitions` are those of its partitions with a replica in its rack, None without its or all brokers' racks;
    `read_partitions` those it was seen to read, `read_across` those of them read from a broker of another rack;
    `bytes_read` and `bytes_across` the records in these answers. `lag` adds up the partitions whose lag is known.
    """

    group: str
    protocol: str
    generation: int | None
    assignor: str | None
    member_id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    rack: str | None
    topics: tuple[str, ...] | None
    partitions: tuple[str, ...] | None
    lag: int | None
    local_partitions: int | None
    read_partitions: int
    read_across: int | None
    bytes_read: int
    bytes_across: int | None
    since: float | None
    until: float | None = None


class PartitionRow(NamedTuple):
    """A partition of a group: its member, its committed and end offsets, and the brokers from which it is read."""

    group: str
    topic: str
    partition: int
    member_id: str | None
    rack: str | None
    committed: int | None
    end: int | None
    lag: int | None
    leader: int | None
    replica_racks: tuple[str | None, ...] | None
    read_from: tuple[int, ...]
    is_across: bool | None
