"""The model of a cluster: takes messages, records of the metadata log and znodes; returns the state and the history.

Refused requests are ignored. Contradictions are resolved by epochs, then by `Authority`. Missing sources are listed.
"""

from __future__ import annotations

import re
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..values import ErrorCode
from ..zookeeper import Znode
from .events import event as found_in
from .events.event import (
    CONTROLLER,
    DELETED,
    DIRECTORIES,
    LOG,
    MESSAGES,
    VIEWS,
    Authority,
    Event,
    Listed,
    Observation,
    partition_errors,
    partition_of,
    state_of,
)
from .events.metadata_log import LoggedRecord, MetadataLog, topic_name
from .events.znodes import Znodes
from .history.offline_replicas import Answer, Directories, DirectoryCounts, Offline, metrics
from .history.tables import Conflict, Racks, Source, Tables, lives, reassignments, shrinks, states
from .history.timeline import LAG, METADATA_LOG, ZNODES, Brokers, Moment, Timeline
from .state import Broker, ClusterState, Partition, Settings

MOST = 10_000  # messages that wait at the same time
_REASSIGN = "AlterPartitionReassignmentsRequest"
_ANSWERED = {*CONTROLLER, _REASSIGN}
SNAPSHOT = "snapshot of the metadata log"  # the name of this source


Seen = Observation | LoggedRecord | Znode


class Judged(NamedTuple):
    """A message, and whether it is a request that the broker refused because it came from an earlier controller."""

    observation: Seen
    is_refused: bool = False


def judged(messages: Iterable[Seen], most: int = MOST) -> Iterator[Judged]:
    """Yield observations in order, as soon as it is known whether each of them was refused.

    Args:
        messages: observations in order, including records and znodes, which cannot be refused.
        most: how many may wait for a response.
    """
    queue: deque[Seen] = deque()
    verdicts: dict[int, bool] = {}  # by the identity of the waiting request
    asked: dict[tuple[str, int | None], Observation] = {}
    for observation in messages:
        queue.append(observation)
        if not isinstance(observation, Observation):
            if len(queue) == 1:
                yield Judged(queue.popleft())
            continue
        key = observation.connection, observation.correlation_id
        if observation.name in _ANSWERED:
            asked[key] = observation
        elif key in asked and _answers(observation, asked[key]):
            verdicts[id(asked.pop(key))] = _refuses(observation)
        while queue and (_is_ripe(queue[0], observation, verdicts) or len(queue) > most):
            yield _judge(queue.popleft(), verdicts, asked)
    while queue:
        yield _judge(queue.popleft(), verdicts, asked)


def _answers(response: Observation, request: Observation) -> bool:
    return response.name == request.name.removesuffix("Request") + "Response"


def _refuses(response: Observation) -> bool:
    code = getattr(response.message, "error_code", 0)
    if response.name != "AlterPartitionReassignmentsResponse":
        return bool(code == ErrorCode.STALE_CONTROLLER_EPOCH)
    topics = getattr(response.message, "responses", ())
    return bool(code) or any(one.error_code for topic in topics for one in topic.partitions)


def _is_ripe(first: Seen, last: Observation, verdicts: dict[int, bool]) -> bool:
    if not isinstance(first, Observation) or first.name not in _ANSWERED or id(first) in verdicts:
        return True
    return first.time is not None and last.time is not None and last.time - first.time > LAG


def _judge(observation: Seen, verdicts: dict[int, bool], asked: dict[tuple[str, int | None], Observation]) -> Judged:
    if not isinstance(observation, Observation):
        return Judged(observation)
    key = observation.connection, observation.correlation_id
    if asked.get(key) is observation:
        del asked[key]
    return Judged(observation, verdicts.pop(id(observation), False))


SEPARATOR = "; "  # between the sentences of a note
NO_CONTROLLER = (
    "no controller was captured (LeaderAndIsr, UpdateMetadata, StopReplica): states are those that clients "
    "received, and replicas are offline as far as Metadata, DescribeTopicPartitions and BrokerHeartbeat list them"
)


NO_MESSAGES = "znodes do not have which replicas lie in failed log directories: no OfflineReplicaCount without messages"


@dataclass(slots=True)
class _Count:
    """The messages of one kind in one file."""

    decoded: int = 0
    undecodable: int = 0
    first: float | None = None
    last: float | None = None
    cluster_ids: set[str] = field(default_factory=set)


class Sources:
    """Counts messages by name and file."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}

    def add(self, observation: Observation) -> None:
        """Count a message; those without information about a cluster are ignored."""
        if observation.name in MESSAGES:
            ids = getattr(observation.message, "cluster_id", None)
            self.count(
                observation.name, observation.file, observation.time, ids, is_decoded=observation.message is not None
            )

    def count(
        self, name: str, file: str, time: float | None, cluster_id: str | None = None, *, is_decoded: bool = True
    ) -> None:
        """Count a message of a kind in a file."""
        count = self._counts.setdefault((name, file), _Count())
        count.undecodable += not is_decoded
        count.decoded += is_decoded
        if cluster_id:
            count.cluster_ids.add(cluster_id)
        if time is not None:
            count.first = time if count.first is None else min(count.first, time)
            count.last = time if count.last is None else max(count.last, time)

    @property
    def know_replicas(self) -> bool:
        """Whether any source lists offline replicas."""
        return not {name for name, _ in self._counts} <= {ZNODES}

    def rows(self, directories: Directories) -> Iterator[Source]:
        """Yield a row for each kind of message in each file, by name."""
        names = {name for name, _ in self._counts}
        for (name, file), one in sorted(self._counts.items(), key=lambda item: item[0]):
            note = SEPARATOR.join(_notes(name, one.undecodable, names, directories)) or None
            ids = tuple(sorted(one.cluster_ids))
            yield Source(name, file, one.decoded, one.undecodable, one.first, one.last, ids, note)


def _notes(name: str, undecodable: int, names: set[str], directories: Directories) -> Iterator[str]:
    if undecodable:
        yield f"{undecodable} could not be decoded and are missing (drafts need the option profile)"
    if name in (*VIEWS, *DIRECTORIES) and not names & {*CONTROLLER, METADATA_LOG, SNAPSHOT, ZNODES}:
        yield NO_CONTROLLER
    if names == {ZNODES}:
        yield NO_MESSAGES
    unknown = ", ".join(f"{count} of broker {broker}" for broker, count in directories.without_replicas())
    if unknown and name == "BrokerHeartbeatRequest":
        yield f"which replicas lie in the failed log directories ({unknown}) was not captured"


def files_of_ids(rows: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Return each cluster id with the first file that contains it.

    Args:
        rows: files with the cluster ids in them.

    >>> files_of_ids([("b.pcap", ["x"]), ("a.pcap", ["x", "y"])])
    {'x': 'a.pcap', 'y': 'a.pcap'}
    """
    found: dict[str, str] = {}
    for file, ids in sorted((file, tuple(ids)) for file, ids in rows):
        for cluster_id in ids:
            found.setdefault(cluster_id, file)
    return found


class ClusterModel:
    """The newest state and the history of one cluster, from all sources.

    Attributes:
        brokers: the brokers and their lifetimes.
        timelines: the timelines of partitions, by topic and index.
        sources: the messages, records and znodes that were read.
        controller_epoch: the highest controller epoch; requests with lower epochs are ignored.
        log: the part of the metadata log that was read.
        znodes: the znodes that were read.

    >>> from kwire import messages
    >>> model = ClusterModel()
    >>> model.take(Observation(messages.StopReplicaRequest(controller_epoch=3), 3, time=1.0))
    True
    >>> model.controller_epoch, model.state().topics, model.tables().partition_states
    (3, {}, ())
    """

    def __init__(self) -> None:
        self.brokers: Brokers = Brokers()
        self.timelines: dict[tuple[str, int], Timeline] = {}
        self.controller_epoch = -1
        self.sources: Sources = Sources()
        self.log: MetadataLog = MetadataLog()
        self.znodes: Znodes = Znodes()
        self.count = 0
        self._facts: ClusterState = ClusterState()
        self._fenced: list[Broker] = []
        self._answers: dict[tuple[str, int], list[Answer]] = {}
        self._latest: dict[tuple[tuple[str, int], int | None], tuple[bool, int]] = {}
        self._directories = Directories()
        self._counts = DirectoryCounts()
        self._offline: dict[tuple[str, int], tuple[int, ...]] = {}  # according to the metadata log

    def take(self, seen: Seen, is_refused: bool = False) -> bool:
        """Apply the next observation, in the order of time; without times, in the order of the file.

        Args:
            seen: a message, a record of the metadata log, or a znode.
            is_refused: whether it is a request that the broker refused.

        Returns:
            Whether it contains information about the cluster.
        """
        self.count += 1
        if isinstance(seen, LoggedRecord):
            self._records(self.log.read(seen, _snapshot_end(seen.file)), seen.file)
            return True
        if isinstance(seen, Znode):
            return self._znode(seen)
        adapter = _ADAPTERS.get(seen.name)
        if adapter is None:
            return False
        self.sources.add(seen)
        if seen.message is None or is_refused or found_in.is_refusal(seen.body):
            return False
        if seen.name not in LOG and (seen.name not in CONTROLLER or self._is_current(seen)):
            found_in.learn_facts(self._facts, seen.body)
        adapter(self, seen, Moment(self.count, seen.time))
        return True

    def _is_current(self, seen: Observation) -> bool:
        return bool(seen.message.controller_epoch >= self.controller_epoch)

    def state(self) -> ClusterState:
        """Return the newest state: a copy, which later observations do not change."""
        records = self.log.state if self.log.end is not None else self.znodes.state
        facts, brokers = self._facts, self._known_brokers()
        controller = records.controller_id if records.controller_id >= 0 else facts.controller_id
        state = ClusterState(
            facts.cluster_id or records.cluster_id,
            controller,
            None if brokers is None else {one.node_id: one for one in brokers},
            topic_names=dict(self._topic_names),
            settings=self._settings(records.settings),
            log_dirs=deepcopy(facts.log_dirs),
            offline_dirs=self._counts.now(),
        )
        for (topic, index), timeline in sorted(self.timelines.items()):
            newest = timeline.entries[-1].state if timeline.entries else DELETED
            if not newest.is_deleted:
                state.put(partition_of(topic, index, newest))
        return state

    def _settings(self, recorded: Settings) -> Settings:
        """Return the settings in the records, completed by configurations that only brokers reported."""
        settings = deepcopy(recorded)
        settings.configs = deepcopy(self._facts.settings.configs) | settings.configs
        return settings

    @property
    def _topic_names(self) -> Mapping[bytes, str]:
        return ChainMap(self.log.state.topic_names, self._facts.topic_names)

    def _known_brokers(self) -> list[Broker] | None:
        if self.log.is_whole and self.log.state.brokers is not None:
            return list(self.log.state.brokers.values())
        if self.brokers.first is None:
            return None
        live = [one.broker for one in self.brokers.live()]
        there = {one.node_id for one in live}
        return live + [one for one in self._fenced if one.node_id not in there]

    def tables(self) -> Tables:
        """Return the tables of the history so far."""
        timelines = [(key, one) for key, one in sorted(self.timelines.items()) if one.entries]
        offline = Offline(self.brokers, self._answers, self._directories.losses, self._topic_names)
        racks = Racks(self.brokers)
        outages = tuple(offline.rows(dict(timelines)))
        return Tables(
            tuple(row for key, one in timelines for row in states(*key, one)),
            tuple(lives(self.brokers)),
            outages,
            tuple(row for key, one in timelines for row in racks.violations(*key, one)),
            tuple(row for key, one in timelines for row in shrinks(*key, one)),
            tuple(row for key, one in timelines for row in reassignments(*key, one)),
            tuple(metrics(self.brokers, outages, self._counts, knows_replicas=self.sources.know_replicas)),
            tuple(row for key, one in timelines for row in _conflicts(key, one)),
            tuple(self.sources.rows(self._directories)),
        )

    def _records(self, records: Iterable[LoggedRecord], file: str) -> None:
        """Apply records of the metadata log one by one."""
        for record in records:
            self.sources.count(METADATA_LOG, file, record.time)
            self._logged(record)

    def _logged(self, record: LoggedRecord) -> None:
        """Apply the changes that a record of the metadata log has made."""
        log, message, source = self.log.state, record.message, type(record.message).__name__
        now = Moment(self.count, record.time)
        topic_id = getattr(message, "topic_id", None)
        if source == "RegisterBrokerRecord":
            self._listen(message.broker_id, message.end_points)
        if source == "RemoveTopicRecord":
            found = [key for key, one in self.timelines.items() if one.is_of(bytes(message.topic_id))]
            for key in found:
                self._offline.pop(key, None)
                self.timelines[key].observe(METADATA_LOG, DELETED, now, source, Authority.RECORD)
        elif topic_id is not None and hasattr(message, "partition_id"):
            one = log.topics[topic_name(log, topic_id)][message.partition_id]
            self._log_partition(one, now, source)
        elif source.startswith("Snapshot"):
            self._log_all(now, SNAPSHOT)
        elif hasattr(message, "broker_id") or hasattr(message, "id"):
            self._log_brokers(now, source, getattr(message, "broker_id", -1))

    def _listen(self, node: int, endpoints: Iterable[Any]) -> None:
        self.brokers.listen(node, (found_in.address_of(one.host, one.port) for one in endpoints))

    def _log_partition(self, one: Partition, now: Moment, source: str) -> None:
        if not one.replicas:
            return  # changes a partition that was created before the start of the log
        key = one.topic, one.index
        offline = self.log.state.offline(one) if self.log.is_whole else None
        self._offline[key] = offline or ()
        self._take([Event(*key, state_of(one, offline))], METADATA_LOG, now, source, Authority.RECORD)
        for node, directory in zip(one.replicas, one.directories or (), strict=False):
            self._directories.assign(node, directory, [(one.topic_id or b"", one.index)], now, source)

    def _log_brokers(self, now: Moment, source: str, node: int) -> None:
        log = self.log.state
        if not self.log.is_whole or log.brokers is None:
            return
        live = tuple(_listed(one) for one in log.brokers.values() if not one.fenced)
        self.brokers.observe(METADATA_LOG, live, now, source)
        broker = log.brokers.get(node)
        if broker is not None and broker.log_dirs:
            self._directories.start(node, list(broker.log_dirs), now, source)
        for one in log.partitions():
            if self._offline.get((one.topic, one.index), ()) != log.offline(one):
                self._log_partition(one, now, source)

    def _log_all(self, now: Moment, source: str) -> None:
        log = self.log.state
        there = {(one.topic, one.index) for one in log.partitions()}
        for key, timeline in self.timelines.items():
            if key not in there:
                timeline.observe(METADATA_LOG, DELETED, now, source, Authority.RECORD)
        for node in log.brokers or {}:
            self._log_brokers(now, source, node)
        for one in log.partitions():
            self._log_partition(one, now, source)

    def _fetched(self, seen: Observation, now: Moment) -> None:
        if seen.name == "FetchResponse":
            self._records(self.log.fetched(seen.message), seen.file)
        elif self.log.fetched_snapshot(seen.message):
            self.sources.count(SNAPSHOT, seen.file, now.time)
            self._log_all(now, SNAPSHOT)

    def _znode(self, znode: Znode) -> bool:
        now = Moment(self.count, znode.time)
        faults = self.znodes.undecodable
        before, counts = self.znodes.brokers, dict(self.znodes.state.offline_dirs)
        self._take(self.znodes.take(znode), ZNODES, now, ZNODES, Authority.RECORD)
        if self.znodes.is_listed and self.znodes.brokers != before:
            self.brokers.observe(ZNODES, self.znodes.brokers, now, ZNODES)
            for one in {one.node_id for one in self.znodes.brokers} - {one.node_id for one in before}:
                self._counts.set(one, 0, now)
        for node, count in self.znodes.state.offline_dirs.items():
            if counts.get(node) != count:
                self._counts.set(node, count, now)
        is_decoded = faults == self.znodes.undecodable
        self.sources.count(ZNODES, znode.file, znode.time, self.znodes.state.cluster_id, is_decoded=is_decoded)
        return is_decoded

    def _controlled(self, observation: Observation, now: Moment) -> None:
        body = observation.body
        if not self._is_current(observation):
            return
        self.controller_epoch = body.message.controller_epoch
        events = list(found_in.events_of_controller(body))
        if observation.name == "UpdateMetadataRequest":
            self.brokers.observe(observation.connection, found_in.listed_by_controller(body), now, observation.name)
            if body.message.type == found_in.FULL:
                there = {(one.topic, one.partition) for one in events}
                events += [Event(*key, DELETED) for key in self.timelines if key not in there]
        self._take(events, observation.connection, now, observation.name, Authority.CONTROLLER)

    def _viewed(self, observation: Observation, now: Moment) -> None:
        body = observation.body
        listed = found_in.listed_by_view(body)
        if "brokers.is_fenced" in body.fields:
            self._fenced = [one.broker for one in listed if one.fenced]
        live = [one for one in listed if not one.fenced]
        self.brokers.observe(observation.broker, live, now, observation.name, is_view=True)
        if hasattr(body.message, "topics"):
            self._take(found_in.events_of_view(body), observation.broker, now, observation.name, Authority.CLIENT)

    def _altered(self, observation: Observation, now: Moment) -> None:
        events = found_in.events_of_leader(observation.body, self._topic_names)
        self._take(events, observation.broker, now, observation.name, Authority.BROKER)

    def _reassigned(self, observation: Observation, now: Moment) -> None:
        events = found_in.events_of_reassignments(observation.body, self.state())
        self._take(events, observation.broker, now, observation.name, Authority.CLIENT)

    def _described(self, observation: Observation, now: Moment) -> None:
        node, found = self.brokers.at(observation.broker), found_in.log_dirs_of(observation.body)
        if node is not None and found is not None:
            self._facts.log_dirs[node] = {**self._facts.log_dirs.get(node, {}), **found}
            self._counts.set(node, found_in.offline_count(self._facts.log_dirs[node]), now)

    def _configured(self, observation: Observation, now: Moment) -> None:
        found_in.learn_configs(self._facts.settings, observation.body)

    def _take(self, events: Iterable[Event], reporter: str, now: Moment, source: str, authority: Authority) -> None:
        for topic, partition, state in events:
            if partition is None:
                for key in [key for key in self.timelines if key[0] == topic]:
                    self.timelines[key].observe(reporter, state, now, source, authority)
                continue
            timeline = self.timelines.get((topic, partition))
            if timeline is None:
                timeline = self.timelines[topic, partition] = Timeline()
            timeline.observe(reporter, state, now, source, authority)

    def _answered(self, observation: Observation, now: Moment) -> None:
        for key, code in partition_errors(observation.message, self._topic_names).items():
            has_failed = code == ErrorCode.KAFKA_STORAGE_ERROR
            is_good = code in (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)
            if has_failed or (is_good and observation.name == "LeaderAndIsrResponse"):
                self._answer(key, Answer(now, self.brokers.at(observation.broker), has_failed))

    def _answer(self, key: tuple[str, int], answer: Answer) -> None:
        """Store a broker's response about its replica; of equal responses since the last state, only the first is
        kept.
        """
        place = len(self.timelines[key].entries) if key in self.timelines else 0
        known = self._latest.get((key, answer.broker))
        if known != (answer.has_failed, place):
            self._latest[key, answer.broker] = answer.has_failed, place
            self._answers.setdefault(key, []).append(answer)

    def _reported(self, observation: Observation, now: Moment) -> None:
        message = observation.body.message
        if observation.name == "BrokerRegistrationRequest":
            self._directories.start(message.broker_id, [*map(bytes, message.log_dirs)], now, observation.name)
            self._listen(message.broker_id, message.listeners)
            self._counts.start(message.broker_id, frozenset(map(bytes, message.log_dirs)), now)
        elif observation.name == "BrokerHeartbeatRequest":
            self._directories.fail(message.broker_id, [*map(bytes, message.offline_log_dirs)], now, observation.name)
            self._counts.fail(message.broker_id, frozenset(map(bytes, message.offline_log_dirs)), now)
        else:
            for directory in message.directories:
                rows = [
                    (bytes(topic.topic_id), one.partition_index)
                    for topic in directory.topics
                    for one in topic.partitions
                ]
                self._directories.assign(message.broker_id, bytes(directory.id), rows, now, observation.name)


_ADAPTERS: dict[str, Callable[[ClusterModel, Observation, Moment], None]] = {
    **dict.fromkeys(CONTROLLER, ClusterModel._controlled),
    **dict.fromkeys(VIEWS, ClusterModel._viewed),
    **dict.fromkeys(DIRECTORIES, ClusterModel._reported),
    **dict.fromkeys(LOG, ClusterModel._fetched),
    "LeaderAndIsrResponse": ClusterModel._answered,
    "StopReplicaResponse": ClusterModel._answered,
    "AlterPartitionResponse": ClusterModel._altered,
    "DescribeLogDirsResponse": ClusterModel._described,
    "DescribeConfigsResponse": ClusterModel._configured,
    _REASSIGN: ClusterModel._reassigned,
    "ListPartitionReassignmentsResponse": ClusterModel._reassigned,
}


def _listed(one: Broker) -> Listed:
    return Listed(one.node_id, one.rack, (found_in.address_of(one.host, one.port),))


def _conflicts(key: tuple[str, int], timeline: Timeline) -> Iterator[Conflict]:
    for one in timeline.contradictions:
        state, isr = one.state, one.state.isr or ()
        yield Conflict(*key, one.at.time, state.leader, state.leader_epoch, isr, one.source, one.believed)


def _snapshot_end(file: str) -> int:
    """Return the offset in the file name of a snapshot; a large number if there is none."""
    match = re.search(r"(\d{20})-\d{10}\.checkpoint", file)
    return int(match[1]) if match else 2**62


def model_of(seen: Iterable[Seen]) -> ClusterModel:
    """Return the model of observations, which are applied in the order of time."""
    model = ClusterModel()
    for one, is_refused in judged(seen):
        model.take(one, is_refused)
    return model


def history_of(seen: Iterable[Seen]) -> Tables:
    """Return the tables of a cluster's history.

    Args:
        seen: the observations in the order of time; messages other than `MESSAGES` are ignored.
    """
    return model_of(seen).tables()
