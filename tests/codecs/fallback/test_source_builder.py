"""Source being written: names, literals, what tracebacks show."""

from __future__ import annotations

import linecache
import traceback

import pytest

import kwire
from kwire.codecs.fallback.generated_python import compile_decoder
from kwire.codecs.fallback.source_builder import GeneratedFunction, GeneratedSource, NoEmitter, checked_attribute


def test_names_are_our_own_and_told_apart() -> None:
    source = GeneratedSource()
    assert [source.fresh("C"), source.fresh("C"), source.fresh("decode"), source.fresh("decode")] == [
        "C1",
        "C2",
        "decode",
        "decode2",
    ]
    assert source.struct("ib", "unpack_from") == source.struct("ib", "unpack_from") != source.struct("i", "unpack_from")


def test_plain_values_are_literals_and_others_constants() -> None:
    source = GeneratedSource()
    assert [source.literal(value) for value in (1, -1, True, None, (), "", b"")] == [
        *("1", "-1", "True", "None", "()", "''", "b''"),
    ]
    name = source.literal("text")
    assert source.constants[name] == "text"
    assert source.literal(1.5) != name
    assert "text" not in source.text()


@pytest.mark.parametrize("name", ["class", "a b", "a.b", "", "__class__", "é", "x\n"])
def test_a_name_that_source_must_not_hold_is_refused(name: str) -> None:
    with pytest.raises(NoEmitter):
        checked_attribute(name)
    assert checked_attribute("topic_id") == "topic_id"


def test_a_traceback_shows_the_line_that_failed() -> None:
    codec = kwire.codec("ControlledShutdownRequest", 1)
    decode = compile_decoder(codec.schema, "a title")
    with pytest.raises(Exception, match="requires a buffer") as caught:
        decode(b"\0", 0)
    shown = "".join(traceback.format_exception(caught.value))
    assert 'File "<a title: decode>"' in shown
    assert "v1, = U1(b, p)  # broker_id" in shown


def test_sources_of_one_title_are_kept_apart_and_few() -> None:
    for number in range(20):
        source = GeneratedSource("the same title")
        GeneratedFunction(source, source.fresh("f"), "").line(f"return {number}")
        assert source.run()["f"]() == number
        assert source.run()["f"]() == number
    held = [name for name in linecache.cache if name.startswith("<the same title")]
    assert 1 < len(held) < 20
    assert linecache.getline("<the same title>", 2) == "    return 0\n"
