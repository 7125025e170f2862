"""Model consumers of the simulation: what they send, as Kafka's consumer does."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import kwire
from kwire.testing.simulation import Send, Wake
from kwire.testing.simulation.consumers import GroupConsumer
from kwire.testing.simulation.schedule import TOPIC
from tests.broker.served import M

TOPIC_ID = bytes(15) + b"t"


class Coordinator:
    """Answers a member: the assignments in turn, then none. Offsets are not to be had.

    Attributes:
        owned: the partitions in each heartbeat; None where it lists none.
    """

    def __init__(self, member: GroupConsumer, assignments: Sequence[tuple[int, ...]]) -> None:
        self.member, self.assignments = member, list(assignments)
        self.owned: list[tuple[int, ...] | None] = []
        self.now = 0.0

    def run(self, heartbeats: int) -> None:
        """Let time pass until the member has sent some heartbeats."""
        while len(self.owned) < heartbeats:
            actions = [*self.member.step(self.now)]
            while actions:
                action = actions.pop(0)
                if isinstance(action, Send):
                    actions += self.member.receive(action.broker, self.answer(action.data), self.now)
                elif isinstance(action, Wake):
                    wakes = action.at
            self.now = wakes

    def answer(self, data: bytes) -> bytes:
        request = kwire.decode_request(data)
        version, correlation_id = request.header.request_api_version, request.header.correlation_id
        response = self.respond(request.message)
        return kwire.encode_response(response, version, correlation_id=correlation_id)

    def respond(self, message: Any) -> Any:
        if isinstance(message, M.FindCoordinatorRequest):
            row = M.FindCoordinatorResponse.Coordinator(key="g", node_id=1, host="h", port=9092)
            return M.FindCoordinatorResponse(coordinators=(row,))
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
    coordinator = Coordinator(member, [(0,), (0, 1), (0,)])
    coordinator.run(6)
    assert coordinator.owned[:4] == [(), (0,), (0, 1), (0,)]
    assert set(coordinator.owned[4:]) == {None}
