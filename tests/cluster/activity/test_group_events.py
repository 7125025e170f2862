"""Joins, rebalances with their reasons, and leaves, as events."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import Frame, FrameDecoder, Source
from kwire.cluster.activity.activity_event import ActivityLog
from kwire.cluster.activity.group_events import GroupEvents

M: Any = kwire.messages


class Conversation:
    """Requests and responses of one client, as decoded frames."""

    def __init__(self) -> None:
        self.log = ActivityLog()
        self.events = GroupEvents(self.log)
        self._decoder = FrameDecoder()
        self._number = 0

    def ask(self, client: str, request: Any, version: int, response: Any) -> None:
        number = self._number
        self._number += 1
        end = f"10.0.0.{len(client)}:5000"
        for direction, data in (
            ("request", kwire.encode_request(request, version, correlation_id=number, client_id=client)),
            ("response", kwire.encode_response(response, version, correlation_id=number)),
        ):
            source = Source("x", number, None, float(number), end, "10.0.0.9:9092", len(client), direction)
            self.events.add(self._decoder.decode(Frame(data, source)))

    def join(self, client: str, member: str, generation: int, reason: str = "", members: tuple[str, ...] = ()) -> None:
        request = M.JoinGroupRequest(group_id="g", member_id=member, protocol_type="connect", reason=reason)
        listed = tuple(M.JoinGroupResponse.JoinGroupResponseMember(member_id=name) for name in members)
        response = M.JoinGroupResponse(
            generation_id=generation, member_id=member or client, leader="aa", protocol_name="p", members=listed
        )
        self.ask(client, request, 8, response)


def texts(conversation: Conversation) -> list[str]:
    return [f"{event.kind} {event.text}" for event in conversation.log.events]


def test_a_rebalance_has_its_reason() -> None:
    group = Conversation()
    group.join("aa", "", 1, members=("aa",))
    group.join("aa", "aa", 2, "the topics changed", members=("aa",))
    assert texts(group) == [
        "group group g: member aa joins (client aa)",
        "rebalance group g: rebalance, generation 1, 1 member, reason: a member joined (client aa)",
        "rebalance group g: rebalance, generation 2, 1 member, reason: the topics changed (client aa)",
    ]
    assert {"group:g", "client:aa"} == group.log.events[-1].subjects


def test_who_leaves_and_who_is_gone_are_told_apart() -> None:
    group = Conversation()
    group.join("aa", "", 1, members=("aa",))
    group.join("bbb", "", 2)
    group.join("aa", "aa", 2, "group is already rebalancing", members=("aa", "bbb"))
    leaving = M.LeaveGroupRequest.MemberIdentity(member_id="bbb", reason="closed")
    left = M.LeaveGroupResponse.MemberResponse(member_id="bbb")
    group.ask("bbb", M.LeaveGroupRequest(group_id="g", members=(leaving,)), 5, M.LeaveGroupResponse(members=(left,)))
    group.join("aa", "aa", 3, "group is already rebalancing", members=("aa",))
    group.join("bbb", "", 4)
    group.join("aa", "aa", 5, members=("aa",))
    assert texts(group)[3:] == [
        "rebalance group g: rebalance, generation 2, reason: a member joined (client bbb)",
        "group group g: member bbb leaves, reason: closed",
        "rebalance group g: rebalance, generation 3, 1 member, reason: member bbb left",
        "group group g: member bbb joins (client bbb)",
        "rebalance group g: rebalance, generation 4, reason: a member joined (client bbb)",
        "group group g: member bbb is gone without a LeaveGroup (session or rebalance timeout)",
        "rebalance group g: rebalance, generation 5, 1 member, reason: member bbb is gone",
    ]


def test_members_of_streams_groups_join_get_partitions_and_leave() -> None:
    request, response = M.StreamsGroupHeartbeatRequest, M.StreamsGroupHeartbeatResponse
    part = request.Subtopology(subtopology_id="0", source_topics=("lines",))
    topology = request.Topology(epoch=0, subtopologies=(part,))
    who = {"group_id": "g", "member_id": "aa"}
    tasks = (response.TaskIds(subtopology_id="0", partitions=(0, 1)),)
    group = Conversation()
    joined = response(member_id="aa", member_epoch=2, status=(), active_tasks=tasks)
    group.ask("app", request(**who, member_epoch=0, topology=topology), 1, joined)
    group.ask("app", request(**who, member_epoch=-1), 1, response(member_id="aa", member_epoch=-1, status=()))
    assert texts(group) == [
        "group group g: member aa joins (client app)",
        "rebalance group g: rebalance, generation 2",
        "assignment group g: member aa gets lines-0, lines-1",
        "group group g: member aa leaves",
    ]
