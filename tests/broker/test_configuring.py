"""DescribeConfigs of topics and brokers; configs of a topic are obeyed."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import MemoryDisk, ServedCluster, Settings, codes
from kwire.values import ConfigSource, ErrorCode
from tests.broker.served import M, ask, batch, cluster_of, produce

TOPIC, BROKER, LOGGER = 2, 4, 8


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
    assert found["num.partitions"] == ("7", "STATIC_BROKER_CONFIG")
    assert found["default.replication.factor"] == ("1", "DEFAULT_CONFIG")
    assert describe(cluster, BROKER, "").configs == ()


@pytest.mark.parametrize(
    ("type_", "name", "code"),
    [
        (TOPIC, "no", "UNKNOWN_TOPIC_OR_PARTITION"),
        (BROKER, "2", "INVALID_REQUEST"),
        (LOGGER, "1", "INVALID_REQUEST"),
    ],
)
def test_resources_that_are_not_here(type_: int, name: str, code: str) -> None:
    found = describe(cluster_of(2), type_, name)
    assert (ErrorCode(found.error_code).name, found.configs) == (code, ())


def test_a_topics_own_limits_hold() -> None:
    cluster = cluster_of(2)
    cluster.controller.create("t", {0: [1, 2]}, {"min.insync.replicas": "2", "max.message.bytes": "100"})
    assert produce(cluster, batch(b"v" * 100)).error_code == codes.MESSAGE_TOO_LARGE
    assert produce(cluster, batch(b"v")).error_code == 0
    cluster.fail(*cluster.controller.nodes[2].log_dirs)
    assert produce(cluster, batch(b"v")).error_code == codes.NOT_ENOUGH_REPLICAS
