"""Structs, compiled: by position, with what the version lacks, nullable ones."""

from __future__ import annotations

import pytest

from kwire.codecs.fallback.generated_python import compile_decoder
from kwire.codecs.fallback.source_builder import NoEmitter
from kwire.errors import BadMarker
from tests.codecs.fallback.codecs_of import codec_of, comes_back, refused, unread
from tests.messages.small_specs import field


def test_fields_of_other_versions_have_their_defaults_wherever_they_stand() -> None:
    codec = codec_of(
        field("Gone", "string", versions="0-1", default="was"),
        field("X"),
        field("Late", "[]int32", versions="3+"),
        field("Never", "float64", versions="0", default="0.5", ignorable=True),
        field("Y", "int8"),
        field("Inner", "Part", versions="0", fields=[field("Z")]),
        version=2,
    )
    assert comes_back(codec, x=1, y=2).hex() == "000000010200"
    message = codec.decode(bytes.fromhex("000000010200"))
    assert (message.gone, message.late, message.never, message.inner.z) == ("was", (), 0.5, 0)
    assert refused(codec, gone="is").startswith("gone: 'is' would be lost")
    assert refused(codec, late=(1,)).startswith("late: (1,) would be lost")
    assert codec.encode(codec.message_class(x=1, y=2, late=[], never=1.5)).hex() == "000000010200"
    assert refused(codec, late=None).startswith("late: None would be lost")


def test_a_message_of_another_class_is_refused_at_any_depth() -> None:
    codec = codec_of(field("X", "[]Part", fields=[field("Y")]), field("Z", "Other", fields=[field("W")]))
    part, other = getattr(codec.message_class, "Part"), getattr(codec.message_class, "Other")  # noqa: B009
    comes_back(codec, x=(part(y=1),), z=other(w=2))
    assert refused(codec, x=(other(w=1),)).startswith("x[0]: a <spec>.Thing.Part is needed")
    assert refused(codec, z=part(y=1)).startswith("z: a <spec>.Thing.Other is needed")
    assert refused(codec, x=((1,),)).startswith("x[0]: a <spec>.Thing.Part is needed")


@pytest.mark.parametrize("tagged", [False, True])
def test_a_nullable_struct_has_one_marker_for_null_and_one_for_a_struct(tagged: bool) -> None:
    keys = {"tag": 0, "taggedVersions": "2+"} if tagged else {}
    struct = field(
        "X", "Part", versions="2+", nullableVersions="2+", default="null", fields=[field("Y", "int8")], **keys
    )
    codec = codec_of(field("N", "int8"), struct)
    part = getattr(codec.message_class, "Part")  # noqa: B009
    there, nothing = comes_back(codec, n=5, x=part(y=7)), comes_back(codec, n=5, x=None)
    assert there.hex() == ("05 01 00 03 01 07 00" if tagged else "05 01 07 00 00").replace(" ", "")
    assert nothing.hex() == ("0500" if tagged else "05ff00")
    assert unread(codec, "05 01 00 03 02 07 00" if tagged else "05 02 07 00 00") is BadMarker
    assert unread(codec, "05 01 00 01 80" if tagged else "05 80 00")


def test_a_tree_that_does_not_fit_its_class_is_not_compiled() -> None:
    codec = codec_of(field("X"), field("Y"))
    codec.schema.fields = codec.schema.fields[:1]
    with pytest.raises(NoEmitter, match="the fields of Thing and of its tree differ"):
        compile_decoder(codec.schema, "thing")
