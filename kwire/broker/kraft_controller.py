"""The controller of a served cluster: creates, extends and deletes topics, places replicas, and elects leaders. When a
cluster starts, it restores topics from journals and folders, and copies each partition's log from the best replica.

This module handles brokers and their log directories, but no messages. Invalid operations raise `Refused` with Kafka's
error code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from ..cluster import Broker, RackAwareMode, add_partitions, broker_metadatas
from ..cluster import Partition as Recorded
from ..cluster.java.random import Rng
from ..cluster.placement.replica_assignors import ReplicaAssignor, assignor_for, run_assignor
from ..cluster.state import NO_LEADER
from ..errors.refused import InvalidPartitions, PolicyViolation, ReplicaAssignorFailed, UnknownTopicOrPartition
from ..records import parse_records
from .authentication_and_acls import Acl, Credential, Users
from .metadata_journal import (
    Journals,
    Known,
    Notes,
    acl_record,
    acl_removal_record,
    broker_record,
    change_record,
    cluster_record,
    config_record,
    credential_record,
    group_config_record,
    partition_records,
    quota_record,
    removal_record,
    topic_records,
)
from .partition_leader_and_isr import INTERNAL, Partition, Replica, Topic, check_assignment, check_name
from .replica_log import NO_LIMITS, Log
from .settings_and_quotas import GROUP_CONFIGS, Entity, LogDir, Node, Quotas, Settings
from .storage import Disk

# Kafka's assignors before KRaft; added partitions are placed as in those releases.
_MODES = {
    "rack-aware": RackAwareMode.ENFORCED,
    "rack-aware-safe": RackAwareMode.SAFE,
    "simple": RackAwareMode.DISABLED,
}
INTERNAL_REPLICATION = 3  # offsets.topic.replication.factor, limited by the number of brokers
INTERNAL_SEGMENT = 1 << 20  # bytes, offsets.topic.segment.bytes; Kafka: 100 MiB, which would not be compacted in tests


class Controller:
    """The state of the cluster, and the operations that change it.

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
        self.nodes: dict[int, Node] = {node.node_id: node for node in nodes}
        self.settings: Settings = settings
        self.rng: Random = rng
        self.topics: dict[str, Topic] = {}
        self.by_id: dict[bytes, Topic] = {}
        self.quotas: Quotas = Quotas()
        self.group_configs: dict[str, dict[str, str]] = {}  # by group id
        self.controller_id: int = min(self.nodes)
        self.cluster_id = ""
        self.acls: dict[Acl, bytes] = {}  # each with its id
        self.users: Users = Users(settings.passwords)
        self.journals: Journals[Known] = Journals("metadata", self.guarded)
        self.notes: list[str] = []  # messages for the operator, until the caller removes them

    def brokers(self) -> list[Broker]:
        """Return the live brokers."""
        return [node.broker() for node in self.nodes.values() if node.is_alive]

    def find(self, name: str | None, topic_id: bytes = bytes(16)) -> Topic | None:
        """Return a topic by name, or by id if the name is empty."""
        return self.topics.get(name) if name else self.by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return a partition; None if it does not exist."""
        found = self.topics.get(topic)
        return found.partitions[index] if found is not None and 0 <= index < len(found.partitions) else None

    def partitions(self) -> Iterator[Partition]:
        """Yield the partitions of all topics."""
        for topic in self.topics.values():
            yield from topic.partitions

    def log_dirs(self) -> list[LogDir]:
        """Return the log directories of all brokers."""
        return [log_dir for node in self.nodes.values() for log_dir in node.log_dirs]

    def listed(self, log_dir: LogDir) -> list[tuple[str, int]]:
        """Return the names of the partitions in a directory."""
        listed: list[tuple[str, int]] = []
        self.guarded(log_dir, lambda disk: listed.extend(disk.partitions()))
        return listed

    def place(self, num_partitions: int, replication_factor: int, *, unasked: bool = False) -> dict[int, list[int]]:
        """Choose brokers for new partitions with the configured assignor.

        Args:
            num_partitions, replication_factor: -1 selects the configured default.
            unasked: whether the topic is created automatically; as in Kafka, racks are then ignored if only some
                brokers have one.
        """
        count = self.settings.num_partitions if num_partitions == -1 else num_partitions
        factor = self.settings.default_replication_factor if replication_factor == -1 else replication_factor
        self._check_room(count)
        name = self.settings.replica_assignor
        place = assignor_for("rack-aware-safe" if unasked and name == "rack-aware" else name)
        return self.run(place, self.brokers(), count, factor, self.rng)

    def run(
        self, place: ReplicaAssignor, brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng
    ) -> dict[int, list[int]]:
        """Run an assignor; report a failing custom assignor to the operator."""
        try:
            return run_assignor(place, brokers, num_partitions, replication_factor, rng)
        except ReplicaAssignorFailed as error:
            self.notes.append(str(error))
            raise

    def place_more(self, topic: Topic, count: int) -> dict[int, list[int]]:
        """Choose brokers for additional partitions of a topic, up to `count`.

        The placement continues from the first broker of partition 0 (KIP-36); other assignors place them like new
        partitions.
        """
        existing = {partition.index: list(partition.replicas) for partition in topic.partitions}
        if count <= len(existing):
            raise InvalidPartitions("partition_count_not_increased", existing=len(existing), num_partitions=count)
        self._check_room(count - len(existing))
        mode = _MODES.get(self.settings.replica_assignor)
        if mode is not None:
            return add_partitions(existing, broker_metadatas(self.brokers(), mode), count)
        found = self.place(count - len(existing), len(existing[0]))
        return {len(existing) + index: ids for index, ids in found.items()}

    def check_new(self, name: str, assignment: Mapping[int, Sequence[int]]) -> None:
        """Raise the errors of `create`, without creating the topic."""
        check_name(name, self.topics)
        check_assignment(assignment, self.nodes)
        self._check_room(len(assignment))

    def check_more(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> None:
        """Raise the errors of `grow`, without adding partitions."""
        check_assignment(assignment, self.nodes, len(topic.partitions), len(topic.partitions[0].replicas))
        self._check_room(len(assignment))

    def create(
        self, name: str, assignment: Mapping[int, Sequence[int]], configs: Mapping[str, str] | None = None
    ) -> Topic:
        """Create a topic.

        Args:
            name: letters, digits, `.`, `_` and `-`.
            assignment: the broker ids of each partition, by partition index from 0.
            configs: the topic's configs, already validated.

        Raises:
            InvalidTopicException, TopicAlreadyExists, InvalidReplicaAssignment, PolicyViolation: the topic cannot be
                created.
        """
        self.check_new(name, assignment)
        return self._create(Topic(name, self.rng.randbytes(16), configs=dict(configs or {})), assignment)

    def create_internal(self, name: str) -> Topic:
        """Create an internal topic, placed across racks; raises InvalidReplicationFactor if no broker is alive.

        Its id and placement are derived from the cluster id, so that they do not affect the random values of other
        topics.
        """
        brokers, rng = self.brokers(), Random(f"{self.cluster_id} {name}")
        factor = min(INTERNAL_REPLICATION, max(1, len(brokers)))
        assignment = self.run(assignor_for("rack-aware-safe"), brokers, self.settings.internal_partitions, factor, rng)
        configs = {"cleanup.policy": "compact", "segment.bytes": str(INTERNAL_SEGMENT)}
        return self._create(Topic(name, rng.randbytes(16), configs=configs), assignment)

    def _create(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> Topic:
        self.topics[topic.name] = self.by_id[topic.topic_id] = topic
        self.note(topic_records(topic, self._add(topic, assignment)))
        return topic

    def grow(self, name: str, assignment: Mapping[int, Sequence[int]]) -> None:
        """Add partitions to a topic; raises UnknownTopicOrPartition and the errors of `create`."""
        topic = self.known(name)
        self.check_more(topic, assignment)
        self.note(partition_records(topic, self._add(topic, assignment)))

    def configure(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Replace the configs of a topic by validated configs."""
        names = [name for name in {**topic.configs, **configs} if topic.configs.get(name) != configs.get(name)]
        topic.configs = dict(configs)
        for partition in topic.partitions:
            for log in partition.online_logs().values():
                log.limits = topic.limits
        self.note([config_record(topic, name) for name in names])

    def known(self, name: str) -> Topic:
        """Return a topic; raises UnknownTopicOrPartition if it does not exist."""
        if name not in self.topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=name)
        return self.topics[name]

    def delete(self, topic: Topic) -> None:
        """Delete a topic and its records."""
        del self.topics[topic.name], self.by_id[topic.topic_id]
        self.note([removal_record(topic)])
        self.journals.flush()  # otherwise a crash could leave the topic without its folders
        for partition in topic.partitions:
            partition.leader = -1
            for replica in partition.replicas.values():
                self.forget_replica(partition, replica)

    def fail(self, *log_dirs: LogDir) -> None:
        """Take log directories offline: their replicas become unavailable, and other replicas become leaders. A broker
        without a working directory stops."""
        for log_dir in log_dirs:
            log_dir.is_offline = True
        self.react()

    def react(self) -> None:
        """Elect new leaders where the leader is unreachable, and make the first live broker the controller."""
        alive = [node_id for node_id, node in self.nodes.items() if node.is_alive]
        self.controller_id = min(alive, default=-1)
        self.change(self.partitions(), lambda partition: partition.elect_leader() if partition.offline else None)

    def change(self, partitions: Iterable[Partition], act: Callable[[Partition], None]) -> None:
        """Apply a function to partitions, and journal the changes of their leaders and ISRs."""
        changes = []
        for partition in list(partitions):
            before = partition.leader_epoch, list(partition.isr)
            act(partition)
            if before != (partition.leader_epoch, partition.isr):
                topic = self.topics[partition.topic]
                changes.append(change_record(topic, partition, partition.leader_epoch != before[0]))
        self.note(changes)

    def add_acl(self, acl: Acl) -> None:
        """Add an ACL; an existing one keeps its id."""
        if acl not in self.acls:
            self.acls[acl] = self.rng.randbytes(16)
            self.note([acl_record(acl, self.acls[acl])])

    def remove_acl(self, acl: Acl) -> None:
        """Remove an ACL."""
        self.note([acl_removal_record(self.acls.pop(acl))])

    def set_credential(self, name: str, mechanism: str, credential: Credential | None) -> None:
        """Set a user's SCRAM credential; None removes it."""
        if credential is None:
            del self.users.scram[name, mechanism]
        else:
            self.users.scram[name, mechanism] = credential
        self.note([credential_record(name, mechanism, credential)])

    def note(self, records: list[bytes]) -> None:
        """Append records to all journals."""
        self.journals.write([(None, record) for record in records])

    def remember_all(self) -> None:
        """Rewrite all journals with the current state."""
        records = [cluster_record(self.cluster_id)] if self.cluster_id else []
        records += [broker_record(node) for node in self.nodes.values()]
        records += [acl_record(acl, acl_id) for acl, acl_id in self.acls.items()]
        records += [credential_record(*key, one) for key, one in self.users.scram.items()]
        records += [row for topic in self.topics.values() for row in topic_records(topic, topic.partitions)]
        for entity, values in self.quotas.values.items():
            records += [quota_record(entity, key, value) for key, value in values.items()]
        for group_id, configs in self.group_configs.items():
            records += [group_config_record(group_id, *config) for config in configs.items()]
        self.journals.rewrite([(None, record) for record in records])

    def group_configs_of(self, group_id: str) -> dict[str, str]:
        """Return all configs of a group, including defaults."""
        return {name: one.default for name, one in GROUP_CONFIGS.items()} | self.group_configs.get(group_id, {})

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Replace the configs of a group by validated configs."""
        own = self.group_configs.get(group_id, {})
        names = [name for name in {**own, **configs} if own.get(name) != configs.get(name)]
        self.group_configs[group_id] = dict(configs)
        if not configs:
            del self.group_configs[group_id]
        self.note([group_config_record(group_id, name, configs.get(name)) for name in names])

    def set_quota(self, entity: Entity, key: str, value: float | None) -> None:
        """Set a client quota; None removes it."""
        own = self.quotas.values.setdefault(entity, {})
        own.pop(key, None)
        if value is not None:
            own[key] = value
        if not own:
            del self.quotas.values[entity]
        self.note([quota_record(entity, key, value)])

    def _check_room(self, count: int) -> None:
        if count > self.settings.most_partitions - sum(
            len(topic.partitions) for topic in self.topics.values() if topic.name not in INTERNAL
        ):
            raise PolicyViolation("too_many_partitions", most=self.settings.most_partitions)

    def _add(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> list[Partition]:
        made = []
        for index, ids in sorted(assignment.items()):
            replicas = {node_id: self.replica(self.nodes[node_id], topic.name, index) for node_id in ids}
            made.append(Partition(topic.name, index, replicas, isr=list(ids)))
        for partition in made:
            partition.elect_leader()
        topic.partitions += made
        return made

    def replica(self, node: Node, topic: str, index: int, log_dir: LogDir | None = None) -> Replica:
        """Open a replica in a directory; a new one is by default placed in the directory with fewest partitions."""
        log_dirs = [one for one in node.log_dirs if not one.is_offline] or node.log_dirs
        return self._opened(log_dir or min(log_dirs, key=lambda one: one.replicas), topic, index)

    def _opened(self, log_dir: LogDir, topic: str, index: int) -> Replica:
        log_dir.replicas += 1
        replica = Replica(log_dir, None)
        self.open_log(replica, topic, index)
        return replica

    def open_log(self, replica: Replica, topic: str, index: int) -> None:
        """Open the log of a replica if its directory works."""

        def open_it(disk: Disk) -> None:
            owner = self.topics.get(topic)
            replica.log = Log(disk.open(topic, index), owner.limits if owner is not None else NO_LIMITS)
            start = replica.log_dir.starts.get((topic, index), 0)
            if start <= replica.log.end:
                replica.log.delete_before(start)

        self.guarded(replica.log_dir, open_it)

    def remember_partition(self, partition: Partition) -> None:
        """Journal the current state of a partition."""
        self.note(partition_records(self.topics[partition.topic], [partition]))

    def remove_replica(self, partition: Partition, node_id: int) -> None:
        """Delete a broker's replica of a partition."""
        self.forget_replica(partition, partition.replicas.pop(node_id))

    def forget_replica(self, partition: Partition, replica: Replica) -> None:
        """Close and delete the files of a replica in its log directory."""
        if replica.log is not None:
            replica.log.store.close()
        replica.log_dir.replicas -= 1
        if replica.log_dir.starts.pop((partition.topic, partition.index), None) is not None:
            self.guarded(replica.log_dir, partial(_keep_starts, replica.log_dir.starts))
        self.guarded(replica.log_dir, partial(_forget, partition))

    def remember_start(self, partition: Partition) -> None:
        """Store the first offset of a partition, because its segment still contains earlier records."""
        for replica in partition.replicas.values():
            if replica.log is not None:
                replica.log_dir.starts[partition.topic, partition.index] = replica.log.start
                self.guarded(replica.log_dir, partial(_keep_starts, replica.log_dir.starts))

    def guarded(self, log_dir: LogDir, act: Callable[[Disk], None]) -> None:
        """Run an operation on a disk; if it fails, take the directory offline."""
        try:
            if not log_dir.is_offline:
                act(log_dir.disk)
        except OSError as error:
            log_dir.problem = str(error.strerror or error)
            self.fail(log_dir)


def _keep_starts(starts: Mapping[tuple[str, int], int], disk: Disk) -> None:
    disk.keep_starts(starts)


def _forget(partition: Partition, disk: Disk) -> None:
    disk.delete(partition.topic, partition.index)


_PORTION = 1 << 20
_HIGHEST_EPOCH = 2**31 - 2**20  # leaves room for a million leader elections


class _SourceFailed(Exception):
    """Raised if the log that is being copied can no longer be read."""


def source_of(partition: Partition) -> int | None:
    """Return the broker whose log the others must copy; None if no replica of the ISR is online.

    Every replica of the ISR has all acknowledged records, so the one with the longest log is chosen. A replica outside
    the ISR is chosen only if all replicas of the ISR are damaged. Gaps inside a segment count as damage, because they
    may be damaged base offsets.
    """
    logs = partition.online_logs()
    in_sync = [node_id for node_id in partition.isr if node_id in logs]
    if not in_sync:
        return None
    is_any_whole = any(not logs[node_id].damage for node_id in in_sync)
    candidates = in_sync if is_any_whole else [*in_sync, *(one for one in logs if one not in in_sync)]
    agreeing = Counter(map(_outline, (logs[node_id] for node_id in candidates)))

    def rank(node_id: int) -> tuple[bool, int, bool, int, bool, int]:
        log = logs[node_id]
        return not log.has_gaps, log.end, not log.holes, -log.start, log.epochs_ascend, agreeing[_outline(log)]

    return max(candidates, key=rank)


def _outline(log: Log) -> int:
    return hash(tuple(entry.identity for entry in log.entries))


def mark_in_sync(partition: Partition) -> bool:
    """Add replicas that are identical to the source to the ISR; return whether there are other replicas.

    This must be journaled before `heal` truncates a log, so that the source is still known after an interruption.
    """
    source_id = source_of(partition)
    if source_id is None:
        return False
    logs = partition.online_logs()
    partition.isr = [one for one, log in logs.items() if one == source_id or _is_copy(log, logs[source_id])]
    return any(one not in partition.isr or log.damage for one, log in logs.items())


def heal(partition: Partition, note: Notes) -> list[LogDir]:
    """Truncate logs where they are damaged or differ from the source, and copy the missing batches from the source.

    If no replica of the ISR is online, the partition has no leader, because the other replicas may lack records.

    Args:
        partition: the partition, with its logs just opened.
        note: called with one line for each truncation and for missing data.

    Returns:
        The directories that failed.
    """
    failed: list[LogDir] = []
    for _ in partition.replicas:  # a failing source goes offline, and another one is chosen
        source_id = source_of(partition)
        if source_id is None:
            break
        try:
            failed += _copy_all(partition, source_id, note)
        except _SourceFailed:
            failed.append(partition.replicas[source_id].log_dir)
            failed[-1].is_offline = True
            continue
        logs = partition.online_logs()
        partition.isr = [node_id for node_id in partition.replicas if node_id in logs]
        epoch = max((entry.leader_epoch for entry in logs[source_id].entries[-1:]), default=-1)
        partition.leader_epoch = max(partition.leader_epoch, min(epoch, _HIGHEST_EPOCH))
        break
    partition.elect_leader()
    return failed


def _copy_all(partition: Partition, source_id: int, note: Notes) -> list[LogDir]:
    failed = []
    logs = partition.online_logs()
    source = logs[source_id]
    for first, last in source.holes:
        note(_where(partition, source_id, f"offsets {first} to {last} are missing; a segment may have been deleted"))
    for node_id in sorted(logs, key=lambda one: one != source_id):
        log, log_dir = logs[node_id], partition.replicas[node_id].log_dir
        try:
            if node_id == source_id:
                _cut(partition, node_id, len(log.entries), note)
            elif not _is_copy(log, source):
                _cut(partition, node_id, _kept(log, source), note, source_id)
                _copy(partition, node_id, source_id, note)
        except OSError:
            log_dir.is_offline = True
            failed.append(log_dir)
            if node_id == source_id:
                raise _SourceFailed from None
    return failed


def catch_up(controller: Controller, partition: Partition, node_id: int) -> None:
    """Copy the leader's log to a broker's replica, and add it to the ISR; if there is no leader, the replica becomes
    the leader if it is eligible."""
    replica = partition.replicas[node_id]
    if replica.log is None:
        controller.open_log(replica, partition.topic, partition.index)
    if partition.leader in (node_id, NO_LEADER) or not replica.is_online or replica.log is None:
        partition.elect_leader()
        return
    source = partition.replicas[partition.leader].log
    assert source is not None
    try:
        if not _is_copy(replica.log, source):
            _cut(partition, node_id, _kept(replica.log, source), controller.notes.append, partition.leader)
            _copy(partition, node_id, partition.leader, controller.notes.append)
        partition.isr = [one for one in partition.replicas if one in (*partition.isr, node_id)]
    except OSError:
        controller.fail(replica.log_dir)
    except _SourceFailed:
        controller.fail(partition.replicas[partition.leader].log_dir)


def _is_copy(log: Log, source: Log) -> bool:
    is_whole = not log.damage and log.end == source.end and log.start <= source.start
    return is_whole and log.like(source) == len(log.entries)


def _kept(log: Log, source: Log) -> int:
    """Return the number of batches to keep; 0 if records would be missing before or after them."""
    return log.like(source) if log.start <= source.start <= log.end else 0


def _cut(partition: Partition, node_id: int, count: int, note: Notes, source_id: int | None = None) -> None:
    """Truncate a log to `count` batches and remove damaged bytes; report the lost records with `note`."""
    log = partition.online_logs()[node_id]
    if count == len(log.entries) and not log.damage:
        return
    offset = log.entries[count].base_offset if count < len(log.entries) else log.end
    size = log.store.size() if log.damage else log.size
    lost = size - sum(entry.size for entry in log.entries[:count])
    is_damaged = log.damage and count == len(log.entries)
    reason = log.damage if is_damaged else f"broker {source_id} has other records there"
    note(_where(partition, node_id, f"cut at offset {offset}, {lost} bytes lost: {reason}"))
    log.truncate(count)


def _copy(partition: Partition, node_id: int, source_id: int, note: Notes) -> None:
    """Append the source's batches that follow the end of a log."""
    logs = partition.online_logs()
    log, source = logs[node_id], logs[source_id]
    at, before = max(log.end, source.start), log.size
    while at < source.end:
        try:
            data = source.read(at, source.measure(at, _PORTION))
        except OSError:
            partition.replicas[source_id].log_dir.is_offline = True
            raise _SourceFailed from None
        for batch in parse_records(data):
            log.append(batch)
        at = log.end
    if log.size > before:
        note(_where(partition, node_id, f"{log.size - before} bytes copied from broker {source_id}"))


def copy_log(source: Log, log: Log) -> None:
    """Append the batches of a log to an empty log."""
    at = source.start
    while at < source.end:
        data = source.read(at, source.measure(at, _PORTION))
        for batch in parse_records(data):
            log.append(batch)
        at = max(log.end, at + 1)
    log.delete_before(source.start)


def _where(partition: Partition, node_id: int, text: str) -> str:
    path = partition.replicas[node_id].log_dir.path
    return f"{partition.topic}-{partition.index}: {text} (broker {node_id}, {path})"


Folders = dict[str, dict[int, dict[int, LogDir]]]  # by topic, partition and broker


def recover(controller: Controller) -> None:
    """Restore the topics in the log directories, and make the replicas of each partition identical."""
    journals = controller.journals.open(controller.log_dirs(), Known, controller.notes.append)
    known = journals[0][1] if journals else Known()
    brought = (log_dir.disk.cluster_id() for log_dir in controller.log_dirs() if log_dir.works)
    controller.cluster_id = known.cluster_id or next(filter(None, brought), "")
    controller.acls.update(known.acls)
    controller.users.scram.update(known.scram)
    controller.group_configs.update({name: own for name, own in known.group_configs.items() if own})
    for names, values in known.state.settings.quotas.items():
        entity = frozenset((kind, name or None) for kind, name in names)
        controller.quotas.values[entity] = dict(values)
    ids = known.ids()
    for log_dir in controller.log_dirs():
        controller.guarded(log_dir, partial(_read_starts, log_dir))
    folders = _folders(controller, {id(log_dir): one.ids() for log_dir, one in journals}, ids)
    for name in sorted(ids.keys() | folders.keys()):
        topic_id = ids.get(name) or _brought_id(name, folders[name]) or controller.rng.randbytes(16)
        topic = Topic(name, topic_id, configs=known.configs.get(name, {}))
        if name in INTERNAL:
            topic.configs.setdefault("cleanup.policy", "compact")
        controller.topics[name] = controller.by_id[topic.topic_id] = topic
        held = folders.get(name, {})
        rows = known.state.partitions(name) if name in ids else _brought(held, controller.settings.most_partitions)
        for row in rows:
            _add(controller, topic, row, held.get(row.index, {}), is_known=name in ids)
    _heal(controller)
    controller.remember_all()


def _heal(controller: Controller) -> None:
    if [partition for partition in controller.partitions() if mark_in_sync(partition)]:
        controller.remember_all()
    for partition in controller.partitions():
        controller.fail(*heal(partition, controller.notes.append))
    controller.fail()


def _folders(controller: Controller, own_ids: dict[int, dict[str, bytes]], ids: dict[str, bytes]) -> Folders:
    """Return the contents of the log directories; rename the folders of deleted topics.

    Args:
        controller: manages the directories.
        own_ids: the topic ids in each directory's journal.
        ids: the correct topic ids.
    """
    found: Folders = {}
    for node_id, node in controller.nodes.items():
        for log_dir in node.log_dirs:
            for name, index in controller.listed(log_dir):
                own_id = own_ids.get(id(log_dir), {}).get(name)
                if own_id is not None and own_id != ids.get(name):
                    controller.guarded(log_dir, partial(_set_aside, name, index))
                    continue
                found.setdefault(name, {}).setdefault(index, {}).setdefault(node_id, log_dir)
    return found


def _brought_id(name: str, held: dict[int, dict[int, LogDir]]) -> bytes | None:
    """Return the topic id that another program wrote into a folder."""
    found = (log_dir.disk.topic_id(name, index) for index, nodes in held.items() for log_dir in nodes.values())
    return next((topic_id for topic_id in found if topic_id), None)


def _brought(held: dict[int, dict[int, LogDir]], most: int) -> Iterable[Recorded]:
    """Derive the contents of a missing journal from the folders."""
    for index in range(min(max(held) + 1, most)):
        ids = tuple(sorted(held.get(index, {})))
        yield Recorded("", index, replicas=ids, isr=ids)


def _add(controller: Controller, topic: Topic, row: Recorded, held: dict[int, LogDir], *, is_known: bool) -> None:
    """Open the replicas of a partition; a missing folder in a working directory counts as damage."""
    replicas = {}
    for node in (controller.nodes[node_id] for node_id in row.replicas if node_id in controller.nodes):
        log_dir = held.get(node.node_id) or node.failed()
        replica = replicas[node.node_id] = controller.replica(node, topic.name, row.index, log_dir)
        if is_known and log_dir is None and replica.log is not None:
            replica.log.damage = "its folder is missing"
    partition = Partition(topic.name, row.index, replicas, isr=[one for one in row.isr if one in replicas])
    partition.leader_epoch = row.leader_epoch
    topic.partitions.append(partition)


def _read_starts(log_dir: LogDir, disk: Disk) -> None:
    log_dir.starts = disk.starts()


def _set_aside(name: str, index: int, disk: Disk) -> None:
    disk.set_aside(name, index)
