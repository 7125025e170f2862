"""The table of Kafka's configs, and what kwire does with each."""

from __future__ import annotations

import json

import pytest

from kwire.broker.configs import Effect, definitions_of, effect_of
from kwire.broker.configs.definitions import KINDS
from kwire.broker.configs.effects import BOUNDS, FIELDS, HONOURED_TOPIC_CONFIGS, OTHER_HONOURED, REFUSALS
from kwire.broker.configs.values import describe_valid
from kwire.broker.settings_configs import settings_from
from kwire.errors.refused import InvalidConfig
from tests.conftest import ROOT
from tests.interop.kafka import need

OF_AUTHORIZER = {"allow.everyone.if.no.acl.found", "super.users"}


@pytest.mark.parametrize("release", ["3.9", "4.1", "4.4", None])
@pytest.mark.parametrize("kind", KINDS)
def test_every_default_is_valid_and_every_config_is_described(kind: str, release: str | None) -> None:
    definitions = definitions_of(kind, release)
    assert bool(definitions) != (kind == "group" and release == "3.9")
    for name, config in definitions.items():
        assert config.about.endswith("."), name
        odd = {"controller.quorum.voters", "controller.quorum.bootstrap.servers"}
        if config.default is not None and name not in odd:
            assert describe_valid(config, config.default) == "", name


def test_releases_differ() -> None:
    assert definitions_of("topic", "3.9")["message.timestamp.after.max.ms"].default == str(2**63 - 1)
    assert definitions_of("topic", "4.1")["message.timestamp.after.max.ms"].default == "3600000"
    assert "zookeeper.connect" in definitions_of("broker", "2.8")
    assert "zookeeper.connect" not in definitions_of("broker", "4.0")


def test_what_has_an_effect_is_a_config_of_kafka() -> None:
    known = definitions_of("broker", None).keys() | OF_AUTHORIZER | {"broker.id"}
    bounds = {bound for pair in BOUNDS.values() for bound in pair if bound}
    assert (FIELDS.keys() | OTHER_HONOURED | REFUSALS.keys() | bounds) - known == set()
    assert HONOURED_TOPIC_CONFIGS - definitions_of("topic", None).keys() == set()
    assert effect_of("zookeeper.connect") is Effect.NONE
    assert effect_of("listener.name.internal.ssl.key.password") is Effect.NONE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num.partitions", "0"),
        ("num.partitions", "many"),
        ("auto.create.topics.enable", "yes"),
        ("group.consumer.migration.policy", "sometimes"),
        ("log.cleanup.policy", "delete,delete"),
        ("compression.type", "zip"),
        ("log.cleaner.min.cleanable.ratio", "1.5"),
        ("create.topic.policy.class.name", "org.example.Policy"),
        ("remote.log.storage.system.enable", "true"),
        ("process.roles", "controller"),
        ("replica.selector.class", "org.example.Selector"),
        ("allow.everyone.if.no.acl.found", "perhaps"),
    ],
)
def test_values_that_are_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        settings_from({name: value})
    assert name in str(refused.value)


def test_settings_follow_from_configs() -> None:
    settings = settings_from(
        {
            "num.partitions": " 7 ",
            "group.initial.rebalance.delay.ms": "1500",
            "delete.topic.enable": "FALSE",
            "group.consumer.migration.policy": "DISABLED",
            "super.users": "User:a;User:b",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        }
    )
    assert (settings.num_partitions, settings.initial_rebalance_delay, settings.delete_topics) == (7, 1.5, False)
    assert (settings.migration_policy, settings.super_users) == ("disabled", ("User:a", "User:b"))
    assert (settings.authorizer, settings.rack_aware_fetch) == (True, True)
    assert settings_from({"num.partitions": "7"}, num_partitions=3).num_partitions == 3
    assert settings_from({}, realistic=True).consumer_heartbeat_interval == 5.0


@pytest.mark.ci
@pytest.mark.parametrize("release", json.loads((ROOT / "schemas/configs.json").read_bytes())["releases"])
def test_the_table_is_what_kafkas_classes_say(release: str) -> None:
    """A Java program is compiled and run, which takes some seconds."""
    need("java", "mvn")
    from tests.tools.config_facts import FILE, RELEASES, ask_release, merge_releases

    table = json.loads(FILE.read_bytes())
    facts = ask_release(release)
    for kind in KINDS:
        known = definitions_of(kind, release)
        assert known.keys() == facts[kind].keys()
        for name, fact in facts[kind].items():
            assert (str(known[name].type), known[name].default) == (fact["type"], fact["default"]), name
    assert tuple(table["releases"]) == RELEASES
    assert merge_releases({release: facts}, table)["releases"] == [release]
