"""The steps of consumers in a share group (KIP-932), good and bad ones, against any single broker.

`python -m tests.interop.share_group_steps HOST:PORT` prints a line for each; `tests/data/share-groups-kafka-*.txt` are
what Kafka 4.1.0, whose `share.version` must first be set to 1 (UpdateFeatures), and 4.4.0 answered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import kwire
from tests.interop.transaction_steps import Line, Steps

M = kwire.messages
ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0
Acks = Sequence[tuple[int, int, Sequence[int]]]  # first and last offset, and the types
GROUP = 32  # the type of the configs of a group
SINCE_V2 = ("is_renew_ack", "share_acquire_mode")
LOCK_MS = 15_000  # the shortest lock that brokers allow by default


class Sharers(Steps):
    """A broker, a topic of two partitions, and a share group, each member by its name.

    `patience` is what part of the usual time fetches wait; Kafka needs all of it, as it answers when it has stored.
    """

    patience = 1.0

    def ask(self, name: str, version: int, place: str = "", **fields: Any) -> Any:
        """Ask at this version or at the broker's newest; before 4.2, ShareFetch and ShareAcknowledge have no v2."""
        place = place or self.place
        self.connect(place)
        if (newest := self.connections[place].newest(f"{name}Request")) is not None and newest < version:
            version, fields = newest, {name: value for name, value in fields.items() if name not in SINCE_V2}
        return super().ask(name, version, place, **fields)

    def begin(self) -> None:
        super().begin()
        self.ids: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self.base = 0  # the epoch of the group from which on epochs are counted
        self.reads_from("latest")
        wanted = M.MetadataRequest.MetadataRequestTopic(name=self.topic)
        self.topic_id = self.ask("Metadata", 12, topics=(wanted,)).topics[0].topic_id

    def member_ids(self, names: str) -> dict[str, str]:
        """Return an id for each member, ordered by name: a UUID as Kafka writes it, which 4.1 requires."""
        return {name: f"{name}{self.group.removeprefix('group-'):A>20}A" for name in names}

    def configure(self, name: str, value: str | None, operation: int = 0) -> int:
        """Set a config of the group, or delete it, and wait until the broker knows of it; return the error code."""
        request = M.IncrementalAlterConfigsRequest
        config = request.AlterableConfig(name=name, config_operation=operation, value=value)
        row = request.AlterConfigsResource(resource_type=GROUP, resource_name=self.group, configs=(config,))
        code = int(self.ask("IncrementalAlterConfigs", 1, resources=(row,)).responses[0].error_code)
        self.pause(0.2)
        return code

    def reads_from(self, offset: str) -> int:
        return self.configure("share.auto.offset.reset", offset)

    def configs(self) -> Any:
        row = M.DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=GROUP, resource_name=self.group, configuration_keys=None
        )
        found = self.ask("DescribeConfigs", 4, resources=(row,)).results[0]
        own = (5, 8)  # defaults, and those of the group; not those that the broker's settings give
        rows = [(one.name, one.value, one.config_source) for one in found.configs if one.name.startswith("share.")]
        return found.error_code, sorted(row for row in rows if row[2] in own and "interval" not in row[0])

    def beat(self, name: str, **fields: Any) -> Any:
        """Return the error code, the epoch and the assignment of a member's heartbeat; None where it is the same."""
        epoch = fields.pop("epoch", self.epochs.get(name, 0))
        row = {"group_id": self.group, "member_id": self.ids.get(name, ""), "member_epoch": epoch, **fields}
        answer = self.ask("ShareGroupHeartbeat", 1, self.group_coordinator, **row)
        if not answer.error_code and epoch >= 0:
            self.epochs[name] = answer.member_epoch
        found = answer.assignment
        parts = None if found is None else sorted(one for topic in found.topic_partitions for one in topic.partitions)
        epoch = answer.member_epoch
        return answer.error_code, epoch - self.base if epoch > 0 else epoch, parts

    def join(self, name: str, **fields: Any) -> Any:
        return self.beat(name, **{"epoch": 0, "subscribed_topic_names": (self.topic,), **fields})

    def settled(self, *names: str) -> Any:
        """Send heartbeats until all members are at the epoch of the group; return what each has."""
        for _ in range(100):
            for name in names:
                self.beat(name)
            group = self.describe()
            if group[1] == "Stable" and group[2] == group[3] and any(member[2] for member in group[5]):
                break
            self.pause(0.1)
        return self.describe()

    def rest(self, seconds: float, *names: str) -> None:
        """Let time pass while members send heartbeats."""
        for name in names:
            self.beat(name)
        self.pause(seconds)
        for name in names:
            self.beat(name)

    def describe(self, group: str = "") -> Any:
        found = self.ask("ShareGroupDescribe", 1, self.group_coordinator, group_ids=(group or self.group,)).groups[0]
        names = {member_id: name for name, member_id in self.ids.items()}
        members = sorted(
            (
                names[one.member_id],
                one.member_epoch - self.base,
                sum(len(row.partitions) for row in one.assignment.topic_partitions),
                len(one.subscribed_topic_names),
            )
            for one in found.members
        )
        epochs = [one - self.base if one else one for one in (found.group_epoch, found.assignment_epoch)]
        state = found.group_state, *epochs, found.assignor_name
        return found.error_code, *state, members

    def send(self, index: int, *sizes: int, timestamp: int | None = None) -> None:
        """Produce batches of so many records."""
        now = int(time.time() * 1000) if timestamp is None else timestamp
        for size in sizes:
            records = kwire.build_batch([kwire.Record(place, now, None, b"v") for place in range(size)])
            part = M.ProduceRequest.PartitionProduceData(index=index, records=records)
            row = M.ProduceRequest.TopicProduceData(name=self.topic, partition_data=(part,))
            fields = {"acks": -1, "timeout_ms": 5000, "topic_data": (row,)}
            found = self.ask("Produce", 10, self.leaders[index], **fields).responses[0].partition_responses[0]
            assert found.error_code == 0

    def share_fetch(
        self, name: str, parts: Mapping[int, Acks] | None = None, *, version: int = 2, wait: int = 0, **fields: Any
    ) -> Any:
        """Return the error code, and of each partition its codes, what was acquired, and the offsets of records."""
        request = M.ShareFetchRequest
        epoch = fields.pop("epoch", self.sessions.get(name, 0))
        topic_id = fields.pop("topic_id", self.topic_id)
        rows = tuple(
            request.FetchPartition(
                partition_index=index,
                acknowledgement_batches=tuple(
                    request.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=tuple(types))
                    for a, b, types in acks
                ),
            )
            for index, acks in (parts or {}).items()
        )
        topics = (request.FetchTopic(topic_id=topic_id, partitions=rows),) if rows else ()
        usual = {"max_wait_ms": int(wait * self.patience), "min_bytes": 1, "max_records": 500, "batch_size": 500}
        who = {"group_id": self.group, "member_id": self.ids.get(name, name), "share_session_epoch": epoch}
        forget = fields.pop("forget", ())
        if forget:
            row = request.ForgottenTopic(topic_id=topic_id, partitions=tuple(forget))
            fields["forgotten_topics_data"] = (row,)
        answer = self.ask("ShareFetch", version, self.leaders[0], topics=topics, **{**who, **usual, **fields})
        if not answer.error_code:
            self.sessions[name] = epoch + 1
        return (
            answer.error_code,
            answer.acquisition_lock_timeout_ms,
            sorted(
                (
                    part.partition_index,
                    part.error_code,
                    part.acknowledge_error_code,
                    _joined((one.first_offset, one.last_offset, one.delivery_count) for one in part.acquired_records),
                    _offsets(part.records),
                )
                for row in answer.responses
                for part in row.partitions
            ),
        )

    def acknowledge(self, name: str, parts: Mapping[int, Acks], *, version: int = 2, **fields: Any) -> Any:
        request = M.ShareAcknowledgeRequest
        epoch = fields.pop("epoch", self.sessions.get(name, 0))
        topic_id = fields.pop("topic_id", self.topic_id)
        rows = tuple(
            request.AcknowledgePartition(
                partition_index=index,
                acknowledgement_batches=tuple(
                    request.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=tuple(types))
                    for a, b, types in acks
                ),
            )
            for index, acks in parts.items()
        )
        topics = (request.AcknowledgeTopic(topic_id=topic_id, partitions=rows),) if rows else ()
        who = {"group_id": self.group, "member_id": self.ids.get(name, name), "share_session_epoch": epoch}
        answer = self.ask("ShareAcknowledge", version, self.leaders[0], topics=topics, **{**who, **fields})
        if not answer.error_code:
            self.sessions[name] = epoch + 1
        found = sorted((part.partition_index, part.error_code) for row in answer.responses for part in row.partitions)
        return answer.error_code, found

    def offsets(self, group: str = "", topic: str = "", indexes: Sequence[int] = (0, 1), *, all: bool = False) -> Any:
        """Return what DescribeShareGroupOffsets says: start offset and lag of each partition, or its error code."""
        request = M.DescribeShareGroupOffsetsRequest
        row = request.DescribeShareGroupOffsetsRequestTopic(topic_name=topic or self.topic, partitions=tuple(indexes))
        asked = request.DescribeShareGroupOffsetsRequestGroup(
            group_id=group or self.group, topics=None if all else (row,)
        )
        found = self.ask("DescribeShareGroupOffsets", 1, self.group_coordinator, groups=(asked,)).groups[0]
        return found.error_code, sorted(
            (part.partition_index, part.error_code, part.start_offset, part.lag)
            for one in found.topics
            for part in one.partitions
        )

    def alter(self, offsets: Mapping[int, int], group: str = "", topic: str = "") -> Any:
        request = M.AlterShareGroupOffsetsRequest
        parts = tuple(
            request.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
            for index, offset in offsets.items()
        )
        row = request.AlterShareGroupOffsetsRequestTopic(topic_name=topic or self.topic, partitions=parts)
        fields = {"group_id": group or self.group, "topics": (row,)}
        found = self.ask("AlterShareGroupOffsets", 0, self.group_coordinator, **fields)
        return found.error_code, sorted(
            (part.partition_index, part.error_code) for one in found.responses for part in one.partitions
        )

    def forget(self, topic: str = "", group: str = "") -> Any:
        row = M.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=topic or self.topic)
        fields = {"group_id": group or self.group, "topics": (row,)}
        found = self.ask("DeleteShareGroupOffsets", 0, self.group_coordinator, **fields)
        return found.error_code, [one.error_code for one in found.responses]

    def delete(self) -> int:
        found = self.ask("DeleteGroups", 2, self.group_coordinator, groups_names=(self.group,))
        return int(found.results[0].error_code)

    def listed(self, **filters: Any) -> Any:
        found = self.ask("ListGroups", 5, self.group_coordinator, **filters).groups
        return [(one.protocol_type, one.group_state, one.group_type) for one in found if one.group_id == self.group]

    def coordinator_of_state(self, key: str) -> Any:
        found = self.ask("FindCoordinator", 6, key_type=2, coordinator_keys=(key,)).coordinators[0]
        return found.error_code, found.node_id

    def features(self) -> Any:
        found = self.ask("ApiVersions", 4, client_software_name="steps", client_software_version="1")
        return [(one.name, one.min_version) for one in found.supported_features if "share" in one.name]


def _joined(rows: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join ranges that follow each other: how records are split is up to the broker."""
    found: list[tuple[int, int, int]] = []
    for first, last, count in sorted(rows):
        if found and found[-1][1:] == (first - 1, count):
            found[-1] = found[-1][0], last, count
        else:
            found.append((first, last, count))
    return found


def _offsets(records: Any) -> list[int]:
    found = (
        [] if not records else [one.offset for batch in kwire.parse_records(bytes(records)) for one in batch.records()]
    )
    return found[:1] + found[-1:] + [len(found)] if found else []


def steps_of(group: Sharers) -> Iterator[Line]:
    """Take the steps."""
    group.ids = group.member_ids("abcdefg")
    yield "features", group.features()
    yield from _members(group)
    yield from _configs(group)
    yield from _records(group)
    yield from _sessions(group)
    yield from _locks(group)
    yield from _offset_steps(group)
    other = Sharers(group.place, group.pause)
    other.patience, other.connections = group.patience, group.connections
    other.begin()
    other.ids = other.member_ids("ab")
    yield from _isolation_steps(other)
    yield from _limit_steps(other)


def _members(group: Sharers) -> Iterator[Line]:
    yield "a heartbeat in no group", group.beat("a", epoch=1)
    yield "leave no group", group.beat("a", epoch=-1)
    yield "join without topics", group.join("a", subscribed_topic_names=None)
    yield "join with no topics", group.join("a", subscribed_topic_names=())
    yield "join without an id", group.join("", subscribed_topic_names=(group.topic,))
    yield "join no group", group.join("a", group_id="")
    yield "an epoch that cannot be", group.beat("a", epoch=-2)
    yield "an empty rack", group.join("a", rack_id="")
    yield "offsets of nobody", group.offsets()
    yield "describe nobody", group.describe(f"no {group.group}")
    yield "delete nobody", group.delete()
    yield "join", group.join("a")[:1]
    yield "settled", group.settled("a")[5][0][2]
    group.base = group.describe()[2]
    yield "heartbeat", group.beat("a")
    yield "join again", group.join("a")
    yield "listed", group.listed()
    yield "listed by type", [group.listed(types_filter=(one,)) for one in ("share", "consumer", "nonsense")]
    yield "listed by state", [group.listed(states_filter=(one,)) for one in ("Stable", "Empty")]
    classic = group.ask("DescribeGroups", 6, group.group_coordinator, groups=(group.group,)).groups[0]
    yield "described as a classic group", (classic.error_code, classic.group_state)
    found = group.ask("ConsumerGroupDescribe", 1, group.group_coordinator, group_ids=(group.group,)).groups[0]
    yield "described as a consumer group", found.error_code
    yield "another joins", group.join("b")[:2]
    yield "settled", group.settled("a", "b")
    yield "a third joins", group.join("c")[:2]
    found = group.settled("a", "b", "c")
    yield "settled", (*found[:5], sorted(member[2] for member in found[5]))
    yield "another epoch", [group.beat("a", epoch=epoch)[0] for epoch in (99, 1)]
    yield "nobody", group.beat("d", epoch=5)
    yield "other topics", group.beat("b", subscribed_topic_names=("nowhere",))[:2]
    yield "settled", group.settled("a", "b", "c")
    yield "two leave", [group.beat(name, epoch=-1) for name in "bc"]
    yield "leave again", group.beat("b", epoch=-1)
    yield "settled", group.settled("a")
    consumer = {"member_epoch": 0, "member_id": "x", "subscribed_topic_names": (group.topic,)}
    consumer |= {"group_id": group.group, "rebalance_timeout_ms": 1000, "topic_partitions": ()}
    yield "a consumer joins", group.ask("ConsumerGroupHeartbeat", 1, group.group_coordinator, **consumer).error_code
    request = M.JoinGroupRequest
    protocol = request.JoinGroupRequestProtocol(name="range", metadata=b"")
    classic = {"session_timeout_ms": 10_000, "protocol_type": "consumer", "protocols": (protocol,)}
    joined = group.ask("JoinGroup", 3, group.group_coordinator, group_id=group.group, member_id="", **classic)
    yield "a classic member joins", joined.error_code
    part = M.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    row = M.OffsetCommitRequest.OffsetCommitRequestTopic(name=group.topic, partitions=(part,))
    found = group.ask("OffsetCommit", 8, group.group_coordinator, group_id=group.group, topics=(row,))
    yield "commit", found.topics[0].partitions[0].error_code
    wanted = M.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group.group, topics=None)
    yield "committed", group.ask("OffsetFetch", 9, group.group_coordinator, groups=(wanted,)).groups[0].error_code
    yield "delete", group.delete()


def _configs(group: Sharers) -> Iterator[Line]:
    yield "configs", group.configs()
    for name, value in (
        ("share.auto.offset.reset", "sometimes"),
        ("share.auto.offset.reset", "by_duration:PT1H"),
        ("share.auto.offset.reset", "by_duration:1H"),
        ("share.auto.offset.reset", "earliest"),
        ("share.isolation.level", "read_twice"),
        ("share.isolation.level", "read_committed"),
        ("share.isolation.level", "read_uncommitted"),
        ("share.record.lock.duration.ms", "10"),
        ("share.record.lock.duration.ms", "999999"),
        ("share.record.lock.duration.ms", "soon"),
        ("share.session.timeout.ms", "1"),
        ("share.heartbeat.interval.ms", "1"),
        ("share.nonsense", "1"),
    ):
        yield f"{name}={value}", group.configure(name, value)
    yield "configs", group.configs()
    yield "share.isolation.level is deleted", group.configure("share.isolation.level", None, 1)


def _records(group: Sharers) -> Iterator[Line]:
    yield "the first fetch", group.share_fetch("a", {0: (), 1: ()}, wait=500)
    group.send(0, 10, 10, 5)
    group.send(1, 3)
    yield "all of it", _both(group, lambda: group.share_fetch("a", wait=2000))
    yield "nothing is left", group.share_fetch("a")
    yield "accept some", group.acknowledge("a", {0: [(0, 4, [ACCEPT])]})
    yield "again", group.acknowledge("a", {0: [(0, 4, [ACCEPT])]})
    yield "offsets", group.offsets()
    yield "each its own", group.acknowledge("a", {0: [(5, 8, [ACCEPT, RELEASE, REJECT, ACCEPT])]})
    yield "what was released", group.share_fetch("a")
    yield "types do not fit", group.acknowledge("a", {0: [(9, 12, [ACCEPT, RELEASE])]})
    yield "types that are none", group.acknowledge("a", {0: [(9, 9, [7])]})
    yield "no types", group.acknowledge("a", {0: [(9, 9, [])]})
    yield "backwards", group.acknowledge("a", {0: [(9, 8, [ACCEPT])]})
    yield "overlapping", group.acknowledge("a", {0: [(9, 12, [ACCEPT]), (11, 13, [ACCEPT])]})
    yield "beyond the end", group.acknowledge("a", {0: [(20, 30, [ACCEPT])]})
    yield "far beyond the end", group.acknowledge("a", {0: [(100, 100, [ACCEPT])]})
    yield "a good one and a bad one", group.acknowledge("a", {0: [(9, 9, [ACCEPT]), (0, 0, [ACCEPT])]})
    yield "an unknown partition", group.acknowledge("a", {7: [(0, 0, [ACCEPT])]})
    yield "an unknown topic", group.acknowledge("a", {0: [(0, 0, [ACCEPT])]}, topic_id=bytes(15) + b"1")
    yield "with a fetch", group.share_fetch("a", {0: [(6, 6, [ACCEPT]), (9, 24, [RELEASE])]}, wait=2000)
    yield "with a fetch, wrongly", group.share_fetch("a", {0: [(0, 0, [ACCEPT])]})
    yield "gaps", group.acknowledge("a", {0: [(9, 19, [GAP])], 1: [(0, 2, [ACCEPT])]})
    yield "offsets", group.offsets()
    for count in range(3, 5):
        yield f"release {count}", group.share_fetch("a", {0: [(20, 24, [RELEASE])]}, wait=2000)
    yield "the last time", group.share_fetch("a", {0: [(20, 24, [RELEASE])]}, wait=2000)
    for offset in range(20, 25):
        yield f"release {offset}", group.share_fetch("a", {0: [(offset, offset, [RELEASE])]}, wait=2000)
    yield "offsets", group.offsets()
    group.send(0, 10, 10, 10)
    yield "few records", group.share_fetch("a", max_records=5)
    yield "few records again", group.share_fetch("a", max_records=15)
    yield "small batches", group.share_fetch("a", {0: [(25, 54, [RELEASE])]}, batch_size=1, wait=2000)
    yield (
        "exactly as many",
        group.share_fetch("a", {0: [(25, 54, [RELEASE])]}, max_records=5, share_acquire_mode=1, wait=2000),
    )
    yield "exactly as many again", group.share_fetch("a", max_records=12, share_acquire_mode=1)
    yield "an old version", group.share_fetch("a", version=1)
    yield "accept", group.acknowledge("a", {0: [(25, 54, [ACCEPT])]}, version=1)
    yield "the rest", group.share_fetch("a", {0: [(25, 29, [ACCEPT]), (30, 41, [ACCEPT]), (42, 54, [ACCEPT])]})
    yield "offsets", group.offsets()


def _both(group: Sharers, fetch: Callable[[], Any]) -> Any:
    """Fetch twice: brokers may answer as soon as they have one of two partitions."""
    one, two = fetch(), fetch()
    return one[0] or two[0], one[1], sorted(part for part in one[2] + two[2] if part[3])


def _sessions(group: Sharers) -> Iterator[Line]:
    yield "another epoch", [group.share_fetch("a", epoch=epoch) for epoch in (99, 1)]
    yield "acknowledge in another epoch", [group.acknowledge("a", {}, epoch=epoch) for epoch in (99, 0)]
    yield "no session", group.share_fetch("b", epoch=1)
    yield "acknowledge without a session", group.acknowledge("b", {}, epoch=1)
    yield "end no session", [group.share_fetch("b", epoch=-1), group.acknowledge("b", {}, epoch=-1)]
    yield "begin with acknowledgements", group.share_fetch("b", {0: [(0, 0, [ACCEPT])]})
    yield "nobody begins", group.share_fetch("b", {0: ()}, member_id="")
    yield "no member", group.share_fetch("b", {0: ()}, member_id=None)
    yield "no group", group.share_fetch("b", {0: ()}, group_id=None)
    yield "an unknown partition", group.share_fetch("a", {7: ()})
    yield "an unknown topic", group.share_fetch("a", {0: ()}, topic_id=bytes(15) + b"1")
    yield "another member begins", group.share_fetch("b", {0: (), 1: ()})
    group.send(1, 4)
    yield "one gets them", group.share_fetch("a", forget=(7,), wait=2000)
    yield "the other gets none", group.share_fetch("b")
    yield "the other accepts", group.acknowledge("b", {1: [(3, 4, [ACCEPT])]})
    yield "forget a partition", group.share_fetch("a", forget=(1,))
    yield "the end of the session", group.share_fetch("a", {1: [(3, 3, [ACCEPT])]}, epoch=-1)
    yield "the other gets the rest", group.share_fetch("b", wait=1000)
    yield "a session again", group.share_fetch("a", {0: (), 1: ()}, epoch=0)
    yield "the end of the other session", group.acknowledge("b", {1: [(4, 4, [ACCEPT])]}, epoch=-1)
    yield "the first gets the rest", group.share_fetch("a", wait=1000)
    yield "accepted", group.acknowledge("a", {1: [(5, 6, [ACCEPT])]})
    yield "not a member", group.share_fetch("z", {0: (), 1: ()})
    yield "no such group", group.share_fetch("y", {0: ()}, group_id=f"none {group.group}", wait=500)
    yield "no longer a session", group.share_fetch("z", epoch=-1)


def _locks(group: Sharers) -> Iterator[Line]:
    yield "a short lock", group.configure("share.record.lock.duration.ms", str(LOCK_MS))
    group.send(1, 2)
    yield "locked", group.share_fetch("a", wait=2000)
    yield "nothing else", group.share_fetch("a")
    group.rest(10, "a")
    yield "renewed", group.acknowledge("a", {1: [(7, 7, [RENEW])]}, is_renew_ack=True)
    yield "renewed without saying so", group.acknowledge("a", {1: [(7, 7, [RENEW])]})
    yield "renewed with a fetch", group.share_fetch("a", {1: [(7, 7, [RENEW])]}, is_renew_ack=True)
    no_fetch = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
    yield "renewed and nothing fetched", group.share_fetch("a", {1: [(7, 7, [RENEW])]}, is_renew_ack=True, **no_fetch)
    group.rest(8, "a")
    yield "one is free", group.share_fetch("a", wait=3000)
    yield "too late", group.acknowledge("a", {1: [(7, 8, [ACCEPT])]})
    group.rest(16, "a")
    yield "both are free", _both(group, lambda: group.share_fetch("a", wait=3000))
    yield "accepted", group.acknowledge("a", {1: [(7, 8, [ACCEPT])]})


def _offset_steps(group: Sharers) -> Iterator[Line]:
    yield "offsets of all topics", group.offsets(all=True)
    yield "offsets of an unknown topic", group.offsets(topic="nowhere")
    yield "alter with members", group.alter({0: 3})
    yield "delete offsets with members", group.forget()
    yield "delete with members", group.delete()
    yield "no sessions", [group.share_fetch(name, epoch=-1)[0] for name in "ab"]
    yield "leave", group.beat("a", epoch=-1)
    yield "described", group.describe()
    yield "listed", group.listed()
    yield "alter", group.alter({0: 3, 1: 4})
    yield "offsets", group.offsets()
    yield "alter unknown partitions", group.alter({7: 3})
    yield "alter an unknown topic", group.alter({0: 3}, topic="nowhere")
    yield "alter of nobody", group.alter({0: 3}, group=f"no {group.group}")
    group.join("d")
    yield "settled", group.settled("d")[5][0][2]
    yield "leave", group.beat("d", epoch=-1)
    yield "delete offsets of an unknown topic", group.forget(topic="nowhere")
    yield "delete offsets of nobody", group.forget(group=f"no {group.group}")
    yield "delete offsets", group.forget()
    yield "offsets", group.offsets()
    yield "delete offsets again", group.forget()
    yield "delete", group.delete()
    yield "described", group.describe()
    yield "listed", group.listed()


def _isolation_steps(group: Sharers) -> Iterator[Line]:
    group.reads_from("earliest")
    group.configure("share.isolation.level", "read_committed")
    group.join("a")
    group.settled("a")
    group.share_fetch("a", {0: ()}, wait=500)
    made = group.init()
    who = made.producer_id, made.producer_epoch
    yield "a transaction", [group.add(*who, (group.topic, 0)), *(group.produce(*who) for _ in range(3))]
    yield "it is open", group.share_fetch("a")
    yield "it is aborted", group.end(*who, False)
    group.send(0, 2)
    yield "what is behind it", group.share_fetch("a", wait=2000)
    yield "accepted", group.acknowledge("a", {0: [(3, 5, [ACCEPT])]})
    yield "aborted ones", group.acknowledge("a", {0: [(2, 2, [ACCEPT])]})
    yield "offsets", group.offsets()
    yield "another", [group.add(*who, (group.topic, 0)), *(group.produce(*who) for _ in range(2))]
    yield "it is committed", group.end(*who, True)
    yield "all of it", group.share_fetch("a", wait=2000)
    yield "rejected", group.acknowledge("a", {0: [(6, 7, [REJECT]), (8, 8, [GAP])]})
    yield "offsets", group.offsets()


def _limit_steps(group: Sharers) -> Iterator[Line]:
    names = {"share.partition.max.record.locks": "100", "share.delivery.count.limit": "2"}
    yield "limits", [group.configure(*one) for one in names.items()]
    group.share_fetch("b", {0: ()})
    group.send(0, *[30] * 5)
    yield "as many as may be", group.share_fetch("a", wait=2000)
    yield "no more", group.share_fetch("a")
    yield "others do not get any", group.share_fetch("b")
    yield "some are accepted", group.acknowledge("a", {0: [(9, 68, [ACCEPT])]})
    yield "the next", group.share_fetch("b", wait=2000)
    yield "released", group.acknowledge("a", {0: [(69, 70, [RELEASE])]})
    yield "for the last time", group.share_fetch("b", wait=2000)
    yield "released again", group.acknowledge("b", {0: [(69, 70, [RELEASE])]})
    yield "none", group.share_fetch("b")
    yield "archived", group.acknowledge("b", {0: [(69, 69, [ACCEPT])]})
    yield "offsets", group.offsets()


def lines(place: str, pause: Callable[[float], None] = time.sleep, patience: float = 1.0) -> list[str]:
    """Take all steps; returns a line for each."""
    group = Sharers(place, pause)
    group.patience = patience
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
