"""The state of a streams group (KIP-1071), whose broker assigns tasks: members, topology, epochs, target assignment.

A task is active at one member; standby and warm-up tasks keep a copy of its state in other processes. This module
handles no messages. The caller passes the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ...cluster.assignors.members import TopicPartition
from ...cluster.assignors.sticky_tasks import TaskId, TaskOwner, assign_sticky_tasks
from .group_memory import LEAST_SIZE
from .group_types import STREAMS
from .modern_group import GroupState, ModernGroup, ModernMember
from .streams_topology import ConfiguredTopology, StreamsStatus, Topology, source_topics

STICKY = "sticky"  # the only assignor of streams groups
FIRST_EPOCH = 2  # of a group; members without an assignment are at the epoch before
TASK_SIZE = 64  # estimated bytes of a task that a member has


class Role(IntEnum):
    """What a member does with a task, in the order of Kafka's messages."""

    ACTIVE = 0
    STANDBY = 1
    WARMUP = 2


class Task(NamedTuple):
    """A task of a member."""

    role: Role
    subtopology: str
    partition: int

    @property
    def id(self) -> TaskId:
        """The task, whatever its role is."""
        return self.subtopology, self.partition


@dataclass(slots=True, eq=False)
class StreamsMember(ModernMember[Task]):
    """A member of a streams group: a thread of a process.

    Attributes:
        process_id: the process; its members share states on disk.
        topology_epoch: the epoch of the topology that the member runs.
        client_tags: what the process is tagged with.
        endpoint: where its states can be queried; None if nowhere.
        epochs: the epoch from which on the member has each active task; it may commit offsets of the task with a
            member epoch that is not older.
        offsets, end_offsets: the sums of offsets of the states that it has, and of their changelogs.
    """

    process_id: str = ""
    topology_epoch: int = -1
    client_tags: dict[str, str] = field(default_factory=dict)
    endpoint: tuple[str, int] | None = None
    epochs: dict[Task, int] = field(default_factory=dict)
    offsets: dict[TaskId, int] = field(default_factory=dict)
    end_offsets: dict[TaskId, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The size of the member in bytes, without its tasks."""
        tags = sum(len(key) + len(value) for key, value in self.client_tags.items())
        return LEAST_SIZE + len(self.member_id) + len(self.process_id) + tags

    @property
    def about(self) -> tuple[object, ...]:
        """What the member says of itself, as far as it changes assignments (hasEpochRelevantMemberConfigChanged)."""
        return self.topology_epoch, self.rack, dict(self.client_tags), self.process_id

    @property
    def details(self) -> tuple[object, ...]:
        """What else the member says of itself."""
        return self.endpoint, self.rebalance_timeout, self.client_id, self.client_host

    @property
    def stored(self) -> tuple[object, ...]:
        """What is stored of the member."""
        epochs = self.epoch, self.previous_epoch, dict(self.epochs)
        return *self.about, *self.details, *epochs, set(self.assigned), set(self.revoking)

    def take_over(self, before: StreamsMember) -> None:
        """Become the static member that another member was until now."""
        self.rack: str | None = before.rack
        self.process_id = before.process_id
        self.topology_epoch = before.topology_epoch
        self.client_tags = before.client_tags
        self.endpoint = before.endpoint
        self.rebalance_timeout: float = before.rebalance_timeout
        self.assigned: set[Task] = set(before.assigned)
        self.epochs = dict(before.epochs)
        self.previous_epoch = 0

    def move_to(self, epoch: int) -> None:
        """Go on to an epoch, from which on the member has its new active tasks."""
        ModernMember.move_to(self, epoch)
        active = (task for task in self.assigned | self.revoking if task.role is Role.ACTIVE)
        self.epochs = {task: self.epochs.get(task, epoch) for task in active}

    def leave_for_a_while(self) -> None:
        """Leave as a static member whose tasks wait for its return."""
        # Kafka: GroupMetadataManager.streamsGroupStaticMemberGroupLeave
        self.has_left = True
        self.epoch = -2
        self.revoking: set[Task] = set()
        self.epochs = {task: 0 for task in self.assigned if task.role is Role.ACTIVE}


@dataclass(slots=True, eq=False)
class StreamsGroup(ModernGroup[StreamsMember, Task]):
    """The members of one streams group.

    Attributes:
        topology: the topology, from the first member that joined; None until then.
        validated_epoch: the epoch of the topology if all its topics are there; otherwise -1.
        metadata_hash: changes with the topics of the topology.
        configs: the configs with which the target assignment was made.
        assigned_ms: when the target assignment was made; in milliseconds since 1970.
        configured: the tasks of the topology; None if they must be looked up again.
        delayed_until: until when the first assignment waits for more members; None if it does not.
        shutdown: the member that wants the whole application to stop; None if there is none.
        endpoint_epoch: increases when endpoints, or tasks of members that have one, change.
    """

    kind = STREAMS

    target_epoch: int = FIRST_EPOCH - 1
    topology: Topology | None = None
    validated_epoch: int = -1
    metadata_hash: int = 0
    configs: dict[str, str] = field(default_factory=dict)
    assigned_ms: int = 0
    configured: ConfiguredTopology | None = None
    delayed_until: float | None = None
    shutdown: str | None = None
    endpoint_epoch: int = 0

    @property
    def state(self) -> GroupState:
        """The group's state."""
        # Kafka: StreamsGroup.maybeUpdateGroupState
        if self.members and (self.topology is None or self.validated_epoch != self.topology.epoch):
            return GroupState.NOT_READY
        return super(StreamsGroup, self).state

    def reads(self, topic: str) -> bool:
        """Return whether the group subscribes to a topic."""
        # Kafka: StreamsGroup.isSubscribedToTopic
        return bool(self.members) and topic in self.subtopology_of

    @property
    def subtopology_of(self) -> dict[str, str]:
        """The subtopology that reads each topic (Kafka: StreamsTopology.sourceTopicMap)."""
        parts = self.topology.subtopologies if self.topology is not None else ()
        return {name: part.subtopology_id for part in parts for name in source_topics(part)}

    @property
    def stored(self) -> tuple[int, ...]:
        """What tells whether the group must be stored again, beside its members."""
        return self.epoch, self.target_epoch, self.metadata_hash, self.validated_epoch

    def bump(self) -> None:
        """Begin a new epoch; without members, there is nothing to assign in it."""
        # Kafka: GroupMetadataManager.streamsGroupHeartbeat, streamsGroupFenceMember
        self.epoch: int = max(self.epoch + 1, FIRST_EPOCH)
        if not self.members:
            self.target_epoch = self.epoch
            self.assigned_ms = 0
            self.shutdown = None
            self.delayed_until = None

    def configure(self, configured: ConfiguredTopology, metadata_hash: int) -> bool:
        """Store a topology with its tasks; return whether this begins a new epoch: topics have changed, or all of them
        are there now."""
        is_ready = configured.problem is None
        validated = configured.topology.epoch if is_ready else -1
        changed = (validated, metadata_hash) != (self.validated_epoch, self.metadata_hash)
        self.topology = configured.topology
        self.configured = configured
        self.validated_epoch = validated
        self.metadata_hash = metadata_hash
        return changed

    def may_assign(self, now_ms: int, interval_ms: int) -> bool:
        """Return whether a target assignment is due: not while the first one waits for members, nor within an interval
        after the last one."""
        # Kafka: GroupMetadataManager.maybeUpdateStreamsTargetAssignment, canComputeNextTargetAssignment
        if self.epoch <= self.target_epoch or self.delayed_until is not None:
            return False
        return not self.assigned_ms or now_ms >= self.assigned_ms + interval_ms

    def assign(self, now_ms: int) -> None:
        """Compute the target assignment of the current epoch."""
        # Kafka: TargetAssignmentBuilder.build
        self.target_epoch = self.epoch
        self.assigned_ms = now_ms
        self.delayed_until = None
        configured = self.configured
        if configured is None or configured.problem is not None:
            self.target: dict[str, set[Task]] = {name: set() for name in self.members}
            return
        owners = {name: self._describe_owner(member) for name, member in self.members.items()}
        replicas = int(self.configs.get("num.standby.replicas", 0))
        assignment = assign_sticky_tasks(owners, configured.subtopologies, replicas)
        for name, tasks in assignment.items():
            active = {Task(Role.ACTIVE, *task) for task in tasks.active}
            self.target[name] = active | {Task(Role.STANDBY, *task) for task in tasks.standby}

    @staticmethod
    def _describe_owner(member: StreamsMember) -> TaskOwner:
        """Return what the assignor knows of a member: the tasks that it has, not those of its last target."""
        # Kafka: TargetAssignmentBuilder.createMemberMetadataAndState
        active = {task.id for task in member.assigned if task.role is Role.ACTIVE}
        standby = {task.id for task in member.assigned if task.role is Role.STANDBY}
        return TaskOwner(member.process_id, active, standby, member.offsets)

    def is_reconciled(self, member: StreamsMember) -> bool:
        """Return whether a member has exactly what it shall have."""
        return not member.has_left and ModernGroup.is_reconciled(self, member)

    def free_items(self, member: StreamsMember, wanted: set[Task]) -> set[Task]:
        """Return those tasks that a member can have now: nobody runs an active task, and its process does not have the
        task in another member, nor in a role that it could not change from."""
        # Kafka: CurrentAssignmentBuilder.isUnreleasedActiveTask, isUnreleasedStandbyTask, isUnreleasedWarmupTask
        active: set[TaskId] = set()  # in any process
        others: dict[Role, set[TaskId]] = {role: set() for role in Role}  # what other members of the process have
        own: dict[Role, set[TaskId]] = {role: set() for role in Role}
        for other in self.members.values():
            for task in other.assigned | other.revoking:
                if task.role is Role.ACTIVE:
                    active.add(task.id)
                if other.process_id == member.process_id:
                    is_own = other is member and task in member.assigned
                    (own if is_own else others)[task.role].add(task.id)
        standby, warmup = others[Role.STANDBY], others[Role.WARMUP]
        taken = {
            Role.ACTIVE: active | standby | warmup,
            Role.STANDBY: others[Role.ACTIVE] | standby | own[Role.STANDBY] | warmup,
            Role.WARMUP: others[Role.ACTIVE] | own[Role.ACTIVE] | standby | warmup | own[Role.WARMUP],
        }
        return {task for task in wanted if task.id not in taken[task.role]}

    def change_roles(
        self, member: StreamsMember, kept: set[Task], revoking: set[Task], free: set[Task], owned: set[Task] | None
    ) -> None:
        """Let a member keep tasks that only get another role.

        An active task becomes a standby task at once, and standby and warm-up tasks each other; a standby task stays
        one until the member gets it as an active task.
        """
        # Kafka: CurrentAssignmentBuilder.demoteActiveTasksToStandby, convertReplicaRole
        for task in list(member.assigned):
            for role in (Role.STANDBY, Role.WARMUP):
                other = task._replace(role=role)
                is_change = task.role is not role and not (task.role is Role.ACTIVE and role is Role.WARMUP)
                if is_change and other in free:
                    free.discard(other)
                    kept.add(other)
                    if task.role is not Role.ACTIVE:
                        revoking.discard(task)
        # Kafka: CurrentAssignmentBuilder.applyPromotionsToActive
        promoted = {task for task in revoking if self._is_promoted(member, task)}
        revoking -= promoted
        must_revoke = bool(revoking) and (owned is None or bool(owned & revoking))
        kept |= {task for task in promoted if must_revoke or task._replace(role=Role.ACTIVE) not in free}

    def _is_promoted(self, member: StreamsMember, task: Task) -> bool:
        target = self.target.get(member.member_id, set())
        return task.role is not Role.ACTIVE and task._replace(role=Role.ACTIVE) in target

    def statuses(self, member: StreamsMember) -> Iterator[tuple[StreamsStatus, str]]:
        """Yield what is reported to a member of its group, each with a text."""
        topology = self.topology
        if topology is not None and member.topology_epoch < topology.epoch:
            text = f"the member runs topology epoch {member.topology_epoch}, the group {topology.epoch}"
            yield StreamsStatus.STALE_TOPOLOGY, text
        if self.epoch > self.target_epoch:
            yield StreamsStatus.ASSIGNMENT_DELAYED, "the assignment waits for more changes of the group"
        if self.configured is not None and self.configured.problem is not None:
            status, text = self.configured.problem
            if status is not None:
                yield status, text
        if self.shutdown is not None:
            yield StreamsStatus.SHUTDOWN_APPLICATION, f"member {self.shutdown} asks all members to stop"

    def may_commit(self, member: StreamsMember, epoch: int, partitions: Iterable[TopicPartition]) -> bool:
        """Return whether a member may commit offsets with an epoch: its own, or one that is not older than the
        assignment of the tasks, as KIP-1251 has it for consumer groups."""
        # Kafka: StreamsGroup.validateOffsetCommit, createAssignmentEpochValidator
        if epoch >= member.epoch:
            return epoch == member.epoch
        subtopologies = self.subtopology_of
        tasks = (Task(Role.ACTIVE, subtopologies.get(topic, ""), index) for topic, index in partitions)
        return all(task in member.epochs and epoch >= member.epochs[task] for task in tasks)


def partitions_of(
    group: StreamsGroup, tasks: Iterable[Task], counts: Mapping[str, int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the partitions of topics that tasks read (Kafka: EndpointToPartitionsManager).

    Args:
        group: the group.
        tasks: the tasks.
        counts: the partition count of each topic.
    """
    by_part: dict[str, set[int]] = {}
    for task in tasks:
        by_part.setdefault(task.subtopology, set()).add(task.partition)
    for part in group.topology.subtopologies if group.topology is not None else ():
        for name in source_topics(part):
            indexes = sorted(index for index in by_part.get(part.subtopology_id, ()) if index < counts.get(name, 0))
            if indexes:
                yield name, tuple(indexes)
