"""User data of the sticky assignors, against the bytes that Kafka's own assignors wrote and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire import messages
from kwire.errors import BadLength, DecodeError, EncodeError, Truncated
from kwire.protocol.nested import (
    CooperativeUserData,
    StickyUserData,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"
# written by Kafka 3.9.2 and 4.4.0
SAMPLE, ALL = DATA / "consumer_bytes.jsonl", SHARED / "vectors" / "consumer_bytes.jsonl"


def cases(path: Path, op: str) -> list[Any]:
    found = [case for case in map(json.loads, path.read_text("utf-8").splitlines()) if case["op"] == op]
    assert found
    return found


def flat(topics: Any) -> list[str]:
    return [f"{topic.topic}-{number}" for topic in topics for number in topic.partitions]


def by_topic(texts: list[str]) -> dict[str, list[str]]:
    topics: dict[str, list[str]] = {}
    for text in texts:
        topics.setdefault(text.rpartition("-")[0], []).append(text)
    return topics


def check_written(path: Path) -> int:
    """Topics stand in Java's order of hashes there: the bytes say which, so they are read, compared and written."""
    count = 0
    for case in cases(path, "user_data"):
        text = case["expected"]["result"]["hex"]
        if text is None:
            assert case["assignor"] in ("range", "roundrobin") or case["generation"] is None
            continue
        data = bytes.fromhex(text)
        generation = -1 if case["generation"] is None else case["generation"]
        if case["assignor"] == "sticky":
            sticky = decode_sticky_user_data(data)
            assert (by_topic(flat(sticky.owned)), sticky.generation) == (by_topic(case["partitions"]), generation)
            assert encode_sticky_user_data(sticky) == data
        else:
            assert decode_cooperative_user_data(data) == CooperativeUserData(generation)
            assert encode_cooperative_user_data(CooperativeUserData(generation)) == data
        count += 1
    return count


def read_by_leader(case: Any) -> dict[str, Any]:
    """Say what Kafka's leader takes a member's user data for; what does not decode says nothing (-1)."""
    data = None if case["user_data"] is None else bytes.fromhex(case["user_data"])
    if case["assignor"] == "sticky":
        if not data:
            return {"owned": [], "generation": None}
        try:
            sticky = decode_sticky_user_data(data)
        except DecodeError:
            return {"owned": [], "generation": -1}
        return {"owned": flat(sticky.owned), "generation": sticky.generation}
    generation = case["generation"]
    if generation is None and data is not None:
        try:
            generation = decode_cooperative_user_data(data).generation
        except DecodeError:
            generation = -1
    return {"owned": case["owned"], "generation": generation}


def check_read(path: Path) -> int:
    read = cases(path, "member_data")
    for case in read:
        assert read_by_leader(case) == case["expected"]["result"], case["id"]
    return len(read)


def test_user_data_is_kafkas() -> None:
    assert check_written(SAMPLE) > 10
    assert check_read(SAMPLE) == 52


@needs_shared
def test_all_of_kafkas_cases() -> None:
    assert check_written(ALL) == 105
    assert check_read(ALL) == 52


def test_without_a_generation_it_is_version_0() -> None:
    topic = messages.ConsumerProtocolAssignment.TopicPartition(topic="a", partitions=(2,))
    old = bytes.fromhex("00000001 000161 00000001 00000002")
    assert encode_sticky_user_data(StickyUserData((topic,))) == old
    assert decode_sticky_user_data(old) == StickyUserData((topic,), None)
    assert decode_sticky_user_data(old + bytes(4)) == StickyUserData((topic,), 0)


@pytest.mark.parametrize("tail", ["11", "1122", "112233"])
def test_a_tail_is_kept(tail: str) -> None:
    for front in ("00000000", "0000000000000005"):
        data = bytes.fromhex(front + tail)
        found = decode_sticky_user_data(data)
        assert found.rest.hex() == tail
        assert encode_sticky_user_data(found) == data
    data = bytes.fromhex("00000007" + tail)
    assert encode_cooperative_user_data(decode_cooperative_user_data(data)) == data


def test_bytes_that_are_neither_version_are_an_error_of_the_older() -> None:
    with pytest.raises(BadLength) as caught:
        decode_sticky_user_data(bytes.fromhex("7fffffff"))
    assert (caught.value.offset, caught.value.path) == (0, "owned")
    with pytest.raises(Truncated) as short:
        decode_cooperative_user_data(b"\x00")
    assert (short.value.offset, short.value.path) == (0, "generation")


def test_a_generation_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError, match="generation: int32: 2147483648 is out of range"):
        encode_cooperative_user_data(CooperativeUserData(2**31))
    with pytest.raises(EncodeError, match="generation: int32: 2147483648 is out of range"):
        encode_sticky_user_data(StickyUserData((), 2**31))
