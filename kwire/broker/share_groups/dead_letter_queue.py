"""Dead letters of share groups (KIP-1191): rejected records, and those that were delivered too often, go to a topic.

Each has headers that say where it comes from, and key and value of the record if the group's configs say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ...cluster.state import NO_LEADER
from ...codecs.records import Record, RecordBatch, RecordHeader, build_batch, parse_records
from ...errors import KwireError
from ...errors.refused import Refused
from ..configs.config_store import ANY_NODE
from ..controller.kraft_controller import KRaftController
from ..controller.partition import Partition
from ..controller.topic import Topic
from ..groups.record_states import DeadLetter
from ..groups.share_group import TopicIdPartition
from ..internal_topics import Append
from ..log.batch_stamps import stamp_append_time
from ..purgatory import Parked, Purgatory

TOPIC_NAME = "errors.deadletterqueue.topic.name"  # configs of groups
COPIES_RECORDS = "errors.deadletterqueue.copy.record.enable"
TAKES_LETTERS = "errors.deadletterqueue.group.enable"  # of topics
CREATES_TOPICS = "errors.deadletterqueue.auto.create.topics.enable"  # of brokers
PREFIX = "errors.deadletterqueue.topic.name.prefix"
INTERNAL_PREFIX = "__"  # with which a dead letter topic's name cannot begin
BACKOFFS = (1.0, 2.0, 4.0, 8.0)  # seconds between the attempts to find the leader; Kafka's vary by a fifth
BATCH_OVERHEAD = 61  # bytes of a batch without records
MOST_DELTA_BYTES = 4  # by how many bytes a record may be longer at a later place in its batch


class DeadLetterQueue:
    """Writes dead letters.

    Args:
        controller: has the topics and the configs of groups.
        purgatory: runs the timers of repeated attempts.
        append: appends a batch to a partition; returns an error code.
        time_ms: returns the time of day, in milliseconds since 1970.
        is_on: returns whether the brokers' features include dead letters.
    """

    def __init__(
        self,
        controller: KRaftController,
        purgatory: Purgatory,
        append: Append,
        time_ms: Callable[[], int],
        is_on: Callable[[], bool],
    ) -> None:
        self._controller = controller
        self._purgatory = purgatory
        self._append = append
        self._time_ms = time_ms
        self._is_on = is_on

    def topic_of(self, group_id: str) -> str:
        """Return the dead letter topic that a group's configs name; empty if there is none."""
        # Kafka: SharePartition.isDLQEnabledForGroup
        return self._controller.group_configs.get(group_id, {}).get(TOPIC_NAME, "") if self._is_on() else ""

    def write(
        self,
        group_id: str,
        source: TopicIdPartition,
        letters: Sequence[DeadLetter],
        act: Callable[[], None],
        attempt: int = 0,
    ) -> None:
        """Write dead letters of a partition, immediately or once the topic's partition has a leader.

        Args:
            group_id: the id of the group.
            source: the topic id and partition index of the records.
            letters: the records.
            act: called once when they are written, or cannot be; Kafka archives them then, too.
            attempt: the number of earlier attempts.
        """
        # Kafka: ShareGroupDLQStateManager.dlq, ProduceRequestHandler.handleCreateTopicsResponse
        topic = self._find_topic(group_id)
        partition = topic.partitions[source[1] % len(topic.partitions)] if topic is not None else None
        if partition is not None and partition.leader == NO_LEADER and attempt < len(BACKOFFS):
            retry: Parked[None] = Parked(lambda over: self.write(group_id, source, letters, act, attempt + 1))
            self._purgatory.park(retry, self._purgatory.now + BACKOFFS[attempt])
            return
        if topic is not None and partition is not None:
            self._write(topic, partition, list(self._records(group_id, source, letters, topic)))
        act()

    def _find_topic(self, group_id: str) -> Topic | None:
        """Return the dead letter topic of a group, which may be created; None if it takes no letters of the group."""
        # Kafka: ShareGroupDLQStateManager.ProduceRequestHandler.validateDlqTopic, createTopicBuilder
        name, configs = self.topic_of(group_id), self._controller.configs
        topic = self._controller.topics.get(name)
        if not name or name.startswith(INTERNAL_PREFIX) or not name.startswith(configs.value(PREFIX, ANY_NODE) or ""):
            return None
        if topic is not None:
            return topic if topic.flag(TAKES_LETTERS) else None
        if (configs.value(CREATES_TOPICS, ANY_NODE) or "").strip().lower() != "true":
            return None
        try:
            of_topic = {TAKES_LETTERS: "true", "message.timestamp.type": "CreateTime"}
            return self._controller.create(name, self._controller.place(-1, -1), of_topic)
        except Refused:
            return None

    def _records(
        self, group_id: str, source: TopicIdPartition, letters: Sequence[DeadLetter], topic: Topic
    ) -> Iterator[Record]:
        """Yield the records to write."""
        # Kafka: ShareGroupDLQStateManager.ProduceRequestHandler.topicProduceData, headers
        source_topic = self._controller.by_id.get(source[0])
        if source_topic is None:
            return
        copies = self._controller.group_configs_of(group_id)[COPIES_RECORDS].lower() == "true"
        limit = topic.number("max.message.bytes")
        originals = _read(source_topic.partitions[source[1]], letters, limit) if copies else {}
        now = self._time_ms()
        for letter in letters:
            headers = {
                "topic": source_topic.name,
                "partition": str(source[1]),
                "offset": str(letter.offset),
                "group": group_id,
                "delivery.count": str(letter.deliveries),
                "message": letter.cause,
            }
            key, value = originals.get(letter.offset, (None, None))
            yield Record(
                0,
                now,
                key,
                value,
                tuple(RecordHeader(f"__dlq.errors.{name}", text.encode()) for name, text in headers.items()),
            )

    def _write(self, topic: Topic, partition: Partition, records: Sequence[Record]) -> None:
        """Append records in batches that are not larger than the topic allows; what cannot be appended is lost."""
        configs = topic.append_configs(partition.leader)
        batches: list[list[Record]] = []
        size = 0
        for record in records:
            added = len(build_batch([record])) - BATCH_OVERHEAD + MOST_DELTA_BYTES
            if not batches or size + added > configs.max_message_bytes:
                batches.append([])
                size = BATCH_OVERHEAD
            size += added
            batches[-1].append(msgspec.structs.replace(record, offset=len(batches[-1])))
        for rows in batches:
            (batch,) = parse_records(build_batch(rows))
            is_too_large = len(batch.data) > configs.max_message_bytes
            if is_too_large or (configs.is_compacted and any(record.key is None for record in rows)):
                continue
            self._append(partition, stamp_append_time(batch, self._time_ms()) if configs.uses_append_time else batch)


def _read(
    partition: Partition, letters: Sequence[DeadLetter], limit: int
) -> dict[int, tuple[bytes | None, bytes | None]]:
    """Return keys and values by offset; without those of records that cannot be read, or are larger than a limit."""
    # Kafka: ShareGroupDLQRecordFetcher.collectUncompressed
    log = partition.log_at(partition.leader)
    originals: dict[int, tuple[bytes | None, bytes | None]] = {}
    if isinstance(log, int):
        return originals
    for letter in letters:
        if letter.offset in originals or not log.start <= letter.offset < log.end:
            continue
        for batch in parse_records(log.read(letter.offset, log.measure(letter.offset, 1))):
            for record in _records_of(batch):
                if len(record.key or b"") + len(record.value or b"") <= limit:
                    originals[record.offset] = record.key, record.value
    return originals


def _records_of(batch: RecordBatch) -> Sequence[Record]:
    try:
        return tuple(batch.tolerant_records())
    except KwireError:
        return ()  # it cannot be decompressed here, or is damaged
