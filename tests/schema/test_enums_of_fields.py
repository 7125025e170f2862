"""Which field holds which kind of value: the table of `kwire.values` against our specs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kwire.schema.catalog import catalog_for, profiles
from kwire.schema.data_files import SCHEMAS
from kwire.schema.message_spec import FieldSpec
from kwire.values import kind, kind_of, kinds

FIELDS: dict[str, str] = json.loads((SCHEMAS / "values.json").read_bytes())["fields"]


def all_fields() -> Iterator[tuple[str, FieldSpec]]:
    """Yield (message, field) over all specs, released and drafts."""
    for profile in (None, *profiles()):
        catalog = catalog_for(profile)
        for name in catalog.names():
            for struct in catalog.spec(name).structs():
                for field in struct.fields:
                    yield name, field


def is_number(field: FieldSpec) -> bool:
    return field.element.startswith(("int", "uint"))


def test_every_name_of_the_table_of_fields_is_in_our_specs() -> None:
    there = {
        (owner, field.json_name) for name, field in all_fields() if is_number(field) for owner in (name, field.owner)
    }
    names = {name for _, name in there}
    for key, name in FIELDS.items():
        assert name in kinds(), name
        owner, _, field = key.rpartition(".")
        if owner:
            assert (owner, field) in there, key
        elif key[0] == "*":
            assert any(name.endswith(key[1:]) for name in names), key
        else:
            assert key in names, key


def test_no_kind_is_given_to_a_field_that_holds_no_number() -> None:
    given = {(name, field.owner, field.json_name) for name, field in all_fields() if not is_number(field)}
    assert {place for place in given if kind_of(*place)} == set()


def test_every_error_code_of_every_spec_is_one() -> None:
    codes = [
        (name, field) for name, field in all_fields() if is_number(field) and "errorcode" in field.json_name.lower()
    ]
    assert len(codes) > 120
    for name, field in codes:
        expected = "StreamsAssignorError" if name == "SubscriptionInfo" else "ErrorCode"
        assert kind_of(name, field.owner, field.json_name) is kind(expected), (name, field.json_name)


def test_every_operation_mechanism_or_type_in_the_specs_has_a_kind() -> None:
    """Fields that are numbers of a list by their name; a new spec with such a field has to say which list."""
    telling = ("Type", "State", "Level", "Protocol", "Operations", "Mechanism")
    bare = ("type", "state", "operation", "mechanism", "leader", "acks")
    for name, field in all_fields():
        word = field.json_name
        if is_number(field) and field.element == "int8" and (word.endswith(telling) or word in bare):
            assert kind_of(name, field.owner, word) is not None, (name, word)


@pytest.mark.parametrize(
    ("message", "struct", "field", "expected"),
    [
        ("AddPartitionsToTxnResponse", "AddPartitionsToTxnPartitionResult", "partitionErrorCode", "ErrorCode"),
        ("ListOffsetsRequest", "ListOffsetsPartition", "timestamp", "OffsetSpec"),
        ("ListOffsetsResponse", "ListOffsetsPartitionResponse", "timestamp", "Timestamp"),
        ("ConsumerGroupRegularExpressionValue", "ConsumerGroupRegularExpressionValue", "timestamp", None),
        ("DescribeConfigsRequest", "DescribeConfigsResource", "resourceType", "ConfigResourceType"),
        ("DescribeAclsResponse", "DescribeAclsResource", "resourceType", "ResourceType"),
        ("PartitionChangeRecord", "PartitionChangeRecord", "leader", "LeaderChange"),
        ("UpdateMetadataRequest", "UpdateMetadataPartitionState", "leader", "LeaderId"),
        ("FetchRequest", "ReplicaState", "replicaId", "ReplicaId"),
        ("DescribeQuorumResponse", "ReplicaState", "replicaId", None),
        ("MetadataResponse", "MetadataResponseTopic", "topicAuthorizedOperations", "AuthorizedOperations"),
        ("SaslHandshakeRequest", "SaslHandshakeRequest", "mechanism", None),
        ("TopicMetadataResponse", "PartitionMetaData", "errorCode", "ErrorCode"),
        ("Unheard", "Of", "thing", None),
    ],
)
def test_a_field_has_its_kind(message: str, struct: str, field: str, expected: str | None) -> None:
    assert kind_of(message, struct, field) is (kind(expected) if expected else None)
