"""What is wanted of a message, and what is not there."""

from __future__ import annotations

import pytest

import kwire
from kwire.codecs.columns.column_plan import paths_in

PARTITIONS = "topics[].partitions[]"


def test_columns_are_named_after_their_field_and_those_around_them_after_their_level_too() -> None:
    assert kwire.arrow_schema("MetadataResponse", 1, PARTITIONS).names == [
        *("body_index", "message_controller_id", "topics_error_code", "topics_name", "topics_is_internal"),
        *("error_code", "partition_index", "leader_id", "replica_nodes", "isr_nodes"),
    ]


def test_elements_that_are_no_structs_are_a_column_under_the_name_of_their_array() -> None:
    path = "topics[].partition_indexes[]"
    schema = kwire.arrow_schema("OffsetFetchRequest", 1, path, columns=["topics_name", "partition_indexes"])
    assert [(field.name, str(field.type)) for field in schema] == [
        ("topics_name", "string"),
        ("partition_indexes", "int32"),
    ]


def test_paths_go_through_structs_and_tagged_fields() -> None:
    paths = paths_in([kwire.codec("ConsumerGroupHeartbeatResponse", 0).schema])
    assert paths == ["assignment", "assignment.topic_partitions[]", "assignment.topic_partitions[].partitions[]"]
    assert "node_endpoints[]" in paths_in([kwire.codec("FetchResponse", 16).schema])


def test_the_order_of_columns_is_the_callers() -> None:
    columns = ["leader_id", "body_index", "topics_name"]
    assert kwire.arrow_schema("MetadataResponse", 12, PARTITIONS, columns=columns).names == columns


def test_a_column_that_is_wanted_twice_is_there_once_and_all_of_it_if_all_is_wanted() -> None:
    for columns in (["topics.name", "topics"], ["topics", "topics.name"]):
        schema = kwire.arrow_schema("MetadataResponse", 12, columns=columns)
        assert schema == kwire.arrow_schema("MetadataResponse", 12, columns=["topics"])


@pytest.mark.parametrize(
    ("path", "columns", "text"),
    [
        ("topics[].partition[]", None, r"there is no array 'topics\[\].partition\[\]'; did you mean topics\[\].part"),
        ("topics.partitions[]", None, "there is no array"),
        ("topics[].name", None, "there is no array"),
        ("topics[].unknown_tags", None, "there is no array"),
        ("topics[].name.x[]", None, "there is no array"),
        ("brokers[].rack[]", None, "there is no array"),
        ("", ["topic"], "there is no column 'topic'; did you mean topics"),
        ("", ["topics.nam"], "there is no column 'topics.nam'; did you mean topics.name"),
        ("", ["cluster_id.x"], "there is no column 'cluster_id.x'"),
        ("", ["body_index.x"], "there is no column 'body_index'"),
        (PARTITIONS, ["name"], "there is no column 'name'"),
        (PARTITIONS, ["topics_partitions"], "there is no column 'topics_partitions'"),
    ],
)
def test_what_is_not_there_is_named(path: str, columns: list[str] | None, text: str) -> None:
    for version in (12, None):
        with pytest.raises(kwire.UnknownMessage, match=text):
            kwire.arrow_schema("MetadataResponse", version, path, columns=columns)
    with pytest.raises(kwire.UnknownMessage, match=text):
        kwire.columns("MetadataResponse", 12, path, columns=columns)


def test_messages_and_versions_that_are_not_there_are_named_as_for_codecs() -> None:
    with pytest.raises(kwire.UnknownMessage, match="did you mean MetadataResponse"):
        kwire.columns("MetadataRespons", 1)
    with pytest.raises(kwire.UnsupportedVersion):
        kwire.arrow_schema("MetadataResponse", 99)
    draft = kwire.columns("TopicMetadataResponse", 1, profile="KIP-36")
    assert repr(draft).startswith("<kwire columns of TopicMetadataResponse v1: body_index, ")
