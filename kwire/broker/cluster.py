"""The brokers of a served cluster and all their state. This module has no handlers and decodes no bytes."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from ..codecs.records import RecordBatch
from ..schema.catalog import Catalog, catalog_for
from ..schema.releases import releases
from ..values import ErrorCode
from .api import ServedApi
from .client_quota_manager import ClientQuotaManager
from .controller.journal_records import cluster_record
from .controller.kraft_controller import KRaftController
from .controller.partition import Partition
from .controller.replica_catch_up import catch_up, copy_log
from .controller.restart_recovery import recover
from .controller.topic import Topic
from .controller.topic_names import GROUPS, SHARES, TRANSACTIONS
from .fault_rules import FaultRules
from .features import FIRST_WITH_DEAD_LETTERS, features_of
from .fetch_sessions import FetchSessions
from .groups.group_coordinator import GroupCoordinator
from .internal_topics import InternalTopic
from .log.replica_log import NEVER, ReplicaLog
from .node import LogDir, Node
from .purgatory import Purgatory
from .security.authorizer import Authorizer
from .settings import Settings
from .share_groups.dead_letter_queue import DeadLetterQueue
from .share_groups.share_coordinator import ShareCoordinator
from .transactions.transaction_coordinator import TransactionCoordinator


class BrokerCluster:
    """Brokers and one controller, which share all state.

    Args:
        nodes: the brokers, at least one.
        settings: the settings of all brokers.
        rng: the random generator for ids and replica placement.
        table: the served apis by name.

    Attributes:
        catalog: the specs of the served messages.
        table, apis: the served apis by name, and by key.
        authorizer: evaluates ACLs; None allows everything.
        feature_levels: the finalized levels of features.
        groups: the groups of all types.
        shares: the share partitions.
        transactions: the states of the transactional ids.
        time_ms: returns the time of day in milliseconds since 1970; set by the code that runs the cluster.
        rules: a test's rules, which change how requests are handled.
        fetch_max_bytes: the size limit of a Fetch response in bytes; the caller may lower it temporarily.
        waiting: parked requests; the caller removes completed ones from `waiting.answered`.
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random, table: Mapping[str, ServedApi]) -> None:
        self.settings: Settings = settings
        self.rng: Random = rng
        self._is_restored = False
        self.fetch_max_bytes: int = settings.fetch_max_bytes
        self.catalog: Catalog = catalog_for(settings.profile)
        self.table = table
        # Specs are parsed when a request needs them: parsing all of them to get their keys took 28 ms of 40.
        keys = {released.name: released.key for released in releases().apis.values()}
        self.apis: dict[int, ServedApi] = {
            keys[name] if name in keys else self._api_key(name, api): api
            for name, api in reversed(list(table.items()))  # drafts sort after the released message
        }
        self.controller: KRaftController = KRaftController(nodes, settings, rng)
        with self.controller.journals:
            recover(self.controller)
            self._set_up(rng)
        self._restore_coordinators()

    def _set_up(self, rng: Random) -> None:
        """Create the state that lasts as long as the process; a new cluster gets an id."""
        settings = self.settings
        self.authorizer: Authorizer | None = None
        if settings.authorizer:
            self.authorizer = Authorizer(settings.super_users, settings.allow_without_acls, self.controller.acls)
        self.feature_levels: dict[str, int] = {
            name: feature.level for name, feature in features_of(settings.release).items() if feature.level
        }
        self.rules: FaultRules = FaultRules()
        self.quotas: ClientQuotaManager = self.controller.quotas
        self.fetch_sessions: FetchSessions = FetchSessions(Random(rng.getrandbits(64)), settings.max_fetch_sessions)
        self.waiting: Purgatory = Purgatory()
        self.producer_ids: int = rng.getrandbits(40)  # the last one; earlier runs: in the logs
        self.time_ms: Callable[[], int] = lambda: int(self.waiting.now * 1000)
        cluster_id = urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")
        if not self.controller.cluster_id:
            self.controller.cluster_id = cluster_id
            self.controller.note([cluster_record(cluster_id)])

    def _restore_coordinators(self) -> None:
        """Restore groups and transactions from the records of the internal topics."""

        def clock() -> int:
            return self.time_ms()

        def log(name: str) -> InternalTopic:
            return InternalTopic(name, self.controller, self.append, clock)

        self.groups: GroupCoordinator = GroupCoordinator(self.controller, self.waiting, log(GROUPS), clock)
        letters = DeadLetterQueue(self.controller, self.waiting, self.append, clock, self._has_dead_letters)
        self.shares: ShareCoordinator = ShareCoordinator(
            self.controller, self.groups, self.waiting, log(SHARES), clock, letters
        )
        self.transactions: TransactionCoordinator = TransactionCoordinator(
            self.controller, self.groups, self.waiting, log(TRANSACTIONS), self.append, self.new_producer_id, clock
        )
        self._is_restored = True

    def _api_key(self, name: str, api: ServedApi) -> int:
        key = self.catalog.spec(f"{name}Request", api.last).api_key
        assert key is not None
        return key

    @property
    def cluster_id(self) -> str:
        """The cluster id; log directories preserve it across restarts."""
        return self.controller.cluster_id

    @property
    def notes(self) -> list[str]:
        """The messages for the operator; the caller removes them."""
        return self.controller.notes

    def new_producer_id(self) -> int:
        """Return a new producer id."""
        self.producer_ids += 1
        return self.producer_ids

    def _has_dead_letters(self) -> bool:
        # Kafka: ShareVersion.SV_2
        return self.feature_levels.get("share.version", 0) >= FIRST_WITH_DEAD_LETTERS

    def append(self, partition: Partition, batch: RecordBatch) -> int:
        """Append a batch of a broker's own, which all in-sync replicas must have; returns an error code."""
        topic = self.controller.topics.get(partition.topic)
        if topic is not None and topic.lacks_in_sync(partition):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return self.appended(partition, batch)[0]

    def appended(self, partition: Partition, batch: RecordBatch) -> tuple[int, int]:
        """Append a batch to a partition; returns an error code, and the offset of the first record (-1 on error)."""
        log = partition.log_at(partition.leader)
        if isinstance(log, int):
            return log, -1
        offset, failed = partition.append(log, batch)
        if failed:
            self.fail(*failed)
        if offset is None:
            return ErrorCode.KAFKA_STORAGE_ERROR, -1
        self.waiting.changed((partition.topic, partition.index))
        return ErrorCode.NONE, offset

    def fail(self, *log_dirs: LogDir) -> None:
        """Take failed log directories offline, and complete the requests that wait for their partitions."""
        if not log_dirs:
            return
        self.controller.fail(*log_dirs)
        self._complete_waiting()

    def _complete_waiting(self) -> None:
        """Complete the requests that wait for partitions whose leader or ISR may have changed, and restore what is in
        partitions of internal topics that had no leader since the start."""
        if self._is_restored:
            self.groups.restore()
            self.shares.restore()
            self.transactions.restore()
        for partition in self.controller.partitions():
            self.waiting.changed((partition.topic, partition.index))

    def stop(self, node_id: int) -> None:
        """Stop or disconnect a broker; other replicas become leaders of its partitions."""
        self.controller.nodes[node_id].set_stopped(True)
        self.controller.react()
        self._complete_waiting()

    def start(self, node_id: int) -> None:
        """Start a stopped broker; its replicas catch up."""
        node = self.controller.nodes[node_id]
        node.set_stopped(False)
        self._catch_up(*node.log_dirs)

    def heal(self, log_dir: LogDir) -> None:
        """Repair a failed log directory; its replicas catch up."""
        log_dir.is_offline = log_dir.is_full = False
        self._catch_up(log_dir)
        self.controller.remember_all()  # the journal in this directory lacks the records that were written meanwhile

    def _catch_up(self, *log_dirs: LogDir) -> None:
        def act(partition: Partition) -> None:
            for node_id, replica in partition.replicas.items():
                if replica.log_dir in log_dirs:
                    catch_up(self.controller, partition, node_id)

        self.controller.change(self.controller.partitions(), act)
        self.controller.react()
        self.transactions.retry()
        self._complete_waiting()

    def move_leader(self, partition: Partition, node_id: int) -> None:
        """Make a replica the leader; raises ValueError if the replica is out of sync or unreachable."""
        self.controller.change([partition], lambda changed: changed.move_leader(node_id))
        self._complete_waiting()

    def shrink_isr(self, partition: Partition, node_ids: Collection[int]) -> None:
        """Remove replicas from the ISR; raises ValueError if the ISR would become empty."""
        self.controller.change([partition], lambda changed: changed.shrink_isr(node_ids))
        self._complete_waiting()

    def expand_isr(self, partition: Partition) -> None:
        """Make all reachable replicas catch up and rejoin the ISR."""

        def act(changed: Partition) -> None:
            for node_id, replica in changed.replicas.items():
                if replica.log_dir.works:
                    catch_up(self.controller, changed, node_id)

        self.controller.change([partition], act)
        self._complete_waiting()

    def elect_unclean_leader(self, partition: Partition, node_id: int) -> None:
        """Make an out-of-sync replica the leader; records that this replica lacks are lost."""
        self.controller.change([partition], lambda changed: changed.elect_unclean_leader(node_id))
        self.expand_isr(partition)

    def reassign(self, partition: Partition, node_ids: Sequence[int]) -> None:
        """Move a partition to other brokers: new replicas copy the records, then the old replicas are deleted."""
        # Kafka: PartitionReassignmentReplicas; the replicas are those of the target, then those that go, by id.
        partition.target = list(node_ids)
        partition.adding = sorted(node_id for node_id in node_ids if node_id not in partition.replicas)
        topic = self.controller.topics[partition.topic]
        for node_id in partition.adding:
            node = self.controller.nodes[node_id]
            partition.replicas[node_id] = self.controller.replica(node, topic.name, partition.index)
        removing = sorted(node_id for node_id in partition.replicas if node_id not in node_ids)
        partition.replicas = {node_id: partition.replicas[node_id] for node_id in [*node_ids, *removing]}
        self.finish_reassignment(partition)

    def cancel_reassignment(self, partition: Partition) -> bool:
        """Cancel the reassignment of a partition; returns whether there was one."""
        if partition.target is None:
            return False
        partition.target, adding = None, partition.adding
        kept = [node_id for node_id in partition.replicas if node_id not in adding]
        if not any(node_id in partition.isr for node_id in kept):
            partition.isr = kept  # Kafka: PartitionReassignmentRevert, unclean
        self._remove(partition, [node_id for node_id in partition.replicas if node_id in adding])
        return True

    def finish_reassignment(self, partition: Partition) -> None:
        """Make the new replicas catch up; when all are in sync, delete the replicas that the reassignment removes."""
        if partition.target is None:
            return
        self.expand_isr(partition)
        if all(node_id in partition.isr for node_id in partition.target):
            target, partition.target = partition.target, None
            self._remove(partition, [replica_id for replica_id in partition.replicas if replica_id not in target])

    def _remove(self, partition: Partition, node_ids: Collection[int]) -> None:
        for node_id in node_ids:
            self.controller.remove_replica(partition, node_id)
        partition.isr = [replica_id for replica_id in partition.replicas if replica_id in partition.isr]
        partition.elect_leader()
        self.controller.remember_partition(partition)
        self._complete_waiting()

    def move_replica(self, partition: Partition, node_id: int, log_dir: LogDir) -> None:
        """Move a replica to another log directory of its broker."""
        if partition.replicas[node_id].log_dir is log_dir:
            return
        old = partition.replicas[node_id]
        new = self.controller.replica(self.controller.nodes[node_id], partition.topic, partition.index, log_dir)
        if old.log is not None and new.log is not None:
            copy_log(old.log, new.log)
        self.controller.forget_replica(partition, old)
        partition.replicas[node_id] = new

    def check(self) -> None:
        """Take failed directories offline, write pending transaction markers, and delete expired commits."""
        self.transactions.retry()
        self.groups.expire_commits()
        for topic in list(self.controller.topics.values()):
            self._look_after(topic)
        for partition in list(self.controller.partitions()):
            self.finish_reassignment(partition)
        for node in self.controller.nodes.values():
            for log_dir in node.log_dirs:
                try:
                    if log_dir.works:
                        log_dir.disk.check()
                except OSError as error:
                    log_dir.problem = str(error.strerror or error)
                    self.fail(log_dir)

    def _look_after(self, topic: Topic) -> None:
        """Flush and compact the logs of a topic, and delete expired segments."""
        now = self.time_ms()
        flush_ms, kept = topic.number("flush.ms"), topic.number("retention.ms")
        ratio = float(topic.text("min.cleanable.dirty.ratio"))
        least_lag, most_lag = topic.number("min.compaction.lag.ms"), topic.number("max.compaction.lag.ms")
        tombstones = topic.number("delete.retention.ms")

        def act(log: ReplicaLog) -> None:
            if flush_ms != NEVER:
                log.flush_by(now, flush_ms)
            if topic.has_policy("delete") and kept >= 0:
                log.expire(now - kept)
            if topic.has_policy("compact") and log.is_dirty(ratio, now - most_lag):
                log.compact(now, tombstones, least_lag)

        for partition in topic.partitions:
            self.fail(*partition.of_all(act))

    def delete(self, topic: Topic) -> None:
        """Delete a topic, and complete the requests that wait for its records."""
        self.controller.delete(topic)
        for partition in topic.partitions:
            self.waiting.changed((partition.topic, partition.index))

    def tick(self, now: float) -> None:
        """Advance the time to `now`, and complete requests whose deadline has passed."""
        self.waiting.tick(now)

    @property
    def next_deadline(self) -> float | None:
        """The time of the next `tick`; None if nothing is waiting."""
        return self.waiting.next_deadline
