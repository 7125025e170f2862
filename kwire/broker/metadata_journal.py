"""The cluster state that survives restarts: cluster id, topics with ids, replicas, leaders, ISRs and configs.

It is stored as records of KRaft's metadata log, written to every working log directory at the same time, so that after
a restart the contents of failed directories are known too. As in KRaft, records are flushed to disk before a request is
acknowledged, regardless of the topics' flush settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from .. import messages
from ..cluster import ClusterState, learn
from ..cluster.events.metadata_records import SAME_LEADER
from ..errors import KwireError
from ..internal import decode_metadata_frame, encode_frame, framed_record
from ..records import Record, RecordBatch, build_batch
from ..values import ConfigResourceType
from .authentication_and_acls import SCRAM, Acl, Credential, acl_of
from .partition_leader_and_isr import Partition, Topic
from .settings_and_quotas import Entity, LogDir, Node
from .storage import Damage, Disk, Store, valid_prefix

CLUSTER_ID = "cluster.id"

Row = tuple[bytes | None, bytes | None]  # key and value of a record


@dataclass(slots=True)
class Known:
    """The topics, brokers and cluster id in the journal of one directory."""

    cluster_id: str = ""
    state: ClusterState = field(default_factory=ClusterState)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    acls: dict[Acl, bytes] = field(default_factory=dict)
    scram: dict[tuple[str, str], Credential] = field(default_factory=dict)

    def ids(self) -> dict[str, bytes]:
        """Return the topic ids by topic name."""
        return {name: topic_id for topic_id, name in self.state.topic_names.items()}

    def learn(self, record: Record) -> None:
        """Apply a record; raises DecodeError if it is invalid."""
        value = decode_metadata_frame(record.value or b"").value
        learn(self.state, value.message, value.version or 0)
        name = type(value.message).__name__
        if name == "ConfigRecord":
            self._configure(value.message)
        elif name == "TopicRecord":
            self.configs.pop(value.message.name, None)
        else:
            self._learn_security(name, value.message)

    def _learn_security(self, name: str, record: Any) -> None:
        if name == "AccessControlEntryRecord":
            self.acls[acl_of(record)] = bytes(record.id)
        elif name == "RemoveAccessControlEntryRecord":
            self.acls = {acl: acl_id for acl, acl_id in self.acls.items() if acl_id != record.id}
        elif name == "UserScramCredentialRecord":
            keys = bytes(record.salt), bytes(record.stored_key), bytes(record.server_key)
            self.scram[record.name, SCRAM[record.mechanism]] = Credential(*keys, record.iterations)
        elif name == "RemoveUserScramCredentialRecord":
            self.scram.pop((record.name, SCRAM[record.mechanism]), None)

    def _configure(self, record: Any) -> None:
        if record.resource_type == ConfigResourceType.BROKER:
            self.cluster_id = (record.value or "") if record.name == CLUSTER_ID else self.cluster_id
            return
        is_group = record.resource_type == ConfigResourceType.GROUP
        configs = (self.group_configs if is_group else self.configs).setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value


class Learner(Protocol):
    """An object to which the records of a journal are applied."""

    def learn(self, record: Record) -> None:
        """Apply a record; raises KwireError if it is invalid."""


L = TypeVar("L", bound=Learner)
Guard = Callable[[LogDir, Callable[[Disk], None]], None]
Notes = Callable[[str], None]


class Journal(Generic[L]):
    """The journal in one directory. Damaged records at its end are truncated.

    Args:
        store: stores the records; raises OSError if the disk fails.
        make: creates an empty learner for the records.

    Attributes:
        known: the learner, after applying all records.
        end: the offset of the next record; 0 for an empty journal.
        cut: a description of the truncated data; empty if nothing was truncated.
    """

    def __init__(self, store: Store, make: Callable[[], L]) -> None:
        self.store: Store = store
        self.known: L = make()
        self.end: int = 0
        self.cut: str = ""
        self._begins = 0  # the offset of a complete state that is not yet flushed
        size, last = 0, None
        for one in valid_prefix(store.batches()):
            if isinstance(one, Damage):
                self.cut = f"cut at record {self.end}, {store.size() - size} bytes lost: {one.reason}"
                store.truncate(last)
                return
            if one.batch.base_offset != self.end:  # a rewrite starts here, and older records still exist
                self.known = make()
            self._learn(one.batch)
            size, last, self.end = size + len(one.batch.data), one.place, one.batch.last_offset + 1

    def _learn(self, batch: RecordBatch) -> None:
        try:
            for record in batch.records():
                self.known.learn(record)
        except KwireError as error:
            raise OSError(f"the journal is damaged: {error}") from None

    def rewrite(self, data: bytes, offset: int) -> None:
        """Write a batch with the complete state; the next flush drops older records."""
        self.store.roll(offset)
        self.store.append(data, offset)
        self._begins = offset

    def flush(self) -> None:
        """Flush written records to disk."""
        self.store.flush()
        if self._begins:
            self.store.drop_before(self._begins)
        self._begins = 0


class Journals(Generic[L]):
    """Journals with identical records, one in each working directory whose contents survive the process.

    Args:
        name: the kind of records, such as `metadata`.
        guard: performs an operation on the disk of a directory, and takes the directory offline if it fails.

    Attributes:
        end: the offset of the next record.
        size: the number of bytes written since the last rewrite.
    """

    def __init__(self, name: str, guard: Guard) -> None:
        self.name: str = name
        self._guard = guard
        self.end: int = 0
        self.size: int = 0
        self._journals: list[tuple[LogDir, Journal[L]]] = []
        self._to_write: list[list[Row]] = []
        self._is_unflushed = self._is_batched = False

    @property
    def is_open(self) -> bool:
        """Whether a directory can be written."""
        return bool(self._journals)

    def open(self, log_dirs: Iterable[LogDir], make: Callable[[], L], note: Notes) -> list[tuple[LogDir, L]]:
        """Read the journals; return their learners, first that of the longest and therefore newest journal."""
        for log_dir in log_dirs:
            self._guard(log_dir, partial(self._open, log_dir, make, note))
        self._journals.sort(key=lambda row: -row[1].end)
        self.end = self._journals[0][1].end if self._journals else 0
        return [(log_dir, journal.known) for log_dir, journal in self._journals]

    def _open(self, log_dir: LogDir, make: Callable[[], L], note: Notes, disk: Disk) -> None:
        store = disk.journal(self.name)
        if store is not None:
            journal = Journal(store, make)
            self._journals.append((log_dir, journal))
            if journal.cut:
                note(f"journal of {self.name}: {journal.cut} ({disk.path})")

    def write(self, rows: list[Row]) -> None:
        """Append records to all journals; records added during the write follow them."""
        self._to_write.append(rows)
        if len(self._to_write) > 1:
            return
        while self._to_write:
            if rows := self._to_write[0]:
                self._put(rows, is_anew=False)
            self._to_write.pop(0)
        self._written()

    def _written(self) -> None:
        self._is_unflushed = True
        if not self._is_batched:
            self.flush()

    @contextmanager
    def batched(self) -> Iterator[None]:
        """Flush at the end of the block instead of after each write, so that a request that creates a hundred topics
        needs one flush per directory."""
        is_outermost = not self._is_batched
        self._is_batched = True
        try:
            yield
        finally:
            if is_outermost:
                self._is_batched = False
                self.flush()

    def flush(self) -> None:
        """Flush written records to disk."""
        while self._is_unflushed:  # repeats if a disk fails, because that writes new leaders
            self._is_unflushed = False
            for log_dir, journal in self._journals:
                self._guard(log_dir, partial(_flush, journal))

    def rewrite(self, rows: list[Row]) -> None:
        """Write the complete state after the existing records, then drop the older records."""
        self.size = 0
        self._put(rows, is_anew=True)
        self._written()

    def _put(self, rows: list[Row], *, is_anew: bool) -> None:
        if not self._journals:
            return
        offset = self.end
        records = [Record(offset + place, 0, key, value) for place, (key, value) in enumerate(rows)]
        data = build_batch(records, base_offset=offset)
        self.end += len(rows)
        self.size += len(data)
        for log_dir, journal in self._journals:
            act = journal.rewrite if is_anew else journal.store.append
            self._guard(log_dir, partial(_put, act, data, offset))


def _put(act: Callable[[bytes, int], Any], data: bytes, offset: int, disk: Disk) -> None:
    act(data, offset)


def _flush(journal: Journal[Any], disk: Disk) -> None:
    journal.flush()


def cluster_record(cluster_id: str) -> bytes:
    """Return the record of the cluster id: a broker default config, because KRaft's log has no record type for it."""
    kind = ConfigResourceType.BROKER
    return _written(messages.ConfigRecord(resource_type=kind, resource_name="", name=CLUSTER_ID, value=cluster_id))


def broker_record(node: Node) -> bytes:
    """Return the registration record of a broker, which readers of metadata logs expect."""
    host, port = node.address
    endpoint = messages.RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host=host, port=port)
    return _written(
        messages.RegisterBrokerRecord(broker_id=node.node_id, rack=node.rack, end_points=(endpoint,), fenced=False)
    )


def acl_record(acl: Acl, acl_id: bytes) -> bytes:
    """Return the record of an ACL."""
    fields = acl._asdict()
    fields["permission_type"] = fields.pop("permission")
    return _written(messages.AccessControlEntryRecord(id=acl_id, **fields))


def acl_removal_record(acl_id: bytes) -> bytes:
    """Return the record of a removed ACL."""
    return _written(messages.RemoveAccessControlEntryRecord(id=acl_id))


def credential_record(name: str, mechanism: str, credential: Credential | None) -> bytes:
    """Return the record of a user's SCRAM credential; None is the removal."""
    number = next(number for number, known in SCRAM.items() if known == mechanism)
    if credential is None:
        return _written(messages.RemoveUserScramCredentialRecord(name=name, mechanism=number))
    return _written(
        messages.UserScramCredentialRecord(
            name=name,
            mechanism=number,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    )


def quota_record(entity: Entity, key: str, value: float | None) -> bytes:
    """Return the record of a client quota; None is the removal."""
    part = messages.ClientQuotaRecord.EntityData
    names = tuple(part(entity_type=kind, entity_name=name) for kind, name in sorted(entity, key=str))
    is_removed = value is None
    return _written(messages.ClientQuotaRecord(entity=names, key=key, value=value or 0.0, remove=is_removed))


def topic_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Return the records of a topic and of some of its partitions."""
    found = _written(messages.TopicRecord(name=topic.name, topic_id=topic.topic_id))
    configs = [config_record(topic, name) for name in topic.configs]
    return [found, *configs, *partition_records(topic, partitions)]


def config_record(topic: Topic, name: str) -> bytes:
    """Return the record of a topic's config; its value is null if the config is not set."""
    value, kind = topic.configs.get(name), ConfigResourceType.TOPIC
    return _written(messages.ConfigRecord(resource_type=kind, resource_name=topic.name, name=name, value=value))


def group_config_record(group_id: str, name: str, value: str | None) -> bytes:
    """Return the record of a group's config; its value is null if the config is not set."""
    kind = ConfigResourceType.GROUP
    return _written(messages.ConfigRecord(resource_type=kind, resource_name=group_id, name=name, value=value))


def partition_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Return the records of partitions."""
    return [
        _written(
            messages.PartitionRecord(
                partition_id=one.index,
                topic_id=topic.topic_id,
                replicas=tuple(one.replicas),
                isr=tuple(one.isr),
                leader=one.leader,
                leader_epoch=one.leader_epoch,
            )
        )
        for one in partitions
    ]


def change_record(topic: Topic, partition: Partition, new_leader: bool) -> bytes:
    """Return the record of a changed ISR, and of the leader if it is new."""
    leader = partition.leader if new_leader else SAME_LEADER
    isr = tuple(partition.isr)
    return _written(
        messages.PartitionChangeRecord(partition_id=partition.index, topic_id=topic.topic_id, isr=isr, leader=leader)
    )


def removal_record(topic: Topic) -> bytes:
    """Return the record of a deleted topic."""
    return _written(messages.RemoveTopicRecord(topic_id=topic.topic_id))


def _written(message: Any) -> bytes:
    return encode_frame(framed_record(message))
