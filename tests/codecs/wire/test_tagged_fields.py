"""Tagged fields: known ones, unknown ones kept byte for byte, and all that can be wrong with them (test plan T4)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kwire.codecs.tracing import TracingReader
from kwire.codecs.wire import (
    COMPACT_LENGTH,
    INT16,
    Array,
    Field,
    Reader,
    String,
    Struct,
    TaggedFields,
    join_tags,
    split_tags,
)
from kwire.codecs.wire.tagged_fields import is_default
from kwire.errors import (
    BadLength,
    BadTag,
    BadUnknownTags,
    BadVarint,
    DecodeError,
    DefaultTag,
    OverlongVarint,
    TagOfOtherVersion,
    TagOrder,
    TagSize,
    TagTwice,
    Truncated,
    UnknownTagOrder,
    WrongType,
)
from tests.codecs.wire.walks import read, refused, salvage, unwritable, written
from tests.linear_time.effort import at_most


class Thing(msgspec.Struct, frozen=True):
    name: Any = ""
    epoch: Any = -1
    ids: Any = ()
    unknown_tags: Any = None


# tag 0 is the name, tag 1 the epoch, tag 3 ids; tag 2 belongs to another version
KNOWN = {
    3: Field("ids", Array(INT16, COMPACT_LENGTH), json_name="ids", default=()),
    0: Field("name", String(COMPACT_LENGTH), json_name="name", default=""),
    1: Field("epoch", INT16, json_name="epoch", default=-1),
}
THING = Struct(Thing, [], TaggedFields(KNOWN, [1, 2]))
PLAIN = Struct(Thing, [], TaggedFields({}))
HIGHEST = "feffffff07"  # 2147483646


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", Thing()),
        ("01 00 02 02 61", Thing("a")),
        ("01 01 02 0007", Thing(epoch=7)),
        ("01 03 03 02 0007", Thing(ids=(7,))),
        ("03 00 02 02 61 01 02 0007 03 03 02 0007", Thing("a", 7, (7,))),
        ("01 05 00", Thing(unknown_tags=b"\x05\x00")),
        ("02 04 01 ab 05 02 abcd", Thing(unknown_tags=bytes.fromhex("0401ab 0502abcd"))),
        ("03 00 02 02 61 01 02 0007 04 00", Thing("a", 7, unknown_tags=b"\x04\x00")),
        (f"02 03 03 02 0007 {HIGHEST} 01 ff", Thing(ids=(7,), unknown_tags=bytes.fromhex(f"{HIGHEST} 01ff"))),
    ],
)
def test_a_section_is_written_as_it_is_read(data: str, value: Thing) -> None:
    assert read(THING, data) == value
    assert written(THING, value) == data.replace(" ", "")


def test_unknown_tags_are_written_between_the_known_ones() -> None:
    struct = Struct(Thing, [], TaggedFields({1: KNOWN[1], 7: KNOWN[0]}))
    data = "05 00 00 01 02 0007 05 01 ab 07 02 02 61 09 00"
    assert read(struct, data) == Thing("a", 7, unknown_tags=bytes.fromhex("0000 0501ab 0900"))
    assert written(struct, read(struct, data)) == data.replace(" ", "")


def test_a_section_of_tagged_fields_has_them_by_tag() -> None:
    section = TaggedFields(KNOWN, [1, 2, 9])
    assert list(section.fields) == [0, 1, 3]
    assert section.foreign == {2, 9}
    assert (section.type_name, section.least) == ("tagged fields", 1)


# data, value, faults (kind, offset, path, raw), what is written again
TOLERATED: list[tuple[str, Thing, list[tuple[type[DecodeError], int, str, str]]]] = [
    ("02 01 02 0007 00 02 02 61", Thing("a", 7), [(TagOrder, 5, "it.name", "00")]),
    ("02 03 03 02 0007 01 02 0007", Thing(epoch=7, ids=(7,)), [(TagOrder, 6, "it.epoch", "01")]),
    ("02 0a 00 01 02 0007", Thing(epoch=7, unknown_tags=b"\x0a\x00"), [(TagOrder, 3, "it.epoch", "01")]),
    ("02 01 02 0007 01 02 0008", Thing(epoch=8), [(TagTwice, 5, "it.epoch", "01020007")]),
    (
        "03 01 02 0007 01 02 0008 01 02 0009",
        Thing(epoch=9),
        [(TagTwice, 5, "it.epoch", "01020007"), (TagTwice, 9, "it.epoch", "01020008")],
    ),
    ("01 01 01 0007", Thing(epoch=7), [(TagSize, 1, "it.epoch", "0101")]),
    ("01 01 00 0007", Thing(epoch=7), [(TagSize, 1, "it.epoch", "0100")]),
    ("01 01 ffffffff07 0007", Thing(epoch=7), [(TagSize, 1, "it.epoch", "01ffffffff07")]),
    ("02 00 09 02 61 01 02 0007", Thing("a", 7), [(TagSize, 1, "it.name", "0009")]),
    ("8100 01 02 0007", Thing(epoch=7), [(OverlongVarint, 0, "it.tagged_fields", "8100")]),
    ("01 8100 02 0007", Thing(epoch=7), [(OverlongVarint, 1, "it.tagged_fields", "8100")]),
    ("01 01 8200 0007", Thing(epoch=7), [(OverlongVarint, 2, "it.tagged_fields", "8200")]),
    ("01 01 01 ffff", Thing(), [(TagSize, 1, "it.epoch", "0101"), (DefaultTag, 1, "it.epoch", "0101ffff")]),
]


@pytest.mark.parametrize(("data", "value", "faults"), TOLERATED)
def test_a_fault_in_known_tags_is_refused_in_strict_and_noted_in_salvage(
    data: str, value: Thing, faults: list[tuple[type[DecodeError], int, str, str]]
) -> None:
    kind, offset, path, raw = faults[0]
    error = refused(THING, data, kind)
    assert (error.offset, error.path, error.raw.hex()) == (offset, path, raw)
    assert salvage(THING, data) == (value, faults)


def test_a_wrong_size_is_told_with_the_right_one() -> None:
    error = refused(THING, "01 01 01 0007", TagSize)
    assert (error.found, error.have) == (1, 2)


@pytest.mark.parametrize(
    ("data", "path", "raw"),
    [
        ("01 00 01 01", "it.name", "000101"),
        ("01 01 02 ffff", "it.epoch", "0102ffff"),
        ("01 03 01 01", "it.ids", "030101"),
    ],
)
def test_a_tag_at_its_default_is_accepted_noted_and_left_out(data: str, path: str, raw: str) -> None:
    reader = Reader(bytes.fromhex(data))
    assert reader.child("it", THING) == Thing()
    assert [(type(f), f.offset, f.path, f.raw.hex()) for f in reader.faults] == [(DefaultTag, 1, path, raw)]
    assert salvage(THING, data) == (Thing(), [(DefaultTag, 1, path, raw)])
    assert written(THING, Thing()) == "00"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("data", "kind", "offset", "path", "facts"),
    [
        ("", Truncated, 0, "it.tagged_fields", {"need": 1, "have": 0}),
        ("01", BadLength, 0, "it.tagged_fields", {"found": 1, "need": 2, "have": 0}),
        ("02 0500 05", BadLength, 0, "it.tagged_fields", {"found": 2, "need": 4, "have": 3}),
        ("ffffffff07 0500", BadLength, 0, "it.tagged_fields", {"found": 2147483647, "need": 4294967294, "have": 2}),
        ("ffffffff0f 0500", BadLength, 0, "it.tagged_fields", {"found": 4294967295, "need": 8589934590, "have": 2}),
        ("ffffffffff01", BadVarint, 0, "it.tagged_fields", {"need": 5}),
        ("01 05 02 ab", BadLength, 2, "it.unknown_tags[5]", {"found": 2, "need": 2, "have": 1}),
        ("02 05 00 06 ffffffff07", BadLength, 4, "it.unknown_tags[6]", {"found": 2147483647, "have": 0}),
        ("01 05 ffffffff0f", BadLength, 2, "it.unknown_tags[5]", {"found": 4294967295, "have": 0}),
        ("01 00 02", Truncated, 3, "it.name", {"need": 1, "have": 0}),
        ("01 02 00", TagOfOtherVersion, 1, "it.unknown_tags", {"found": 2}),
        ("01 ffffffff07 00", BadTag, 1, "it.unknown_tags", {"found": 2147483647}),
        ("02 05 00 05 00", UnknownTagOrder, 3, "it.unknown_tags", {"found": 5, "need": 5}),
        ("03 05 00 06 00 05 00", UnknownTagOrder, 5, "it.unknown_tags", {"found": 5, "need": 6}),
    ],
)
def test_what_kafka_refuses_is_refused(
    data: str, kind: type[DecodeError], offset: int, path: str, facts: dict[str, int], lenient: bool
) -> None:
    error = refused(THING, data, kind, salvage=lenient)
    assert (error.offset, error.path) == (offset, path)
    assert {name: getattr(error, name) for name in facts} == facts


def test_what_was_read_before_an_error_is_kept() -> None:
    error = refused(THING, "03 00 02 02 61 05 01 ab 06 02 ff", BadLength)
    assert (error.offset, error.partial) == (9, {"name": "a", "unknown_tags": b"\x05\x01\xab"})
    error = refused(THING, "01 03 05 03 0007 00", BadLength)
    assert (error.path, error.partial) == ("it.ids", {})
    nested = Struct(Thing, [], TaggedFields({0: Field("name", THING, json_name="name", default=None)}))
    error = refused(nested, "01 00 08 02 00 02 0261 01 02 00", Truncated)
    assert (error.path, error.partial) == ("it.name.epoch", {"name": {"name": "a"}})


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"\x05", "1 bytes needed, 0 left"),
        (b"\x05\x02\xab", "2 bytes needed, 1 left"),
        (b"\xff" * 6, "a varint of more than 5 bytes"),
        (bytes.fromhex("0500 0500"), "[5, 5] do not ascend"),
        (bytes.fromhex("0100"), "tag 1 is not an unknown one"),
        (bytes.fromhex("0200"), "tag 2 is not an unknown one"),
        (bytes.fromhex("ffffffff07 00"), "tag 2147483647 is not an unknown one"),
        ("0500", "str is not bytes"),
        ([(5, b"")], "list is not bytes"),
    ],
)
def test_unknown_tags_that_could_not_be_read_again_are_not_written(raw: Any, found: str) -> None:
    text = f"it: the unknown tagged fields cannot be written: {found}"
    assert unwritable(THING, Thing(unknown_tags=raw), BadUnknownTags) == text


def test_unknown_tags_are_written_in_as_few_bytes_as_they_take() -> None:
    value, faults = salvage(PLAIN, "01 8500 8200 abcd")
    assert value == Thing(unknown_tags=bytes.fromhex("05 02 abcd"))
    assert [kind for kind, *_ in faults] == [OverlongVarint, OverlongVarint]
    assert written(PLAIN, value) == "010502abcd"
    assert written(PLAIN, Thing(unknown_tags=b"")) == "00"
    assert written(PLAIN, read(PLAIN, "01 00 00")) == "010000"
    assert written(PLAIN, Thing(unknown_tags=bytearray(b"\x05\x00"))) == "010500"


def test_a_known_tag_that_cannot_be_written_is_refused_by_its_name() -> None:
    assert unwritable(THING, Thing(epoch="7"), WrongType) == "it.epoch: int16 is needed, not str '7'"


@pytest.mark.parametrize(
    ("value", "default", "expected"),
    [
        ("", "", True),
        (None, "", False),
        ((), (), True),
        ([], (), True),
        ([0], (), False),
        (None, (), False),
        ("", (), False),
        (b"", (), False),
    ],
)
def test_a_default_is_what_need_not_be_written(value: Any, default: Any, expected: bool) -> None:
    assert is_default(value, default) is expected


def test_a_slice_of_unknown_tags_comes_apart_and_together() -> None:
    assert split_tags(bytes.fromhex("0502abcd 0900")) == [(5, b"\xab\xcd"), (9, b"")]
    assert (split_tags(None), split_tags(b"")) == ([], [])
    assert join_tags([(5, b"\xab\xcd"), (300, b"")]) == bytes.fromhex("0502abcd ac0200")
    assert join_tags([]) is None
    with pytest.raises(DecodeError):
        split_tags(b"\x05\x01")


def test_many_unknown_tags_are_one_slice_read_in_linear_time() -> None:
    pairs = [(tag, b"") for tag in range(100, 10_100)]
    raw = join_tags(pairs) or b""
    with at_most(2_000_000):
        value = read(PLAIN, "904e" + raw.hex())
    assert value == Thing(unknown_tags=raw)
    assert split_tags(value.unknown_tags) == pairs


def test_the_heads_of_tags_and_unknown_ones_are_marked() -> None:
    reader = TracingReader(bytes.fromhex("02 00 02 02 61 09 01 ab"))
    reader.child("it", THING)
    assert [(span.start, span.stop, span.type, span.value) for span in reader.spans] == [
        (0, 1, "tag count", 2),
        (1, 3, "tag, size", (0, 2)),
        (3, 5, "compact string", "a"),
        (5, 8, "unknown tag", b"\xab"),
    ]


def test_tags_that_kafka_reads_and_cannot_write_are_collected_until_the_reader_returns() -> None:
    reader = Reader(bytes.fromhex("03 05 00 04 00 01 02 0007"), salvage=True)
    state, reader.unwritable = reader.checkpoint(), set()
    assert reader.child("it", THING).epoch == 7
    assert reader.unwritable == {3}  # tag 4, behind 5
    assert {type(fault) for fault in reader.faults} == {TagOrder}
    reader.rewind(state)
    assert (reader.pos, reader.tagged, reader.path, reader.faults) == (0, 0, [], [])


def test_a_value_that_kafka_does_not_write_again_may_have_such_tags() -> None:
    outer = Struct(Thing, [], TaggedFields({0: Field("name", PLAIN, json_name="name", default=None)}))
    reader = Reader(bytes.fromhex("02 00 05 02 05 00 04 00 00 01 00"), salvage=True)
    reader.unwritable = set()
    assert reader.child("it", outer).name == Thing()
    assert reader.unwritable == set()
    assert {type(fault) for fault in reader.faults} == {TagOrder, TagTwice}
