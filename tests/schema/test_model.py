"""The nouns of a spec."""

from __future__ import annotations

import dataclasses

import pytest

from kwire.schema.message_spec import FieldSpec, MessageSpec, StructSpec
from kwire.schema.version_ranges import NONE, Versions

ALL = Versions.parse("0+")


def field(name: str = "TopicId", type: str = "uuid", struct: StructSpec | None = None) -> FieldSpec:
    return FieldSpec("Topic", name, type, ALL, struct=struct)


@pytest.mark.parametrize(
    ("type_name", "is_array", "element"),
    [
        ("int32", False, "int32"),
        ("[]int32", True, "int32"),
        ("Broker", False, "Broker"),
        ("[]Broker", True, "Broker"),
    ],
)
def test_the_type_of_an_array_names_its_element(type_name: str, is_array: bool, element: str) -> None:
    assert field(type=type_name).is_array is is_array
    assert field(type=type_name).element == element


def test_a_field_has_a_name_in_python_and_one_in_json() -> None:
    assert (field().attribute, field().json_name) == ("topic_id", "topicId")
    isr = dataclasses.replace(field("IsNew"), owner="LeaderAndIsrPartitionState")
    assert (isr.attribute, isr.json_name) == ("is_new_replica", "isNew")
    assert (field("IsNew").attribute, field("From").attribute) == ("is_new", "from_")


def test_the_docstring_of_a_field_is_minimal() -> None:
    given = FieldSpec("Topic", "X", "int32", ALL)
    assert (given.nullable_versions, given.tagged_versions, given.flexible_versions) == (NONE, NONE, None)
    assert (given.tag, given.default, given.struct) == (None, None, None)
    assert (given.ignorable, given.map_key, given.zero_copy) == (False, False, False)
    assert (given.entity_type, given.about) == ("unknown", "")


@pytest.mark.parametrize(
    ("type_name", "name", "api_name"),
    [
        ("request", "MetadataRequest", "Metadata"),
        ("response", "MetadataResponse", "Metadata"),
        ("request", "PullResponseRequest", "PullResponse"),
        ("response", "RequestResponse", "Request"),
        ("header", "RequestHeader", "RequestHeader"),
        ("data", "LateRequest", "LateRequest"),
        ("data", "SomeData", "SomeData"),
    ],
)
def test_a_message_is_named_after_its_api(type_name: str, name: str, api_name: str) -> None:
    assert MessageSpec(name, type_name, 3, ALL, NONE, StructSpec(name, ALL, ())).api_name == api_name


@pytest.mark.parametrize(
    ("profile", "release", "origin"), [("", "", ""), ("KIP-36", "", "KIP-36"), ("", "3.6", "Kafka 3.6")]
)
def test_a_layout_that_is_not_the_newest_names_its_release(profile: str, release: str, origin: str) -> None:
    own = StructSpec("Thing", ALL, ())
    assert MessageSpec("Thing", "data", None, ALL, NONE, own, profile=profile, release=release).origin == origin


def test_the_docstring_of_a_message_is_minimal() -> None:
    spec = MessageSpec("Thing", "data", None, ALL, NONE, StructSpec("Thing", ALL, ()))
    assert (spec.listeners, spec.latest_version_unstable, spec.deprecated_versions) == ((), False, NONE)
    assert (spec.file, spec.profile, spec.release) == ("", "", "")


def test_structs_come_once_each_and_inner_ones_first() -> None:
    deep = StructSpec("Deep", ALL, (field(),))
    middle = StructSpec("Middle", ALL, (field("D", "Deep", deep), field("E", "[]Deep", deep)))
    other = StructSpec("Other", ALL, (field("D", "[]Deep", deep),))
    own = StructSpec("Thing", ALL, (field("M", "[]Middle", middle), field(), field("O", "Other", other)))
    spec = MessageSpec("Thing", "data", None, ALL, NONE, own)
    assert list(spec.structs()) == [deep, middle, other, own]


def test_specs_are_frozen_and_each_is_itself_only() -> None:
    for noun, name in ((field(), "name"), (StructSpec("A", ALL, ()), "fields")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(noun, name, None)
        assert noun == noun
        assert noun != dataclasses.replace(noun)
        assert len({noun, dataclasses.replace(noun)}) == 2
