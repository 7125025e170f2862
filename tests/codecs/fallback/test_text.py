"""Lengths, and what has one in front, compiled."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import (
    BadLength,
    BadText,
    BadVarint,
    NegativeLength,
    NullNotAllowed,
    OverlongVarint,
    StringTooLong,
)
from tests.codecs.fallback.codecs_of import codec_of, comes_back, refused, unread
from tests.messages.small_specs import field

LENGTHS = (0, 1, 125, 126, 127, 128, 129, 16382, 16383, 16384, 32766, 32767)
NULLABLE = {"nullableVersions": "0+", "default": "null"}
NUMBER = field("N")  # in front, so that a length is read in one run with it


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("keys", [{}, NULLABLE], ids=["never null", "nullable"])
@pytest.mark.parametrize("before", [(), (NUMBER,)], ids=["alone", "in a run"])
def test_text_and_bytes_of_every_length_come_back(version: int, keys: dict[str, Any], before: tuple[Any, ...]) -> None:
    text = codec_of(*before, field("X", "string", **keys), version=version)
    raw = codec_of(*before, field("X", "bytes", **keys), version=version)
    for length in LENGTHS:
        comes_back(text, x="x" * length)
        comes_back(raw, x=b"x" * length)
    comes_back(raw, x=bytes(100_000))
    assert refused(text, x="x" * 32768).startswith("x: text of 32768 bytes")
    for codec in (text, raw):
        comes_back(codec, x=None) if keys else None
        assert keys or refused(codec, x=None) == "x: null is not allowed here"


@pytest.mark.parametrize("before", [(), (NUMBER,)], ids=["alone", "in a run"])
def test_lengths_that_are_null_negative_or_too_long_are_told_apart(before: tuple[Any, ...]) -> None:
    front = "00000001" * len(before)
    compact = codec_of(*before, field("X", "string"))
    assert unread(compact, front + "00 00") is NullNotAllowed
    assert unread(compact, front + "8100 00") is OverlongVarint
    assert unread(compact, front + "8080808080 00") is BadVarint
    assert unread(compact, front + "05 6161 00") is BadLength
    assert unread(compact, front + "81 80 02" + "61" * 32768 + "00") is StringTooLong
    assert unread(compact, front + "02 ff 00") is BadText
    plain = codec_of(*before, field("X", "string"), version=0)
    assert unread(plain, front + "ffff") is NullNotAllowed
    nullable = codec_of(*before, field("X", "string", **NULLABLE), version=0)
    assert unread(nullable, front + "fffe") is NegativeLength
    long = codec_of(*before, field("X", "bytes", **NULLABLE), version=0)
    assert unread(long, front + "fffffffe") is NegativeLength
    assert unread(long, front + "7fffffff") is BadLength


def test_anything_like_bytes_is_written_and_text_of_its_own_class() -> None:
    class Word(str):
        pass

    codec = codec_of(field("X", "bytes"), field("Y", "string"))
    for kind in (bytes, bytearray, memoryview):
        assert codec.encode(codec.message_class(x=kind(b"ab"), y=Word("é"))).hex() == "03616203c3a900"
    assert refused(codec, x="ab").startswith("x: compact bytes is needed")
    assert refused(codec, y=b"ab").startswith("y: compact string is needed")
    assert refused(codec, y="\ud800").startswith("y: text without lone surrogates")
    assert refused(codec, y="é" * 16384).startswith("y: text of 32768 bytes")


def test_records_are_bytes() -> None:
    codec = codec_of(field("X", "records", nullableVersions="0+"))
    comes_back(codec, x=b"\1\2\3")
    comes_back(codec, x=None)
