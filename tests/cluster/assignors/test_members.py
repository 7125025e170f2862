"""Members and topics out of messages and cluster states; the order of Kafka's maps."""

from __future__ import annotations

import pytest

from kwire.cluster import Broker, ClusterState, Partition
from kwire.cluster.assignors import UNREADABLE, Member, MemberData, by_topic, member_of, topics_of
from kwire.cluster.assignors.members import GroupSubscription, racks_matter
from kwire.messages import ConsumerProtocolAssignment
from kwire.protocol.nested import (
    CooperativeUserData,
    StickyUserData,
    decode_subscription,
    encode_subscription,
    subscription_of,
)
from tests.cluster.assignors.groups import partition_of, texts
from tests.cluster.vectors import cases


def test_a_member_is_what_its_subscription_says() -> None:
    subscription = subscription_of(["b", "a"], owned=[("b", 1), ("a", 0), ("b", 0)], generation=3, rack="r")
    read = decode_subscription(encode_subscription(subscription)).message
    assert member_of("m", read, group_instance_id="i") == Member(
        "m", ("a", "b"), "r", "i", 3, (("a", 0), ("b", 0), ("b", 1))
    )
    assert member_of("m", subscription_of([], rack="")).rack is None


def test_user_data_of_both_assignors() -> None:
    topic = ConsumerProtocolAssignment.TopicPartition(topic="a", partitions=(2, 0))
    empty = subscription_of(["a"])
    assert member_of("m", empty, user_data=StickyUserData((topic,), 5)).user_data == MemberData((("a", 2), ("a", 0)), 5)
    assert member_of("m", empty, user_data=StickyUserData((topic,))).user_data == MemberData((("a", 2), ("a", 0)), -1)
    assert member_of("m", empty, user_data=CooperativeUserData(5)).user_data == MemberData((), 5)
    assert member_of("m", empty, user_data=UNREADABLE).user_data == MemberData()
    assert member_of("m", empty).user_data is None


def test_topics_of_a_cluster() -> None:
    state = ClusterState()
    state.put(Partition("t", 1, replicas=(1, 2)))
    assert topics_of(state) == {"t": {1: [None, None]}}
    state.brokers = {1: Broker(1, rack="a"), 3: Broker(3, rack="b")}
    assert topics_of(state) == {"t": {1: ["a", None]}}


def test_vectors_of_user_data_stand_in_kafkas_order() -> None:
    found = cases("consumer_bytes", op="user_data", assignor="sticky")
    count = 0
    for case in found:
        text = case["expected"]["result"]["hex"]
        if text is None:
            continue
        topics = by_topic(map(partition_of, case["partitions"]))
        places = [bytes.fromhex(text).find(len(t.encode()).to_bytes(2, "big") + t.encode()) for t in topics]
        assert places == sorted(places), texts((t, n) for t, numbers in topics.items() for n in numbers)
        count += 1
    assert count


def test_a_group_goes_through_its_members_and_topics_as_javas_maps_do() -> None:
    members = [Member(f"c{number}", ["t10", "t9", "none"]) for number in (10, 2, 1)]
    group = GroupSubscription({"t9": 1, "t10": {3: ["a", None], 0: []}, "other": 5}, members)
    assert list(group.members) == ["c10", "c1", "c2"]
    assert {topic: list(numbers) for topic, numbers in group.topics.items()} == {"t10": [0, 3], "t9": [0]}
    assert list(group.topics) == ["t10", "t9"]
    assert group.racks("t10") == {0: frozenset(), 3: frozenset("a")}
    assert group.racks("t9") == {0: frozenset()}


@pytest.mark.parametrize(
    ("of_members", "of_partitions", "matter"),
    [
        ([], ["a", "b"], False),
        (["a"], ["a", "b"], True),
        (["a"], ["a", ""], True),
        (["a"], ["ab", "ab"], False),
        (["x"], ["a", "b"], False),
        (["a"], [], False),
    ],
)
def test_when_racks_matter(of_members: list[str], of_partitions: list[str], matter: bool) -> None:
    assert racks_matter(of_members, map(frozenset, of_partitions)) is matter
