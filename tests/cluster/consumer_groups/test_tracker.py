"""Consumer groups of captures: what the clients of the runs printed themselves, and messages one by one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

import kwire
from kwire import messages as m
from kwire.cluster.assignors import assign
from kwire.cluster.consumer_groups.tracker import GroupTracker
from kwire.protocol import Client, Frame, Request, Response, Source
from kwire.protocol.nested import assignment_of, encode_assignment, encode_subscription, subscription_of
from tests.conftest import ROOT, SHARED, each_of, needs_shared

CAPTURES = SHARED / "captures"
DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


@cache
def groups_of(path: Any) -> GroupTracker:
    groups = GroupTracker()
    for result in kwire.decode_frames(kwire.read_dump(path)):
        groups.apply(result)
    return groups


def test_a_group_of_a_dump() -> None:
    groups = groups_of(DUMP)
    (kcat,) = groups.history("kcat-group")
    assert (kcat.protocol, kcat.generation, kcat.assignor) == ("classic", 1, "range")
    assert kcat.partitions == ("orders-0", "orders-1", "orders-2", "orders-3")
    assert kcat.until is not None
    (python,) = groups.members("py-group-orders")
    assert (python.until, python.host) == (None, "127.0.0.1")
    (orders_1,) = (row for row in groups.partitions("kcat-group") if row.partition == 1)
    assert (orders_1.committed, orders_1.end, orders_1.lag) == (30, 96, 66)


@needs_shared
@pytest.mark.parametrize("run", ["kafka-3.9-zk-admin", "kafka-4.4-kraft"])
def test_groups_have_what_their_consumers_printed(run: str) -> None:
    """A run's record has lines `> group NAME ...`, then what each member had last: `member 1 read 0 has [a-1, a-0]`."""
    groups = groups_of(CAPTURES / f"{run}.clients.pcap")
    name, checked = "", 0
    for line in (CAPTURES / f"{run}.md").read_text().splitlines():
        if begun := re.search(r"> (group|share) (\S+) ", line):
            name = begun[2] if begun[1] == "group" else ""
        elif name and (printed := re.match(r"  member (\d+) read \d+ has \[(.*)\]", line)):
            expected = set(filter(None, printed[2].split(", ")))
            rows = [row for row in groups.history(name) if row.client_id == f"lab-{name}-{printed[1]}"]
            assert expected in [set(row.partitions or ()) for row in rows], (name, printed[1])
            checked += 1
    assert checked >= 3


@needs_shared
def test_offsets_are_those_that_the_admin_client_printed() -> None:
    """`group-offsets shelf`, then books-0 was set to 12 and the offset of books-1 was deleted."""
    groups = groups_of(CAPTURES / "kafka-3.9-zk-admin.clients.pcap")
    found = {f"{row.topic}-{row.partition}": row.committed for row in groups.partitions("shelf")}
    assert found == {"books-0": 12, "books-2": 71, "ledger-0": 41, "ledger-1": 33}
    assert "empty-group" not in groups.groups
    rack = {row.client_id: row.rack for row in groups.history("shelf")}
    assert rack == {"lab-shelf-0": "/dc1/r1", "lab-shelf-1": "/dc2/r1"}


@needs_shared
def test_reads_across_racks_are_counted() -> None:
    """RackAwareReplicaSelector is on: a member reads from its rack where a replica is there, and across else."""
    groups = groups_of(CAPTURES / "kafka-3.9-zk-admin.clients.pcap")
    (row,) = groups.history("rd-books")
    assert (row.rack, len(row.partitions or ()), row.local_partitions) == ("/dc1/r2", 5, 4)
    assert (row.read_partitions, row.read_across) == (5, 1)
    assert 0 < (row.bytes_across or 0) < row.bytes_read


# These leaders are of 1.1 and 2.4; the sticky assignors of later releases give otherwise.
OF_RELEASE = {("kafka-1.1-zk", "sticky-group"): "2.4", ("kafka-2.4-zk", "sticky-group"): "2.4"}


@each_of("path", sorted(CAPTURES.glob("*.clients.pcap")))
def test_leaders_sent_what_the_assignors_compute(path: Any) -> None:
    run = path.name.removesuffix(".clients.pcap")
    for group in groups_of(path).groups.values():
        for rebalance in group.rebalances:
            if rebalance.assigned is None:
                continue
            release = OF_RELEASE.get((run, group.group_id), "newest")
            found = assign(rebalance.assignor, rebalance.topics, rebalance.members, release=release)
            assert {one: set(found[one]) for one in found} == {one: set(has) for one, has in rebalance.assigned.items()}


class Conversation:
    """Frames of one connection of one client to one broker."""

    def __init__(self, client: str = "10.0.0.1:5", broker: str = "b1:9092", client_id: str = "app") -> None:
        self.groups = GroupTracker()
        self.client, self.broker, self.client_id = client, broker, client_id
        self.number = 0

    def frame(self, direction: str) -> Frame:
        source = Source(
            time=float(self.number), client=self.client, broker=self.broker, connection=1, direction=direction
        )
        return Frame(b"", source)

    def exchange(self, request: Any, response: Any, version: int) -> None:
        self.number += 1
        who = Client(self.client_id)
        for direction, make, message in (("request", Request, request), ("response", Response, response)):
            codec = kwire.codec(type(message).__name__, version)
            self.groups.apply(
                make(frame=self.frame(direction), codec=codec, message=message, correlation_id=self.number, client=who)
            )


def subscription(rack: str | None = None) -> bytes:
    return encode_subscription(subscription_of(["t"], rack=rack))


def joined(member: str, generation: int, members: dict[str, str | None], error: int = 0) -> tuple[Any, Any]:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription(members.get(member)))
    listed = [
        m.JoinGroupResponse.JoinGroupResponseMember(member_id=one, metadata=subscription(rack))
        for one, rack in members.items()
    ]
    request = m.JoinGroupRequest(group_id="g", member_id=member, protocol_type="consumer", protocols=[protocol])
    response = m.JoinGroupResponse(
        generation_id=generation,
        protocol_name="range",
        leader="m1",
        member_id=member,
        members=listed if member == "m1" else [],
        error_code=error,
    )
    return request, response


def synced(
    member: str, generation: int, given: dict[str, list[tuple[str, int]]], leads: bool = True
) -> tuple[Any, Any]:
    make = m.SyncGroupRequest.SyncGroupRequestAssignment
    listed = [make(member_id=one, assignment=encode_assignment(assignment_of(has))) for one, has in given.items()]
    request = m.SyncGroupRequest(
        group_id="g", generation_id=generation, member_id=member, assignments=listed if leads else []
    )
    return request, m.SyncGroupResponse(assignment=encode_assignment(assignment_of(given[member])))


def test_members_come_and_go() -> None:
    conversation = Conversation()
    conversation.exchange(*joined("m1", 1, {"m1": "a"}), version=5)
    conversation.exchange(*synced("m1", 1, {"m1": [("t", 0), ("t", 1)]}), version=3)
    conversation.exchange(*joined("m1", 2, {"m1": "a", "m2": "b"}), version=5)
    conversation.exchange(*synced("m1", 2, {"m1": [("t", 0)], "m2": [("t", 1)]}), version=3)
    group = conversation.groups.groups["g"]
    assert {one.member_id: (one.rack, one.partitions) for one in group.members.values()} == {
        "m1": ("a", (("t", 0),)),
        "m2": ("b", (("t", 1),)),
    }
    leaving = m.LeaveGroupRequest.MemberIdentity(member_id="m2")
    left = m.LeaveGroupResponse(members=[m.LeaveGroupResponse.MemberResponse(member_id="m2")])
    conversation.exchange(m.LeaveGroupRequest(group_id="g", members=[leaving]), left, version=4)
    assert [*group.members] == ["m1"]
    past = [
        (row.member_id, row.generation, row.partitions, row.since, row.until) for row in conversation.groups.history()
    ]
    assert past == [
        ("m1", 1, ("t-0", "t-1"), 2.0, 4.0),
        ("m2", 2, ("t-1",), 4.0, 5.0),
        ("m1", 2, ("t-0",), 4.0, None),
    ]


def test_what_is_refused_changes_nothing() -> None:
    conversation = Conversation()
    conversation.exchange(*joined("m1", 1, {"m1": None}, error=79), version=5)
    assert conversation.groups.groups == {}
    conversation.exchange(*joined("m1", 1, {"m1": None}), version=5)
    refused = m.OffsetCommitResponse.OffsetCommitResponseTopic
    one = m.OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=0, error_code=22)
    asked = m.OffsetCommitRequest.OffsetCommitRequestTopic
    wanted = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    request = m.OffsetCommitRequest(group_id="g", topics=[asked(name="t", partitions=[wanted])])
    conversation.exchange(request, m.OffsetCommitResponse(topics=[refused(name="t", partitions=[one])]), version=7)
    assert conversation.groups.groups["g"].committed == {}


def test_bytes_that_are_no_subscription_are_counted() -> None:
    conversation = Conversation()
    request, response = joined("m2", 1, {"m2": None})
    bad = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\xff\xff")
    conversation.exchange(
        m.JoinGroupRequest(group_id="g", protocol_type="consumer", protocols=[bad]), response, version=5
    )
    assert conversation.groups.unreadable == 1
    assert conversation.groups.groups["g"].members["m2"].topics is None
    assert request.group_id == "g"


def test_topics_that_are_known_by_id_get_their_names_later() -> None:
    conversation, topic_id = Conversation(), bytes(15) + b"\7"
    part = m.ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=topic_id, partitions=[3])
    given = m.ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[part])
    beat = m.ConsumerGroupHeartbeatRequest(group_id="g", member_id="x", rack_id="a", subscribed_topic_names=["t"])
    conversation.exchange(
        beat, m.ConsumerGroupHeartbeatResponse(member_id="x", member_epoch=1, assignment=given), version=1
    )
    (row,) = conversation.groups.members()
    assert (row.protocol, row.rack, row.partitions) == ("consumer", "a", (f"{topic_id.hex()}-3",))
    topic = m.MetadataResponse.MetadataResponseTopic(name="t", topic_id=topic_id)
    conversation.exchange(m.MetadataRequest(), m.MetadataResponse(topics=[topic]), version=12)
    (row,) = conversation.groups.members()
    assert row.partitions == ("t-3",)
    conversation.exchange(
        m.ConsumerGroupHeartbeatRequest(group_id="g", member_id="x", member_epoch=-1),
        m.ConsumerGroupHeartbeatResponse(member_id="x", member_epoch=-1),
        version=1,
    )
    assert [*conversation.groups.members()] == []


def test_an_assignment_that_does_not_decode_leaves_the_rebalance_without_an_answer() -> None:
    conversation = Conversation()
    conversation.exchange(*joined("m1", 1, {"m1": "a"}), version=5)
    request, response = synced("m1", 1, {"m1": [("t", 0)]})
    bad = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id="m9", assignment=b"\xff\xff")
    request = m.SyncGroupRequest(group_id="g", generation_id=1, member_id="m1", assignments=[*request.assignments, bad])
    conversation.exchange(request, response, version=3)
    (rebalance,) = conversation.groups.groups["g"].rebalances
    assert rebalance.assigned is None
    assert conversation.groups.unreadable == 1
    assert conversation.groups.groups["g"].members["m1"].partitions == (("t", 0),)
