"""Trees of a message at one version: what is present, nullable, tagged, compact, and what bytes that makes."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs import wire
from kwire.codecs.schema_tree import grow_tree
from kwire.errors import NotInVersion, NullNotAllowed, NullNotWritable, TagOfOtherVersion
from kwire.schema.catalog import catalog_for
from kwire.schema.message_spec import MessageSpec
from tests.messages.message_lists import draft_triples, released_pairs
from tests.messages.small_specs import field, spec_of, struct


def names(spec: MessageSpec, version: int) -> str:
    """Write a tree's fields in wire order, tagged ones behind a bar, absent ones in brackets."""
    tree = grow_tree(spec, version)
    tagged = [f"{tag}:{f.name}" for tag, f in tree.tagged.fields.items()] if tree.tagged else ["-"]
    return " ".join([*(f.name for f in tree.fields), "|", *tagged, *(f"({a.name})" for a in tree.absent)])


@pytest.mark.parametrize(
    ("version", "seen"),
    [
        (0, "first second | - (third) (fourth) (fifth)"),
        (1, "first third | - (second) (fourth) (fifth)"),
        (2, "first third fourth | 0:fifth (second)"),
        (3, "first third | 0:fifth 1:fourth (second)"),
    ],
)
def test_a_field_is_there_tagged_or_absent_by_version(version: int, seen: str) -> None:
    spec = spec_of(
        field("First"),
        field("Second", versions="0"),
        field("Third", versions="1+"),
        field("Fourth", versions="2+", tag=1, taggedVersions="3+"),
        field("Fifth", versions="2+", tag=0, taggedVersions="2+"),
    )
    assert names(spec, version) == seen


@pytest.mark.parametrize(
    ("type_name", "keys", "plain", "flexible"),
    [
        ("bool", {}, "bool", "bool"),
        ("int8", {}, "int8", "int8"),
        ("int16", {}, "int16", "int16"),
        ("uint16", {}, "uint16", "uint16"),
        ("int32", {}, "int32", "int32"),
        ("uint32", {}, "uint32", "uint32"),
        ("int64", {}, "int64", "int64"),
        ("float64", {}, "float64", "float64"),
        ("uuid", {}, "uuid", "uuid"),
        ("string", {}, "string", "compact string"),
        ("string", {"nullableVersions": "0"}, "nullable string", "compact string"),
        ("string", {"nullableVersions": "2+"}, "string", "compact nullable string"),
        ("string", {"flexibleVersions": "none"}, "string", "string"),
        ("bytes", {}, "bytes", "compact bytes"),
        ("bytes", {"flexibleVersions": "3+"}, "bytes", "bytes"),
        ("records", {"nullableVersions": "0+"}, "nullable records", "compact nullable records"),
        ("[]int32", {}, "array", "compact array"),
        ("[]string", {"nullableVersions": "2+"}, "array", "compact nullable array"),
        ("In", {"fields": [field()]}, "struct", "struct"),
        ("In", {"fields": [field()], "nullableVersions": "2+"}, "struct", "nullable struct"),
        ("[]In", {"fields": [field()], "nullableVersions": "0+"}, "nullable array", "compact nullable array"),
    ],
)
def test_a_type_is_a_node_by_version(type_name: str, keys: dict[str, Any], plain: str, flexible: str) -> None:
    spec = spec_of(field("It", type_name, **keys))
    assert [grow_tree(spec, version).fields[0].subcon.type_name for version in (0, 2)] == [plain, flexible]


def test_the_elements_of_an_array_are_compact_and_never_null() -> None:
    spec = spec_of(field("It", "[]string", nullableVersions="0+"), field("In", "[]In", fields=[field()]))
    for version, element in ((0, "string"), (2, "compact string")):
        texts, structs = (f.subcon for f in grow_tree(spec, version).fields)
        assert isinstance(texts, wire.Array)
        assert isinstance(structs, wire.Array)
        assert (texts.element.type_name, structs.element.type_name) == (element, "struct")


def test_a_nullable_struct_has_another_marker_where_it_is_tagged() -> None:
    spec = spec_of(
        field(
            "It", "In", tag=0, taggedVersions="3+", nullableVersions="0+", default="null", fields=[field("X", "int8")]
        )
    )
    message: Any = grow_tree(spec, 0).message_class
    full = message(it=message.In(x=7))
    assert [grow_tree(spec, version).build(message()).hex() for version in (0, 2, 3)] == ["ff", "ff00", "00"]
    assert [grow_tree(spec, version).build(full).hex() for version in (0, 2, 3)] == [
        "0107",
        "01070000",
        "010003010700",
    ]


def test_a_field_brings_its_names_default_and_docs_to_the_tree() -> None:
    spec = spec_of(
        field("TopicId", "uuid", about="Which topic.", default="AAAAAAAAAAAAAAAAAAAAAQ"),
        field("In", "In", fields=[field("Y", default="7")]),
    )
    topic_id, inner = grow_tree(spec, 0).fields
    assert (topic_id.name, topic_id.json_name, topic_id.docs) == ("topic_id", "topicId", "Which topic.")
    assert (topic_id.default, inner.default.y) == (bytes(15) + b"\x01", 7)


def test_an_absent_field_has_its_versions_and_whether_it_is_ignorable() -> None:
    spec = spec_of(
        field("Later", "string", "2+", ignorable=True),
        field("Gone", "[]int32", "0"),
        field("Never", versions="9+", default="-1"),
    )
    assert grow_tree(spec, 1).absent == (
        wire.Absent("later", "later", "", True, 2, 3),
        wire.Absent("gone", "gone", (), False, 0, 0),
        wire.Absent("never", "never", -1, False, None, None),
    )


def test_tags_of_other_versions_are_foreign() -> None:
    spec = spec_of(
        field("A", tag=0, taggedVersions="2+"),
        field("B", versions="3+", tag=1, taggedVersions="3+"),
        field("C", versions="0+", tag=2, taggedVersions="3+"),
    )
    tagged = [grow_tree(spec, version).tagged for version in (1, 2, 3)]
    assert tagged[0] is None
    assert [section.foreign for section in tagged[1:] if section] == [{1, 2}, set()]
    with pytest.raises(TagOfOtherVersion):
        grow_tree(spec, 2).parse(bytes.fromhex("00000000 01 01 04 00000007"))


BOTH = struct("Both", field("Name", "string", "0-1"), field("Id", "int8", "2+"), field("Old", "int8", "0"))
SHARED = spec_of(field("One", "Both", "1+"), field("Many", "[]Both"), commonStructs=[BOTH])


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, "00000001 0001 61 05"),
        (1, "0000 00000001 0001 61"),
        (2, "00 00 02 07 00 00"),
    ],
)
def test_a_common_struct_is_laid_out_by_version_wherever_it_is(version: int, data: str) -> None:
    tree = grow_tree(SHARED, version)
    message: Any = tree.parse(bytes.fromhex(data))
    assert tree.build(message) == bytes.fromhex(data)
    (one,) = message.many
    assert (one.name, one.id, one.old) == [("a", 0, 5), ("a", 0, 0), ("", 7, 0)][version]
    assert type(message).Both is type(one)


def test_what_a_version_lacks_is_refused_and_the_first_version_named() -> None:
    message: Any = grow_tree(SHARED, 0).message_class
    with pytest.raises(NotInVersion) as caught:
        grow_tree(SHARED, 1).build(message(many=(message.Both(id=3),)))
    assert (caught.value.path, caught.value.hint) == ("many[0].id", "the first version that has it is 2")


def test_null_is_allowed_where_the_version_allows_it() -> None:
    spec = spec_of(field("Names", "[]string", nullableVersions="1+"))
    message: Any = grow_tree(spec, 1).message_class
    assert grow_tree(spec, 1).build(message(names=None)) == b"\xff\xff\xff\xff"
    with pytest.raises(NullNotWritable):
        grow_tree(spec, 0).build(message(names=None))
    with pytest.raises(NullNotAllowed):
        grow_tree(spec, 0).parse(b"\xff\xff\xff\xff")


def test_every_element_of_every_released_tree_and_draft_takes_bytes() -> None:
    triples = [("", name, version) for name, version in released_pairs()] + draft_triples()
    assert len(triples) == 897 + 9
    for profile, name, version in triples:
        tree = grow_tree(catalog_for(profile).spec(name, version), version)
        assert all(node.element.least > 0 for node in arrays(tree)), (name, version)


def arrays(tree: wire.Struct) -> list[wire.Array]:
    found = []
    for part in tree.all_fields:
        node: Any = part.subcon
        found += [node] if isinstance(node, wire.Array) else []
        inner = getattr(node, "element", getattr(node, "subcon", node))
        found += arrays(inner) if isinstance(inner, wire.Struct) else []
    return found
