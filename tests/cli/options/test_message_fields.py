"""Fields as people write them."""

from __future__ import annotations

import pytest

import kwire
from kwire.cli.options.message_fields import message_of
from kwire.cli.options.usage_error import UsageError
from kwire.errors import EncodeError

CODEC = kwire.codec("FindCoordinatorRequest", 3)


def test_text_numbers_and_json() -> None:
    assert message_of(CODEC, ["key=7", "keyType=1"]) == message_of(CODEC, ['key:="7"', "key_type:=1"])
    assert message_of(CODEC, ["key=a=b"]).key == "a=b"


def test_members_are_put_into_the_body() -> None:
    message = message_of(CODEC, ["keyType=1"], {"key": "group", "keyType": 0})
    assert (message.key, message.key_type) == ("group", 1)


def test_what_is_not_given_has_its_default_at_any_depth() -> None:
    message = message_of(kwire.codec("MetadataRequest", 12), ['topics:=[{"name": "orders"}]'])
    assert message.topics[0].topic_id == bytes(16)
    assert not message.include_topic_authorized_operations


def test_metadata_creates_topics_on_request_alone() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    assert not message_of(codec, []).allow_auto_topic_creation
    assert message_of(codec, ["allowAutoTopicCreation=true"]).allow_auto_topic_creation
    assert message_of(codec, [], {"allowAutoTopicCreation": True}).allow_auto_topic_creation


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ("key", "key: not a field; write NAME=TEXT or NAME:=JSON"),
        ("kye=1", "kye=1: FindCoordinatorRequest v3 has no field kye; did you mean key?"),
        ("keyType=one", "keyType=one: keyType is a number"),
        ("key:=[", "key:=[: not valid JSON: Expecting value"),
    ],
)
def test_what_is_refused(member: str, problem: str) -> None:
    with pytest.raises(UsageError) as info:
        message_of(CODEC, [member])
    assert str(info.value) == problem


def test_a_value_that_the_field_cannot_hold() -> None:
    with pytest.raises(EncodeError, match="keyType"):
        message_of(CODEC, ["keyType=1000"])
