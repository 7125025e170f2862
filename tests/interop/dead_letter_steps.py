"""The steps of a share group whose rejected records go to a dead letter topic (KIP-1191), good and bad ones.

`python -m tests.interop.dead_letter_steps HOST:PORT` prints a line for each, against any single broker whose
`share.version` is 2; `tests/data/dead-letters-kafka-4.4.0.txt` is what Kafka 4.4.0 answered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import kwire
from tests.interop.share_group_steps import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, M, Sharers
from tests.interop.transaction_steps import Line

TOPIC, BROKER = 2, 4  # the types of resources with configs
TOPIC_NAME, COPIES = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.copy.record.enable"
ENABLED = "errors.deadletterqueue.group.enable"
AUTO_CREATION = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX = "errors.deadletterqueue.topic.name.prefix"
Letter = tuple[int, bytes | None, bytes | None, list[tuple[str, str]]]  # partition, key, value, headers


class LetterWriters(Sharers):
    """A share group with a dead letter topic."""

    def begin(self) -> None:
        super().begin()
        self.reads_from("earliest")
        self.letters = f"dlq.{self.topic}"

    def send_record(self, index: int, key: bytes | None, value: bytes | None) -> None:
        """Produce a record with a header of its own."""
        record = kwire.Record(0, 1_700_000_000_000, key, value, (kwire.RecordHeader("h", b"x"),))
        part = M.ProduceRequest.PartitionProduceData(index=index, records=kwire.build_batch([record]))
        row = M.ProduceRequest.TopicProduceData(name=self.topic, partition_data=(part,))
        fields = {"acks": -1, "timeout_ms": 5000, "topic_data": (row,)}
        found = self.ask("Produce", 10, self.leaders[index], **fields).responses[0].partition_responses[0]
        assert found.error_code == 0

    def set(self, kind: int, resource: str, name: str, value: str) -> int:
        """Set a config, and wait until the broker knows of it; return the error code."""
        request = M.IncrementalAlterConfigsRequest
        config = request.AlterableConfig(name=name, config_operation=0, value=value)
        row = request.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=(config,))
        code = int(self.ask("IncrementalAlterConfigs", 1, resources=(row,)).responses[0].error_code)
        self.pause(0.5)
        return code

    def create(self, name: str, partitions: int, **configs: str) -> int:
        request = M.CreateTopicsRequest
        rows = tuple(
            request.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        )
        row = request.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=rows)
        code = int(self.ask("CreateTopics", 5, topics=(row,), timeout_ms=10_000).topics[0].error_code)
        self.pause(0.5)
        return code

    def partitions_of(self, topic: str) -> Any:
        row = M.MetadataRequest.MetadataRequestTopic(name=topic)
        answer = self.ask("Metadata", 9, topics=(row,), allow_auto_topic_creation=False).topics[0]
        return answer.error_code, len(answer.partitions)

    def own_configs(self, topic: str) -> Any:
        row = M.DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=topic, configuration_keys=None
        )
        answer = self.ask("DescribeConfigs", 4, resources=(row,)).results[0]
        of_topic = 1
        configs = [(row.name, row.value) for row in answer.configs if row.config_source == of_topic]
        return answer.error_code, sorted(configs)

    def read(self, topic: str, count: int) -> list[Letter]:
        """Return the dead letters in a topic once there are so many, those of each partition in order."""
        _, partitions = self.partitions_of(topic)
        letters: list[Letter] = self.until(
            lambda: [letter for index in range(partitions) for letter in self._read(topic, index)],
            lambda letters: len(letters) >= count,
        )
        return letters

    def _read(self, topic: str, index: int) -> Iterator[Letter]:
        request = M.FetchRequest
        part = request.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
        row = request.FetchTopic(topic=topic, partitions=(part,))
        fields: dict[str, Any] = {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "session_epoch": -1,
            "topics": (row,),
        }
        answer = self.ask("Fetch", 12, **fields).responses[0].partitions[0]
        for batch in kwire.parse_records(bytes(answer.records or b"")):
            assert (batch.producer_id, batch.compression_id, batch.is_transactional) == (-1, 0, False)
            for record in batch.records():
                headers = [(name, self._normalise(value)) for name, value in record.headers]
                yield index, record.key, record.value, headers

    def _normalise(self, value: bytes | None) -> str:
        text = (value or b"").decode()
        return {self.topic: "TOPIC", self.group: "GROUP"}.get(text, text)

    def lags(self) -> list[int]:
        """Return the lag of each partition; how far the start offset is depends on how Kafka joins writes."""
        return [lag for _, _, _, lag in self.offsets()[1]]

    def reject(self, *offsets: int, kind: int = REJECT, index: int = 0) -> Any:
        """Fetch a partition, and acknowledge offsets of it."""
        fetched = self.share_fetch("a", {index: ()}, wait=1000)
        rows: Sequence[tuple[int, int, Sequence[int]]] = [(offset, offset, [kind]) for offset in offsets]
        return [part[3:] for part in fetched[2]], self.acknowledge("a", {index: rows})


def steps_of(group: LetterWriters) -> Iterator[Line]:
    """Take the steps."""
    group.ids = group.member_ids("a")
    yield from _configs(group)
    group.join("a")
    group.settled("a")
    group.share_fetch("a", {0: (), 1: ()}, wait=500)
    yield from _topics_that_take_none(group)
    yield from _rejected(group)
    yield from _delivery_limit(group)
    yield from _automatic_topics(group)


def _configs(group: LetterWriters) -> Iterator[Line]:
    answer = group.ask("ApiVersions", 4, client_software_name="steps", client_software_version="1")
    rows = [(row.name, row.max_version_level) for row in answer.finalized_features]
    yield "features", [row for row in rows if row[0] == "share.version"]
    for name in ("__letters", "", "a/b", "x" * 250, "."):
        yield f"letters go to {name[:9]!r}", group.configure(TOPIC_NAME, name)
    for value in ("perhaps", "true", "FALSE"):
        yield f"{COPIES}={value}", group.configure(COPIES, value)
    yield f"{AUTO_CREATION}=perhaps", group.set(BROKER, "", AUTO_CREATION, "perhaps")
    yield f"{AUTO_CREATION}=false", group.set(BROKER, "", AUTO_CREATION, "false")


def _topics_that_take_none(group: LetterWriters) -> Iterator[Line]:
    for number in range(4):
        group.send_record(0, b"k%d" % number, b"v%d" % number)
    yield "no topic", group.configure(TOPIC_NAME, group.letters)
    yield "rejected", group.reject(0)
    yield "the topic", group.partitions_of(group.letters)[0]
    yield "created without letters", group.create(group.letters, 3)
    yield "rejected", group.reject(1)
    yield "a name without the prefix", group.configure(TOPIC_NAME, f"dead.{group.topic}")
    yield "created with letters", group.create(f"dead.{group.topic}", 1, errors_deadletterqueue_group_enable="true")
    yield "rejected", group.reject(2)
    yield "no letters", group.read(f"dead.{group.topic}", 0)
    yield "accepted", group.acknowledge("a", {0: [(3, 3, [ACCEPT])]})
    yield "lags", group.lags()


def _rejected(group: LetterWriters) -> Iterator[Line]:
    yield "letters are enabled", group.set(TOPIC, group.letters, ENABLED, "true")
    yield "the topic is named", group.configure(TOPIC_NAME, group.letters)
    for number in range(4, 12):
        group.send_record(0, b"k%d" % number, b"v%d" % number)
    yield "rejected", group.reject(4, 6)
    yield "letters", group.read(group.letters, 2)
    yield "copies are enabled", group.configure(COPIES, "true")
    yield "accepted and gaps", group.acknowledge("a", {0: [(5, 5, [ACCEPT]), (7, 8, [GAP])]})
    yield "rejected", group.acknowledge("a", {0: [(9, 11, [REJECT, ACCEPT, REJECT])]})
    yield "letters", group.read(group.letters, 4)[2:]
    group.send_record(1, None, None)
    group.send_record(1, b"", b"")
    yield "of the other partition", group.reject(0, 1, index=1)
    yield "letters", group.read(group.letters, 6)[4:]
    yield "lags", group.lags()
    yield "acknowledged again", group.acknowledge("a", {0: [(11, 11, [ACCEPT])]})


def _delivery_limit(group: LetterWriters) -> Iterator[Line]:
    yield "two deliveries", group.configure("share.delivery.count.limit", "2")
    yield "a short lock", group.configure("share.record.lock.duration.ms", str(LOCK_MS))
    for number in range(12, 16):
        group.send_record(0, b"k%d" % number, b"v%d" % number)
    yield "released", group.reject(12, 13, 14, 15, kind=RELEASE)
    yield "released again", group.reject(12, kind=RELEASE)
    yield "rejected", group.acknowledge("a", {0: [(13, 13, [REJECT])]})
    yield "letters", group.read(group.letters, 8)[4:6]
    yield "the session ends", group.share_fetch("a", epoch=-1)[0]
    group.sessions["a"] = 0
    yield "the rest is fetched", group.share_fetch("a", {0: (), 1: ()}, wait=2000)
    yield "letters", group.read(group.letters, 9)[6:7]
    yield "letters", group.read(group.letters, 10)[7:8]
    for number in range(16, 18):
        group.send_record(0, b"k%d" % number, b"v%d" % number)
    yield "released", group.reject(16, 17, kind=RELEASE)
    yield "acquired", group.share_fetch("a", {0: ()}, wait=1000)
    # Where locks expire, 4.4.0 finds no records to copy ("Records found: 0"), though its configs ask for copies.
    yield "copies are disabled", group.configure(COPIES, "false")
    group.rest(LOCK_MS / 1000 + 2, "a")
    yield "letters", group.read(group.letters, 12)[8:10]
    yield "copies are enabled", group.configure(COPIES, "true")
    yield "lags", group.lags()


def _automatic_topics(group: LetterWriters) -> Iterator[Line]:
    yield "a topic that there is not", group.configure(TOPIC_NAME, f"dlq.new.{group.topic}")
    yield f"{AUTO_CREATION}=true", group.set(BROKER, "", AUTO_CREATION, "true")
    group.send_record(0, None, b"v18")
    yield "rejected", group.reject(18)
    group.until(lambda: group.partitions_of(f"dlq.new.{group.topic}")[0], lambda code: not code)
    yield "letters", group.read(f"dlq.new.{group.topic}", 1)
    yield "the topic", group.own_configs(f"dlq.new.{group.topic}")
    yield f"{PREFIX}=x.", group.set(BROKER, "", PREFIX, "x.")
    group.send_record(0, None, b"v19")
    yield "rejected", group.reject(19)
    yield "no prefix", group.set(BROKER, "", PREFIX, "")
    yield "no dead letter topic", group.configure(TOPIC_NAME, "")
    group.send_record(0, None, b"v20")
    yield "rejected", group.reject(20)
    yield "any name", group.configure(TOPIC_NAME, f"dead.{group.topic}")
    group.send_record(0, None, b"v21")
    yield "rejected", group.reject(21)
    yield "letters", group.read(f"dead.{group.topic}", 1)
    yield "letters", len(group.read(f"dlq.new.{group.topic}", 1))
    yield "lags", group.lags()


def lines(place: str, pause: Callable[[float], None] = time.sleep, patience: float = 1.0) -> list[str]:
    """Take all steps; returns a line for each."""
    group = LetterWriters(place, pause)
    group.patience = patience
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
