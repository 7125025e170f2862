"""Client quotas: which one counts, and how long a client is to wait."""

from __future__ import annotations

from typing import Any

from kwire.broker import ServedCluster
from kwire.broker.quotas import ANONYMOUS, CLIENT, FETCH, PRODUCE, USER, Quotas
from tests.broker.served import M, batch, cluster_of, fetching


def test_the_most_special_entity_counts() -> None:
    quotas = Quotas()
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
    quotas = Quotas({frozenset({(CLIENT, "c")}): {PRODUCE: 10.0}})
    assert (quotas.throttle(PRODUCE, "d", 1 << 30, 0.0), quotas.throttle(FETCH, "c", 1 << 30, 0.0)) == (0, 0)


def test_responses_say_how_long_to_wait() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    limit(cluster, 100.0)
    data = batch(b"x" * 400)
    part = M.ProduceRequest.PartitionProduceData(index=0, records=data)
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    answer = cluster.answer(1, M.ProduceRequest(acks=1, topic_data=(row,)), 9, now=0.0, client_id="c")
    assert answer.throttle_time_ms == (len(data) - 100) * 10
    assert cluster.answer(1, fetching(), 11, now=0.0, client_id="c").throttle_time_ms == (len(data) - 100) * 10
    assert cluster.answer(1, fetching(), 11, now=0.0, client_id="d").throttle_time_ms == 0


def limit(cluster: ServedCluster, rate: float) -> None:
    request: Any = M.AlterClientQuotasRequest
    entity = request.EntityData(entity_type=CLIENT, entity_name="c")
    ops = tuple(request.OpData(key=key, value=rate) for key in (PRODUCE, FETCH))
    answer = cluster.answer(1, request(entries=(request.EntryData(entity=(entity,), ops=ops),)), 1, now=0.0)
    assert answer.entries[0].error_code == 0
