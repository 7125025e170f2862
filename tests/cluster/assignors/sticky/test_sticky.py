"""The sticky assignors, against those of Kafka 4.4.0, 3.9.2 and older ones; rebalance after rebalance too."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kwire.cluster.assignors import Member, MemberData, algorithm_for, assign_cooperative, assign_sticky, by_topic
from kwire.cluster.assignors.members import TopicPartition
from kwire.errors import UnknownMessage
from kwire.errors.refused import CannotAssign
from kwire.messages import ConsumerProtocolAssignment
from kwire.protocol.nested import (
    CooperativeUserData,
    StickyUserData,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from tests.cluster.assignors.groups import (
    PASTS,
    answered,
    members_of,
    partition_of,
    releases_that_differ,
    result_of,
    texts,
    topics_in,
)
from tests.cluster.vectors import Case, cases, check


@pytest.mark.parametrize("file", ["assign_sticky", "assign_cooperative", "assign_releases", "assign_before_3_4"])
def test_vectors_of_sticky(file: str) -> None:
    found = cases(file)
    check(found, answered)
    for release in releases_that_differ(found):
        check(found, partial(answered, release=release), release)


def user_data(assignor: str, partitions: list[TopicPartition], generation: int) -> str | None:
    """What a member sends after a rebalance; the cooperative one before its first as well."""
    if assignor == "cooperative-sticky":
        return encode_cooperative_user_data(CooperativeUserData(generation)).hex()
    if generation < 0:
        return None
    make = ConsumerProtocolAssignment.TopicPartition
    owned = [make(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic(partitions).items()]
    return encode_sticky_user_data(StickyUserData(tuple(owned), generation)).hex()


def sent(case: Case, row: Case, past: tuple[list[TopicPartition], int]) -> Case:
    """The subscription of a member: what it was assigned last, and in which generation."""
    partitions, generation = past
    cooperative = case["assignor"] == "cooperative-sticky"
    owned = [partition for partition in partitions if cooperative and partition[0] in row["topics"]]
    return {
        "id": row["id"],
        "topics": row["topics"],
        "rack": row.get("rack"),
        "instance": row.get("instance"),
        "generation": generation,
        "owned": texts(owned),
        "user_data": user_data(case["assignor"], partitions, generation),
    }


def rebalanced(case: Case, release: str = "newest") -> Any:
    """Play a sequence: members join with what we assigned to them in the step before."""
    assignor, newest, steps = case["assignor"], -1, []
    pasts: dict[str, tuple[list[TopicPartition], int]] = {}
    for generation, step in enumerate(case["steps"], 1):
        new = {row["id"] for row in step["members"] if row.get("restarted")}
        pasts = {row["id"]: ([], -1) if row["id"] in new else pasts.get(row["id"], ([], -1)) for row in step["members"]}
        rows = [sent(case, row, pasts[row["id"]]) for row in step["members"]]
        members = members_of(assignor, rows)
        result = result_of(assignor, topics_in(step), members, release=release, max_generation=newest)
        if case["leader"] == "shared":
            newest = max(newest, *(PASTS[assignor](member).generation for member in members))
        for member_id, partitions in result["assignment"].items():
            if member_id not in step.get("missed", ()):
                pasts[member_id] = [partition_of(text) for text in partitions], generation
        steps.append({"generation": generation, "subscriptions": rows, **result})
    return {"result": steps}


def test_vectors_of_sequences() -> None:
    found = cases("sequences")
    check(found, rebalanced)
    for release in releases_that_differ(found):
        check(found, partial(rebalanced, release=release), release)


def test_what_changes_hands_is_nobodys_for_one_rebalance() -> None:
    first = Member("m1", ["t"], generation=3, owned=[("t", number) for number in range(4)])
    found = assign_cooperative({"t": 4}, [first, Member("m2", ["t"])])
    assert found == {"m1": [("t", 0), ("t", 1)], "m2": []}
    again = Member("m1", ["t"], generation=4, owned=found["m1"])
    found = assign_cooperative({"t": 4}, [again, Member("m2", ["t"], generation=4)])
    assert found == {"m1": [("t", 0), ("t", 1)], "m2": [("t", 2), ("t", 3)]}


def test_a_rack_is_worth_a_move() -> None:
    topics = {"t": {0: ["a"], 1: ["b"]}}
    held = {"m1": MemberData([("t", 1)], 1), "m2": MemberData([("t", 0)], 1)}
    members = [Member("m1", ["t"], "a", user_data=held["m1"]), Member("m2", ["t"], "b", user_data=held["m2"])]
    assert assign_sticky(topics, members) == {"m1": [("t", 0)], "m2": [("t", 1)]}


def test_the_user_data_of_the_cooperative_assignor_counts_only_without_a_generation() -> None:
    def winner(**generation: Any) -> str:
        rivals = [
            Member("m1", ["t"], generation=4, owned=[("t", 0)]),
            Member("m2", ["t"], owned=[("t", 0)], **generation),
        ]
        found = assign_cooperative({"t": 1}, rivals)
        return next((member_id for member_id, partitions in found.items() if partitions), "")

    assert winner(generation=3, user_data=MemberData((), 9)) == "m1"
    assert winner(user_data=MemberData((), 9)) == "m2"
    assert winner() == "m1"


def test_a_member_without_wishes_in_front_does_not_count() -> None:
    assert algorithm_for({"t": 1}, [Member("m1", []), Member("m2", ["t"])]) == "constrained"
    assert algorithm_for({"t": 1}, [Member("m1", ["t"]), Member("m2", [])]) == "general"


def test_a_leader_that_keeps_its_assignor_remembers_generations() -> None:
    held = {"m1": MemberData([("t", 0), ("t", 1)], 1), "m2": MemberData([("u", 0)], 1)}
    members = [Member("m1", ["t", "u"], user_data=held["m1"]), Member("m2", ["u"], user_data=held["m2"])]
    topics = {"t": 2, "u": 1}
    assert assign_sticky(topics, members) == assign_sticky(topics, members, max_generation=9)
    with pytest.raises(CannotAssign):
        assign_sticky(topics, [])


def test_kafka_2_8_loses_what_members_had_before_the_first_with_other_topics() -> None:
    """It reads their user data twice, and the second time there is nothing left; equal topics are read once."""
    owned = {"m1": ("t", 1), "m2": ("t", 0), "m3": ("u", 0)}
    members = [Member(name, [one[0]], user_data=MemberData([one], 1)) for name, one in owned.items()]
    topics = {"t": 2, "u": 1}
    assert assign_sticky(topics, members, release="3.0.2") == {name: [one] for name, one in owned.items()}
    assert assign_sticky(topics, members, release="2.8.2") == {"m1": [("t", 0)], "m2": [("t", 1)], "m3": [("u", 0)]}
    assert algorithm_for(topics, members, "2.8.2") == "general"
    assert algorithm_for(topics, members[:1], "2.4.1") == "general"


def test_a_release_whose_answers_differ_is_unknown() -> None:
    for release in ("2.3.1", "2.5.0", "2.7.2", "trunk", "", "4.x", "9" * 5000):
        with pytest.raises(UnknownMessage, match="release whose sticky assignors are known"):
            assign_sticky({"t": 1}, [Member("m1", ["t"])], release=release)
