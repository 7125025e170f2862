"""The steps of a transactional producer, good and bad ones, against any broker: one line for each, with error codes.

`python -m tests.interop.transaction_steps HOST:PORT` prints them for a broker that listens there;
`tests/data/transactions-kafka-4.1.0.txt` is what Kafka 4.1.0 answered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection

M = kwire.messages
TRANSIENT = (14, 15, 16, 51)  # the coordinator loads, moves, or is busy with the transaction before
Line = tuple[str, Any]


class Steps:
    """A broker, a topic of two partitions, a group and a transactional id, which are new.

    Args:
        place: the address of the broker.
        pause: waits so many seconds.
    """

    def __init__(self, place: str, pause: Callable[[float], None] = time.sleep) -> None:
        self.place, self.pause = place, pause
        self.connections: dict[str, BrokerConnection] = {}
        name = str(time.time_ns())
        self.topic, self.group, self.id = f"topic-{name}", f"group-{name}", f"id-{name}"
        self.sequences: dict[tuple[int, int, int], int] = {}

    def connect(self, place: str) -> None:
        if place not in self.connections:
            self.connections[place] = BrokerConnection(address(place), timeout=180, client_id="steps")

    def ask(self, name: str, version: int, place: str = "", **fields: Any) -> Any:
        place = place or self.place
        self.connect(place)
        request = getattr(M, f"{name}Request")(**fields)
        answer = self.connections[place].ask(kwire.codec(f"{name}Request", version), request)
        assert answer is not None
        return answer.message

    def until(self, ask: Callable[[], Any], is_good: Callable[[Any], bool]) -> Any:
        for _ in range(100):
            found = ask()
            if is_good(found):
                break
            self.pause(0.1)
        return found

    def begin(self) -> None:
        """Make the topic, and find who leads and coordinates."""
        row = M.CreateTopicsRequest.CreatableTopic(name=self.topic, num_partitions=2, replication_factor=1)
        assert self.ask("CreateTopics", 5, topics=(row,), timeout_ms=10_000).topics[0].error_code == 0
        wanted = M.MetadataRequest.MetadataRequestTopic(name=self.topic)
        found = self.until(
            lambda: self.ask("Metadata", 9, topics=(wanted,)),
            lambda one: not any(part.error_code for part in one.topics[0].partitions),
        )
        brokers = {one.node_id: f"{one.host}:{one.port}" for one in found.brokers}
        self.leaders = {one.partition_index: brokers[one.leader_id] for one in found.topics[0].partitions}
        self.coordinator, self.group_coordinator = self._coordinator(self.id, 1), self._coordinator(self.group, 0)

    def _coordinator(self, key: str, kind: int) -> str:
        found = self.until(
            lambda: self.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=(key,)).coordinators[0],
            lambda one: not one.error_code,
        )
        return f"{found.host}:{found.port}"

    def init(self, producer_id: int = -1, epoch: int = -1, version: int = 4, timeout: int = 60_000) -> Any:
        fields = {"transaction_timeout_ms": timeout, "producer_id": producer_id, "producer_epoch": epoch}
        return self.until(
            lambda: self.ask("InitProducerId", version, self.coordinator, transactional_id=self.id, **fields),
            lambda one: one.error_code not in TRANSIENT,
        )

    def add(self, producer_id: int, epoch: int, *places: tuple[str, int], version: int = 3) -> dict[str, int]:
        row = M.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        rows = tuple(row(name=topic, partitions=(index,)) for topic, index in places)
        found = self.ask(
            "AddPartitionsToTxn",
            version,
            self.coordinator,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=rows,
        )
        codes = {
            one.name.partition("-")[0]: one.results_by_partition[0].partition_error_code
            for one in found.results_by_topic_v3_and_below
        }
        return dict(sorted(codes.items()))

    def produce(
        self, producer_id: int, epoch: int, index: int = 0, *, sequence: int | None = None, version: int = 10
    ) -> tuple[int, int]:
        who = producer_id, epoch, index
        number = self.sequences.get(who, 0) if sequence is None else sequence
        records = kwire.build_batch(
            [kwire.Record(0, int(time.time() * 1000), None, b"v")],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=number,
            is_transactional=True,
        )
        part = M.ProduceRequest.PartitionProduceData(index=index, records=records)
        row = M.ProduceRequest.TopicProduceData(name=self.topic, partition_data=(part,))
        fields = {"transactional_id": self.id, "acks": -1, "timeout_ms": 5000, "topic_data": (row,)}
        found = self.ask("Produce", version, self.leaders[index], **fields).responses[0].partition_responses[0]
        if not found.error_code:
            self.sequences[who] = number + 1
        return found.error_code, found.base_offset

    def end(self, producer_id: int, epoch: int, committed: bool, version: int = 3) -> tuple[int, int]:
        """Return the error code, and by how much the epoch is another one."""
        who = {"transactional_id": self.id, "producer_id": producer_id, "producer_epoch": epoch}
        found = self.ask("EndTxn", version, self.coordinator, committed=committed, **who)
        return found.error_code, found.producer_epoch - epoch if found.producer_epoch >= 0 else 0

    def add_offsets(self, producer_id: int, epoch: int, group: str | None = None) -> int:
        who = {"transactional_id": self.id, "producer_id": producer_id, "producer_epoch": epoch}
        group = self.group if group is None else group
        return int(self.ask("AddOffsetsToTxn", 3, self.coordinator, group_id=group, **who).error_code)

    def commit_offset(self, producer_id: int, epoch: int, offset: int, version: int = 3, **member: Any) -> int:
        request = M.TxnOffsetCommitRequest
        part = request.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        row = request.TxnOffsetCommitRequestTopic(name=self.topic, partitions=(part,))
        who = {"transactional_id": self.id, "producer_id": producer_id, "producer_epoch": epoch, **member}
        found = self.ask("TxnOffsetCommit", version, self.group_coordinator, group_id=self.group, topics=(row,), **who)
        return int(found.topics[0].partitions[0].error_code)

    def offset(self, *, stable: bool = True) -> tuple[int, int]:
        row = M.OffsetFetchRequest.OffsetFetchRequestTopic(name=self.topic, partition_indexes=(0,))
        fields = {"group_id": self.group, "topics": (row,), "require_stable": stable}
        found = self.ask("OffsetFetch", 7, self.group_coordinator, **fields).topics[0].partitions[0]
        return found.error_code, found.committed_offset

    def fetch(self, index: int = 0, *, offset: int = 0, committed: bool = True) -> Any:
        """Return high watermark, last stable offset, first offsets of aborted transactions, batches."""
        part = M.FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        row = M.FetchRequest.FetchTopic(topic=self.topic, partitions=(part,))
        fields = {"max_wait_ms": 100, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1, "topics": (row,)}
        answer = self.ask("Fetch", 11, self.leaders[index], isolation_level=int(committed), **fields)
        found = answer.responses[0].partitions[0]
        batches = kwire.parse_records(found.records or b"")
        aborted = found.aborted_transactions
        return (
            found.high_watermark,
            found.last_stable_offset,
            None if aborted is None else [one.first_offset for one in aborted],
            [f"{batch.base_offset}{' control' if batch.is_control else ''}" for batch in batches],
        )

    def describe(self) -> tuple[str, int, list[int]]:
        fields = {"transactional_ids": (self.id,)}
        found = self.ask("DescribeTransactions", 0, self.coordinator, **fields).transaction_states[0]
        return found.transaction_state, found.producer_epoch, [one for row in found.topics for one in row.partitions]

    def settle(self) -> str:
        found: str = self.until(lambda: self.describe()[0], lambda state: not state.startswith("Prepare"))
        self.pause(0.3)  # markers may be under way
        return found

    def producers(self) -> Any:
        """Return epoch, last sequence, coordinator epoch and first offset of each producer of partition 0."""
        row = M.DescribeProducersRequest.TopicRequest(name=self.topic, partition_indexes=(0,))
        found = self.ask("DescribeProducers", 0, self.leaders[0], topics=(row,)).topics[0].partitions[0]
        return [
            (one.producer_epoch, one.last_sequence, one.coordinator_epoch, one.current_txn_start_offset)
            for one in found.active_producers
        ]


def first_protocol(steps: Steps) -> Iterator[Line]:
    """Transactions as clients make them that do not know KIP-890."""
    made = steps.init()
    who, topic = (made.producer_id, made.producer_epoch), steps.topic
    yield "init", (made.error_code, made.producer_epoch)
    yield "init, timeout too long", steps.init(timeout=10**9).error_code
    yield "init, no timeout", steps.init(timeout=0).error_code
    yield "describe", steps.describe()
    yield "commit and abort nothing", [steps.end(*who, True), steps.end(*who, False)]
    yield "produce to what was not added, v10 and v11", [steps.produce(*who), steps.produce(*who, version=11)]
    yield "add a topic that is not there", steps.add(*who, (topic, 0), ("nowhere", 0))
    yield "add", steps.add(*who, (topic, 0))
    yield "describe", steps.describe()
    yield "produce", [steps.produce(*who), steps.produce(*who)]
    yield "produce to what was not added", steps.produce(*who, 1)
    yield "add, another producer id", steps.add(who[0] + 1000, who[1], (topic, 0))
    yield "add, another epoch", steps.add(who[0], who[1] + 1, (topic, 0))
    yield "add, another epoch, v1", steps.add(who[0], who[1] + 1, (topic, 0), version=1)
    yield "fetch", [steps.fetch(), steps.fetch(committed=False)]
    yield "producers", steps.producers()
    yield "commit an offset without the group", steps.commit_offset(*who, 5)
    yield "add the group, and one without a name", [steps.add_offsets(*who), steps.add_offsets(*who, "")]
    yield "commit an offset", steps.commit_offset(*who, 5)
    yield "commit an offset, another epoch", steps.commit_offset(who[0], who[1] + 1, 5)
    member: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 3}
    yield "commit an offset, no member", steps.commit_offset(*who, 5, **member)
    yield "offset, stable and not", [steps.offset(), steps.offset(stable=False)]
    yield "commit", steps.end(*who, True)
    yield "state", steps.settle()
    yield "commit again, abort", [steps.end(*who, True), steps.end(*who, False)]
    yield "offset", steps.offset()
    yield "fetch", steps.fetch()
    yield "producers", steps.producers()
    yield "add", steps.add(*who, (topic, 0))
    yield "add another partition", steps.add(*who, (topic, 1))
    yield "produce", [steps.produce(*who), steps.produce(*who, 1)]
    yield "an offset", [steps.add_offsets(*who), steps.commit_offset(*who, 9)]
    yield "abort", steps.end(*who, False)
    yield "state", steps.settle()
    yield "abort again, commit", [steps.end(*who, False), steps.end(*who, True)]
    yield "offset", steps.offset()
    yield "fetch", [steps.fetch(), steps.fetch(1)]
    yield from fenced(steps, *who)


def fenced(steps: Steps, producer_id: int, epoch: int) -> Iterator[Line]:
    """A producer begins anew, and what the one before does still."""
    made = steps.init(producer_id, epoch)
    yield "init as who it was", (made.error_code, made.producer_epoch - epoch)
    yield "init again so", steps.init(producer_id, epoch).producer_epoch - epoch
    codes = [steps.init(producer_id, epoch + 9, version=version).error_code for version in (4, 3)]
    yield "init, another epoch, v4 and v3", codes
    old, who = (producer_id, epoch), (producer_id, epoch + 1)
    yield "the old one adds", steps.add(*old, (steps.topic, 0))
    yield "the old one commits, v3 and v1", [steps.end(*old, True), steps.end(*old, True, version=1)]
    yield "the old one produces", steps.produce(*old, sequence=99)
    yield "add", steps.add(*who, (steps.topic, 0))
    yield "produce", steps.produce(*who)
    made = steps.init()
    yield "init while a transaction is open", (made.error_code, made.producer_epoch - epoch)
    yield "the old one goes on", [steps.produce(*who), steps.end(*who, True)]
    steps.pause(0.3)
    yield "fetch", steps.fetch(offset=4)
    yield "producers", steps.producers()
    yield from second_protocol(steps, producer_id, made.producer_epoch)


def second_protocol(steps: Steps, producer_id: int, epoch: int) -> Iterator[Line]:
    """Transactions of KIP-890: writing adds partitions, and each end gives another epoch."""
    who = producer_id, epoch
    yield "second protocol: produce", [steps.produce(*who, version=12), steps.produce(*who, version=12)]
    yield "describe", steps.describe()[2]
    yield "an offset", steps.commit_offset(*who, 20, version=5)
    yield "commit", steps.end(*who, True, version=5)
    steps.settle()
    yield "commit again", steps.end(*who, True, version=5)
    yield "offset", steps.offset()
    yield "producers", steps.producers()
    yield "the old epoch produces", steps.produce(*who, version=12)
    yield "abort nothing", steps.end(producer_id, epoch + 1, False, version=5)
    steps.settle()
    who = producer_id, epoch + 2
    yield "commit nothing", steps.end(*who, True, version=5)[0]
    yield "produce", steps.produce(*who, version=12)
    yield "abort", steps.end(*who, False, version=5)
    steps.settle()
    yield "fetch", steps.fetch(offset=6)
    fields = {"state_filters": ("CompleteAbort", "Nonsense")}
    found = steps.ask("ListTransactions", 1, steps.coordinator, **fields)
    ids = [one.transactional_id == steps.id for one in found.transaction_states if one.transactional_id == steps.id]
    yield "list", (ids, found.unknown_state_filters)
    yield from timed_out(steps)


def timed_out(steps: Steps) -> Iterator[Line]:
    """A transaction that is open for too long."""
    made = steps.init(timeout=1000)
    who = made.producer_id, made.producer_epoch
    yield "add", steps.add(*who, (steps.topic, 0))
    yield "produce", steps.produce(*who)
    steps.pause(14)
    state, epoch, _ = steps.describe()
    yield "when its time is over", (state, epoch - who[1])
    yield "commit, produce", [steps.end(*who, True), steps.produce(*who)]
    yield "init as who it was", steps.init(*who).error_code
    yield "init", steps.init().producer_epoch - who[1]


def lines(place: str, pause: Callable[[float], None] = time.sleep) -> list[str]:
    """Take all steps; returns a line for each."""
    steps = Steps(place, pause)
    try:
        steps.begin()
        return [f"{label}: {value}" for label, value in first_protocol(steps)]
    finally:
        for connection in steps.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
