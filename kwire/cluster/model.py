"""The model of a cluster: takes messages, records of the metadata log and znodes; returns the state and the history.

Refused requests are ignored. Contradictions are resolved by epochs, then by `Authority`. Missing sources are listed.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from ..values import ErrorCode
from ..zookeeper import Znode
from .events.apply import is_refusal, learn_facts
from .events.authority import Authority
from .events.broker_reports import learn_configs, learn_quorum, log_dirs_of, offline_count
from .events.event import DELETED, Event, partition_of, state_of
from .events.from_brokers import events_of_leader, events_of_reassignments, events_of_view
from .events.from_controllers import FULL, events_of_controller
from .events.listed_brokers import Listed, address_of, listed_by_controller, listed_by_view
from .events.metadata_log import LoggedRecord, MetadataLog
from .events.metadata_records import topic_name
from .events.observation import CONTROLLER, DIRECTORIES, LOG, VIEWS, Observation
from .events.partition_states import partition_errors, stopped_partitions
from .events.znodes import Znodes
from .history.broker_lives import Brokers
from .history.deleted_topics import find_deleted_topics
from .history.deletions import Deletions
from .history.lost_directories import Directories
from .history.offline_metrics import DirectoryCounts, metrics
from .history.offline_replicas import Answer, Offline
from .history.partition_tables import lives, reassignments, shrinks, states
from .history.partition_timeline import METADATA_LOG, ZNODES, Moment, PartitionTimeline
from .history.rack_violations import Racks
from .history.rows import Conflict, Metric, OfflineReplica, Tables
from .refused_requests import REASSIGN, Seen, judged
from .source_counts import SNAPSHOT, Sources
from .state import Broker, ClusterState, Partition, Settings


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
        self.timelines: dict[tuple[str, int], PartitionTimeline] = {}
        self.controller_epoch: int = -1
        self.sources: Sources = Sources()
        self.log: MetadataLog = MetadataLog()
        self.znodes: Znodes = Znodes()
        self.count: int = 0
        self._facts: ClusterState = ClusterState()
        self._fenced: list[Broker] = []
        self._answers: dict[tuple[str, int], list[Answer]] = {}
        self._latest: dict[tuple[tuple[str, int], int | None], tuple[bool, int]] = {}
        self._directories = Directories()
        self._counts = DirectoryCounts()
        self._deletions = Deletions()
        self._offline: dict[tuple[str, int], tuple[int, ...]] = {}  # according to the metadata log

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load a pickle, also of a version that kept less."""
        self.__dict__ = {"_deletions": Deletions()} | state

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
            self._apply_records(self.log.read(seen, _snapshot_end(seen.file)), seen.file)
            return True
        if isinstance(seen, Znode):
            return self._apply_znode(seen)
        adapter = _ADAPTERS.get(seen.name)
        if adapter is None:
            return False
        is_refused = is_refused or seen.message is None or is_refusal(seen.body)
        self.sources.add(seen, is_refused=is_refused)
        if is_refused:
            return False
        if seen.name not in LOG and (seen.name not in CONTROLLER or self._is_current(seen)):
            learn_facts(self._facts, seen.body)
        adapter(self, seen, Moment(self.count, seen.time))
        return True

    def _is_current(self, seen: Observation) -> bool:
        return bool(seen.message.controller_epoch >= self.controller_epoch)

    def state(self) -> ClusterState:
        """Return the newest state: a copy, which later observations do not change.

        Raises:
            MixedClusters: the observations are of several clusters.
        """
        self.sources.identity.check()
        records = self.log.state if self.log.end is not None else self.znodes.state
        facts = self._facts
        brokers = self._known_brokers()
        controller = records.controller_id if records.controller_id >= 0 else facts.controller_id
        state = ClusterState(
            facts.cluster_id or records.cluster_id,
            controller,
            None if brokers is None else {broker.node_id: broker for broker in brokers},
            topic_names=dict(self._topic_names),
            settings=self._settings(records.settings),
            log_dirs=deepcopy(facts.log_dirs),
            offline_dirs=self._counts.now(),
            quorum=facts.quorum,
            deleted_topics=find_deleted_topics(self.timelines),
        )
        for (topic, index), timeline in sorted(self.timelines.items()):
            newest = timeline.entries[-1].state if timeline.entries else DELETED
            if not newest.is_deleted:
                partition = partition_of(topic, index, newest)
                if partition.deleting is not None:
                    waits_for = self._deletions.waits_for((topic, index), partition.replicas)
                    partition = replace(partition, deleting=waits_for)
                state.put(partition)
        return state

    def _settings(self, recorded: Settings) -> Settings:
        """Return the settings in the records, completed by configurations and voters that only brokers reported."""
        settings = deepcopy(recorded)
        settings.configs = deepcopy(self._facts.settings.configs) | settings.configs
        settings.voters = settings.voters or dict(self._facts.settings.voters)
        return settings

    @property
    def _topic_names(self) -> Mapping[bytes, str]:
        return ChainMap(self.log.state.topic_names, self._facts.topic_names)

    def _known_brokers(self) -> list[Broker] | None:
        if self.log.is_whole and self.log.state.brokers is not None:
            return list(self.log.state.brokers.values())
        if self.brokers.first is None:
            return None
        live = [life.broker for life in self.brokers.live()]
        listed = {broker.node_id for broker in live}
        return live + [broker for broker in self._fenced if broker.node_id not in listed]

    def tables(self) -> Tables:
        """Return the tables of the history so far; `sources` has the cluster ids, of which there should be one."""
        timelines = self._timelines()
        racks = Racks(self.brokers)
        outages = self.outages()
        return Tables(
            tuple(row for key, timeline in timelines for row in states(*key, timeline)),
            tuple(lives(self.brokers)),
            outages,
            tuple(row for key, timeline in timelines for row in racks.violations(*key, timeline)),
            tuple(row for key, timeline in timelines for row in shrinks(*key, timeline)),
            tuple(row for key, timeline in timelines for row in reassignments(*key, timeline)),
            self.metrics(outages),
            tuple(row for key, timeline in timelines for row in _list_conflicts(key, timeline)),
            tuple(self.sources.rows(self._directories)),
        )

    def _timelines(self) -> list[tuple[tuple[str, int], PartitionTimeline]]:
        return [(key, timeline) for key, timeline in sorted(self.timelines.items()) if timeline.entries]

    def outages(self) -> tuple[OfflineReplica, ...]:
        """Return when which replicas were offline: a table of `tables`."""
        offline = Offline(self.brokers, self._answers, self._directories.losses, self._topic_names)
        return tuple(offline.rows(dict(self._timelines())))

    def metrics(self, outages: tuple[OfflineReplica, ...]) -> tuple[Metric, ...]:
        """Return the metrics of brokers over time: a table of `tables`; `outages` are those of `outages`."""
        return tuple(metrics(self.brokers, outages, self._counts, knows_replicas=self.sources.know_replicas))

    def _apply_records(self, records: Iterable[LoggedRecord], file: str) -> None:
        """Apply records of the metadata log one by one."""
        for record in records:
            self.sources.count(METADATA_LOG, file, record.time)
            self._apply_record(record)

    def _apply_record(self, record: LoggedRecord) -> None:
        """Apply the changes that a record of the metadata log has made."""
        message = record.message
        source = type(message).__name__
        now = Moment(self.count, record.time)
        topic_id = getattr(message, "topic_id", None)
        if source == "RegisterBrokerRecord":
            self._apply_listeners(message.broker_id, message.end_points)
        if source == "RemoveTopicRecord":
            deleted = [key for key, timeline in self.timelines.items() if timeline.is_of(bytes(message.topic_id))]
            for key in deleted:
                self._offline.pop(key, None)
                self.timelines[key].observe(METADATA_LOG, DELETED, now, source, Authority.RECORD)
        elif topic_id is not None and hasattr(message, "partition_id"):
            partitions = self.log.state.topics[topic_name(self.log.state, topic_id)]
            self._apply_logged_partition(partitions[message.partition_id], now, source)
        elif source.startswith("Snapshot"):
            self._apply_whole_log(now, SNAPSHOT)
        elif hasattr(message, "broker_id") or hasattr(message, "id"):
            self._apply_logged_brokers(now, source, getattr(message, "broker_id", -1))

    def _apply_listeners(self, node: int, endpoints: Iterable[Any]) -> None:
        self.brokers.listen(node, (address_of(endpoint.host, endpoint.port) for endpoint in endpoints))

    def _apply_logged_partition(self, partition: Partition, now: Moment, source: str) -> None:
        if not partition.replicas:
            return  # changes a partition that was created before the start of the log
        key = partition.topic, partition.index
        offline = self.log.state.offline(partition) if self.log.is_whole else None
        self._offline[key] = offline or ()
        self._apply_events([Event(*key, state_of(partition, offline))], METADATA_LOG, now, source, Authority.RECORD)
        for node, directory in zip(partition.replicas, partition.directories or (), strict=False):
            self._directories.assign(node, directory, [(partition.topic_id or b"", partition.index)], now, source)

    def _apply_logged_brokers(self, now: Moment, source: str, node: int) -> None:
        log = self.log.state
        if not self.log.is_whole or log.brokers is None:
            return
        live = tuple(_list_broker(broker) for broker in log.brokers.values() if not broker.fenced)
        self.brokers.observe(METADATA_LOG, live, now, source)
        broker = log.brokers.get(node)
        if broker is not None and broker.log_dirs:
            self._directories.start(node, list(broker.log_dirs), now, source)
        for partition in log.partitions():
            if self._offline.get((partition.topic, partition.index), ()) != log.offline(partition):
                self._apply_logged_partition(partition, now, source)

    def _apply_whole_log(self, now: Moment, source: str) -> None:
        log = self.log.state
        existing = {(partition.topic, partition.index) for partition in log.partitions()}
        for key, timeline in self.timelines.items():
            if key not in existing:
                timeline.observe(METADATA_LOG, DELETED, now, source, Authority.RECORD)
        for node in log.brokers or {}:
            self._apply_logged_brokers(now, source, node)
        for partition in log.partitions():
            self._apply_logged_partition(partition, now, source)

    def _apply_fetch(self, seen: Observation, now: Moment) -> None:
        if seen.name == "FetchResponse":
            self._apply_records(self.log.append_response(seen.message), seen.file)
        elif self.log.append_snapshot_response(seen.message):
            self.sources.count(SNAPSHOT, seen.file, now.time)
            self._apply_whole_log(now, SNAPSHOT)

    def _apply_znode(self, znode: Znode) -> bool:
        now = Moment(self.count, znode.time)
        faults = self.znodes.undecodable
        before = self.znodes.brokers
        counts = dict(self.znodes.state.offline_dirs)
        self._apply_events(self.znodes.take(znode), ZNODES, now, ZNODES, Authority.RECORD)
        if self.znodes.is_listed and self.znodes.brokers != before:
            self.brokers.observe(ZNODES, self.znodes.brokers, now, ZNODES)
            registered = {broker.node_id for broker in self.znodes.brokers}
            for node in registered - {broker.node_id for broker in before}:
                self._counts.set(node, 0, now)
        for node, count in self.znodes.state.offline_dirs.items():
            if counts.get(node) != count:
                self._counts.set(node, count, now)
        is_decoded = faults == self.znodes.undecodable
        self.sources.count(ZNODES, znode.file, znode.time, self.znodes.state.cluster_id, is_decoded=is_decoded)
        return is_decoded

    def _apply_controller_request(self, observation: Observation, now: Moment) -> None:
        body = observation.body
        if not self._is_current(observation):
            return
        self.controller_epoch = body.message.controller_epoch
        events = list(events_of_controller(body))
        if observation.name == "UpdateMetadataRequest":
            self.brokers.observe(observation.connection, listed_by_controller(body), now, observation.name)
            if body.message.type == FULL:
                listed = {(event.topic, event.partition) for event in events}
                events += [Event(*key, DELETED) for key in self.timelines if key not in listed]
        elif observation.name == "StopReplicaRequest":
            deleted = [key for key, is_deletion, _ in stopped_partitions(body.message) if is_deletion]
            self._deletions.ask((observation.connection, observation.correlation_id), deleted)
        self._apply_events(events, observation.connection, now, observation.name, Authority.CONTROLLER)

    def _apply_view(self, observation: Observation, now: Moment) -> None:
        body = observation.body
        listed = listed_by_view(body)
        if "brokers.is_fenced" in body.fields:
            self._fenced = [broker.broker for broker in listed if broker.fenced]
        live = [broker for broker in listed if not broker.fenced]
        self.brokers.observe(observation.broker, live, now, observation.name, is_view=True)
        if hasattr(body.message, "topics"):
            self._apply_events(events_of_view(body), observation.broker, now, observation.name, Authority.CLIENT)

    def _apply_altered_isr(self, observation: Observation, now: Moment) -> None:
        events = events_of_leader(observation.body, self._topic_names)
        self._apply_events(events, observation.broker, now, observation.name, Authority.BROKER)

    def _apply_reassignments(self, observation: Observation, now: Moment) -> None:
        events = events_of_reassignments(observation.body, self.state())
        self._apply_events(events, observation.broker, now, observation.name, Authority.CLIENT)

    def _apply_log_dirs(self, observation: Observation, now: Moment) -> None:
        node = self.brokers.at(observation.broker)
        log_dirs = log_dirs_of(observation.body)
        if node is not None and log_dirs is not None:
            self._facts.log_dirs[node] = {**self._facts.log_dirs.get(node, {}), **log_dirs}
            self._counts.set(node, offline_count(self._facts.log_dirs[node]), now)

    def _apply_configs(self, observation: Observation, now: Moment) -> None:
        learn_configs(self._facts.settings, observation.body)

    def _apply_quorum(self, observation: Observation, now: Moment) -> None:
        learn_quorum(self._facts, observation.body)

    def _apply_events(
        self, events: Iterable[Event], reporter: str, now: Moment, source: str, authority: Authority
    ) -> None:
        for topic, partition, state in events:
            if state.is_deleted:
                self._deletions.forget(topic)
            if partition is None:
                for key in [key for key in self.timelines if key[0] == topic]:
                    self.timelines[key].observe(reporter, state, now, source, authority)
                continue
            timeline = self.timelines.get((topic, partition))
            if timeline is None:
                timeline = self.timelines[topic, partition] = PartitionTimeline()
            timeline.observe(reporter, state, now, source, authority)

    def _apply_controller_response(self, observation: Observation, now: Moment) -> None:
        errors = partition_errors(observation.message, self._topic_names)
        for key, code in errors.items():
            has_failed = code == ErrorCode.KAFKA_STORAGE_ERROR
            is_good = code in (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)
            if has_failed or (is_good and observation.name == "LeaderAndIsrResponse"):
                self._record_answer(key, Answer(now, self.brokers.at(observation.broker), has_failed))
        if observation.name == "StopReplicaResponse" and not observation.message.error_code:
            request = observation.connection, observation.correlation_id
            for topic in self._deletions.answer(request, errors, self.brokers.at(observation.broker)):
                if not self.znodes.has_topic(topic) and self._deletions.has_ended(topic, self.timelines):
                    ends = [Event(*key, DELETED) for key in self.timelines if key[0] == topic]
                    self._apply_events(ends, observation.connection, now, observation.name, Authority.CONTROLLER)

    def _record_answer(self, key: tuple[str, int], answer: Answer) -> None:
        """Store a broker's response about its replica; of equal responses since the last state, only the first is
        kept.
        """
        state_number = len(self.timelines[key].entries) if key in self.timelines else 0
        known = self._latest.get((key, answer.broker))
        if known != (answer.has_failed, state_number):
            self._latest[key, answer.broker] = answer.has_failed, state_number
            self._answers.setdefault(key, []).append(answer)

    def _apply_directories(self, observation: Observation, now: Moment) -> None:
        message = observation.body.message
        if observation.name == "BrokerRegistrationRequest":
            self._directories.start(message.broker_id, [*map(bytes, message.log_dirs)], now, observation.name)
            self._apply_listeners(message.broker_id, message.listeners)
            self._counts.start(message.broker_id, frozenset(map(bytes, message.log_dirs)), now)
        elif observation.name == "BrokerHeartbeatRequest":
            self._directories.fail(message.broker_id, [*map(bytes, message.offline_log_dirs)], now, observation.name)
            self._counts.fail(message.broker_id, frozenset(map(bytes, message.offline_log_dirs)), now)
        else:
            for directory in message.directories:
                rows = [
                    (bytes(topic.topic_id), partition.partition_index)
                    for topic in directory.topics
                    for partition in topic.partitions
                ]
                self._directories.assign(message.broker_id, bytes(directory.id), rows, now, observation.name)


_ADAPTERS: dict[str, Callable[[ClusterModel, Observation, Moment], None]] = {
    **dict.fromkeys(CONTROLLER, ClusterModel._apply_controller_request),
    **dict.fromkeys(VIEWS, ClusterModel._apply_view),
    **dict.fromkeys(DIRECTORIES, ClusterModel._apply_directories),
    **dict.fromkeys(LOG, ClusterModel._apply_fetch),
    "LeaderAndIsrResponse": ClusterModel._apply_controller_response,
    "StopReplicaResponse": ClusterModel._apply_controller_response,
    "AlterPartitionResponse": ClusterModel._apply_altered_isr,
    "DescribeLogDirsResponse": ClusterModel._apply_log_dirs,
    "DescribeConfigsResponse": ClusterModel._apply_configs,
    "DescribeQuorumResponse": ClusterModel._apply_quorum,
    REASSIGN: ClusterModel._apply_reassignments,
    "ListPartitionReassignmentsResponse": ClusterModel._apply_reassignments,
}


def _list_broker(broker: Broker) -> Listed:
    return Listed(broker.node_id, broker.rack, (address_of(broker.host, broker.port),))


def _list_conflicts(key: tuple[str, int], timeline: PartitionTimeline) -> Iterator[Conflict]:
    for contradiction in timeline.contradictions:
        state = contradiction.state
        isr = state.isr or ()
        yield Conflict(
            *key,
            contradiction.at.time,
            state.leader,
            state.leader_epoch,
            isr,
            contradiction.source,
            contradiction.believed,
        )


def _snapshot_end(file: str) -> int:
    """Return the offset in the file name of a snapshot; a large number if there is none."""
    match = re.search(r"(\d{20})-\d{10}\.checkpoint", file)
    return int(match[1]) if match else 2**62


def model_of(seen: Iterable[Seen]) -> ClusterModel:
    """Return the model of observations, which are applied in the order of time."""
    model = ClusterModel()
    for observation, is_refused in judged(seen):
        model.take(observation, is_refused)
    return model


def history_of(seen: Iterable[Seen]) -> Tables:
    """Return the tables of a cluster's history.

    Args:
        seen: the observations in the order of time; messages other than `MESSAGES` are ignored.

    Raises:
        MixedClusters: the observations are of several clusters.
    """
    model = model_of(seen)
    model.sources.identity.check()
    return model.tables()
