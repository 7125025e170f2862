"""The assignors of the broker (KIP-848), against UniformAssignor and RangeAssignor of Kafka 4.4.0 and 4.1.0."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.assignors import Member, assign_server_range, assign_uniform
from kwire.cluster.assignors.members import Assignment
from tests.cluster.vectors import Case, cases


def flat(numbers: dict[str, list[int]]) -> list[tuple[str, int]]:
    return [(topic, number) for topic, found in numbers.items() for number in found]


def answered(case: Case) -> Assignment:
    topics = {topic: count for topic, (count, _) in case["topics"].items()}
    ids = {topic: bytes.fromhex(topic_id) for topic, (_, topic_id) in case["topics"].items()}
    members = [
        Member(name, wanted, "a rack", instance, owned=flat(owned))
        for name, instance, wanted, owned, _ in case["members"]
    ]
    found = (
        assign_uniform(topics, members, ids=ids)
        if case["assignor"] == "uniform"
        else assign_server_range(topics, members)
    )
    return {name: sorted(places) for name, places in found.items()}


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_answers_of_kafka(assignor: str) -> None:
    found = cases("assign_server", assignor=assignor)
    assert len(found) > 20
    for case in found:
        assert answered(case) == {name: sorted(flat(numbers)) for name, *_, numbers in case["members"]}, case


wishes = st.lists(st.sampled_from(["t", "u", "tu", ""]), min_size=1, max_size=6)


def members_of(wanted: list[str], owned: Any = None) -> list[Member]:
    return [Member(f"m{at}", [*one], owned=(owned or {}).get(f"m{at}", ())) for at, one in enumerate(wanted)]


@given(wishes, st.integers(0, 9), st.integers(0, 9), st.integers(0, 6))
def test_each_partition_has_one_reader_and_readers_keep_what_they_can(
    wanted: list[str], first: int, second: int, joined: int
) -> None:
    counts = {name: count for name, count in {"t": first, "u": second}.items() if name in "".join(wanted)}
    before = assign_uniform(counts, members_of(wanted))
    places = [place for one in before.values() for place in one]
    assert sorted(places) == [(topic, index) for topic in sorted(counts) for index in range(counts[topic])]
    assert assign_uniform(counts, members_of(wanted, before)) == before
    if set(wanted) == {"tu"}:
        after = assign_uniform(counts, members_of([*wanted, *["tu"] * joined], before))
        for found in (before, after):
            sizes = [len(one) for one in found.values()]
            assert max(sizes) - min(sizes) <= 1
        assert all(set(after[name]) <= set(before[name]) for name in before)


def test_partitions_that_are_claimed_twice_or_do_not_exist() -> None:
    claims = [("t", 0), ("t", 7), ("gone", 0)]
    members = [Member("a", ["t"], owned=claims), Member("b", ["t"], owned=claims)]
    assert assign_uniform({"t": 2}, members) == {"a": [("t", 0)], "b": [("t", 1)]}
    assert assign_uniform({"t": 2}, []) == {}
