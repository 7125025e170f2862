"""Rows of the same lengths are read column by column: between others, and with bad values in their midst."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

import kwire
from tests.codecs.columns.rows import expected

PARTITIONS = "topic_states[].partition_states[]"
CODEC = kwire.codec("LeaderAndIsrRequest", 6)
TOPIC = CODEC.message_class.LeaderAndIsrTopicState
PARTITION = CODEC.message_class.LeaderAndIsrPartitionState


def partitions(counts: list[int], rng: Random) -> tuple[Any, ...]:
    """Return partitions with so many replicas each."""
    return tuple(
        PARTITION(
            partition_index=rng.randrange(2**31),
            partition_epoch=rng.randrange(-(2**31), 0),
            isr=tuple(rng.randrange(2**31) for _ in range(count)),
            is_new_replica=rng.random() < 0.5,
        )
        for count in counts
    )


def body(*topics: list[int], rng: Random) -> bytes:
    states = tuple(TOPIC(topic_name=f"t{at}", partition_states=partitions(one, rng)) for at, one in enumerate(topics))
    return CODEC.encode(CODEC.message_class(topic_states=states))


def rows(bodies: list[bytes], path: str = PARTITIONS) -> list[dict[str, Any]]:
    found = list(kwire.columns("LeaderAndIsrRequest", 6, path).read(bodies))
    assert not any(batch.errors for batch in found)
    return [row for batch in found for row in batch.rows.to_pylist()]


@pytest.mark.parametrize(
    "counts",
    [
        [[3] * 20],
        [[3] * 4, [3], [], [3] * 9],
        [[3, 3, 3, 2, 3, 3, 3, 2, 2, 2, 2, 3, 2, 3, 2, 3, 3, 3, 3]],
        [[0] * 5 + [1] * 5 + [127] * 5 + [126] * 5 + [0]],
        [list(range(30)), list(range(30, 0, -1))],
        [[1200] * 3],
    ],
)
def test_rows_are_those_of_messages_whatever_lengths_come_next(counts: list[list[int]]) -> None:
    bodies = [body(*counts, rng=Random(seed)) for seed in range(3)]
    names = kwire.arrow_schema("LeaderAndIsrRequest", 6, PARTITIONS).names
    wanted = [{name: row[name] for name in names} for row in expected(CODEC, PARTITIONS, bodies)]
    assert rows(bodies) == wanted


@pytest.mark.parametrize("at", [0, 1, 5, 9])
def test_a_byte_that_is_no_boolean_in_a_run_is_a_bad_body(at: int) -> None:
    states = partitions([3] * 10, Random(1))
    good, other = (
        CODEC.encode(CODEC.message_class(topic_states=(TOPIC(topic_name="t", partition_states=tuple(one)),)))
        for one in (states, [*states[:at], toggled(states[at]), *states[at + 1 :]])
    )
    (place,) = [index for index, pair in enumerate(zip(good, other, strict=True)) if pair[0] != pair[1]]
    bad = good[:place] + b"\2" + good[place + 1 :]
    (batch,) = kwire.columns("LeaderAndIsrRequest", 6, PARTITIONS).read([good, bad, other])
    assert [(one.body_index, type(one.error).__name__) for one in batch.errors] == [(1, "BadBoolean")]
    assert batch.rows.to_pylist() == rows([good]) + [row | {"body_index": 2} for row in rows([other])]


def toggled(state: Any) -> Any:
    return msgspec.structs.replace(state, is_new_replica=not state.is_new_replica)


def test_text_in_a_run_is_utf_8() -> None:
    codec = kwire.codec("DescribeClusterResponse", 0)
    broker = codec.message_class.DescribeClusterBroker
    hosts = ["hosta", "hostb", "hostc", "hé..", "hostd"]
    message = codec.message_class(
        cluster_id="c", brokers=tuple(broker(broker_id=at, host=host, port=1) for at, host in enumerate(hosts))
    )
    good = codec.encode(message)
    bad = good.replace("é".encode(), b"\xed\xa0")
    (batch,) = kwire.columns("DescribeClusterResponse", 0, "brokers[]").read([good, bad, good])
    assert batch.rows.column("host").to_pylist() == hosts * 2
    assert [one.body_index for one in batch.errors] == [1]
    assert "host" in str(batch.errors[0].error)


def test_bodies_of_one_kind_are_a_run_too() -> None:
    codec = kwire.codec("HeartbeatRequest", 4)
    messages = [
        codec.message_class(group_id="g" * (at % 3), generation_id=at, member_id="m", group_instance_id=instance)
        for at in range(30)
        for instance in ("i", None)
    ]
    (batch,) = kwire.columns("HeartbeatRequest", 4).read([codec.encode(one) for one in messages])
    for name in ("group_id", "generation_id", "member_id", "group_instance_id"):
        assert batch.rows.column(name).to_pylist() == [getattr(one, name) for one in messages]
    assert batch.rows.column("unknown_tags").null_count == 60
    assert batch.rows.column("body_index").to_pylist() == list(range(60))


def test_unknown_tags_end_a_run() -> None:
    codec = kwire.codec("HeartbeatRequest", 4)
    plain = codec.message_class(group_id="g", generation_id=1, member_id="m")
    tagged = msgspec.structs.replace(plain, unknown_tags=bytes.fromhex("090161"))
    bodies = [codec.encode(one) for one in (plain, plain, tagged, plain, tagged, tagged, tagged, plain)]
    (batch,) = kwire.columns("HeartbeatRequest", 4).read(bodies)
    found = batch.rows.column("unknown_tags").to_pylist()
    assert [one is not None for one in found] == [False, False, True, False, True, True, True, False]
