"""Spans: which bytes are which field, without gap or overlap, and with the faults on the bytes they are about."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import kwire
from kwire.codecs.schema_tree import grow_tree
from kwire.codecs.tracing import Span, TracingReader
from kwire.codecs.wire import BOOLEAN, INT8, INT16, NullableStruct, Reader
from kwire.errors import (
    BadBoolean,
    BadLength,
    BadMarker,
    BadText,
    DefaultTag,
    NegativeLength,
    OverlongVarint,
    TagOrder,
    TagSize,
    TagTwice,
    TrailingBytes,
    Truncated,
)
from kwire.schema.message_spec import MessageSpec
from tests.conftest import ROOT
from tests.messages.message_lists import founding_pairs
from tests.messages.small_specs import field, spec_of

THING = spec_of(
    field("Flag", "bool"),
    field("Names", "[]string", nullableVersions="0+"),
    field("In", "In", fields=[field("Id", "int16"), field("Empty", "Nothing", fields=[])]),
    field("Maybe", "Maybe", nullableVersions="0+", fields=[field("Y", "int8")]),
    field("Epoch", "int8", "2+", tag=0, taggedVersions="2+", default="-1"),
    field("Title", "string", "2+", tag=1, taggedVersions="2+"),
)
OLD = "01 00000002 0001 61 0000 0007 01 05"
FLEXIBLE = "01 03 02 61 01 0007 00 00 ff 03 00 01 05 01 02 02 62 09 02 abcd"


def trace(spec: MessageSpec, version: int, data: str, *, salvage: bool = False) -> TracingReader:
    reader = TracingReader(bytes.fromhex(data), salvage=salvage)
    grow_tree(spec, version)._parse(reader, None, "")
    return reader


def rows(reader: TracingReader) -> list[tuple[Any, ...]]:
    return [(span.start, span.stop, span.path, span.type, span.value) for span in reader.spans]


def faulty(reader: TracingReader) -> list[tuple[int, int, str, list[type]]]:
    """Return the spans with faults."""
    return [(span.start, span.stop, span.path, [type(f) for f in span.faults]) for span in reader.spans if span.faults]


def test_every_leaf_count_and_marker_has_a_span() -> None:
    assert rows(trace(THING, 0, OLD)) == [
        (0, 1, "flag", "bool", True),
        (1, 5, "names", "nullable array", 2),
        (5, 8, "names[0]", "string", "a"),
        (8, 10, "names[1]", "string", ""),
        (10, 12, "in_.id", "int16", 7),
        (12, 13, "maybe", "int8", 1),
        (13, 14, "maybe.y", "int8", 5),
    ]


def test_every_tag_has_a_span_for_its_head_and_those_of_its_value() -> None:
    assert rows(trace(THING, 2, FLEXIBLE)) == [
        (0, 1, "flag", "bool", True),
        (1, 2, "names", "compact nullable array", 2),
        (2, 4, "names[0]", "compact string", "a"),
        (4, 5, "names[1]", "compact string", ""),
        (5, 7, "in_.id", "int16", 7),
        (7, 8, "in_.empty.tagged_fields", "tag count", 0),
        (8, 9, "in_.tagged_fields", "tag count", 0),
        (9, 10, "maybe", "int8", -1),
        (10, 11, "tagged_fields", "tag count", 3),
        (11, 13, "epoch", "tag, size", (0, 1)),
        (13, 14, "epoch", "int8", 5),
        (14, 16, "title", "tag, size", (1, 2)),
        (16, 18, "title", "compact string", "b"),
        (18, 22, "unknown_tags[9]", "unknown tag", b"\xab\xcd"),
    ]


def test_null_has_a_span() -> None:
    assert rows(trace(THING, 0, "00 ffffffff 0000 ff"))[1] == (1, 5, "names", "nullable array", None)


def test_a_message_of_no_bytes_has_no_spans() -> None:
    assert trace(spec_of(flexible="none"), 0, "").spans == []


def test_a_class_of_constructs_own_is_named_after_its_class() -> None:
    from construct import Int16ub

    reader = TracingReader(b"\x00\x07")
    assert reader.child("port", Int16ub) == 7
    assert rows(reader) == [(0, 2, "port", "FormatField", 7)]


def test_tracing_reads_what_decoding_reads() -> None:
    for version, data in ((0, OLD), (2, FLEXIBLE)):
        plain = Reader(bytes.fromhex(data))
        message = grow_tree(THING, version)._parse(plain, None, "")
        reader = TracingReader(bytes.fromhex(data))
        assert grow_tree(THING, version)._parse(reader, None, "") == message
        assert (reader.pos, reader.faults, reader.pending) == (plain.pos, [], [])


def test_the_spans_of_kafkas_own_messages_cover_all_bytes_without_gap_or_overlap() -> None:
    pairs, tried = set(founding_pairs()), 0
    with gzip.open(ROOT / "fixtures/golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if (case["message"], case["version"]) in pairs:
                data = bytes.fromhex(case["hex"])
                spans = kwire.codec(case["message"], case["version"]).trace(data)
                assert [0, *(span.stop for span in spans)] == [*(span.start for span in spans), len(data)]
                assert all(span.start < span.stop for span in spans)
                tried += 1
    assert tried > 250


@pytest.mark.parametrize(
    ("version", "data", "spans"),
    [
        (0, "05 00000000 0007 ff", [(0, 1, "flag", [BadBoolean])]),
        (0, "01 fffffffe 0007 ff", [(1, 5, "names", [NegativeLength])]),
        (0, "02 00000001 0001 ff 0007 ff", [(0, 1, "flag", [BadBoolean]), (5, 8, "names[0]", [BadText])]),
        (0, "01 00000000 0007 02 05", [(7, 8, "maybe", [BadMarker])]),
        (0, "01 00000000 0007 fe", [(7, 8, "maybe", [BadMarker])]),
        (2, "01 8100 0007 00 00 ff 00", [(1, 3, "names", [OverlongVarint])]),
        (2, "01 01 0007 00 00 ff 8000", [(7, 9, "tagged_fields", [OverlongVarint])]),
        (2, "01 01 0007 00 00 ff 01 00 02 05", [(8, 10, "epoch", [TagSize])]),
        (2, "01 01 0007 00 00 ff 01 00 01 ff", [(8, 10, "epoch", [DefaultTag])]),
        (2, "01 01 0007 00 00 ff 01 00 8200 ff", [(8, 11, "epoch", [OverlongVarint, TagSize, DefaultTag])]),
        (
            2,
            "01 01 0007 00 00 ff 03 01 01 01 00 01 05 00 01 06",
            [(8, 10, "title", [DefaultTag]), (11, 13, "epoch", [TagOrder]), (14, 16, "epoch", [TagTwice])],
        ),
        (2, "01 01 0007 00 00 ff 01 01 02 02 ff", [(10, 12, "title", [BadText])]),
        (2, "01 01 0007 00 00 ff 02 09 00 00 01 05", [(10, 12, "epoch", [TagOrder])]),
    ],
)
def test_a_fault_is_on_the_span_of_its_bytes(version: int, data: str, spans: list[Any]) -> None:
    reader = trace(THING, version, data, salvage=True)
    assert faulty(reader) == spans
    assert (reader.pos, reader.pending) == (reader.end, [])
    assert [fault for span in reader.spans for fault in span.faults] == reader.faults


def test_a_default_tag_is_on_its_span_in_strict_too() -> None:
    assert faulty(trace(THING, 2, "01 01 0007 00 00 ff 01 00 01 ff")) == [(8, 10, "epoch", [DefaultTag])]


def test_a_fault_of_a_tag_with_a_long_value_is_on_the_head_of_the_tag() -> None:
    spec = spec_of(
        field("Ids", "[]int16", "2+", tag=0, taggedVersions="2+"), field("Z", "int8", "2+", tag=1, taggedVersions="2+")
    )
    reader = trace(spec, 2, "02 00 00 04 0001 0002 0003 01 01 05", salvage=True)
    assert faulty(reader) == [(1, 3, "ids", [TagSize])]
    assert [span.path for span in reader.spans][-3:] == ["ids[2]", "z", "z"]


def test_what_is_not_understood_is_a_last_span() -> None:
    reader = TracingReader(bytes.fromhex("01 00000002 0001 61 0005 62"), salvage=True)
    with pytest.raises(BadLength) as caught:
        grow_tree(THING, 0)._parse(reader, None, "")
    reader.leave_rest("not understood", caught.value)
    assert reader.spans[-1] == Span(8, 11, "names[1]", "not understood", b"\x00\x05b", (caught.value,))
    assert [span.stop for span in reader.spans[:-1]] == [1, 5, 8]


def test_what_is_left_over_is_a_last_span() -> None:
    reader = trace(THING, 0, OLD + "abcd", salvage=True)
    assert reader.finish() == b"\xab\xcd"
    reader.leave_rest("left over", reader.pending.pop())
    span = reader.spans[-1]
    assert (span.start, span.stop, span.path, span.type, span.value) == (14, 16, "", "left over", b"\xab\xcd")
    assert [type(fault) for fault in span.faults] == [TrailingBytes]


def test_a_fault_in_bytes_that_are_cut_stays_with_the_rest() -> None:
    reader = TracingReader(bytes.fromhex("0200"), salvage=True)
    with pytest.raises(Truncated) as caught:
        reader.child("it", NullableStruct(grow_tree(spec_of(field("Y", "int16")), 0)))
    reader.leave_rest("not understood", caught.value)
    assert [(span.start, span.stop) for span in reader.spans] == [(0, 1), (1, 2)]
    assert [[type(fault) for fault in span.faults] for span in reader.spans] == [[BadMarker], [Truncated]]


def test_nothing_is_left_where_all_is_understood() -> None:
    reader = trace(THING, 0, OLD)
    before = list(reader.spans)
    reader.leave_rest("left over", TrailingBytes())
    assert reader.spans == before


def test_a_reader_that_begins_later_covers_the_bytes_from_there_on() -> None:
    reader = TracingReader(bytes.fromhex("ffff 0007 01"), 2)
    assert (reader.child("id", INT16), reader.child("flag", BOOLEAN)) == (7, True)
    assert rows(reader) == [(2, 4, "id", "int16", 7), (4, 5, "flag", "bool", True)]
    reader = TracingReader(bytes.fromhex("ffff 00"), 2)
    with pytest.raises(Truncated) as caught:
        reader.child("id", INT16)
    reader.leave_rest("not understood", caught.value)
    assert rows(reader) == [(2, 3, "id", "not understood", b"\x00")]


def test_tracing_is_strict_unless_told() -> None:
    with pytest.raises(BadBoolean):
        TracingReader(b"\x05").child("flag", BOOLEAN)


def test_a_mark_of_no_bytes_is_no_span() -> None:
    reader = TracingReader(b"\x05")
    reader.mark(0, "nothing", None)
    assert reader.spans == []
    reader.prefix(INT8)
    assert rows(reader) == [(0, 1, "", "int8", 5)]
