"""The state of a served cluster, and the request context that handlers receive. This module has no handlers and decodes
no bytes.

The state includes fetch sessions (KIP-227): the first Fetch request of a session lists all partitions, the following
ones only changes; responses omit unchanged partitions in the same way.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import msgspec

from .. import messages
from ..records import RecordBatch
from ..spec.catalog import Catalog, catalog_for
from ..spec.releases import releases
from ..values import AclOperation, ErrorCode, ResourceType
from .authentication_and_acls import ANONYMOUS, CLUSTER_NAME, Authorizer, Session, denial
from .faults import Rules, api_of
from .group_coordinator import Groups
from .internal_topics import GROUPS, SHARES, TRANSACTIONS, InternalTopic
from .kraft_controller import Controller, catch_up, copy_log, recover
from .metadata_journal import cluster_record
from .partitions import Partition, Topic
from .purgatory import Purgatory
from .replica_log import NEVER, Log
from .settings import LogDir, Node, Quotas, Settings
from .share_coordinator import Shares
from .transaction_coordinator import Transactions

MOST_SESSIONS = 1000  # the default of Kafka's max.incremental.fetch.session.cache.slots
FIRST, FINAL = 0, -1  # epochs that begin and end a session
_HIGHEST = 2**31 - 1

Key = tuple[str, bytes, int]  # topic name and id (one of them is empty), and partition


@dataclass(slots=True, eq=False)
class FetchSession:
    """A fetch session between a client and a broker.

    Attributes:
        session_id: the id of the session.
        epoch: the expected epoch of the next request.
        parts: the fetch position and limits of each partition, in the order in which partitions are read.
        sent: the high watermark and log start offset of each partition as last sent to the client.
        is_new: whether the next response lists all partitions.
    """

    session_id: int
    epoch: int = 1
    parts: dict[Key, Any] = field(default_factory=dict)
    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_new: bool = True

    def update(self, asked: Any) -> None:
        """Update the session with the partitions that a request lists or forgets."""
        for row in asked.topics:
            for part in row.partitions:
                self.parts[row.topic, row.topic_id, part.partition] = part
        for row in asked.forgotten_topics_data:
            for index in row.partitions:
                self.parts.pop((row.topic, row.topic_id, index), None)
                self.sent.pop((row.topic, row.topic_id, index), None)

    def topics(self) -> tuple[Any, ...]:
        """Return the session's partitions as rows of a full Fetch request."""
        rows: list[tuple[tuple[str, bytes], list[Any]]] = []
        for (name, topic_id, _), part in self.parts.items():
            if not rows or rows[-1][0] != (name, topic_id):
                rows.append(((name, topic_id), []))
            rows[-1][1].append(part)
        row = messages.FetchRequest.FetchTopic
        return tuple(row(topic=name, topic_id=topic_id, partitions=tuple(parts)) for (name, topic_id), parts in rows)

    def only_news(self, response: Any) -> Any:
        """Return the response without unchanged partitions; partitions with records move to the end of the reading
        order."""
        rows = []
        for row in response.responses:
            parts = tuple(part for part in row.partitions if self._is_news(row, part))
            if parts:
                rows.append(msgspec.structs.replace(row, partitions=parts))
        self.is_new = False
        return msgspec.structs.replace(response, responses=tuple(rows), session_id=self.session_id)

    def _is_news(self, row: Any, part: Any) -> bool:
        key = row.topic, row.topic_id, part.partition_index
        offsets = part.high_watermark, part.log_start_offset
        is_same = self.sent.get(key) == offsets and not part.error_code and part.preferred_read_replica < 0
        if part.error_code:
            self.sent.pop(key, None)
        else:
            self.sent[key] = offsets
        if part.records and key in self.parts:
            self.parts[key] = self.parts.pop(key)
        return self.is_new or bool(part.records) or not is_same


class FetchSessions:
    """The fetch sessions of one cluster, by broker and id; if the cache is full, a new session evicts the least
    recently used one.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._sessions: OrderedDict[tuple[int, int], FetchSession] = OrderedDict()

    def found(self, node_id: int, asked: Any) -> FetchSession | int | None:
        """Return the fetch session of a request, after updating it with the request.

        Args:
            node_id: the broker that received the request.
            asked: the request message.

        Returns:
            The session; None for a request without one; or an error code.
        """
        key = node_id, asked.session_id
        if asked.session_epoch in (FIRST, FINAL):
            self._sessions.pop(key, None)
            return self._made(node_id, asked) if asked.session_epoch == FIRST else None
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != asked.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = session.epoch % _HIGHEST + 1
        session.update(asked)
        self._sessions.move_to_end(key)
        return session

    def _made(self, node_id: int, asked: Any) -> FetchSession | None:
        session = FetchSession(self._rng.randrange(1, _HIGHEST))
        session.update(asked)
        if not session.parts or (node_id, session.session_id) in self._sessions:
            return None
        self._sessions[node_id, session.session_id] = session
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session


READ_ONLY = "the log directories are read only (--read-only)"
# Requests that read-only log directories refuse. Groups still work: commits are kept in memory only.
WRITING = frozenset(
    "AddOffsetsToTxn AddPartitionsToTxn AddRaftVoter AlterClientQuotas AlterConfigs AlterPartitionReassignments"
    " AlterReplicaLogDirs AlterUserScramCredentials CreateAcls CreatePartitions CreateTopics DeleteAcls DeleteRecords"
    " DeleteTopics ElectLeaders EndTxn IncrementalAlterConfigs InitProducerId Produce RemoveRaftVoter TxnOffsetCommit"
    " UnregisterBroker UpdateFeatures WriteTxnMarkers".split()
)
DAY_MS = 24 * 3600 * 1000  # delete.retention.ms


class Api(NamedTuple):
    """The versions of an api that are served, and its handler.

    Attributes:
        first, last: the lowest and the highest served version.
        handler: returns the response, a `Parked` that will contain the response, or None if there is no response.
        finds_errors: whether the handler applies error rules to the parts of a request (`RequestContext.error`).
        is_advertised: whether ApiVersions lists it.
    """

    first: int
    last: int
    handler: Callable[[RequestContext], Any]
    finds_errors: bool = False
    is_advertised: bool = True


class Feature(NamedTuple):
    """A feature of the cluster (KIP-584): its range of levels, the level in new clusters, an api that requires it."""

    first: int
    last: int
    level: int
    api: str


FEATURES: dict[str, Feature] = {
    "group.version": Feature(0, 1, 1, "ConsumerGroupHeartbeat"),  # KIP-848
    "metadata.version": Feature(7, 27, 27, "ConsumerGroupHeartbeat"),  # as Kafka 4.1
    "share.version": Feature(0, 1, 1, "ShareGroupHeartbeat"),  # KIP-932
    "transaction.version": Feature(0, 2, 2, "ConsumerGroupHeartbeat"),  # KIP-890
}


@dataclass(frozen=True, slots=True, eq=False)
class RequestContext:
    """A request to a served cluster, with its context.

    Attributes:
        cluster: the cluster.
        node_id: the broker that received the request.
        message: the request message.
        version: the version of the message.
        now: the time of receipt, in seconds of an arbitrary clock.
        client_id, client_host: the client's id and its address.
        principal: the authenticated principal, such as `User:alice`.
        session: the authentication state of the connection.
    """

    cluster: Cluster
    node_id: int
    message: Any
    version: int
    now: float
    client_id: str
    client_host: str
    principal: str = ANONYMOUS
    session: Session | None = None

    def error(
        self,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
    ) -> int:
        """Return the error code for a part of this request: if the principal is not authorized, if the request would
        write to read-only log directories, or if a test's rule applies; 0 if the part may be handled."""
        authorizer, rules = self.cluster.authorizer, self.cluster.rules
        if authorizer is not None and (
            code := denial(self.allows, api_of(self.message), topic, group, transactional_id)
        ):
            return code
        if self._is_refused:
            return ErrorCode.POLICY_VIOLATION
        return rules.error(self, topic, partition, transactional_id if group is None else group) if rules else 0

    @property
    def _is_refused(self) -> bool:
        return self.cluster.settings.read_only and api_of(self.message) in WRITING

    def denied(self, code: int) -> dict[str, Any]:
        """Return the fields of a response row for an error code of `error`."""
        is_read_only = code == ErrorCode.POLICY_VIOLATION and self._is_refused
        return {"error_code": code, "error_message": READ_ONLY if is_read_only else ErrorCode(code).about}

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Return whether the ACLs allow the principal to perform an operation on a resource."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows(self.principal, self.client_host, operation, resource_type, name)

    def may_create(self, topic: str) -> bool:
        """Return whether the principal may create a topic: with CREATE on the cluster or on the topic (KIP-277)."""
        may = self.allows(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
        return may or self.allows(AclOperation.CREATE, ResourceType.TOPIC, topic)


class Cluster:
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

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random, table: Mapping[str, Api]) -> None:
        self.settings: Settings = settings
        self.rng: Random = rng
        self.fetch_max_bytes: int = settings.fetch_max_bytes
        self.catalog: Catalog = catalog_for(settings.profile)
        self.table = table
        # Specs are parsed when a request needs them: parsing all of them to get their keys took 28 ms of 40.
        keys = {one.name: one.key for one in releases().apis.values()}
        self.apis: dict[int, Api] = {
            keys[name] if name in keys else self._api_key(name, api): api
            for name, api in reversed(list(table.items()))  # drafts sort after the released message
        }
        self.controller: Controller = Controller(nodes, settings, rng)
        with self.controller.journals.batched():
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
            name: one.level for name, one in FEATURES.items() if one.api in self.table
        }
        self.rules: Rules = Rules()
        self.quotas: Quotas = self.controller.quotas
        self.fetch_sessions: FetchSessions = FetchSessions(Random(rng.getrandbits(64)))
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

        self.groups: Groups = Groups(self.controller, self.waiting, log(GROUPS), clock)
        self.shares: Shares = Shares(self.controller, self.groups, self.waiting, log(SHARES), clock)
        self.transactions: Transactions = Transactions(
            self.controller, self.groups, self.waiting, log(TRANSACTIONS), self.append, self.new_producer_id, clock
        )

    def _api_key(self, name: str, api: Api) -> int:
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

    def append(self, partition: Partition, batch: RecordBatch) -> int:
        """Append a batch to a partition that has a leader; returns an error code."""
        return self.appended(partition, batch)[0]

    def appended(self, partition: Partition, batch: RecordBatch) -> tuple[int, int]:
        """Append a batch to a partition; returns an error code, and the offset of the first record (-1 on error)."""
        log = partition.log_at(partition.leader)
        if isinstance(log, int):
            return log, -1
        offset, failed = partition.append(log, batch)
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
        self._changed()

    def _changed(self) -> None:
        """Complete the requests that wait for partitions whose leader or ISR may have changed."""
        for partition in self.controller.partitions():
            self.waiting.changed((partition.topic, partition.index))

    def stop(self, node_id: int) -> None:
        """Stop or disconnect a broker; other replicas become leaders of its partitions."""
        self.controller.nodes[node_id].set_stopped(True)
        self.controller.react()
        self._changed()

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
        self._changed()

    def lead(self, partition: Partition, node_id: int) -> None:
        """Make a replica the leader; raises ValueError if the replica is out of sync or unreachable."""
        if node_id not in partition.isr or not partition.replicas[node_id].is_online:
            raise ValueError(f"broker {node_id} is not in the ISR of {partition.topic}-{partition.index}")

        def act(one: Partition) -> None:
            one.leader, one.leader_epoch = node_id, one.leader_epoch + 1

        self.controller.change([partition] if partition.leader != node_id else [], act)
        self._changed()

    def shrink(self, partition: Partition, node_ids: Collection[int]) -> None:
        """Remove replicas from the ISR; raises ValueError if the ISR would become empty."""
        left = [node_id for node_id in partition.isr if node_id not in node_ids]
        if not left:
            raise ValueError(f"{partition.topic}-{partition.index} would have an empty ISR")

        def act(one: Partition) -> None:
            one.isr = left
            one.elect()

        self.controller.change([partition], act)
        self._changed()

    def expand(self, partition: Partition) -> None:
        """Make all reachable replicas catch up and rejoin the ISR."""

        def act(one: Partition) -> None:
            for node_id, replica in one.replicas.items():
                if replica.log_dir.works:
                    catch_up(self.controller, one, node_id)

        self.controller.change([partition], act)
        self._changed()

    def lead_unclean(self, partition: Partition, node_id: int) -> None:
        """Make an out-of-sync replica the leader; records that this replica lacks are lost."""

        def act(one: Partition) -> None:
            one.isr = [node_id]
            one.elect()

        self.controller.change([partition], act)
        self.expand(partition)

    def reassign(self, partition: Partition, node_ids: Sequence[int]) -> None:
        """Move a partition to other brokers: new replicas copy the records, then the old replicas are deleted."""
        partition.target = list(node_ids)
        topic = self.controller.topics[partition.topic]
        for node_id in node_ids:
            if node_id not in partition.replicas:
                node = self.controller.nodes[node_id]
                partition.replicas[node_id] = self.controller.replica(node, topic.name, partition.index)
        self.finish_reassignment(partition)

    def cancel_reassignment(self, partition: Partition) -> bool:
        """Cancel the reassignment of a partition; returns whether there was one."""
        if partition.target is None:
            return False
        partition.target = None
        self._remove(partition, [one for one in partition.replicas if one not in partition.isr])
        return True

    def finish_reassignment(self, partition: Partition) -> None:
        """Make the new replicas catch up; when all are in sync, delete the replicas that the reassignment removes."""
        if partition.target is None:
            return
        self.expand(partition)
        if all(node_id in partition.isr for node_id in partition.target):
            target, partition.target = partition.target, None
            partition.replicas = {one: partition.replicas[one] for one in [*target, *partition.replicas]}
            self._remove(partition, [one for one in partition.replicas if one not in target])

    def _remove(self, partition: Partition, node_ids: Collection[int]) -> None:
        for node_id in node_ids:
            self.controller.remove_replica(partition, node_id)
        partition.isr = [one for one in partition.replicas if one in partition.isr]
        partition.elect()
        self.controller.remember_partition(partition)
        self._changed()

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
        flush_ms, kept = topic.number("flush.ms", NEVER), topic.number("retention.ms", -1)
        ratio = float(topic.configs.get("min.cleanable.dirty.ratio", "0.5"))
        least_lag, most_lag = topic.number("min.compaction.lag.ms", 0), topic.number("max.compaction.lag.ms", NEVER)
        tombstones = topic.number("delete.retention.ms", DAY_MS)

        def act(log: Log) -> None:
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
