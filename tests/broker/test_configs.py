"""Configs of topics: names, types, values."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import ServedCluster, Settings
from kwire.broker.client_quota_manager import ANONYMOUS, CLIENT, FETCH, PRODUCE, USER, ClientQuotaManager
from kwire.broker.configs import check_configs, definitions_of
from kwire.errors.refused import InvalidConfig
from kwire.values import ErrorCode
from tests.broker.served import M, batch, cluster_of, fetching


def test_every_default_is_a_value_that_may_be_given() -> None:
    definitions = definitions_of("topic", None)
    usual = {name: config.default for name, config in definitions.items() if config.default is not None}
    assert check_configs(usual.items()) == usual
    assert (
        cluster_of(settings=Settings(retention_bytes=5)).controller.configs.topic_default("retention.bytes", 1) == "5"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", None),
        ("retention.ms", ""),
        ("retention.ms", "-2"),
        ("retention.ms", "9" * 19),
        ("retention.ms", "9" * 5000),
        ("retention.ms", "\u0661"),
        ("segment.bytes", str(2**31)),
        ("min.insync.replicas", "0"),
        ("cleanup.policy", "compact,delete,"),
        ("preallocate", "yes"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("compression.lz4.level", "18"),
        ("leader.replication.throttled.replicas", "1:2," * 5000 + "1:2"),
        ("leader.replication.throttled.replicas", "1"),
        ("log.dirs", "/"),
    ],
)
def test_values_that_cannot_be(name: str, value: str | None) -> None:
    with pytest.raises(InvalidConfig):
        check_configs([(name, value)])


def test_the_most_special_entity_counts() -> None:
    quotas = ClientQuotaManager()
    entities: list[tuple[tuple[str, str | None], ...]] = [
        ((CLIENT, None),),
        ((CLIENT, "c"),),
        ((USER, None),),
        ((USER, None), (CLIENT, "c")),
        ((USER, ANONYMOUS),),
        ((USER, ANONYMOUS), (CLIENT, None)),
        ((USER, ANONYMOUS), (CLIENT, "c")),
    ]
    for place, entity in enumerate(entities):
        quotas.values[frozenset(entity)] = {PRODUCE: float(place)}
        assert quotas.rate(PRODUCE, "c") == place
    assert quotas.rate(FETCH, "c") is None


def test_a_client_without_a_quota_does_not_wait() -> None:
    quotas = ClientQuotaManager({frozenset({(CLIENT, "c")}): {PRODUCE: 10.0}})
    assert (quotas.throttle(PRODUCE, "d", 1 << 30, 0.0), quotas.throttle(FETCH, "c", 1 << 30, 0.0)) == (0, 0)


def test_responses_say_how_long_to_wait() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert limit(cluster, 100.0) == 0
    data = batch(b"x" * 400)
    part = M.ProduceRequest.PartitionProduceData(index=0, records=data)
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    answer = cluster.answer(1, M.ProduceRequest(acks=1, topic_data=(row,)), 9, now=0.0, client_id="c")
    assert answer.throttle_time_ms == (len(data) - 100) * 10
    assert cluster.answer(1, fetching(), 11, now=0.0, client_id="c").throttle_time_ms == (len(data) - 100) * 10
    assert cluster.answer(1, fetching(), 11, now=0.0, client_id="d").throttle_time_ms == 0


@pytest.mark.parametrize("rate", [float("inf"), float("nan"), 0.5, 0.0])
def test_a_rate_of_bytes_is_a_whole_number(rate: float) -> None:
    assert limit(cluster_of(1), rate) == ErrorCode.INVALID_REQUEST


def limit(cluster: ServedCluster, rate: float) -> int:
    request: Any = M.AlterClientQuotasRequest
    entity = request.EntityData(entity_type=CLIENT, entity_name="c")
    ops = tuple(request.OpData(key=key, value=rate) for key in (PRODUCE, FETCH))
    answer = cluster.answer(1, request(entries=(request.EntryData(entity=(entity,), ops=ops),)), 1, now=0.0)
    return int(answer.entries[0].error_code)
