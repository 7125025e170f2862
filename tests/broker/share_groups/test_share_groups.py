"""Share groups (KIP-932): answer for answer as Kafka 4.4.0's; locks, deliveries, restarts, transactions and faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import Settings
from kwire.broker.controller.topic_names import SHARES
from kwire.broker.groups.record_states import AcknowledgeType
from kwire.broker.groups.share_group import ShareGroup, assign_shares
from kwire.broker.groups.share_partition import AcquireLimits, ShareLimits, SharePartition
from kwire.broker.internal_topics import coordinator_of
from kwire.broker.security.acls import ALLOW, LITERAL, AclBinding
from kwire.broker.security.principals import ANONYMOUS
from kwire.broker.share_groups.share_coordinator import state_key
from kwire.cluster.state import NO_LEADER
from kwire.protocol.nested import decode_share_record
from kwire.testing import Kafka
from kwire.values import AclOperation, ErrorCode, ResourceType
from tests.broker.driving import Waiting, World
from tests.broker.served import M, batch, produce
from tests.broker.stored import StoredDisk
from tests.conftest import ROOT
from tests.interop import dead_letter_steps, share_acquire_steps, share_group_steps
from tests.interop.share_group_steps import Sharers
from tests.seeds import seeded

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
LOCK = 30.0
Spans = list[tuple[int, int, int]]


@pytest.mark.parametrize(
    ("steps", "recorded"),
    [(share_group_steps, "share-groups"), (share_acquire_steps, "share-acquire"), (dead_letter_steps, "dead-letters")],
)
def test_every_step_is_answered_as_kafka_answers_it(steps: Any, recorded: str) -> None:
    with Kafka() as kafka:
        found = steps.lines(kafka.bootstrap_servers, kafka.advance, patience=0.01)
    assert found == (ROOT / f"tests/data/{recorded}-kafka-4.4.0.txt").read_text("utf-8").splitlines()


class Sharer:
    """A member of the share group `g`, whose requests go through their bytes."""

    def __init__(self, world: World, name: str, *, topics: Sequence[str] = ("t",), fetches: bool = True) -> None:
        self.world, self.name, self.epoch, self.session = world, name, 0, 0
        self.beat(subscribed_topic_names=tuple(topics))
        if fetches:
            self.fetch()

    def beat(self, **fields: Any) -> int:
        row = {"group_id": "g", "member_id": self.name, "member_epoch": self.epoch, **fields}
        answer = self.world.ask("ShareGroupHeartbeat", 1, **row)
        self.epoch = answer.member_epoch if not answer.error_code else self.epoch
        return int(answer.error_code)

    def ask(self, *acks: tuple[int, int, int], index: int = 0, **fields: Any) -> Any:
        """Fetch a partition, with acknowledgements: returns the answer, or what waits for it."""
        request = M.ShareFetchRequest
        rows = tuple(
            request.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,))
            for first, last, kind in acks
        )
        part = request.FetchPartition(partition_index=index, acknowledgement_batches=rows)
        topic_id = self.world.cluster.controller.topics["t"].topic_id
        topics = (request.FetchTopic(topic_id=topic_id, partitions=(part,)),)
        who = {"group_id": "g", "member_id": self.name, "share_session_epoch": self.session, "topics": topics}
        usual = {"max_wait_ms": 0, "min_bytes": 1, "max_records": 500, "batch_size": 500}
        node = fields.pop("node", 1)
        answer = self.world.ask("ShareFetch", 2, node, **{**who, **usual, **fields})
        self.session += 1
        return answer

    def fetch(self, *acks: tuple[int, int, int], **fields: Any) -> Spans:
        answer = self.ask(*acks, **fields)
        assert answer.error_code == 0, answer
        return acquired(answer)


def acquired(answer: Any) -> Spans:
    rows = (row for topic in answer.responses for part in topic.partitions for row in part.acquired_records)
    return [(row.first_offset, row.last_offset, row.delivery_count) for row in rows]


def codes_of(answer: Any) -> list[tuple[int, int]]:
    return [(part.error_code, part.acknowledge_error_code) for topic in answer.responses for part in topic.partitions]


def share_world(*, disks: Any = (), **configs: str) -> World:
    world = World(disks=disks)
    world.cluster.controller.configure_group("g", {"share.auto.offset.reset": "earliest"} | configs)
    return world


def send(world: World, count: int = 10, **fields: Any) -> None:
    part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(*[b"v"] * count, **fields))
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    answer = world.ask("Produce", 9, 1, acks=-1, timeout_ms=1000, topic_data=(row,), transactional_id=None)
    assert answer.responses[0].partition_responses[0].error_code == 0


def share_of(world: World) -> ShareGroup:
    share = world.cluster.shares.share(world.group())
    assert isinstance(share, ShareGroup)
    return share


def partition(world: World) -> SharePartition:
    return share_of(world).partitions[world.cluster.controller.topics["t"].topic_id, 0]


def test_a_lock_ends_with_its_time_and_the_last_delivery_with_the_record() -> None:
    world = share_world(**{"share.delivery.count.limit": "2"})
    one, other = Sharer(world, "a"), Sharer(world, "b")
    send(world, 3)
    assert one.fetch() == [(0, 2, 1)]
    waiting = other.ask(max_wait_ms=60_000)
    assert isinstance(waiting, Waiting)
    world.wait(LOCK - 1)
    assert waiting.answer is None
    world.wait(1)
    assert acquired(waiting.answer) == [(0, 2, 2)]
    assert one.beat() == 0  # else it would be removed, and the group be empty
    world.wait(LOCK)
    assert (other.fetch(), partition(world).start) == ([], 3)


def test_a_member_that_lost_an_answer_sends_its_topics_and_gets_its_assignment_again() -> None:
    world = share_world()
    one = Sharer(world, "a", fetches=False)
    fields: dict[str, Any] = {"group_id": "g", "member_id": "a", "member_epoch": one.epoch}
    assert world.ask("ShareGroupHeartbeat", 1, **fields).assignment is None
    assert world.ask("ShareGroupHeartbeat", 1, **fields, subscribed_topic_names=("t",)).assignment is not None


def test_records_wait_while_the_stored_state_of_their_partition_cannot_be_read() -> None:
    """After a restart, records that the group has accepted would be delivered again."""
    world = share_world()
    send(world, 3)
    coordinator_of("g:t:0", world.cluster.controller, SHARES)  # creates the topic
    for part in world.cluster.controller.topics[SHARES].partitions:
        part.leader = NO_LEADER
    member = Sharer(world, "a", fetches=False)
    assert (member.fetch(), partition(world).start) == ([], -1)
    for part in world.cluster.controller.topics[SHARES].partitions:
        part.elect_leader()
    assert member.fetch() == [(0, 2, 1)]


def test_an_acknowledgement_that_cannot_be_stored_is_refused() -> None:
    world = share_world()
    one = Sharer(world, "a")
    send(world, 3)
    assert one.fetch() == [(0, 2, 1)]
    coordinator_of("g:t:0", world.cluster.controller, SHARES)  # creates the topic
    for part in world.cluster.controller.topics[SHARES].partitions:
        part.leader = NO_LEADER
    (topic,) = one.ask((0, 0, ACCEPT)).responses
    assert topic.partitions[0].acknowledge_error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    for part in world.cluster.controller.topics[SHARES].partitions:
        part.elect_leader()
    (topic,) = one.ask((0, 0, ACCEPT)).responses
    assert topic.partitions[0].acknowledge_error_code == 0


def test_a_fetch_above_the_quota_is_throttled_and_empty() -> None:
    world = share_world()
    world.cluster.controller.set_quota(frozenset({("client-id", None)}), "consumer_byte_rate", 100.0)
    one = Sharer(world, "a")
    send(world, 1500)
    throttled = one.ask()
    assert (throttled.error_code, throttled.responses, throttled.acquisition_lock_timeout_ms) == (0, (), 30_000)
    assert throttled.throttle_time_ms > 1000
    assert partition(world).start == 0
    world.cluster.controller.set_quota(frozenset({("client-id", None)}), "consumer_byte_rate", None)
    assert one.fetch() == []  # the records were acquired, as in Kafka 4.1
    world.wait(LOCK)
    assert one.beat() == 0
    assert one.fetch() == [(0, 1499, 2)]


def test_a_fetch_waits_for_records() -> None:
    world = share_world()
    one = Sharer(world, "a")
    waiting = one.ask(max_wait_ms=5_000)
    assert isinstance(waiting, Waiting)
    assert waiting.answer is None
    send(world)
    assert acquired(waiting.answer) == [(0, 9, 1)]
    more = one.ask(max_wait_ms=5_000, min_bytes=1_000_000)
    send(world)
    assert more.answer is None
    world.wait(5)
    assert acquired(more.answer) == [(10, 19, 1)]


def test_no_more_records_are_in_flight_than_allowed() -> None:
    world = share_world(**{"share.partition.max.record.locks": "100"})
    one = Sharer(world, "a")
    for _ in range(12):
        send(world)
    assert one.fetch() == [(0, 99, 1)]
    assert one.fetch() == []
    assert one.fetch((0, 9, ACCEPT)) == [(100, 109, 1)]


def test_state_is_there_again_after_a_restart() -> None:
    disk = StoredDisk("a")
    world = share_world(disks=[disk])
    one = Sharer(world, "a")
    send(world, 10)
    assert one.fetch() == [(0, 9, 1)]
    assert one.fetch((0, 2, ACCEPT), (3, 3, RELEASE), (5, 5, REJECT)) == [(3, 3, 2)]
    again = World(disks=[disk])
    assert again.cluster.controller.group_configs["g"] == {"share.auto.offset.reset": "earliest"}
    later = Sharer(again, "b", fetches=False)
    assert later.fetch() == [(3, 3, 2), (4, 4, 1), (6, 9, 1)]
    assert later.beat() == 0
    share = again.cluster.shares.share(again.group())
    assert share is not None
    assert sorted(share.members) == ["a", "b"]
    again.wait(50.0)  # neither sends heartbeats
    assert (share.members, partition(again).next_offset) == ({}, 3)


def test_the_state_is_stored_as_kafka_stores_it() -> None:
    world = share_world()
    one = Sharer(world, "a")
    send(world, 10)
    one.fetch()
    one.fetch((0, 0, RELEASE), (1, 1, ACCEPT), (2, 2, REJECT))
    rows = [pair for _, latest in world.cluster.shares._log.latest() for pair in latest.values.items()]
    ((key, value),) = [(one.key.message, one.value) for one in (decode_share_record(*row) for row in rows)]
    assert (key.group_id, key.partition, value is not None) == ("g", 0, True)
    assert value is not None
    found = value.message
    assert (found.start_offset, found.delivery_complete_count) == (0, 2)
    states = [
        (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count) for one in found.state_batches
    ]
    assert states == [(0, 0, 0, 1), (1, 1, 2, 1), (2, 2, 4, 1)]


def test_what_is_deleted_from_the_log_is_no_longer_in_flight() -> None:
    world = share_world()
    one = Sharer(world, "a")
    send(world, 5)
    send(world, 5)
    assert one.fetch(max_records=1) == [(0, 4, 1)]
    for log in world.cluster.controller.topics["t"].partitions[0].online_logs().values():
        log.delete_before(5)
    assert one.fetch() == [(5, 9, 1)]
    answer = one.ask((0, 4, ACCEPT))
    assert codes_of(answer) == [(0, 0)]  # they ended with the log


@pytest.mark.parametrize(("level", "expected"), [("read_uncommitted", [(0, 4, 1)]), ("read_committed", [(4, 4, 1)])])
def test_aborted_records_are_read_as_the_group_says(level: str, expected: Spans) -> None:
    with Kafka(topics=["t"]) as kafka:
        group = Sharers(kafka.bootstrap_servers, kafka.advance)
        group.patience = 0.01
        group.begin()
        group.ids = {"a": "a"}
        group.reads_from("earliest")
        assert group.configure("share.isolation.level", level) == 0
        group.join("a")
        group.share_fetch("a", {0: ()})
        made = group.init()
        who = made.producer_id, made.producer_epoch
        assert group.add(*who, (group.topic, 0)) == {"topic": 0}
        for _ in range(4):
            assert group.produce(*who)[0] == 0
        before = group.share_fetch("a")[2]
        assert [row[3] for row in before] == ([] if level == "read_committed" else [[(0, 3, 1)]])
        assert group.end(*who, False)[0] == 0
        after = group.share_fetch("a")[2]
        found = [(first, last, 1) for row in [*before, *after] for first, last, _ in row[3]]
        joined = [(found[0][0], found[-1][1], 1)]
        assert joined == expected
        for connection in group.connections.values():
            connection.close()


def test_a_group_begins_at_the_records_of_a_duration() -> None:
    world = share_world(**{"share.auto.offset.reset": "by_duration:PT1H0.5S"})
    now = 10_000_000
    world.cluster.time_ms = lambda: now
    for age in (3_600_501, 3_600_500, 0):
        records = kwire.build_batch([kwire.Record(0, now - age, None, b"v")])
        assert produce(world.cluster, records).error_code == 0
    assert Sharer(world, "a", fetches=False).fetch() == [(1, 2, 1)]


def test_rules_apply_to_requests_of_share_groups() -> None:
    with Kafka(topics=["t"]) as kafka:
        group = Sharers(kafka.bootstrap_servers, kafka.advance)
        group.begin()
        group.ids = {"a": "a"}
        group.join("a")
        kafka.on("ShareFetch", group=group.group).error("GROUP_AUTHORIZATION_FAILED", times=1)
        assert group.share_fetch("a", {0: ()})[0] == ErrorCode.GROUP_AUTHORIZATION_FAILED
        kafka.on("ShareFetch", topic=group.topic, partition=1).error("KAFKA_STORAGE_ERROR", times=1)
        found = group.share_fetch("a", {0: (), 1: ()})
        assert [(row[0], row[1]) for row in found[2]] == [(0, 0), (1, ErrorCode.KAFKA_STORAGE_ERROR)]
        kafka.on("ShareAcknowledge").error("NOT_LEADER_OR_FOLLOWER", times=1)
        assert group.acknowledge("a", {})[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        for connection in group.connections.values():
            connection.close()


def test_what_a_client_had_is_available_when_its_connection_is_closed() -> None:
    with Kafka() as kafka:
        one, other = Sharers(kafka.bootstrap_servers), Sharers(kafka.bootstrap_servers)
        one.begin()
        other.group, other.topic, other.leaders = one.group, one.topic, one.leaders
        other.ids, other.sessions, other.topic_id = {}, {}, one.topic_id
        one.ids = {"a": "a"}
        one.reads_from("earliest")
        one.join("a")
        one.share_fetch("a", {0: ()})
        one.send(0, 3)
        assert one.share_fetch("a")[2][0][3] == [(0, 2, 1)]
        assert other.share_fetch("b", {0: ()})[2][0][3] == []
        for connection in one.connections.values():
            connection.close()
        assert other.share_fetch("b", wait=20_000)[2][0][3] == [(0, 2, 2)]
        for connection in other.connections.values():
            connection.close()


def test_another_broker_names_the_leader() -> None:
    world = World(count=2)
    answer = Sharer(world, "a").ask(node=2, share_session_epoch=0)
    (part,) = answer.responses[0].partitions
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (1, 0)
    assert [(one.node_id, one.port) for one in answer.node_endpoints] == [(1, 9093), (2, 9094)]


def test_the_coordinator_of_a_share_partition_is_found() -> None:
    world = World()
    topic_id = world.cluster.controller.topics["t"].topic_id
    key = state_key("g", (topic_id, 0))
    found = world.ask("FindCoordinator", 6, 1, key_type=2, coordinator_keys=(key, "g")).coordinators
    assert [(one.error_code, one.node_id) for one in found] == [(0, 1), (ErrorCode.INVALID_REQUEST, -1)]
    old = world.ask("FindCoordinator", 5, 1, key_type=2, coordinator_keys=(key,)).coordinators
    assert [one.error_code for one in old] == [ErrorCode.INVALID_REQUEST]


def test_requests_need_rights_on_group_and_topic() -> None:
    world = World(Settings(authorizer=True))
    one = Sharer(world, "a", fetches=False)
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (one.beat(), one.ask().error_code) == (denied, denied)
    for kind, name in ((ResourceType.GROUP, "g"), (ResourceType.TOPIC, "other")):
        acl = AclBinding(kind, name, LITERAL, ANONYMOUS, "*", AclOperation.ALL, ALLOW)
        world.cluster.controller.acls[acl] = bytes(16)
    answer = one.ask(share_session_epoch=0)
    assert codes_of(answer) == [(ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)]
    offsets = world.ask("DescribeShareGroupOffsets", 1, 1, groups=(asked_offsets("g"), asked_offsets("h")))
    assert [group.error_code for group in offsets.groups] == [0, denied]


def asked_offsets(group_id: str) -> Any:
    return M.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)


def test_a_deleted_topic_is_forgotten() -> None:
    world = share_world()
    one = Sharer(world, "a")
    assert len(world.cluster.shares.state_topics(share_of(world))["t"]) == 2
    world.cluster.delete(world.cluster.controller.topics["t"])
    assert one.beat() == 0
    assert share_of(world).partitions == {}


@pytest.mark.parametrize(("release", "served"), [("3.9", []), ("4.0", []), ("4.1", [0, 1]), ("4.4", [0, 1])])
def test_releases_serve_what_they_had(release: str, served: list[int]) -> None:
    world = World(Settings(release=release))
    names = [name for name in world.cluster.table if "Share" in name]
    assert bool(names) == bool(served)
    assert ("share.version" in world.cluster.feature_levels) == bool(served)
    fetches = world.cluster.table.get("ShareFetch")
    assert fetches is None or (fetches.first, fetches.last) == (1, 1 if release == "4.1" else 2)


def test_without_the_feature_requests_are_refused() -> None:
    world = share_world()
    del world.cluster.feature_levels["share.version"]
    assert Sharer(world, "a", fetches=False).beat() == ErrorCode.UNSUPPORTED_VERSION
    assert Sharer(world, "a", fetches=False).ask().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_an_offset_far_beyond_is_refused_before_anything_is_made_of_it() -> None:
    world = share_world()
    one = Sharer(world, "a")
    send(world, 2)
    assert one.fetch() == [(0, 1, 1)]
    answer = one.ask((0, 2**62, ACCEPT))
    assert codes_of(answer) == [(0, ErrorCode.INVALID_REQUEST)]


def test_memory_is_counted_and_given_back() -> None:
    world = share_world()
    before = world.cluster.groups.held.size
    one = Sharer(world, "a")
    send(world, 100)
    one.fetch()
    used = world.cluster.groups.held.size
    assert used > before + 100 * 100
    one.fetch((0, 99, ACCEPT))
    assert world.cluster.groups.held.size < used
    assert one.beat(member_epoch=-1) == 0
    found = world.ask("DeleteGroups", 2, groups_names=("g",))
    assert [row.error_code for row in found.results] == [0]
    assert world.cluster.groups.held.size == before


class Model:
    """A share partition whose records random members acquire, and who has which."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.limits = (
            rng,
            ShareLimits(deliveries=rng.choice((2, 3, 5, 10)), most_locks=rng.choice((5, 40, 2000))),
        )
        self.part, self.now = SharePartition(), 0.0
        self.part.begin(0)
        sizes = [rng.randint(1, 9) for _ in range(12)]
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        self.batches = [(end - size, end - 1) for size, end in zip(sizes, ends, strict=True)]
        self.holders: dict[int, str] = {}
        self.counts: Counter[int] = Counter()
        self.ended: set[int] = set()

    def acquire(self) -> int:
        wanted = AcquireLimits(self.rng.choice((1, 7, 500)), self.rng.choice((1, 5, 500)), self.rng.random() < 0.5)
        first = self.part.next_offset
        spans = self.part.acquirable([one for one in self.batches if one[1] >= first], wanted, self.limits)
        member = self.rng.choice("abc")
        batch_end = max((last for first, last in self.batches if spans and first <= spans[-1][1]), default=-1)
        found = self.part.acquire(spans, batch_end, member, self.now + 30, self.limits)
        offsets = [(offset, one.deliveries) for one in found for offset in range(one.first, one.last + 1)]
        assert not wanted.is_exact or len(offsets) <= wanted.most
        for offset, deliveries in offsets:
            assert offset not in self.holders and offset not in self.ended
            self.counts[offset] += 1
            assert deliveries == self.counts[offset] <= self.limits.deliveries
            self.holders[offset] = member
        return len(offsets)

    def acknowledge(self, *kinds: AcknowledgeType) -> None:
        for offset, member in self.rng.sample(sorted(self.holders.items()), self.rng.randint(0, len(self.holders))):
            kind = self.rng.choice(kinds)
            wrong = self.part.acknowledge(member + "x", [(offset, offset, (kind,))], self.limits, 0.0)
            assert wrong == ErrorCode.INVALID_RECORD_STATE
            assert self.part.acknowledge(member, [(offset, offset, (kind,))], self.limits, 0.0) == 0
            self.gone(offset, kind)
        self.part.store()
        self.part.advance()

    def gone(self, offset: int, kind: AcknowledgeType) -> None:
        del self.holders[offset]
        if kind != RELEASE or self.counts[offset] >= self.limits.deliveries:
            self.ended.add(offset)

    def expire(self) -> None:
        self.now += 30
        assert self.part.expire(self.now, self.limits) == bool(self.holders)
        for offset in list(self.holders):
            self.gone(offset, RELEASE)
        self.part.store()
        self.part.advance()

    def restart(self) -> None:
        """What is held is lost, and its last delivery with it."""
        stored = self.part.store()
        self.part = SharePartition()
        self.part.restore(stored)
        self.counts.subtract(self.holders.keys())
        self.holders = {}


def test_each_record_is_with_one_member_and_ends_once() -> None:
    rng = seeded("share partitions")
    for _ in range(60):
        model = Model(rng)
        for _ in range(60):
            step = rng.choice((model.acquire, model.acquire, model.expire, model.restart))
            step()
            if rng.random() < 0.7:
                model.acknowledge(ACCEPT, RELEASE, REJECT)
        for _ in range(2000):
            model.acknowledge(ACCEPT)
            if not model.holders and not model.acquire():
                break
        assert (model.part.start, model.part.records) == (model.batches[-1][1] + 1, {})
        assert len(model.ended) == model.batches[-1][1] + 1


def test_partitions_are_shared_evenly() -> None:
    places = [("t", index) for index in range(5)]
    for count in range(1, 14):
        members = [f"m{number}" for number in range(count)]
        found = assign_shares(places, members, {})
        sizes = sorted(map(len, found.values()))
        assert sizes[-1] - sizes[0] <= 1, (count, sizes)
        assert {place for one in found.values() for place in one} == set(places)
        kept = assign_shares(places, members, found)
        assert kept == found
    assert kwire.release("4.1").versions("ShareFetch")


def test_the_lag_behind_an_offset_below_the_log_is_that_of_the_log() -> None:
    """As an int64, the difference to the lowest offset that AlterShareGroupOffsets can set would not be encodable."""
    world = World()
    send(world, 2)
    alter, describe = M.AlterShareGroupOffsetsRequest, M.DescribeShareGroupOffsetsRequest
    part = alter.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=-(2**63))
    topics = (alter.AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=(part,)),)
    altered = world.ask("AlterShareGroupOffsets", 0, group_id="g", topics=topics)
    assert altered.responses[0].partitions[0].error_code == ErrorCode.NONE
    described_topics = (describe.DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=(0,)),)
    groups = (describe.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=described_topics),)
    described = world.ask("DescribeShareGroupOffsets", 1, groups=groups).groups[0].topics[0].partitions[0]
    assert (described.start_offset, described.lag) == (-(2**63), 2)
