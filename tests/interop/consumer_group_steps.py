"""The steps of consumers in a group whose broker assigns (KIP-848), good and bad ones, against any single broker.

`python -m tests.interop.consumer_group_steps HOST:PORT` prints a line for each;
`tests/data/consumer-groups-kafka-4.1.0.txt` is what Kafka 4.1.0 answered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import kwire
from tests.interop.transaction_steps import Line, Steps

M = kwire.messages


class Consumers(Steps):
    """A broker, a topic of two partitions, and a group of members, each by its name."""

    def begin(self) -> None:
        super().begin()
        self.ids: dict[str, str] = {}
        self.epochs: dict[str, int] = {}

    def beat(self, name: str, version: int = 1, **fields: Any) -> Any:
        """Return the error code, the epoch and the assignment of a member's heartbeat; None where it is the same."""
        epoch = fields.pop("epoch", self.epochs.get(name, 0))
        row = {"group_id": self.group, "member_id": self.ids.get(name, ""), "member_epoch": epoch, **fields}
        answer = self.ask("ConsumerGroupHeartbeat", version, self.group_coordinator, **row)
        if not answer.error_code and epoch >= 0:
            self.ids[name], self.epochs[name] = answer.member_id, answer.member_epoch
        found = answer.assignment
        parts = None if found is None else sorted(one for topic in found.topic_partitions for one in topic.partitions)
        return answer.error_code, answer.member_epoch, parts

    def owning(self, *indexes: int) -> Any:
        wanted = M.MetadataRequest.MetadataRequestTopic(name=self.topic)
        topic_id = self.ask("Metadata", 12, topics=(wanted,)).topics[0].topic_id
        row = M.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=indexes)
        return (row,) if indexes else ()

    def join(self, name: str, **fields: Any) -> Any:
        usual = {"subscribed_topic_names": (self.topic,), "rebalance_timeout_ms": 60_000, "topic_partitions": ()}
        return self.beat(name, **{"epoch": 0, **usual, **fields})

    def describe(self, group: str = "") -> Any:
        found = self.ask("ConsumerGroupDescribe", 1, self.group_coordinator, group_ids=(group or self.group,)).groups[0]
        names = {member_id: name for name, member_id in self.ids.items()}
        members = sorted(
            (
                names[one.member_id],
                one.member_epoch,
                [list(row.partitions) for row in one.assignment.topic_partitions],
                len(one.subscribed_topic_names),
            )
            for one in found.members
        )
        return found.error_code, found.group_state, found.group_epoch, found.assignor_name, members

    def commit(self, name: str, epoch: int) -> int:
        request = M.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        row = request.OffsetCommitRequestTopic(name=self.topic, partitions=(part,))
        who = {"group_id": self.group, "member_id": self.ids.get(name, name), "topics": (row,)}
        found = self.ask("OffsetCommit", 9, self.group_coordinator, generation_id_or_member_epoch=epoch, **who)
        return int(found.topics[0].partitions[0].error_code)

    def offsets(self, name: str, epoch: int) -> int:
        request = M.OffsetFetchRequest
        row = request.OffsetFetchRequestGroup(
            group_id=self.group, member_id=self.ids.get(name, name), member_epoch=epoch, topics=None
        )
        return int(self.ask("OffsetFetch", 9, self.group_coordinator, groups=(row,)).groups[0].error_code)


def steps_of(group: Consumers) -> Iterator[Line]:
    """Take the steps."""
    group.ids = {name: f"member-{name}-{group.group}" for name in "abcd"}
    yield "a heartbeat in no group", group.beat("a", epoch=1)
    yield "join without topics", group.join("a", subscribed_topic_names=None)
    yield "join without a timeout", group.join("a", rebalance_timeout_ms=-1)
    yield "join with partitions", group.join("a", topic_partitions=group.owning(0))
    yield "join with no list of partitions", group.join("a", topic_partitions=None)
    yield "join with an unknown assignor", group.join("a", server_assignor="nonsense")
    yield "join with a bad pattern", group.join("a", subscribed_topic_names=None, subscribed_topic_regex="(")
    yield "an epoch that cannot be", group.beat("a", epoch=-3)
    yield "join", group.join("a")
    yield "heartbeat", group.beat("a")
    yield "heartbeat with what it has", group.beat("a", topic_partitions=group.owning(0, 1))
    yield "describe", group.describe()
    yield "another joins", group.join("b")
    yield "describe", group.describe()
    yield "the other waits", group.beat("b")
    kept = group.beat("a")
    yield "the first gives up", (kept[0], kept[1], len(kept[2] or ()))
    yield "the first has not yet", group.beat("a", topic_partitions=group.owning(0, 1))
    yield "the other waits", group.beat("b")
    found = group.beat("a", topic_partitions=group.owning(*(kept[2] or ())))
    yield "the first has", (found[0], found[1], found[2] in (None, kept[2]))
    found = group.beat("b")
    yield "the other gets it", (found[0], found[1], len(found[2] or ()))
    state = group.describe()
    yield "describe", (*state[:4], [(*member[:2], member[3]) for member in state[4]])
    yield "another epoch", [group.beat("a", epoch=epoch)[0] for epoch in (99, 1)]
    yield "nobody", group.beat("c", epoch=5)
    good = group.commit("a", group.epochs["a"])
    yield "commit", [good, group.commit("a", 1), group.commit("x", 1), group.commit("", -1)]
    yield "offsets", [group.offsets("a", group.epochs["a"]), group.offsets("a", 1), group.offsets("x", 1)]
    yield "a static member", group.join("c", instance_id="i", subscribed_topic_names=("nowhere",))
    yield "its double", group.join("d", instance_id="i")[0]
    yield "it leaves for a while", group.beat("c", epoch=-2, instance_id="i")
    yield "it is back as another", group.join("d", instance_id="i", subscribed_topic_names=("nowhere",))
    yield "leave for a while without a name", group.beat("b", epoch=-2)
    yield "leave", [group.beat("b", epoch=-1), group.beat("d", epoch=-1, instance_id="i")[:2]]
    yield "leave again", group.beat("b", epoch=-1)
    found = group.beat("a")
    yield "who is left gets all", (found[0], found[2])
    yield "leave", group.beat("a", epoch=-1)
    yield "describe", group.describe()
    yield "describe nobody", group.describe("nobody")[0]


def lines(place: str) -> list[str]:
    """Take all steps; returns a line for each."""
    group = Consumers(place)
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
