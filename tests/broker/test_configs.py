"""Configs of topics: names, types, values."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import ServedCluster, Settings
from kwire.broker.client_quota_manager import ANONYMOUS, CLIENT, FETCH, PRODUCE, USER, ClientQuotaManager
from kwire.broker.configs import check_configs, definitions_of
from kwire.errors.refused import InvalidConfig
from kwire.values import ErrorCode
from tests.broker.served import M, batch, cluster_of, fetching, produce


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
    data = batch(b"x" * 1400)
    part = M.ProduceRequest.PartitionProduceData(index=0, records=data)
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    answer = cluster.answer(1, M.ProduceRequest(acks=1, topic_data=(row,)), 9, now=0.0, client_id="c")
    throttle_ms = (len(data) - 1000) * 10  # the bytes of 10 s are free
    assert answer.throttle_time_ms == throttle_ms
    assert cluster.answer(1, fetching(), 11, now=0.0, client_id="d").throttle_time_ms == 0


def test_a_throttled_fetch_is_empty_and_its_bytes_are_not_counted() -> None:
    """As FetchContext.getThrottledResponse: a new session does not begin, and an incremental one keeps its id."""
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    for _ in range(3):
        assert produce(cluster, batch(b"x" * 400)).error_code == 0
    assert limit(cluster, 100.0) == 0

    def fetch(session_id: int = 0, epoch: int = 0, offset: int = 0) -> M.FetchResponse:
        response = cluster.answer(
            1, fetching(offset, session_id=session_id, session_epoch=epoch), 11, now=0.0, client_id="c"
        )
        assert isinstance(response, M.FetchResponse)
        return response

    first = fetch()
    (row,) = first.responses
    size = len(row.partitions[0].records or b"")
    assert 900 < size <= 1000  # whole batches, of no more bytes than are free
    assert (first.throttle_time_ms, first.session_id != 0) == (0, True)
    throttled = fetch(first.session_id, 1)
    assert (throttled.responses, throttled.session_id, throttled.error_code) == ((), first.session_id, 0)
    assert throttled.throttle_time_ms > 0
    assert fetch(first.session_id, 2).throttle_time_ms == throttled.throttle_time_ms  # nothing was added
    new = fetch()
    assert (new.responses, new.session_id) == ((), 0)
    cluster.tick(10.0)
    last = fetch(first.session_id, 3)
    assert (last.throttle_time_ms, len(last.responses[0].partitions[0].records or b"")) == (0, size)


@pytest.mark.parametrize("rate", [float("inf"), float("nan"), 0.5, 0.0])
def test_a_rate_of_bytes_is_a_whole_number(rate: float) -> None:
    assert limit(cluster_of(1), rate) == ErrorCode.INVALID_REQUEST


def limit(cluster: ServedCluster, rate: float) -> int:
    request: Any = M.AlterClientQuotasRequest
    entity = request.EntityData(entity_type=CLIENT, entity_name="c")
    ops = tuple(request.OpData(key=key, value=rate) for key in (PRODUCE, FETCH))
    answer = cluster.answer(1, request(entries=(request.EntryData(entity=(entity,), ops=ops),)), 1, now=0.0)
    return int(answer.entries[0].error_code)
