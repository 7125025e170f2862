"""Subscriptions and assignments, against the bytes that Kafka's own consumers wrote and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire import messages
from kwire.errors import DecodeError, EncodeError, Truncated, UnknownVersion, UnsupportedVersion
from kwire.protocol.nested import (
    Embedded,
    assignment_of,
    decode_assignment,
    decode_group_record,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscription_of,
)
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"
# written by Kafka 3.9.2 and 4.4.0
SAMPLE, ALL = DATA / "consumer_bytes.jsonl", SHARED / "vectors" / "consumer_bytes.jsonl"

Partition = tuple[str, int]


def cases(path: Path, op: str) -> list[Any]:
    found = [case for case in map(json.loads, path.read_text("utf-8").splitlines()) if case["op"] == op]
    assert found
    return found


def partitions(texts: list[str]) -> list[Partition]:
    return [(topic, int(number)) for topic, _, number in (text.rpartition("-") for text in texts)]


def flat(topics: Any) -> list[str]:
    return [f"{topic.topic}-{number}" for topic in topics for number in topic.partitions]


def user_data(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def told(found: Embedded) -> dict[str, Any]:
    """Say what was decoded in the words of the vectors."""
    message = found.message
    data = None if message.user_data is None else message.user_data.hex()
    if found.name == "ConsumerProtocolAssignment":
        return {"partitions": flat(message.assigned_partitions), "user_data": data}
    return {
        "topics": list(message.topics),
        "user_data": data,
        "owned": flat(message.owned_partitions),
        "generation": message.generation_id if message.generation_id >= 0 else None,
        "rack": message.rack_id or None,
    }


def check_subscriptions_written(path: Path) -> int:
    written = cases(path, "encode_subscription")
    for case in written:
        subscription = subscription_of(
            case["topics"],
            owned=partitions(case["owned"]),
            generation=case["generation"],
            rack=case["rack"],
            user_data=user_data(case["user_data"]),
        )
        if "error" in case["expected"]:
            with pytest.raises(UnsupportedVersion):
                encode_subscription(subscription, case["version"])
            continue
        expected = case["expected"]["result"]
        data = bytes.fromhex(expected["hex"])
        assert encode_subscription(subscription, case["version"]) == data, case["id"]
        assert told(decode_subscription(data)) == expected["decoded"], case["id"]
        assert encode_subscription(decode_subscription(data)) == data
    return len(written)


def check_assignments_written(path: Path) -> int:
    written = cases(path, "encode_assignment")
    for case in written:
        assignment = assignment_of(partitions(case["partitions"]), user_data(case["user_data"]))
        if "error" in case["expected"]:
            with pytest.raises(UnsupportedVersion):
                encode_assignment(assignment, case["version"])
            continue
        expected = case["expected"]["result"]
        data = bytes.fromhex(expected["hex"])
        assert encode_assignment(assignment, case["version"]) == data, case["id"]
        assert told(decode_assignment(data)) == expected["decoded"], case["id"]
        assert encode_assignment(decode_assignment(data)) == data
    return len(written)


def check_read(path: Path) -> int:
    ops = (("decode_subscription", decode_subscription), ("decode_assignment", decode_assignment))
    read = [(decode, case) for op, decode in ops for case in cases(path, op)]
    for decode, case in read:
        data = bytes.fromhex(case["hex"])
        if "error" in case["expected"]:
            with pytest.raises(DecodeError):
                decode(data)
            continue
        found = decode(data)
        assert told(found) == case["expected"]["result"], case["id"]
        assert encode_subscription(found) == data, case["id"]
    return len(read)


def test_subscriptions_are_written_as_kafka_does() -> None:
    assert check_subscriptions_written(SAMPLE) > 20


def test_assignments_are_written_as_kafka_does() -> None:
    assert check_assignments_written(SAMPLE) > 15


def test_both_are_read_as_kafka_does() -> None:
    assert check_read(SAMPLE) == 26


@needs_shared
def test_all_of_kafkas_cases() -> None:
    assert check_subscriptions_written(ALL) == 177
    assert check_assignments_written(ALL) == 136
    assert check_read(ALL) == 26


def test_a_version_above_ours_is_read_as_ours_and_keeps_its_tail() -> None:
    data = bytes.fromhex("0004 00000001 000161 ffffffff 00000000 ffffffff 00027231 deadbeef")
    found = decode_subscription(data)
    assert (found.version, found.message.rack_id, found.rest) == (4, "r1", bytes.fromhex("deadbeef"))
    assert encode_subscription(found) == data
    assert encode_subscription(found.message, 4) == data[:1] + b"\x03" + data[2:-4]


def test_what_a_version_lacks_is_left_out_when_written() -> None:
    subscription = subscription_of(["a"], owned=[("a", 1)], generation=3, rack="r1")
    assert encode_subscription(subscription, 0).hex() == "0000" + "00000001" + "000161" + "ffffffff"


def test_a_negative_version_is_none() -> None:
    with pytest.raises(UnknownVersion) as caught:
        decode_assignment(bytes.fromhex("ffff 00000000 ffffffff"))
    assert str(caught.value) == "ConsumerProtocolAssignment has no version -1; versions: 0-3 (offset 0)"


def test_errors_have_their_offset_in_all_the_bytes() -> None:
    with pytest.raises(Truncated) as caught:
        decode_subscription(bytes.fromhex("0001 00000001 000161 ffffffff 0000"))
    assert (caught.value.offset, caught.value.path) == (13, "owned_partitions")
    with pytest.raises(Truncated) as caught:
        decode_subscription(b"\x00")
    assert (caught.value.offset, caught.value.path) == (0, "version")


def test_a_message_of_another_kind_is_refused() -> None:
    with pytest.raises(EncodeError, match="a ConsumerProtocolSubscription is needed"):
        encode_subscription(messages.ConsumerProtocolAssignment())


def test_strings_are_sorted_as_java_sorts_them() -> None:
    assert subscription_of(["\uffee", "\U00010000", "z"]).topics == ("z", "\U00010000", "\uffee")


def test_members_of_real_groups_have_both() -> None:
    """GroupMetadata of real brokers' `__consumer_offsets` holds them as the members sent them."""
    racks = set()
    for line in (DATA / "segment_records.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["log"] != "__consumer_offsets" or row["value"] is None:
            continue
        record = decode_group_record(bytes.fromhex(row["key"]), bytes.fromhex(row["value"]))
        assert record.value is not None
        for member in getattr(record.value.message, "members", ()):
            subscription, assignment = decode_subscription(member.subscription), decode_assignment(member.assignment)
            assert encode_subscription(subscription) == member.subscription and not subscription.rest
            assert encode_assignment(assignment) == member.assignment and not assignment.rest
            assert subscription.message.topics
            racks.add(subscription.message.rack_id)
    assert racks == {None, "/dc1/r1"}
