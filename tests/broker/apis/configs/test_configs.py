"""DescribeConfigs of topics and brokers; configs of a topic are obeyed."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import MemoryDisk, ServedCluster, Settings
from kwire.values import ConfigSource, ErrorCode
from tests.broker.served import M, ask, batch, cluster_of, produce

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def describe(cluster: ServedCluster, type_: int, name: str, *keys: str, version: int = 4, **more: Any) -> Any:
    row = M.DescribeConfigsRequest.DescribeConfigsResource
    asked = row(resource_type=type_, resource_name=name, configuration_keys=keys or None)
    return ask(cluster, M.DescribeConfigsRequest(resources=(asked,), **more), version).results[0]


def shown(result: Any) -> dict[str, tuple[str, str]]:
    return {one.name: (one.value, ConfigSource(one.config_source).name) for one in result.configs}


@pytest.mark.parametrize("version", range(5))
def test_a_topics_configs_in_every_version(version: int) -> None:
    cluster = cluster_of(settings=Settings(min_insync_replicas=2))
    cluster.controller.create("t", {0: [1]}, {"retention.bytes": "9"})
    found = describe(cluster, TOPIC, "t", version=version)
    by_name = {one.name: one for one in found.configs}
    assert (found.error_code, by_name["retention.bytes"].value, by_name["min.insync.replicas"].value) == (0, "9", "2")
    if version:
        assert [by_name[name].config_source for name in ("retention.bytes", "cleanup.policy")] == [1, 5]
    else:
        assert [by_name[name].is_default for name in ("retention.bytes", "cleanup.policy")] == [False, True]


def test_some_keys_with_their_synonyms() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]}, {"retention.bytes": "9"})
    (row,) = describe(cluster, TOPIC, "t", "retention.bytes", include_synonyms=True).configs
    assert [(one.value, int(one.source)) for one in row.synonyms] == [("9", 1), ("-1", 5)]


def test_a_brokers_configs() -> None:
    cluster = cluster_of(2, Settings(num_partitions=7), disks=[MemoryDisk("/a"), MemoryDisk("/b")])
    found = shown(describe(cluster, BROKER, "1"))
    assert found["log.dirs"] == ("/a,/b", "STATIC_BROKER_CONFIG")
    assert found["broker.rack"] == ("r1", "STATIC_BROKER_CONFIG")
    assert found["advertised.listeners"][1] == "STATIC_BROKER_CONFIG"
    assert found["num.partitions"] == ("7", "STATIC_BROKER_CONFIG")
    assert found["default.replication.factor"] == ("1", "DEFAULT_CONFIG")
    assert describe(cluster, BROKER, "").configs == ()


@pytest.mark.parametrize(
    ("type_", "name", "code"),
    [
        (TOPIC, "no", "UNKNOWN_TOPIC_OR_PARTITION"),
        (BROKER, "2", "INVALID_REQUEST"),
        (LOGGER, "2", "INVALID_REQUEST"),
        (GROUP, "", "INVALID_REQUEST"),
        (METRICS, "", "INVALID_REQUEST"),
        (64, "1", "INVALID_REQUEST"),
    ],
)
def test_resources_that_are_not_here(type_: int, name: str, code: str) -> None:
    found = describe(cluster_of(2), type_, name)
    assert (ErrorCode(found.error_code).name, found.configs) == (code, ())


def test_a_topics_own_limits_hold() -> None:
    cluster = cluster_of(2)
    cluster.controller.create("t", {0: [1, 2]}, {"min.insync.replicas": "2", "max.message.bytes": "100"})
    assert produce(cluster, batch(b"v" * 100)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(cluster, batch(b"v")).error_code == 0
    cluster.fail(*cluster.controller.nodes[2].log_dirs)
    assert produce(cluster, batch(b"v")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS


SET, DELETE, APPEND, SUBTRACT = range(4)


def alter(cluster: ServedCluster, *changes: tuple[str, int, str | None], version: int = 1, **more: Any) -> str:
    """Change configs of topic t; return the name of the error code."""
    request = M.IncrementalAlterConfigsRequest
    rows = tuple(request.AlterableConfig(name=a, config_operation=b, value=c) for a, b, c in changes)
    named = {"resource_type": more.pop("type_", TOPIC), "resource_name": more.pop("name", "t")}
    resource = request.AlterConfigsResource(**named, configs=rows)
    (answer,) = ask(cluster, request(resources=(resource,), **more), version).responses
    return str(ErrorCode(answer.error_code))


def test_changes_at_the_edges_have_the_codes_of_kafka_4_1_0() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    assert alter(cluster, ("nonsense", DELETE, None)) == "NONE"
    assert alter(cluster, ("nonsense", APPEND, "x")) == "INVALID_CONFIG"
    assert alter(cluster, ("retention.ms", APPEND, "1")) == "INVALID_CONFIG"
    assert alter(cluster, ("cleanup.policy", SUBTRACT, "delete")) == "NONE"
    assert cluster.controller.topics["t"].configs == {"cleanup.policy": ""}
    assert alter(cluster, ("cleanup.policy", APPEND, "compact")) == "NONE"
    assert cluster.controller.topics["t"].configs == {"cleanup.policy": "compact"}
    assert alter(cluster, ("retention.ms", SET, "1"), name="") == "INVALID_REQUEST"
    assert alter(cluster, ("consumer.session.timeout.ms", SET, "50000"), type_=32, name="") == "INVALID_REQUEST"


def test_rates_of_replication_are_configs_of_brokers() -> None:
    cluster, rate = cluster_of(2), "leader.replication.throttled.rate"
    of_one: dict[str, Any] = {"type_": BROKER, "name": "1"}
    assert alter(cluster, (rate, SET, "1000"), **of_one, validate_only=True) == "NONE"
    assert rate not in shown(describe(cluster, BROKER, "1"))
    assert alter(cluster, (rate, SET, "1000"), **of_one) == "NONE"
    assert shown(describe(cluster, BROKER, "1"))[rate] == ("1000", "DYNAMIC_BROKER_CONFIG")
    assert cluster.controller.configs.dynamic == {"1": {rate: "1000"}}
    assert alter(cluster, ("message.max.bytes", SET, "fast"), **of_one) == "INVALID_REQUEST"
    assert alter(cluster, ("num.partitions", SET, "1"), **of_one) == "INVALID_REQUEST"
    assert alter(cluster, (rate, SET, "1"), type_=BROKER, name="7") == "INVALID_REQUEST"
    assert alter(cluster, (rate, DELETE, None), **of_one) == "NONE"
    assert cluster.controller.configs.dynamic == {}
    kerberos = "sasl.kerberos.min.time.before.relogin"
    assert alter(cluster, (kerberos, SET, "58000"), **of_one) == "NONE"
    assert shown(describe(cluster, BROKER, "1"))[kerberos] == ("58000", "DYNAMIC_BROKER_CONFIG")


@pytest.mark.parametrize("version", range(2))
def test_configs_are_altered(version: int) -> None:
    cluster = cluster_of()
    topic = cluster.controller.create("t", {0: [1]}, {"retention.bytes": "9", "segment.ms": "5"})
    changes = [("retention.bytes", DELETE, None), ("flush.ms", SET, "7"), ("cleanup.policy", APPEND, "compact")]
    assert alter(cluster, *changes, version=version, validate_only=True) == "NONE"
    assert topic.configs == {"retention.bytes": "9", "segment.ms": "5"}
    assert alter(cluster, *changes, version=version) == "NONE"
    assert topic.configs == {"segment.ms": "5", "flush.ms": "7", "cleanup.policy": "delete,compact"}
    assert alter(cluster, ("cleanup.policy", SUBTRACT, "delete")) == "NONE"
    assert topic.configs["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("changes", "more", "code"),
    [
        ([("flush.ms", SET, "soon")], {}, "INVALID_CONFIG"),
        ([("flush.ms", SET, None)], {}, "INVALID_REQUEST"),
        ([("flush.ms", APPEND, "1")], {}, "INVALID_CONFIG"),
        ([("cleanup.policy", 9, "compact")], {}, "UNKNOWN_SERVER_ERROR"),
        ([("flush.ms", SET, "1"), ("flush.ms", SET, "2")], {}, "INVALID_REQUEST"),
        ([("flush.ms", SET, "1")], {"name": "no"}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ([("num.partitions", SET, "1")], {"type_": BROKER, "name": "1"}, "INVALID_REQUEST"),
        ([("no.such", SET, "DEBUG")], {"type_": LOGGER, "name": "1"}, "INVALID_CONFIG"),
    ],
)
def test_configs_that_cannot_be_altered(changes: Any, more: Any, code: str) -> None:
    cluster = cluster_of()
    topic = cluster.controller.create("t", {0: [1]})
    assert alter(cluster, *changes, **more) == code
    assert topic.configs == {}
