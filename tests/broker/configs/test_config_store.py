"""Where values of configs come from, and that those of brokers hold for topics and survive a restart."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.configs import ConfigStore
from kwire.broker.settings_configs import settings_from
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.apis.configs.test_configs import BROKER, METRICS, SET, alter, describe
from tests.broker.driving import Mate, World
from tests.broker.served import M, ask, batch, cluster_of, produce
from tests.broker.stored import StoredDisk

HOUR = 3_600_000


def test_the_finer_unit_and_the_more_special_source_win() -> None:
    store = ConfigStore({1: {"log.retention.hours": "2"}, 2: {}}, {"log.retention.ms": "-1"}, None)
    assert [store.topic_default("retention.ms", node) for node in (1, 2)] == [str(2 * HOUR), "-1"]
    store.alter("", {"log.retention.ms": "5000"})
    assert [store.topic_default("retention.ms", node) for node in (1, 2)] == ["5000", "5000"]
    store.alter("2", {"log.retention.ms": "7000"})
    assert [store.topic_default("retention.ms", node) for node in (1, 2)] == ["5000", "7000"]
    sources = [(one.value, int(one.source)) for one in store.synonyms("log.retention.ms", 2)]
    assert sources[:3] == [("7000", 2), ("5000", 3), ("-1", 5)]
    store.alter("", {})
    store.alter("2", {})
    assert [store.topic_default("retention.ms", node) for node in (1, 2)] == [str(2 * HOUR), "-1"]


def test_a_broker_config_altered_at_run_time_holds_at_once() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert produce(cluster, batch(b"v" * 500)).error_code == 0
    assert alter(cluster, ("message.max.bytes", SET, "300"), type_=BROKER, name="") == "NONE"
    assert produce(cluster, batch(b"v" * 500)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert alter(cluster, ("log.segment.bytes", SET, "1048576"), type_=BROKER, name="1") == "NONE"
    (log,) = cluster.controller.topics["t"].partitions[0].online_logs().values()
    assert log.limits.segment_bytes == 1 << 20


def test_what_clients_set_survives_a_restart() -> None:
    disk = StoredDisk("/d")

    def started() -> ServedCluster:
        return ServedCluster([Node(1, disks=[disk])], Settings(), Random(1))

    cluster = started()
    assert alter(cluster, ("log.retention.ms", SET, "5000"), type_=BROKER, name="") == "NONE"
    assert alter(cluster, ("interval.ms", SET, "5000"), type_=METRICS, name="m") == "NONE"
    again = started()
    assert again.controller.configs.dynamic == cluster.controller.configs.dynamic == {"": {"log.retention.ms": "5000"}}
    assert again.controller.configs.client_metrics == {"m": {"interval.ms": "5000"}}
    assert again.cluster_id == cluster.cluster_id


def test_all_configs_of_a_broker_are_described_with_their_documentation() -> None:
    cluster = cluster_of(settings=settings_from({"log.retention.hours": "3", "num.io.threads": "9"}))
    found = {one.name: one for one in describe(cluster, BROKER, "1", include_documentation=True).configs}
    assert len(found) > 300
    assert (found["num.io.threads"].value, found["num.io.threads"].config_source) == ("9", 4)
    assert found["log.retention.ms"].documentation == "How long records are kept; -1 keeps them for ever."
    assert (found["log.retention.ms"].read_only, found["log.dirs"].read_only) == (False, True)
    assert (found["ssl.key.password"].is_sensitive, found["ssl.key.password"].value) == (True, None)


def test_clients_are_asked_for_the_metrics_of_a_subscription() -> None:
    cluster = cluster_of()
    for name, value in (("metrics", "org.apache.kafka.producer."), ("interval.ms", "5000"), ("match", "client_id=a.*")):
        assert alter(cluster, (name, SET, value), type_=METRICS, name="m") == "NONE"

    def asked(client_id: str) -> Any:
        request = M.GetTelemetrySubscriptionsRequest(client_instance_id=bytes(15) + b"a")
        return cluster.answer(1, request, 0, now=0.0, client_id=client_id)

    found, other = asked("abc"), asked("b")
    assert (found.requested_metrics, found.push_interval_ms) == (("org.apache.kafka.producer.",), 5000)
    assert (other.requested_metrics, other.push_interval_ms) == ((), 300_000)
    push = M.PushTelemetryRequest(client_instance_id=bytes(15) + b"a", subscription_id=found.subscription_id)
    assert cluster.answer(1, push, 0, now=0.0, client_id="abc").error_code == 0
    assert cluster.answer(1, push, 0, now=0.0, client_id="b").error_code == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


def test_limits_of_a_broker() -> None:
    configs = {"delete.topic.enable": "false", "transaction.max.timeout.ms": "20000", "log.cleanup.policy": "compact"}
    cluster = cluster_of(settings=settings_from(configs))
    cluster.controller.create("t", {0: [1]})
    row = M.DeleteTopicsRequest.DeleteTopicState(name="t")
    (deleted,) = ask(cluster, M.DeleteTopicsRequest(topics=(row,)), 6).responses
    assert deleted.error_code == ErrorCode.TOPIC_DELETION_DISABLED
    request = M.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=30_000)
    assert ask(cluster, request, 4).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert cluster.controller.topics["t"].has_policy("compact")


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"num.partitions": "0"}, "whole number from 1"),
        ({"nums.partitions": "1"}, "did you mean num.partitions"),
        ({"broker.id": "5"}, "each broker has its own"),
        ({"create.topic.policy.class.name": "a.B"}, "policies"),
    ],
)
def test_configs_of_a_test_that_cannot_be(configs: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Kafka(configs=configs)


def test_a_test_sets_configs_and_is_warned_of_those_without_effect() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Kafka(configs={"num.partitions": "3", "num.io.threads": "2"})
    assert [str(one.message) for one in caught] == ["configs without effect: num.io.threads"]


def test_first_contact_with_realistic_brokers_is_as_with_kafka() -> None:
    cluster = cluster_of(settings=settings_from({}, realistic=True))
    row = M.MetadataRequest.MetadataRequestTopic(name="t")
    codes = [ask(cluster, M.MetadataRequest(topics=(row,)), 9).topics[0].error_code for _ in range(2)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]
    asked = M.FindCoordinatorRequest(coordinator_keys=("g",))
    codes = [ask(cluster, asked, 4).coordinators[0].error_code for _ in range(2)]
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE]
    topic = cluster.controller.topics["t"]
    assert (topic.number("retention.ms"), cluster.settings.initial_rebalance_delay) == (168 * HOUR, 3.0)


def test_connections_of_one_address_and_members_of_a_group_are_limited() -> None:
    configs = {"max.connections.per.ip": "1", "group.max.size": "1", "socket.request.max.bytes": "1000"}
    with Kafka(configs=configs, topics=["t"]) as kafka:
        place = address(kafka.bootstrap_servers)
        with BrokerConnection(place, timeout=10) as first:
            first.versions()
            with pytest.raises(CallError), BrokerConnection(place, timeout=10) as second:
                second.versions()
        with pytest.raises(CallError), BrokerConnection(place, timeout=10) as large:
            large.ask(kwire.codec("MetadataRequest", 1), M.MetadataRequest(topics=(row("x" * 2000),)))
    world = World(settings_from({"group.max.size": "1"}))
    Mate(world).join()
    assert Mate(world).request().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def row(name: str) -> Any:
    return M.MetadataRequest.MetadataRequestTopic(name=name)
