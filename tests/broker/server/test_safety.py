"""Which requests change nothing."""

from __future__ import annotations

import pytest

import kwire
from kwire.client.read_only_apis import READING, changes_state
from kwire.schema.catalog import catalog_for

M = kwire.messages


def test_all_names_are_apis_that_kafka_has() -> None:
    names = set(catalog_for().names())
    assert {f"{name}Request" for name in READING} <= names


@pytest.mark.parametrize(
    "name", ["DeleteTopics", "Produce", "AlterConfigs", "LeaveGroup", "EndTxn", "StopReplica", "Vote"]
)
def test_what_changes_something(name: str) -> None:
    codec = kwire.codec(f"{name}Request", 1)
    assert changes_state(codec, codec.from_json({}, defaults=True))


def test_an_assignment_that_is_only_asked_for_changes_nothing() -> None:
    codec = kwire.codec("CreateReplicaAssignmentRequest", 0, profile="KIP-879")
    assert not changes_state(codec, codec.from_json({}, defaults=True))


def test_metadata_creates_topics_unless_told_not_to() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    topics = [M.MetadataRequest.MetadataRequestTopic(name="new")]
    assert changes_state(codec, M.MetadataRequest(topics=topics))
    assert not changes_state(codec, M.MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    assert not changes_state(codec, M.MetadataRequest(topics=None))
