"""Tagged sections, compiled."""

from __future__ import annotations

from kwire.codecs.wire import join_tags
from kwire.errors import (
    BadLength,
    BadTag,
    DefaultTag,
    TagOfOtherVersion,
    TagOrder,
    TagSize,
    TagTwice,
    UnknownTagOrder,
)
from tests.codecs.fallback.codecs_of import codec_of, comes_back, refused, unread
from tests.messages.small_specs import field

KNOWN = (
    field("X", "int8", tag=0, taggedVersions="2+", versions="2+", default="7"),
    field("Words", "[]string", tag=1, taggedVersions="2+", versions="2+"),
    field("Later", "int8", tag=2, taggedVersions="4+", versions="4+"),
)
CODEC = codec_of(*KNOWN, valid="0-4")
PLAIN = codec_of(field("N", "int8"))


def test_known_and_unknown_tags_come_back_in_their_order() -> None:
    unknown = join_tags([(3, b"a"), (4, b""), (5, b"b" * 200), (2**31 - 2, b"c")])
    assert comes_back(CODEC, x=1, words=("one", "two"), unknown_tags=unknown).startswith(b"\6\0\1\1\1\t\3")
    comes_back(CODEC, words=("one",) * 100)
    comes_back(CODEC, x=7)
    comes_back(PLAIN, n=1, unknown_tags=join_tags([(0, b"a"), (7, b"b" * 128)]))
    assert CODEC.encode(CODEC.message_class(words=[])) == b"\0"
    assert CODEC.encode(CODEC.message_class(unknown_tags=b"")) == b"\0"


def test_sections_that_are_out_of_order_or_size_are_told_apart() -> None:
    assert unread(CODEC, "01 01 04 02 02 61 00") is TagSize
    assert unread(CODEC, "02 01 03 02 02 61 00 01 05") is TagOrder
    assert unread(CODEC, "02 00 01 05 00 01 06") is TagTwice
    assert unread(CODEC, "01 00 02 05 00") is TagSize
    assert unread(CODEC, "01 02 01 05") is TagOfOtherVersion
    assert unread(CODEC, "01 ffffffff07 00") is BadTag
    assert unread(CODEC, "02 05 00 04 00") is UnknownTagOrder
    assert unread(PLAIN, "05 02 04 00 04 00") is UnknownTagOrder
    assert unread(PLAIN, "05 01 04 09 00") is BadLength
    assert unread(CODEC, "7f 04 00") is BadLength


def test_a_tag_that_holds_its_default_is_left_to_the_reference_path() -> None:
    message, faults, _ = CODEC.decode(bytes.fromhex("01 00 01 07"), salvage=True)
    assert (message.x, [type(fault) for fault in faults]) == (7, [DefaultTag])
    assert CODEC.decode(bytes.fromhex("01 00 01 07")) == message


def test_unknown_tags_that_cannot_be_written_are_refused() -> None:
    for raw in (b"\5", b"\1\0", b"\2\0", b"\5\0\4\0", "text", 5):
        assert "unknown tagged fields cannot be written" in refused(CODEC, unknown_tags=raw)
    assert "no tagged fields" in refused(codec_of(field("N"), version=0), unknown_tags=b"\5\0")
