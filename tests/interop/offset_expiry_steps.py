"""The steps of groups whose commits expire (KIP-211), against any single broker: one line for each.

`python -m tests.interop.offset_expiry_steps HOST:PORT` prints them for a broker with `offsets.retention.minutes=1` and
`offsets.retention.check.interval.ms=1000`, in four minutes; `tests/data/offset-expiry-kafka-4.1.0.txt` is what Kafka
4.1.0 answered. The clock of `kwire.testing` takes minutes for weeks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import kwire
from kwire.protocol.nested import encode_subscription
from tests.interop.transaction_steps import Line, Steps

M = kwire.messages
MEMBER = "A" * 22
READ, OTHER = "read", "other"
SIMPLE, CLASSIC, CONSUMER = "simple", "classic", "consumer"


class Committing(Steps):
    """A broker, three groups, and topics that their members read or do not read; `advance` lets seconds pass."""

    def __init__(self, place: str, advance: Callable[[float], None]) -> None:
        super().__init__(place)
        self.advance, self.epoch = advance, 0
        self.member_id, self.generation = "", -1

    def begin(self) -> None:
        super().begin()
        row = M.CreateTopicsRequest.CreatableTopic
        topics = tuple(row(name=name, num_partitions=1, replication_factor=1) for name in (READ, OTHER))
        self.ask("CreateTopics", 5, topics=topics, timeout_ms=10_000)
        for group in (SIMPLE, CLASSIC, CONSUMER):
            self._coordinator(group, 0)

    def commit(self, group: str, topic: str, **who: Any) -> int:
        request = M.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        rows = (request.OffsetCommitRequestTopic(name=topic, partitions=(part,)),)
        found = self.until(
            lambda: self.ask("OffsetCommit", 9, group_id=group, topics=rows, **who).topics[0].partitions[0].error_code,
            lambda code: code not in (3, 14, 15, 16),  # while topics and coordinators are new
        )
        return int(found)

    def offsets(self, group: str) -> list[tuple[str, int]]:
        row = M.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)
        found = self.ask("OffsetFetch", 8, groups=(row,)).groups[0]
        return sorted((topic.name, one.committed_offset) for topic in found.topics for one in topic.partitions)

    def delete(self, group: str, topic: str) -> tuple[int, list[int]]:
        request = M.OffsetDeleteRequest
        part = request.OffsetDeleteRequestPartition(partition_index=0)
        row = request.OffsetDeleteRequestTopic(name=topic, partitions=(part,))
        found = self.ask("OffsetDelete", 0, group_id=group, topics=(row,))
        return found.error_code, [one.error_code for topic in found.topics for one in topic.partitions]

    def groups(self) -> list[tuple[str, str]]:
        return sorted((one.group_id, one.group_state) for one in self.ask("ListGroups", 4).groups)

    def join(self) -> int:
        """Join the classic group, as its only member."""
        protocol = M.JoinGroupRequest.JoinGroupRequestProtocol
        subscription = encode_subscription(M.ConsumerProtocolSubscription(topics=(READ,)), 0)
        who: dict[str, Any] = {"group_id": CLASSIC, "session_timeout_ms": 200_000, "rebalance_timeout_ms": 200_000}
        rows = (protocol(name="range", metadata=subscription),)
        for _ in range(2):
            named: dict[str, Any] = {"member_id": self.member_id, "protocol_type": "consumer", "protocols": rows}
            found = self.ask("JoinGroup", 7, **who, **named)
            self.member_id, self.generation = found.member_id, found.generation_id
        row = M.SyncGroupRequest.SyncGroupRequestAssignment(member_id=self.member_id)
        named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": (row,)}
        return int(self.ask("SyncGroup", 5, **self.classic, **named).error_code)

    @property
    def classic(self) -> dict[str, Any]:
        return {"group_id": CLASSIC, "member_id": self.member_id, "generation_id": self.generation}

    def beat(self, epoch: int | None = None, **fields: Any) -> int:
        """Send a heartbeat to the group whose broker assigns."""
        epoch = self.epoch if epoch is None else epoch
        fields |= {"group_id": CONSUMER, "member_id": MEMBER, "member_epoch": epoch}
        found = self.ask("ConsumerGroupHeartbeat", 1, **fields)
        self.epoch = found.member_epoch
        return int(found.error_code)

    def live(self, seconds: int) -> None:
        """Let time pass, with heartbeats of both members."""
        for _ in range(0, seconds, 5):
            assert self.ask("Heartbeat", 4, **self.classic).error_code == 0
            assert self.beat() == 0
            self.advance(5)


def steps(broker: Committing) -> Iterator[Line]:
    """Commit, let time pass, leave, let time pass."""
    broker.begin()
    yield "commit without members", broker.commit(SIMPLE, READ)
    yield (
        "join",
        [
            broker.join(),
            broker.beat(0, subscribed_topic_names=(READ,), rebalance_timeout_ms=60_000, topic_partitions=()),
        ],
    )
    for topic in (READ, OTHER):
        member = {"member_id": broker.member_id, "generation_id_or_member_epoch": broker.generation}
        yield (
            f"commits of {topic}",
            [
                broker.commit(CLASSIC, topic, **member),
                broker.commit(CONSUMER, topic, member_id=MEMBER, generation_id_or_member_epoch=broker.epoch),
            ],
        )
    yield "delete what members read", [broker.delete(group, READ) for group in (CLASSIC, CONSUMER)]
    for _ in range(2):
        broker.live(40)
        yield "40 seconds later", [broker.offsets(group) for group in (SIMPLE, CLASSIC, CONSUMER)]
    yield "groups", broker.groups()
    row = M.LeaveGroupRequest.MemberIdentity(member_id=broker.member_id)
    yield "leave", [broker.ask("LeaveGroup", 4, group_id=CLASSIC, members=(row,)).error_code, broker.beat(-1)]
    for seconds in (5, 40, 40):
        broker.advance(seconds)
        yield f"{seconds} seconds later", [broker.offsets(CLASSIC), broker.offsets(CONSUMER), broker.groups()]


def lines(place: str, advance: Callable[[float], None]) -> list[str]:
    """Return a line for each step."""
    broker = Committing(place, advance)
    try:
        return [f"{name}: {found}" for name, found in steps(broker)]
    finally:
        for connection in broker.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1], time.sleep)) + "\n")
