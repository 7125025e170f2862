"""The controller of a served cluster: topics made, grown and deleted, replicas placed, leaders elected.

Knows brokers and their directories, and no messages. What cannot be done is `Refused`, with Kafka's error code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from ..cluster import Broker
from ..cluster.replica_assignors import assignor_for
from ..refusals import (
    InvalidReplicaAssignment,
    InvalidTopicException,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from .disks import Disk
from .logs import Log
from .nodes import LogDir, Node
from .partitions import Partition, Replica
from .settings import Settings

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # as Kafka's, so that it is a safe name of a folder


@dataclass(slots=True)
class Topic:
    """A topic; `partitions` are by index from 0 on."""

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str | None] = field(default_factory=dict)


class Controller:
    """The state of the cluster, and what changes it.

    >>> from random import Random
    >>> controller = Controller([Node(1), Node(2)], Settings(), Random(1))
    >>> topic = controller.create("orders", {0: [2, 1]})
    >>> [(one.leader, one.isr) for one in topic.partitions]
    [(2, [2, 1])]
    >>> controller.fail(controller.nodes[2].log_dirs[0])
    >>> [(one.leader, one.isr, one.offline) for one in topic.partitions]
    [(1, [1], (2,))]
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        self.nodes = {node.node_id: node for node in nodes}
        self.settings, self.rng = settings, rng
        self.topics: dict[str, Topic] = {}
        self.by_id: dict[bytes, Topic] = {}
        self.controller_id = min(self.nodes)

    def brokers(self) -> list[Broker]:
        """Return the brokers that are alive."""
        return [node.broker() for node in self.nodes.values() if node.is_alive]

    def find(self, name: str | None, topic_id: bytes = bytes(16)) -> Topic | None:
        """Find a topic by name, or where that is empty by id."""
        return self.topics.get(name) if name else self.by_id.get(topic_id)

    def partitions(self) -> Iterator[Partition]:
        """Give all partitions of all topics."""
        for topic in self.topics.values():
            yield from topic.partitions

    def load(self) -> None:
        """Find the topics that the directories hold. Where no file says it, replicas stand by broker id, and those
        with all records are in sync; the others are given what they lack."""
        found: dict[str, dict[int, dict[int, Replica]]] = {}
        for node in self.nodes.values():
            for log_dir in node.log_dirs:
                for name, index in self._listed(log_dir):
                    replicas = found.setdefault(name, {}).setdefault(index, {})
                    replicas.setdefault(node.node_id, self._opened(log_dir, name, index))
        for name, partitions in sorted(found.items()):
            topic = Topic(name, self.rng.randbytes(16))
            self.topics[name] = self.by_id[topic.topic_id] = topic
            for index in range(min(max(partitions) + 1, self.settings.most_partitions)):
                partition = Partition(name, index, dict(sorted(partitions.get(index, {}).items())))
                self.fail(*partition.recover())
                topic.partitions.append(partition)
        self.fail()

    def _listed(self, log_dir: LogDir) -> list[tuple[str, int]]:
        listed: list[tuple[str, int]] = []
        self._guarded(log_dir, lambda disk: listed.extend(disk.partitions()))
        return listed

    def place(self, num_partitions: int, replication_factor: int) -> dict[int, list[int]]:
        """Choose brokers for new partitions, as the setting's assignor does; -1 means the settings' numbers."""
        count = self.settings.num_partitions if num_partitions == -1 else num_partitions
        factor = self.settings.default_replication_factor if replication_factor == -1 else replication_factor
        self._check_room(count)
        place = assignor_for(self.settings.replica_assignor)
        return {index: list(ids) for index, ids in place(self.brokers(), count, factor, self.rng).items()}

    def check_name(self, name: str) -> None:
        """Refuse a name that a new topic cannot have."""
        if not _NAME.fullmatch(name) or name in (".", ".."):
            raise InvalidTopicException("bad_topic_name", topic=name)
        if name in self.topics:
            raise TopicAlreadyExists("topic_exists", topic=name)

    def check_assignment(self, assignment: Mapping[int, Sequence[int]], first: int = 0) -> None:
        """Refuse an assignment of a client's own: of other partitions than the next, or to brokers that are not."""
        if sorted(assignment) != list(range(first, first + len(assignment))):
            raise InvalidReplicaAssignment("partitions_not_consecutive", first=first, found=sorted(assignment))
        for index, ids in assignment.items():
            if not ids:
                raise InvalidReplicaAssignment("empty_replica_list", partition=index)
            if len(set(ids)) < len(ids):
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=index, replicas=list(ids))
            if unknown := sorted(node_id for node_id in ids if node_id not in self.nodes):
                raise InvalidReplicaAssignment("unknown_broker", unknown=unknown)

    def create(
        self, name: str, assignment: Mapping[int, Sequence[int]], configs: Mapping[str, str | None] | None = None
    ) -> Topic:
        """Make a topic.

        Args:
            name: letters, digits, `.`, `_` and `-`.
            assignment: for each partition from 0 on the ids of its brokers.
            configs: its settings; they are kept and shown, and change nothing.

        Raises:
            InvalidTopicException, TopicAlreadyExists, InvalidReplicaAssignment, PolicyViolation: it cannot be.
        """
        self.check_name(name)
        self.check_assignment(assignment)
        self._check_room(len(assignment))
        topic = Topic(name, self.rng.randbytes(16), configs=dict(configs or {}))
        self.topics[name] = self.by_id[topic.topic_id] = topic
        self._add(topic, assignment)
        return topic

    def grow(self, name: str, assignment: Mapping[int, Sequence[int]]) -> None:
        """Add partitions to a topic; raises as `create`, and UnknownTopicOrPartition."""
        topic = self.known(name)
        self.check_assignment(assignment, len(topic.partitions))
        self._check_room(len(assignment))
        self._add(topic, assignment)

    def known(self, name: str) -> Topic:
        """Return a topic; raises UnknownTopicOrPartition."""
        if name not in self.topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=name)
        return self.topics[name]

    def delete(self, topic: Topic) -> None:
        """Delete a topic with all its records."""
        del self.topics[topic.name], self.by_id[topic.topic_id]
        for partition in topic.partitions:
            partition.leader = -1
            partition.close()
            for replica in partition.replicas.values():
                replica.log_dir.replicas -= 1
                self._guarded(replica.log_dir, partial(_forget, partition))

    def fail(self, *log_dirs: LogDir) -> None:
        """Take log directories offline: their replicas are lost, and others lead. Their broker may be at its end."""
        for log_dir in log_dirs:
            log_dir.is_offline = True
        alive = [node_id for node_id, node in self.nodes.items() if node.is_alive]
        self.controller_id = min(alive, default=-1)
        for partition in self.partitions():
            if partition.offline:
                partition.elect()

    def _check_room(self, count: int) -> None:
        if count > self.settings.most_partitions - sum(len(topic.partitions) for topic in self.topics.values()):
            raise PolicyViolation("too_many_partitions", most=self.settings.most_partitions)

    def _add(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> None:
        for index, ids in sorted(assignment.items()):
            replicas = {node_id: self._replica(self.nodes[node_id], topic.name, index) for node_id in ids}
            partition = Partition(topic.name, index, replicas, isr=list(ids))
            partition.elect()
            topic.partitions.append(partition)

    def _replica(self, node: Node, topic: str, index: int) -> Replica:
        """Put a replica where fewest partitions are."""
        log_dirs = [one for one in node.log_dirs if not one.is_offline] or node.log_dirs
        log_dir = min(log_dirs, key=lambda one: one.replicas)
        return self._opened(log_dir, topic, index)

    def _opened(self, log_dir: LogDir, topic: str, index: int) -> Replica:
        log_dir.replicas += 1
        replica = Replica(log_dir, None)

        def open_log(disk: Disk) -> None:
            replica.log = Log(disk.open(topic, index))

        self._guarded(log_dir, open_log)
        return replica

    def _guarded(self, log_dir: LogDir, act: Callable[[Disk], None]) -> None:
        """Use a disk; if it fails, its directory is offline from then on."""
        try:
            if not log_dir.is_offline:
                act(log_dir.disk)
        except OSError:
            self.fail(log_dir)


def _forget(partition: Partition, disk: Disk) -> None:
    disk.delete(partition.topic, partition.index)
