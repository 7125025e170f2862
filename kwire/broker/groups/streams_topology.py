"""The topology of a streams group (KIP-1071): its tasks, and the internal topics that it needs.

As Kafka's InternalTopicManager, with RepartitionTopics, CopartitionedTopicsEnforcer and ChangelogTopics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, NoReturn
from zlib import crc32

from ... import messages
from ...cluster.assignors.sticky_tasks import Subtopology
from ..controller.topic import Topic

Topology = messages.StreamsGroupTopologyValue  # as it is stored
SubtopologyRecord = messages.StreamsGroupTopologyValue.Subtopology


class StreamsStatus(IntEnum):
    """What is reported to members of their group, by Kafka's StreamsGroupHeartbeatResponse.Status."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class TopologyProblem(NamedTuple):
    """Why a topology has no tasks: a status, which is None if no topics could satisfy the topology; and the text."""

    status: StreamsStatus | None
    text: str


class _Refusal(Exception):
    """Ends the configuration of a topology; the argument is a `TopologyProblem`."""


class WantedTopic(NamedTuple):
    """An internal topic: its name, partition count, replication factor (-1: the default) and configs."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology, and what follows from the topics there are.

    Attributes:
        topology: the topology.
        subtopologies: the subtopologies with their tasks, ordered by name; none as long as there is a problem with
            topics of the application's.
        counts: the partition counts of the internal topics.
        missing: the internal topics to create.
        problem: why there are no tasks; None if there are.
    """

    topology: Topology
    subtopologies: tuple[Subtopology, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    missing: tuple[WantedTopic, ...] = ()
    problem: TopologyProblem | None = None


def source_topics(subtopology: SubtopologyRecord) -> list[str]:
    """Return the topics that a subtopology reads."""
    return [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)]


def required_topics(topology: Topology) -> set[str]:
    """Return the topics that a topology needs, internal ones included (Kafka: StreamsTopology.requiredTopics)."""
    changelogs = {topic.name for part in topology.subtopologies for topic in part.state_changelog_topics}
    return changelogs.union(*map(source_topics, topology.subtopologies))


def hash_topics(topology: Topology, topics: Mapping[str, Topic]) -> int:
    """Return a number that changes with the topics that a topology needs; not Kafka's hash of the same facts."""
    required = (topics[name] for name in sorted(required_topics(topology)) if name in topics)
    return crc32(repr([(topic.topic_id, len(topic.partitions)) for topic in required]).encode())


def configure_topology(topology: Topology, existing: Mapping[str, int]) -> ConfiguredTopology:
    """Return the tasks of a topology, and the internal topics that are missing.

    Args:
        topology: the topology.
        existing: the partition counts of all topics.
    """
    # Kafka: InternalTopicManager.configureTopics
    try:
        return _Configuration(topology, existing).result()
    except _Refusal as error:
        return ConfiguredTopology(topology, problem=error.args[0])


class _Configuration:
    """A topology whose partition counts are being decided."""

    def __init__(self, topology: Topology, existing: Mapping[str, int]) -> None:
        self.topology = topology
        self.parts = topology.subtopologies
        self.existing = existing
        self.decided: dict[str, int] = {}
        fixed = (topic for part in self.parts for topic in part.repartition_source_topics)
        self.repartition = {topic.name: topic.partitions for topic in fixed}  # 0 leaves it to the broker

    def result(self) -> ConfiguredTopology:
        # 1. The topics that the application reads must exist.
        missing = sorted({name for part in self.parts for name in part.source_topics} - self.existing.keys())
        if missing:
            _refuse(StreamsStatus.MISSING_SOURCE_TOPICS, f"source topics do not exist: {_shorten(missing)}")
        # 2. The partition counts of internal topics.
        self._count_repartition_topics()
        for part in self.parts:
            for group in part.copartition_groups:
                self._copartition(part, group)
        for part in self.parts:
            self._count_changelogs(part)
        # 3. The tasks: one for each partition of the largest topic that is read (computeNumberOfTasks).
        subtopologies = sorted(
            Subtopology(part.subtopology_id, self._largest(part), bool(part.state_changelog_topics))
            for part in self.parts
        )
        # 4. The internal topics that exist must be as they should be; the others are to be created.
        wanted = tuple(self._find_missing())
        problem = None
        if wanted:
            names = _shorten(topic.name for topic in wanted)
            problem = TopologyProblem(StreamsStatus.MISSING_INTERNAL_TOPICS, f"internal topics do not exist: {names}")
        return ConfiguredTopology(self.topology, tuple(subtopologies), self.decided, wanted, problem)

    def _count(self, name: str) -> int:
        count = self.existing.get(name, self.decided.get(name))
        if count is None:
            _refuse(None, f"nobody writes the topic {name}")
        return count

    def _largest(self, part: SubtopologyRecord) -> int:
        counts = [self._count(name) for name in source_topics(part)]
        if not counts:
            _refuse(None, f"the subtopology {part.subtopology_id} reads no topics")
        return max(counts)

    def _count_repartition_topics(self) -> None:
        """Count the repartition topics from those that are read by the subtopologies that write them."""
        # Kafka: RepartitionTopics.computeRepartitionTopicPartitionCount
        self.decided = {name: count for name, count in self.repartition.items() if count}
        waiting = [(name, part) for part in self.parts for name in part.repartition_sink_topics]
        while waiting := [(name, part) for name, part in waiting if name not in self.decided]:
            before = len(self.decided)
            for name, part in waiting:
                counts = [self.decided.get(topic.name, 0) for topic in part.repartition_source_topics]
                counts += [self.existing[topic] for topic in part.source_topics]
                if name not in self.decided and max(counts, default=0):
                    self.decided[name] = max(counts)
            if len(self.decided) == before:
                _refuse(None, "repartition topics depend on each other")
        unwritten = sorted(self.repartition.keys() - self.decided.keys())
        if unwritten:
            _refuse(None, f"nobody writes the repartition topics {_shorten(unwritten)}")

    def _copartition(self, part: SubtopologyRecord, group: messages.StreamsGroupTopologyValue.CopartitionGroup) -> None:
        """Give the repartition topics of a group the same partition count as its other topics have."""
        # Kafka: CopartitionedTopicsEnforcer.enforce
        try:
            names = {part.source_topics[index] for index in group.source_topics}
            names |= {part.repartition_source_topics[index].name for index in group.repartition_source_topics}
        except IndexError:
            _refuse(None, f"a copartition group of {part.subtopology_id} has no such topic")
        inner = {name: self._count(name) for name in sorted(names & self.repartition.keys())}
        outer = {name: self._count(name) for name in sorted(names - self.repartition.keys())}
        fixed = [name for name, count in self.repartition.items() if count]
        if outer:
            same = outer
        elif fixed:
            same = {name: self._count(name) for name in fixed}
        else:
            same = dict.fromkeys(inner, max(inner.values(), default=0))
        if len(set(same.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in same.items())
            _refuse(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, f"topics are not copartitioned: {counts} partitions")
        for name, count in inner.items():
            wanted = next(iter(same.values()))
            if name in fixed and count != wanted:
                text = f"the repartition topic {name} has {count} partitions instead of {wanted}"
                _refuse(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, text)
            self.decided[name] = wanted

    def _count_changelogs(self, part: SubtopologyRecord) -> None:
        # Kafka: ChangelogTopics.setup
        largest = self._largest(part)
        sources = source_topics(part)
        for topic in part.state_changelog_topics:
            if topic.name not in sources:
                self.decided[topic.name] = largest

    def _find_missing(self) -> Iterator[WantedTopic]:
        # Kafka: InternalTopicManager.missingInternalTopics
        topics = {
            topic.name: topic
            for part in self.parts
            for topic in (*part.repartition_source_topics, *part.state_changelog_topics)
        }
        for name, topic in topics.items():
            count = topic.partitions or self._count(name) if name not in self.decided else self.decided[name]
            partition_count = self.existing.get(name)
            if partition_count is None:
                configs = {config.key: config.value for config in topic.topic_configs}
                yield WantedTopic(name, count, topic.replication_factor or -1, configs)
            elif partition_count != count:
                text = f"the internal topic {name} has {partition_count} partitions instead of {count}"
                _refuse(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, text)


def _refuse(status: StreamsStatus | None, text: str) -> NoReturn:
    raise _Refusal(TopologyProblem(status, text))


def _shorten(names: Iterable[str]) -> str:
    """Return names as text; of many, only the first three."""
    listed = list(names)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + more
