"""What lies in fields of bytes, under them in trees."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import Record, build_batch
from kwire.protocol.nested import assignment_of, encode_assignment, encode_subscription, subscription_of
from kwire.render.colours import PLAIN
from kwire.render.frame_tree import tree
from kwire.render.nested_fields import MOST, member_data, record_lines

M: Any = kwire.messages
SUBSCRIPTION = encode_subscription(subscription_of(["orders"], rack="/dc1/r2"))
ASSIGNMENT = encode_assignment(assignment_of([("orders", 0), ("orders", 2)]))
BATCH = build_batch([Record(5, 1700000000000, b"k", b"v"), Record(6, 1700000000001, None, b"\0")])


def lines(message: Any, version: int, correlation_id: int = 1) -> list[str]:
    if type(message).__name__.endswith("Request"):
        frame = kwire.Frame(kwire.encode_request(message, version, correlation_id=correlation_id))
        return list(tree(next(kwire.decode_frames([frame]))))
    data = kwire.encode_response(message, version, correlation_id=correlation_id)
    decoder = kwire.FrameDecoder(answers=kwire.codec(type(message).__name__, version))
    return list(tree(decoder.decode(kwire.Frame(data))))


def test_subscriptions_and_assignments_are_opened() -> None:
    protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)
    found = lines(M.JoinGroupRequest(group_id="g", protocol_type="consumer", protocols=[protocol]), 5)
    assert found[found.index("        ConsumerProtocolSubscription v3") + 1 :][:1] == ['          topics: ["orders"]']
    assert '          rack_id: "/dc1/r2"' in found
    found = lines(M.SyncGroupResponse(assignment=ASSIGNMENT), 0)
    assert found[-6:] == [
        "    ConsumerProtocolAssignment v3",
        "      assigned_partitions: 1 item",
        "        assigned_partitions[0]",
        '          topic: "orders"',
        "          partitions: [0, 2]",
        "      user_data: null",
    ]


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\xff\xff\xff\xff", bytes(100), SUBSCRIPTION[:-1]])
def test_bytes_of_others_stay_bytes(data: bytes) -> None:
    assert member_data("JoinGroupRequest", "metadata", data, None) is None
    protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="x", metadata=data)
    found = lines(M.JoinGroupRequest(protocol_type="connect", protocols=[protocol]), 5)
    assert not [line for line in found if "ConsumerProtocol" in line]


def test_groups_of_another_protocol_are_left_alone() -> None:
    assert member_data("JoinGroupRequest", "metadata", SUBSCRIPTION, "connect") is None
    assert member_data("HeartbeatRequest", "metadata", SUBSCRIPTION, "consumer") is None


def test_records_are_opened() -> None:
    partition = M.ProduceRequest.PartitionProduceData(index=3, records=BATCH)
    topic = M.ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    assert lines(M.ProduceRequest(topic_data=[topic]), 3)[-4:] == [
        f"            # batch at 0, {len(BATCH)} bytes: offsets 5-6, none",
        "            # 2023-11-14",
        '                   5 22:13:20.000 "k": "v"',
        "                   6 22:13:20.001 null: 00 (1 byte)",
    ]


def test_truncated_and_broken_records_are_marked() -> None:
    found = list(record_lines("FetchResponse", "records", BATCH + BATCH[:30], None, PLAIN))
    assert [line for line in found if "undecodable" in line]
    assert '       5 22:13:20.000 "k": "v"' in found
    assert list(record_lines("FetchResponse", "records", b"", None, PLAIN)) == []
    assert list(record_lines("FetchResponse", "records", None, None, PLAIN)) == []


def test_very_many_records_end_in_a_word() -> None:
    data = build_batch([Record(number, 0, None, b"v") for number in range(MOST + 10)])
    found = list(record_lines("FetchResponse", "records", data, None, PLAIN))
    assert len(found) == MOST + 1
    assert "and more" in found[-1]
