"""What a cluster remembers over a restart: topics with their ids, replicas, leaders, who is in sync, configs.

They are records of KRaft's metadata log, kept in every log directory that works, all in one moment; so a cluster that
starts again knows also what lies in directories that have failed. Knows records and stores; knows no brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import messages
from ..cluster import ClusterState, learn
from ..embedded import decode_metadata_frame, encode_frame, framed_record
from ..errors import KwireError
from ..records import Record, build_batch
from ..values import ConfigResourceType
from .disks import Disk, Store
from .nodes import Node
from .partitions import Partition
from .topics import Topic

SAME_LEADER = -2


@dataclass(slots=True)
class Known:
    """What the journal of one directory tells, up to the record before `end`; nothing if `end` is 0."""

    end: int = 0
    state: ClusterState = field(default_factory=ClusterState)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)

    def ids(self) -> dict[str, bytes]:
        """Return the ids of topics by name."""
        return {name: topic_id for topic_id, name in self.state.topic_names.items()}

    def learn(self, value: bytes) -> None:
        """Take in a record; raises OSError if it is none, as a disk that gives back something else is broken."""
        try:
            record = decode_metadata_frame(value).value
        except KwireError as error:
            raise OSError(f"the journal of topics is damaged: {error}") from None
        learn(self.state, record.message, record.version or 0)
        if type(record.message).__name__ == "ConfigRecord":
            self._configure(record.message)
        if type(record.message).__name__ == "TopicRecord":
            self.configs.pop(record.message.name, None)

    def _configure(self, record: Any) -> None:
        configs = self.configs.setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value


class Journal:
    """Writes to one directory.

    Args:
        disk: the directory; using it raises OSError where it fails.
    """

    def __init__(self, disk: Disk) -> None:
        self._store: Store = disk.journal()
        self.known = Known()
        for batch, _ in self._store.batches():
            for record in batch.records():
                self.known.learn(record.value or b"")
            self.known.end = batch.last_offset + 1

    def write(self, records: Sequence[bytes], offset: int) -> None:
        """Append records, of which the first has an offset."""
        rows = [Record(offset + place, 0, None, value) for place, value in enumerate(records)]
        self._store.append(build_batch(rows, base_offset=offset), offset)

    def rewrite(self, records: Sequence[bytes], offset: int) -> None:
        """Write all that is still true, and forget what was before."""
        self.known = Known()
        if records:
            self._store.roll()
            self.write(records, offset)
            self._store.drop_before(offset)


def broker_record(node: Node) -> bytes:
    """Write of a broker that it is there; for who reads the journal, as brokers are told to a cluster that starts."""
    endpoint = messages.RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host=node.host, port=node.port)
    return _written(
        messages.RegisterBrokerRecord(broker_id=node.node_id, rack=node.rack, end_points=(endpoint,), fenced=False)
    )


def topic_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Write of a topic that it is there, with some of its partitions."""
    found = _written(messages.TopicRecord(name=topic.name, topic_id=topic.topic_id))
    configs = [config_record(topic, name) for name in topic.configs]
    return [found, *configs, *partition_records(topic, partitions)]


def config_record(topic: Topic, name: str) -> bytes:
    """Write what a config of a topic is set to; null if it is not."""
    value, kind = topic.configs.get(name), ConfigResourceType.TOPIC
    return _written(messages.ConfigRecord(resource_type=kind, resource_name=topic.name, name=name, value=value))


def partition_records(topic: Topic, partitions: Iterable[Partition]) -> list[bytes]:
    """Write how partitions are."""
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
    """Write who is in sync now, and who leads if that is new."""
    leader = partition.leader if new_leader else SAME_LEADER
    isr = tuple(partition.isr)
    return _written(
        messages.PartitionChangeRecord(partition_id=partition.index, topic_id=topic.topic_id, isr=isr, leader=leader)
    )


def removal_record(topic: Topic) -> bytes:
    """Write that a topic is no more."""
    return _written(messages.RemoveTopicRecord(topic_id=topic.topic_id))


def _written(message: Any) -> bytes:
    return encode_frame(framed_record(message))
