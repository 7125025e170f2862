"""Bytes that mean harm: what they decode to takes a bounded number of bytes for each of theirs (test plan T13)."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import kwire
from kwire.codecs.fast_path import choose_fast_path
from kwire.codecs.wire.varints import unsigned_varint
from tests.codecs.fallback.codecs_of import codec_of
from tests.conftest import spread
from tests.executions import FAST
from tests.messages.small_specs import field

LIVE, PEAK = 40, 2 << 20
SIZE = 1 << 19

EMPTY = codec_of(field("Parts", "[]Part", fields=[field("Gone", versions="0-1")]))
NESTED = codec_of(field("Parts", "[]Part", fields=[field("Inner", "[]Inner", fields=[field("N", "int8")])]))
TEXT = codec_of(field("Words", "[]string"))
NUMBERS = codec_of(field("Numbers", "[]int16"))


def counted(element: bytes) -> bytes:
    """Return a compact array of as many elements as go into the size, and an empty tagged section."""
    count = SIZE // len(element)
    return unsigned_varint(count + 1) + element * count + b"\0"


CASES: dict[str, tuple[Any, Callable[[], bytes]]] = {
    "structs of nothing but their tags": (EMPTY, lambda: counted(b"\0")),
    "structs with a tag each": (EMPTY, lambda: counted(b"\1\7\0")),
    "arrays of no elements": (NESTED, lambda: counted(b"\1\0")),
    "arrays of one element": (NESTED, lambda: counted(b"\2\5\0\0")),
    "empty texts": (TEXT, lambda: counted(b"\1")),
    "texts of one wide character": (TEXT, lambda: counted(b"\3\xc4\x80")),
    "texts of two letters": (TEXT, lambda: counted(b"\3ab")),
    "numbers of two bytes": (NUMBERS, lambda: counted(b"\x7f\x01")),
    "topics without partitions": (
        kwire.codec("MetadataRequest", 9),
        lambda: counted(b"\1\0")[:-1] + b"\0\0\0\0",
    ),
}


def taken(decode: Callable[[bytes], Any], data: bytes) -> tuple[int, int]:
    """Return how many bytes a decoded message takes, and how many more at the worst moment."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    message = decode(data)
    live, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message is not None
    return live - before, peak - live


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("case", spread(CASES, 1))
def test_objects_take_a_bounded_number_of_bytes_for_each_byte(case: str, engine: str) -> None:
    codec, make = CASES[case]
    data = make()
    decoder = compiled(codec, engine)
    decoder(data[:0] + b"\1\0\0\0\0")
    live, more = taken(decoder, data)
    assert live <= LIVE * len(data)
    assert more <= LIVE * len(data) - live + PEAK


def compiled(codec: kwire.Codec, engine: str) -> Callable[[bytes], Any]:
    """Return decoding by a fast path alone, which must not leave it to the reference path."""
    path = choose_fast_path(codec.schema, "hostile", engine)

    def run(data: bytes) -> Any:
        try:
            return path.decode(data)
        except Exception:
            return None if len(data) > 5 else b""

    run(b"")  # source is compiled on first use
    return run


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("count", spread([2**31, 2**31 - 2, 10**6], 1))
def test_a_count_that_is_claimed_takes_nothing(count: int, engine: str) -> None:
    for codec in (EMPTY, NESTED, TEXT, NUMBERS):
        decode = compiled(codec, engine)
        live, more = taken(lambda data, decode=decode: decode(data) or b"", unsigned_varint(count) + b"\1" * 9)  # type: ignore[misc]
        assert live + more < 100_000
