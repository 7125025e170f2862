"""The controller of a served cluster: creates, extends and deletes topics, places replicas, and elects leaders.

It handles brokers and their log directories, but no messages. Invalid operations raise `Refused` with Kafka's error
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from ...cluster import Broker, RackAwareMode, add_partitions, broker_metadatas
from ...cluster.java.random import Rng
from ...cluster.placement.replica_assignors import ReplicaAssignor, assignor_for, run_assignor
from ...errors.refused import InvalidPartitions, PolicyViolation, ReplicaAssignorFailed, UnknownTopicOrPartition
from ...protocol.sasl.scram_credentials import ScramCredential, Users
from ...values import ConfigResourceType
from ..client_quota_manager import ClientQuotaManager, QuotaEntity
from ..configs import ConfigStore
from ..configs.config_store import ANY_NODE
from ..configs.effects import INTERNAL_MIN_ISR
from ..log.disk import Disk
from ..log.replica_log import NO_LIMITS, ReplicaLog
from ..node import LogDir, Node
from ..security.acls import AclBinding
from ..settings import Settings
from ..settings_configs import store_for
from .check_assignment import check_assignment
from .journal_records import (
    JournaledState,
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
    resource_config_record,
    topic_records,
)
from .metadata_journal import Journals
from .partition import Partition, Replica
from .topic import Topic
from .topic_names import INTERNAL, check_name

# Kafka's assignors before KRaft; added partitions are placed as in those releases.
_MODES = {
    "rack-aware": RackAwareMode.ENFORCED,
    "rack-aware-safe": RackAwareMode.SAFE,
    "simple": RackAwareMode.DISABLED,
}
INTERNAL_REPLICATION = 3  # offsets.topic.replication.factor, limited by the number of brokers
INTERNAL_SEGMENT = 1 << 20  # bytes, offsets.topic.segment.bytes; Kafka: 100 MiB, which would not be compacted in tests


class KRaftController:
    """The state of the cluster, and the operations that change it.

    >>> from random import Random
    >>> controller = KRaftController([Node(1), Node(2)], Settings(), Random(1))
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
        self.quotas: ClientQuotaManager = ClientQuotaManager()
        self.group_configs: dict[str, dict[str, str]] = {}  # by group id
        self.configs: ConfigStore = store_for(list(nodes), settings)
        self.configs.observe(self._apply_topic_defaults)
        self.controller_id: int = min(self.nodes)
        self.cluster_id = ""
        self.acls: dict[AclBinding, bytes] = {}  # each with its id
        self.users: Users = Users(settings.passwords)
        self.journals: Journals[JournaledState] = Journals("metadata", self.guarded)
        self.notes: list[str] = []  # messages for the operator, until the caller removes them

    def brokers(self) -> list[Broker]:
        """Return the live brokers."""
        return [node.broker() for node in self.nodes.values() if node.is_alive]

    def find(self, name: str | None, topic_id: bytes = bytes(16)) -> Topic | None:
        """Return a topic by name, or by id if the name is empty."""
        return self.topics.get(name) if name else self.by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return a partition; None if it does not exist."""
        known_topic = self.topics.get(topic)
        return (
            known_topic.partitions[index]
            if known_topic is not None and 0 <= index < len(known_topic.partitions)
            else None
        )

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
        assignor = assignor_for("rack-aware-safe" if unasked and name == "rack-aware" else name)
        return self.run(assignor, self.brokers(), count, factor, self.rng)

    def run(
        self,
        assignor: ReplicaAssignor,
        brokers: Sequence[Broker],
        num_partitions: int,
        replication_factor: int,
        rng: Rng,
    ) -> dict[int, list[int]]:
        """Run an assignor; report a failing custom assignor to the operator."""
        try:
            return run_assignor(assignor, brokers, num_partitions, replication_factor, rng)
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
        placed = self.place(count - len(existing), len(existing[0]))
        return {len(existing) + index: ids for index, ids in placed.items()}

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
        return self._create(
            Topic(name, self.rng.randbytes(16), configs=dict(configs or {}), store=self.configs), assignment
        )

    def create_internal(self, name: str) -> Topic:
        """Create an internal topic, placed across racks; raises InvalidReplicationFactor if no broker is alive.

        Its id and placement are derived from the cluster id, so that they do not affect the random values of other
        topics.
        """
        brokers, rng = self.brokers(), Random(f"{self.cluster_id} {name}")
        factor = min(INTERNAL_REPLICATION, max(1, len(brokers)))
        assignment = self.run(assignor_for("rack-aware-safe"), brokers, self.settings.internal_partitions, factor, rng)
        configs = {"cleanup.policy": "compact", "segment.bytes": str(INTERNAL_SEGMENT)}
        if name in INTERNAL_MIN_ISR and (value := self.configs.value(INTERNAL_MIN_ISR[name], ANY_NODE)) is not None:
            configs["min.insync.replicas"] = value
        return self._create(Topic(name, rng.randbytes(16), configs=configs, store=self.configs), assignment)

    def _create(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> Topic:
        self.topics[topic.name] = self.by_id[topic.topic_id] = topic
        self.note(topic_records(topic, self._add_partitions(topic, assignment)))
        return topic

    def grow(self, name: str, assignment: Mapping[int, Sequence[int]]) -> None:
        """Add partitions to a topic; raises UnknownTopicOrPartition and the errors of `create`."""
        topic = self.known(name)
        self.check_more(topic, assignment)
        self.note(partition_records(topic, self._add_partitions(topic, assignment)))

    def configure(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Replace the configs of a topic by validated configs."""
        names = [name for name in {**topic.configs, **configs} if topic.configs.get(name) != configs.get(name)]
        topic.configs = dict(configs)
        _limit_segments(topic)
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

    def add_acl(self, acl: AclBinding) -> None:
        """Add an ACL; an existing one keeps its id."""
        if acl not in self.acls:
            self.acls[acl] = self.rng.randbytes(16)
            self.note([acl_record(acl, self.acls[acl])])

    def remove_acl(self, acl: AclBinding) -> None:
        """Remove an ACL."""
        self.note([acl_removal_record(self.acls.pop(acl))])

    def set_credential(self, name: str, mechanism: str, credential: ScramCredential | None) -> None:
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
        records += [credential_record(*key, credential) for key, credential in self.users.scram.items()]
        records += [row for topic in self.topics.values() for row in topic_records(topic, topic.partitions)]
        for entity, values in self.quotas.values.items():
            records += [quota_record(entity, key, value) for key, value in values.items()]
        for group_id, configs in self.group_configs.items():
            records += [group_config_record(group_id, *config) for config in configs.items()]
        for kind, resources in self.configs.resources():
            for resource, configs in resources.items():
                records += [resource_config_record(kind, resource, *config) for config in configs.items()]
        self.journals.rewrite([(None, record) for record in records])

    def group_configs_of(self, group_id: str) -> dict[str, str]:
        """Return all configs of a group, including defaults."""
        return {**self.configs.group_defaults(), **self.group_configs.get(group_id, {})}

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Replace the configs of a group by validated configs."""
        own = self.group_configs.get(group_id, {})
        names = [name for name in {**own, **configs} if own.get(name) != configs.get(name)]
        self.group_configs[group_id] = dict(configs)
        if not configs:
            del self.group_configs[group_id]
        self.note([group_config_record(group_id, name, configs.get(name)) for name in names])

    def configure_brokers(self, resource: str, configs: Mapping[str, str]) -> None:
        """Replace the dynamic configs of a broker, or of all brokers (""), by validated configs."""
        own = self.configs.dynamic.get(resource, {})
        names = [name for name in {**own, **configs} if own.get(name) != configs.get(name)]
        self.configs.alter(resource, configs)
        kind = ConfigResourceType.BROKER
        self.note([resource_config_record(kind, resource, name, configs.get(name)) for name in names])

    def configure_client_metrics(self, name: str, configs: Mapping[str, str]) -> None:
        """Replace the configs of a client metrics subscription (KIP-714); without configs it is deleted."""
        subscriptions = self.configs.client_metrics
        own = subscriptions.get(name, {})
        changed = [config for config in {**own, **configs} if own.get(config) != configs.get(config)]
        subscriptions[name] = dict(configs)
        if not configs:
            del subscriptions[name]
        kind = ConfigResourceType.CLIENT_METRICS
        self.note([resource_config_record(kind, name, config, configs.get(config)) for config in changed])

    def _apply_topic_defaults(self) -> None:
        for topic in self.topics.values():
            _limit_segments(topic)

    def set_quota(self, entity: QuotaEntity, key: str, value: float | None) -> None:
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

    def _add_partitions(self, topic: Topic, assignment: Mapping[int, Sequence[int]]) -> list[Partition]:
        added = []
        for index, ids in sorted(assignment.items()):
            replicas = {node_id: self.replica(self.nodes[node_id], topic.name, index) for node_id in ids}
            added.append(Partition(topic.name, index, replicas, isr=list(ids)))
        for partition in added:  # after all logs are open, for a directory may fail meanwhile
            partition.elect_leader()
        topic.partitions += added
        return added

    def replica(self, node: Node, topic: str, index: int, log_dir: LogDir | None = None) -> Replica:
        """Open a replica in a directory; a new one is by default placed in the directory with fewest partitions."""
        log_dirs = [candidate for candidate in node.log_dirs if not candidate.is_offline] or node.log_dirs
        return self._open_replica(log_dir or min(log_dirs, key=lambda candidate: candidate.replicas), topic, index)

    def _open_replica(self, log_dir: LogDir, topic: str, index: int) -> Replica:
        log_dir.replicas += 1
        replica = Replica(log_dir, None)
        self.open_log(replica, topic, index)
        return replica

    def open_log(self, replica: Replica, topic: str, index: int) -> None:
        """Open the log of a replica if its directory works."""

        def open_it(disk: Disk) -> None:
            owner = self.topics.get(topic)
            replica.log = ReplicaLog(disk.open(topic, index), owner.limits if owner is not None else NO_LIMITS)
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


def _limit_segments(topic: Topic) -> None:
    """Apply a topic's configs to its logs."""
    for partition in topic.partitions:
        for log in partition.online_logs().values():
            log.limits = topic.limits


def _keep_starts(starts: Mapping[tuple[str, int], int], disk: Disk) -> None:
    disk.keep_starts(starts)


def _forget(partition: Partition, disk: Disk) -> None:
    disk.delete(partition.topic, partition.index)
