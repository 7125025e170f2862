"""Plain values of a captured consumer group: its members, offsets and rebalances. None stands for unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..assignors import Member, MetadataSnapshot
from ..assignors.members import TopicPartition


@dataclass(slots=True)
class FetchTraffic:
    """The Fetch traffic of a member for one partition and broker: the number of responses, and the bytes of records."""

    fetches: int = 0
    bytes: int = 0


class CapturedTask(NamedTuple):
    """A task of a member of a streams group; `role` is active, standby or warmup."""

    role: str
    subtopology: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


class CapturedSubtopology(NamedTuple):
    """A part of a topology: the topics that it reads and writes, repartition topics included, and its changelogs."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    changelogs: tuple[str, ...]


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
        tasks: the tasks of a member of a streams group (KIP-1071), which `partitions` follow from; None if unknown.
        process_id, topology_epoch: of a member of a streams group: its process, and the topology that it runs.
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
    tasks: tuple[CapturedTask, ...] | None = None
    process_id: str | None = None
    topology_epoch: int | None = None


@dataclass(slots=True)
class CapturedGroup:
    """A group. `protocol` is classic, consumer (KIP-848), share (KIP-932) or streams (KIP-1071); for all but classic,
    `generation` is the epoch.

    `committed` has the offsets by partition: of a share group the first ones that are not done with, and `lags` has
    what the broker says is left, because records after them may be done with (KIP-1226). `state` is from the last
    describe response. `rebalances` has the last 100 rebalances of a classic group whose leader was captured, in order.
    Of a streams group, `topology` has the subtopologies of the topology with this epoch, and `problems` what the last
    response reported.
    """

    group_id: str
    protocol: str = "classic"
    state: str | None = None
    generation: int | None = None
    assignor: str | None = None
    leader: str | None = None
    members: dict[str, GroupMember] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    lags: dict[TopicPartition, int] = field(default_factory=dict)
    rebalances: list[Rebalance] = field(default_factory=list)
    topology_epoch: int | None = None
    topology: tuple[CapturedSubtopology, ...] = ()
    problems: tuple[str, ...] = ()

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
