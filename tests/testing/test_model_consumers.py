"""Model consumers of the simulation: what they send, as Kafka's consumer does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import kwire
from kwire.testing.simulation import Action, HistoryEvent, Send, Wake
from kwire.testing.simulation.consumers import ClassicConsumer, Consumer, GroupConsumer
from kwire.testing.simulation.history import MemberUnknown
from kwire.testing.simulation.schedule import TOPIC
from kwire.values import ErrorCode
from tests.broker.served import M

TOPIC_ID = bytes(15) + b"t"


class Coordinator:
    """Answers a member at once.

    Attributes:
        events: what the member records, with the time.
    """

    def __init__(self, member: Consumer) -> None:
        self.member = member
        self.events: list[tuple[float, HistoryEvent]] = []
        self.now = 0.0

    def run(self, until: Callable[[], bool]) -> None:
        """Let time pass until a condition holds."""
        while not until():
            actions = [*self.member.step(self.now)]
            while actions:
                action = actions.pop(0)
                if isinstance(action, Send):
                    actions += self.answer(action)
                elif isinstance(action, Wake):
                    wakes = action.at
                elif isinstance(action, HistoryEvent):
                    self.events.append((self.now, action))
            self.now = wakes

    def answer(self, sent: Send) -> Iterable[Action]:
        request = kwire.decode_request(sent.data)
        version, correlation_id = request.header.request_api_version, request.header.correlation_id
        if isinstance(request.message, M.FindCoordinatorRequest):
            row = M.FindCoordinatorResponse.Coordinator(key="g", node_id=1, host="h", port=9092)
            response: Any = M.FindCoordinatorResponse(coordinators=(row,))
        else:
            response = self.respond(request.message)
        if response is None:
            return ()
        data = kwire.encode_response(response, version, correlation_id=correlation_id)
        return self.member.receive(sent.broker, data, self.now)

    def respond(self, message: Any) -> Any:
        """Return the response; None where it is lost."""
        raise NotImplementedError


class AssigningCoordinator(Coordinator):
    """Answers heartbeats with assignments in turn, then with none. Offsets are not to be had.

    Attributes:
        owned: the partitions in each heartbeat; None where it lists none.
    """

    def __init__(self, member: Consumer, assignments: Sequence[tuple[int, ...]]) -> None:
        super().__init__(member)
        self.assignments = list(assignments)
        self.owned: list[tuple[int, ...] | None] = []

    def respond(self, message: Any) -> Any:
        if isinstance(message, M.MetadataRequest):
            part = M.MetadataResponse.MetadataResponsePartition
            parts = tuple(part(partition_index=index, leader_id=1, leader_epoch=0) for index in (0, 1))
            topic = M.MetadataResponse.MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=parts)
            return M.MetadataResponse(topics=(topic,))
        if isinstance(message, M.OffsetFetchRequest):
            error = M.OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", error_code=14)
            return M.OffsetFetchResponse(groups=(error,))
        assert isinstance(message, M.ConsumerGroupHeartbeatRequest), message
        owned = message.topic_partitions
        self.owned.append(None if owned is None else tuple(index for row in owned for index in row.partitions))
        assignment = None
        if self.assignments:
            rows = (M.ConsumerGroupHeartbeatResponse.TopicPartitions(TOPIC_ID, self.assignments.pop(0)),)
            assignment = M.ConsumerGroupHeartbeatResponse.Assignment(rows)
        return M.ConsumerGroupHeartbeatResponse(member_epoch=1, assignment=assignment)


def test_a_member_acknowledges_each_assignment() -> None:
    """Without the last report, the coordinator would wait for partition 1 until the rebalance times out."""
    member = GroupConsumer("consumer-1", Random(1), 60.0, "g", is_committed=True)
    coordinator = AssigningCoordinator(member, [(0,), (0, 1), (0,)])
    coordinator.run(lambda: len(coordinator.owned) == 6)
    assert coordinator.owned[:4] == [(), (0,), (0, 1), (0,)]
    assert set(coordinator.owned[4:]) == {None}


class ForgettingCoordinator(Coordinator):
    """Forgets a member that does not receive the first response to JoinGroup, and sends SyncGroup too late."""

    def __init__(self, member: Consumer) -> None:
        super().__init__(member)
        self.joined: list[float] = []

    def respond(self, message: Any) -> Any:
        if isinstance(message, M.SyncGroupRequest):
            return M.SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        assert isinstance(message, M.JoinGroupRequest), message
        self.joined.append(self.now)
        member = M.JoinGroupResponse.JoinGroupResponseMember(member_id="m")
        response = M.JoinGroupResponse(generation_id=1, leader="m", member_id="m", members=(member,))
        return response if len(self.joined) > 1 else None


def test_a_member_that_joins_again_counts_from_the_first_time() -> None:
    """The generation began with the first request, and its time for SyncGroup with the generation."""
    coordinator = ForgettingCoordinator(ClassicConsumer("classic-1", Random(1), 60.0, "g", is_committed=True))
    coordinator.run(lambda: bool(coordinator.events))
    ((time, event),) = coordinator.events
    assert isinstance(event, MemberUnknown)
    assert event.kept == coordinator.joined[0]
    assert time == coordinator.joined[1] > event.kept + event.timeout
