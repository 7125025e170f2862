"""Streams groups of captures (KIP-1071): members with their tasks and processes, topologies, problems."""

from __future__ import annotations

from typing import Any

from kwire import messages as m
from kwire.render.cluster.consumer_groups import group_json, group_lines
from tests.cluster.consumer_groups.test_tracker import Conversation

R, A, D = m.StreamsGroupHeartbeatRequest, m.StreamsGroupHeartbeatResponse, m.StreamsGroupDescribeResponse


def topology(epoch: int = 0, source: str = "lines") -> Any:
    inner = R.TopicInfo(name="words-repartition")
    first = R.Subtopology(subtopology_id="0", source_topics=(source,), repartition_sink_topics=(inner.name,))
    store = R.TopicInfo(name="words-changelog")
    second = R.Subtopology(subtopology_id="1", repartition_source_topics=(inner,), state_changelog_topics=(store,))
    return R.Topology(epoch=epoch, subtopologies=(first, second))


def tasks(*partitions: int, name: str = "0") -> Any:
    return (A.TaskIds(subtopology_id=name, partitions=partitions),) if partitions else ()


def beat(words: Conversation, member: str, answer: dict[str, Any], **fields: Any) -> None:
    request = R(**{"group_id": "words", "member_id": member, "member_epoch": 2, **fields})
    words.exchange(request, A(**{"member_id": member, "member_epoch": 3, "status": (), **answer}), 1)


def joined() -> Conversation:
    """A member with active and standby tasks."""
    words = Conversation()
    having = {"active_tasks": tasks(0, 1), "standby_tasks": tasks(2, name="1"), "warmup_tasks": ()}
    beat(words, "a", having, member_epoch=0, topology=topology(), process_id="p", rack_id="r1")
    return words


def reads(words: Conversation) -> list[str]:
    """The partitions that the group's member reads."""
    (member,) = words.groups.groups["words"].members.values()
    return [f"{topic}-{index}" for topic, index in member.partitions or ()]


def test_a_member_has_tasks_and_reads_their_partitions() -> None:
    words = joined()
    group = words.groups.groups["words"]
    (member,) = group.members.values()
    assert (group.protocol, group.generation, group.topology_epoch) == ("streams", 3, 0)
    assert [(task.role, str(task)) for task in member.tasks or ()] == [
        ("active", "0_0"),
        ("active", "0_1"),
        ("standby", "1_2"),
    ]
    assert (member.process_id, member.topology_epoch, member.rack) == ("p", 0, "r1")
    assert reads(words) == ["lines-0", "lines-1"]
    beat(words, "a", {"active_tasks": None})
    assert reads(words) == ["lines-0", "lines-1"]
    beat(words, "a", {"active_tasks": tasks(1), "standby_tasks": (), "warmup_tasks": ()})
    assert reads(words) == ["lines-1"]
    beat(words, "a", {"member_epoch": -1}, member_epoch=-1)
    assert not group.members


def test_what_is_wrong_is_shown_until_it_is_right() -> None:
    words = joined()
    missing = (A.Status(status_code=3, status_detail="x"), A.Status(status_code=99, status_detail=""))
    beat(words, "a", {"status": missing})
    assert list(words.groups.groups["words"].problems) == ["missing internal topics", "99"]
    beat(words, "a", {})
    assert list(words.groups.groups["words"].problems) == []
    beat(words, "b", {"error_code": 110})
    assert set(words.groups.groups["words"].members) == {"a"}


def test_a_description_lists_all_members() -> None:
    words = joined()
    assignment = D.Assignment(active_tasks=(D.TaskIds(subtopology_id="0", partitions=(4,)),))
    member = D.Member(
        member_id="b",
        member_epoch=7,
        client_id="c",
        client_host="/10.0.0.2",
        process_id="q",
        topology_epoch=1,
        assignment=assignment,
    )
    part = D.Subtopology(subtopology_id="0", source_topics=("lines",))
    described = D.DescribedGroup(
        group_id="words",
        group_state="Stable",
        group_epoch=7,
        assignor_name="sticky",
        topology=D.Topology(epoch=1, subtopologies=(part,)),
        members=(member,),
    )
    refused = D.DescribedGroup(group_id="other", error_code=69)
    words.exchange(m.StreamsGroupDescribeRequest(group_ids=("words", "other")), D(groups=(described, refused)), 1)
    group = words.groups.groups["words"]
    assert (group.state, group.generation, group.assignor, group.topology_epoch) == ("Stable", 7, "sticky", 1)
    assert {name: found.partitions for name, found in group.members.items()} == {"b": (("lines", 4),)}
    beat(words, "c", {}, member_epoch=0, topology=topology(0, "old"))
    assert group.topology_epoch == 1
    assert "other" not in words.groups.groups


def test_it_is_shown_as_a_streams_group() -> None:
    words = joined()
    lines = list(group_lines(words.groups))
    assert lines[0] == "words: streams group (KIP-1071), epoch 3, 1 member"
    assert lines[-6:] == [
        "  a has lines-0 lines-1",
        "  a has active tasks 0_0 0_1",
        "  a has standby tasks 1_2",
        "  topology epoch 0",
        "  subtopology 0 reads lines, writes words-repartition",
        "  subtopology 1 reads words-repartition, changelogs words-changelog",
    ]
    found = group_json(words.groups)
    assert [group["topology_epoch"] for group in found["groups"]] == [0]
    assert [(row["role"], row["subtopology"], row["partition"]) for row in found["tasks"]] == [
        ("active", "0", 0),
        ("active", "0", 1),
        ("standby", "1", 2),
    ]
