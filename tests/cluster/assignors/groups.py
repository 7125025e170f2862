"""Consumer groups as the vectors write them, and what we answer to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kwire.cluster.assignors import (
    UNREADABLE,
    Member,
    MemberData,
    algorithm_for,
    assign_cooperative,
    assign_range,
    assign_round_robin,
    assign_sticky,
    cooperative_past,
    member_of,
    sticky_past,
)
from kwire.cluster.assignors.members import Assignment, TopicPartition
from kwire.errors import DecodeError
from kwire.protocol.nested import (
    assignment_of,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_assignment,
    subscription_of,
)
from tests.cluster.vectors import Case, answer_of

Topics = dict[str, dict[int, list[str | None]]]
PASTS = {"sticky": sticky_past, "cooperative-sticky": cooperative_past}
DECODERS: dict[str, Callable[[bytes], Any]] = {
    "sticky": decode_sticky_user_data,
    "cooperative-sticky": decode_cooperative_user_data,
}


def partition_of(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def texts(partitions: Iterable[TopicPartition]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in partitions]


def held_of(assignor: str, data: str | None) -> MemberData | None:
    """Read user data as Kafka's leader does."""
    if data is None or assignor not in DECODERS or (assignor == "sticky" and not data):
        return None
    try:
        found = DECODERS[assignor](bytes.fromhex(data))
    except DecodeError:
        return UNREADABLE
    return member_of("", subscription_of([]), user_data=found).user_data


def members_of(assignor: str, rows: Iterable[Case]) -> list[Member]:
    return [
        Member(
            row["id"],
            row["topics"],
            row.get("rack"),
            row.get("instance"),
            -1 if row.get("generation") is None else row["generation"],
            [partition_of(text) for text in row.get("owned") or ()],
            held_of(assignor, row.get("user_data")),
        )
        for row in rows
    ]


def topics_in(case: Case) -> Topics:
    """The partitions of a case; a replica on a node that is not there has no rack."""
    racks = {int(node): rack for node, rack in case["nodes"].items()}
    return {
        topic: {number: [racks.get(node) for node in nodes] for number, nodes in partitions}
        for topic, partitions in case["partitions"].items()
    }


def assigned(
    assignor: str, topics: Topics, members: list[Member], release: str = "newest", max_generation: int = -1
) -> Assignment:
    if assignor == "range":
        return assign_range(topics, members)
    if assignor == "roundrobin":
        return assign_round_robin(topics, members)
    assign = assign_sticky if assignor == "sticky" else assign_cooperative
    return assign(topics, members, release=release, max_generation=max_generation)


def result_of(assignor: str, topics: Topics, members: list[Member], release: str = "newest", **more: Any) -> Case:
    assignment = assigned(assignor, topics, members, release, **more)
    result: Case = {"assignment": {member_id: texts(partitions) for member_id, partitions in assignment.items()}}
    if assignor in PASTS:
        result["algorithm"] = algorithm_for(topics, members, release)
    return result


def with_bytes(result: Case) -> Case:
    result["assignment_bytes"] = {
        member_id: encode_assignment(assignment_of(map(partition_of, partitions))).hex()
        for member_id, partitions in result["assignment"].items()
    }
    return result


def answered(case: Case, release: str = "newest") -> Any:
    """What we answer to an `assign` case, as the file writes answers."""
    assignor = case["assignor"]
    call = partial(result_of, assignor, topics_in(case), members_of(assignor, case["members"]), release=release)
    return answer_of((lambda: with_bytes(call())) if case.get("bytes") else call)


def releases_that_differ(found: list[Case]) -> set[str]:
    return {release for case in found for release in case.get("expected_in", ())}
