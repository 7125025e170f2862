"""What fields are called in Python and in JSON."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.schema.field_names import ATTRIBUTES, attribute_for, camel_case, snake_case
from kwire.schema.former_field_names import FORMER_NAMES

# spec's name, as Kafka's schema has it, as Kafka's JSON has it; written down from Kafka's facts
SAMPLE = [
    ("TopicId", "topic_id", "topicId"),
    ("ThrottleTimeMs", "throttle_time_ms", "throttleTimeMs"),
    ("name", "name", "name"),
    ("IsKRaftController", "is_kraft_controller", "isKRaftController"),
    ("isKRaftController", "is_kraft_controller", "isKRaftController"),
    ("V0Host", "v0_host", "v0Host"),
    ("v0Port", "v0_port", "v0Port"),
    ("LastStableOffset", "last_stable_offset", "lastStableOffset"),
    ("ZkMigrationReady", "zk_migration_ready", "zkMigrationReady"),
    ("SASLMechanism", "saslmechanism", "sASLMechanism"),
    ("BrokerID", "broker_id", "brokerID"),
    ("KRaftVersion", "kraft_version", "kRaftVersion"),
    ("X", "x", "x"),
    ("iD", "i_d", "iD"),
]


@pytest.mark.parametrize(("name", "snake", "camel"), SAMPLE)
def test_a_name_is_written_as_kafka_writes_it(name: str, snake: str, camel: str) -> None:
    assert snake_case(name) == snake
    assert camel_case(name) == camel


def named_fields(fields: list[Any]) -> Iterator[tuple[str, str]]:
    for field in fields:
        yield field["name"], field["snake"]
        yield from named_fields(field.get("fields", []))


def test_every_name_of_kafkas_facts_is_written_as_kafka_writes_it(shared: Path) -> None:
    seen = set()
    for path in sorted((shared / "kafka/facts").glob("[A-Z]*.json")):
        facts = json.loads(path.read_text("utf-8"))
        seen |= set(named_fields(facts["fields"]))
        for struct in facts.get("commonStructs", []):
            seen |= set(named_fields(struct["fields"]))
    assert len(seen) > 400
    for name, snake in seen:
        spelled = name[0].upper() + name[1:]  # as specs have it: KRaftVersion is kRaftVersion in JSON
        assert (snake_case(spelled), camel_case(spelled)) == (snake, name)


@pytest.mark.parametrize(
    ("struct", "field", "attribute"),
    [
        ("MetadataResponseTopic", "TopicId", "topic_id"),
        ("LeaderAndIsrPartitionState", "IsNew", "is_new_replica"),  # KIP-112 calls it so
        ("LeaderAndIsrPartitionState", "isNew", "is_new_replica"),
        ("LeaderAndIsrPartitionState", "IsNewReplica", "is_new_replica"),
        ("SomethingElse", "IsNew", "is_new"),
        ("Move", "From", "from_"),
        ("Move", "class", "class_"),
        ("Move", "None", "none"),
        ("Move", "Match", "match"),
    ],
)
def test_an_attribute_is_snake_case_but_for_the_table_and_keywords(struct: str, field: str, attribute: str) -> None:
    assert attribute_for(struct, field) == attribute


@pytest.mark.parametrize("word", keyword.kwlist)
def test_no_attribute_is_a_keyword(word: str) -> None:
    assert attribute_for("Any", word) == (word.lower() if word in ("False", "None", "True") else f"{word}_")


def test_the_tables_hold_what_the_founding_documents_and_older_releases_say() -> None:
    assert ATTRIBUTES == {("LeaderAndIsrPartitionState", "IsNew"): "is_new_replica"}
    assert FORMER_NAMES["LeaderAndIsrRequest.LeaderAndIsrPartitionState", "zkVersion"] == "partitionEpoch"
