"""What can be wrong with bytes: every kin of DecodeError has words, and is tolerated or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import errors as faults
from kwire.codecs.wire import Reader
from kwire.errors import DecodeError
from tests.cases import case_by_case

# kind -> (facts, text); refused in strict and in salvage
REFUSED: dict[type[DecodeError], tuple[dict[str, Any], str]] = {
    faults.Truncated: ({"need": 4, "have": 3}, "4 bytes needed, 3 left"),
    faults.BadLength: ({"found": 9, "need": 36, "have": 3}, "length 9 needs 36 bytes, 3 left"),
    faults.NullNotAllowed: ({"found": -1}, "null (length -1) is not allowed here"),
    faults.StringTooLong: ({"found": 32768}, "text of 32768 bytes; at most 32767 are allowed"),
    faults.BadVarint: ({"need": 5}, "a varint of more than 5 bytes"),
    faults.BadTag: ({"found": 2147483647}, "tag 2147483647 is outside 0 to 2147483646"),
    faults.TagOfOtherVersion: ({"found": 1}, "tag 1 does not belong to this version"),
    faults.UnknownTagOrder: ({"found": 8, "need": 9}, "unknown tag 8 comes after tag 9"),
    faults.TooManyFaults: ({"need": 10000}, "more than 10000 faults"),
    faults.NoColumns: ({"found": 2**31}, "a body of 2147483648 bytes cannot be made into columns"),
    faults.BadFrame: ({"found": -1, "need": 4, "have": 100}, "a frame of -1 bytes; sizes from 4 to 100 are read"),
    faults.BytesAfterFrame: (
        {"behind": "3 more bytes follow"},
        "3 more bytes follow",
    ),
    faults.UnknownApi: ({"found": 999}, "api key 999 is not known"),
    faults.UnknownVersion: ({"found": ("Fetch", 99, "0-18")}, "Fetch has no version 99; versions: 0-18"),
    faults.UnexpectedResponse: (
        {"found": 7, "need": 6},
        "no request with correlation id 7 is in flight",
    ),
    faults.BadRecords: ({}, "the bytes do not decode"),
    faults.BadBatchLength: ({"found": 5, "need": 14}, "length 5; a batch has 14 bytes at least"),
    faults.BadRecordSize: ({"found": 7, "have": 6}, "the record's size field is 7, its fields take 6 bytes"),
    faults.BadRecordCount: (
        {"found": 9, "have": 3},
        "the count of 9 records and the end of the batch do not agree; 3 were read",
    ),
    faults.EmptyMessageSet: ({}, "a compressed message with no message inside"),
    faults.NestedCompression: ({}, "a compressed message inside a compressed one"),
    faults.BadOuterOffset: (
        {"found": 3, "need": 5},
        "offset 3 of the outer message is less than 5, the offset of the last inner one",
    ),
    faults.UnknownMagic: ({"found": 3}, "magic 3; 0, 1 and 2 are known"),
    faults.UnknownCompression: ({"found": (5, 2)}, "compression 5 does not exist in magic 2"),
    faults.BadCompression: (
        {"found": ("lz4", "the frame is cut off")},
        "the records do not decompress as lz4: the frame is cut off",
    ),
    faults.LimitExceeded: (
        {"found": "gzip", "have": 100, "need": 67108864},
        "100 bytes of gzip hold more than 67108864 bytes",
    ),
}
# kind -> (facts, text); refused in strict, noted in salvage
TOLERATED: dict[type[faults.Tolerated], tuple[dict[str, Any], str]] = {
    faults.TrailingBytes: ({"have": 5}, "5 bytes left over after the message"),
    faults.NegativeLength: ({"found": -2}, "length -2; null is written as -1"),
    faults.OverlongVarint: ({"have": 2, "need": 1}, "a varint of 2 bytes; 1 would suffice"),
    faults.BadText: ({}, "the text is not UTF-8"),
    faults.BadBoolean: ({"found": 2}, "boolean byte 2; 0 and 1 are written"),
    faults.BadMarker: ({"found": 0}, "marker 0 before a nullable struct"),
    faults.TagOrder: ({"found": 0, "need": 3}, "tag 0 comes after tag 3"),
    faults.TagTwice: ({"found": 0}, "tag 0 is given twice"),
    faults.TagSize: ({"found": 4, "have": 8}, "the tag's size field is 4, its value takes 8 bytes"),
    faults.BadChecksum: (
        {"found": ("0x000000ff", "0x000000fe")},
        "checksum 0x000000ff; the bytes have 0x000000fe",
    ),
    faults.CutBatch: ({"need": 61, "have": 40}, "the batch is cut off: 61 bytes needed, 40 left"),
    faults.MixedMagic: ({"found": 0, "need": 1}, "a message of magic 0 in a message set of magic 1"),
    faults.DefaultTag: ({"found": 0}, "tag 0 holds its default value"),
}
WITH_HINT = {
    faults.Truncated: "the bytes are cut short, or they are another message or version",
    faults.BadLength: "the bytes are cut short, or they are another message or version",
    faults.NullNotAllowed: "another version of the message may allow it",
    faults.StringTooLong: "probably another message or version",
    faults.BadVarint: "probably another message or version",
    faults.TagOfOtherVersion: "try another version",
    faults.NoColumns: "decode it",
    faults.TooManyFaults: "probably another message or version; the error's rest has the bytes from here on",
    faults.BytesAfterFrame: "split the bytes: kwire.FrameReader().feed(data)",
    faults.BadFrame: "the input may not be frames, or begin in the middle of one",
    faults.UnknownApi: "the key may belong to a profile or to a vendor's specs",
    faults.UnknownVersion: "a newer broker or client; or these bytes are not a Kafka frame",
    faults.UnexpectedResponse: "name what it answers: --as Metadata:12",
    faults.BadBatchLength: "these bytes are not record batches, or do not begin at the start of one",
    faults.UnknownMagic: "a newer broker or client; or these bytes are not record batches",
    faults.LimitExceeded: "allow more with limit=",
    faults.BadChecksum: "the bytes were damaged or changed after they were written",
    faults.TrailingBytes: "perhaps a newer version with more fields",
}


def kin(kind: type[DecodeError]) -> Iterator[type[DecodeError]]:
    for sub in kind.__subclasses__():
        if sub.__module__.startswith("kwire.errors"):  # not those of `kwire.protocol.frames.stream_faults`
            yield sub
            yield from kin(sub)


def test_the_tables_hold_every_kin() -> None:
    assert set(kin(DecodeError)) == {*REFUSED, *TOLERATED, faults.Tolerated}
    assert set(kin(faults.Tolerated)) == set(TOLERATED)


@case_by_case("kind", [*REFUSED, *TOLERATED], ids=lambda kind: kind.__name__)
def test_every_kin_has_words_of_its_own(kind: type[DecodeError]) -> None:
    facts, text = (REFUSED | TOLERATED)[kind]
    error = kind(offset=12, segments=["topics", 0], message="Fetch", version=4, **facts)
    assert error.reason == text
    assert str(error) == f"Fetch v4: topics[0]: {text} (offset 12)"
    assert error.hint == WITH_HINT.get(kind, "")
    assert kind.__doc__


def test_codes_are_stable_names() -> None:
    codes = {kind.__name__: kind.code for kind in kin(DecodeError) if isinstance(kind.code, str)}
    assert {name: code for name, code in codes.items() if code != "BAD_FIELD"} == {
        "Truncated": "TRUNCATED",
        "BadLength": "TRUNCATED",
        "UnknownApi": "UNSUPPORTED_API",
        "UnknownVersion": "UNSUPPORTED_VERSION",
        "UnexpectedResponse": "NO_REQUEST",
        "TrailingBytes": "TRAILING_BYTES",
    }
    found = [faults.BadFrame(found=found, need=4, have=100).code for found in (3, -1, 101)]
    assert found == ["BAD_SIZE", "BAD_SIZE", "OVERSIZE"]


def test_the_docstring_of_the_module_names_every_kin() -> None:
    drawn = re.findall(r"\w+", faults.__doc__ or "")
    assert {kind.__name__ for kind in kin(DecodeError)} <= set(drawn)


@pytest.mark.parametrize("kind", TOLERATED, ids=lambda kind: kind.__name__)
def test_a_tolerated_kin_is_raised_in_strict_and_noted_in_salvage(kind: type[faults.Tolerated]) -> None:
    facts, text = TOLERATED[kind]
    with pytest.raises(kind) as caught:
        Reader(b"abc").fault(kind, 1, **facts)
    assert caught.value.reason == text
    reader = Reader(b"abc", salvage=True)
    reader.fault(kind, 1, **facts)
    assert [(type(fault), fault.offset, fault.reason) for fault in reader.faults] == [(kind, 1, text)]


@case_by_case("salvage", [False, True])
@case_by_case("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_any_other_kin_is_raised_in_salvage_too(kind: type[DecodeError], salvage: bool) -> None:
    facts, text = REFUSED[kind]
    assert not issubclass(kind, faults.Tolerated)
    with pytest.raises(kind) as caught:
        Reader(b"abc", salvage=salvage).refuse(kind, 1, **facts)
    assert (caught.value.reason, caught.value.rest) == (text, b"bc")


def test_kin_that_are_caught_together() -> None:
    assert issubclass(faults.BadLength, faults.Truncated)
    assert issubclass(faults.TagOfOtherVersion, faults.BadTag)
    assert issubclass(faults.UnknownTagOrder, faults.BadTag)
    assert not issubclass(faults.TagOrder, faults.BadTag)
    assert {kind.__name__ for kind in kin(faults.BadRecords)} == {
        *"BadBatchLength BadRecordSize BadRecordCount EmptyMessageSet NestedCompression BadOuterOffset".split(),
        *"UnknownMagic UnknownCompression BadCompression LimitExceeded".split(),
    }
