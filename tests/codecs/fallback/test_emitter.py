"""Neighbours of a fixed size go by one struct."""

from __future__ import annotations

from kwire.codecs.fallback.reading_functions import ReadingFunction
from kwire.codecs.fallback.source_builder import GeneratedSource
from kwire.codecs.fallback.writing_functions import WritingFunction


def test_what_is_read_waits_until_a_line_needs_it() -> None:
    source = GeneratedSource()
    out = ReadingFunction(source, "f")
    out.note("one")
    assert [out.fixed("i"), out.fixed("h"), out.byte()] == ["v1", "v2", ("v3", True)]
    assert out.at() == "p + 7"
    out.early("pass")
    out.line("pass")
    assert out.at() == "p"
    assert out.byte() == ("v4", False)
    out.finish()
    assert out.lines == [
        "    v1, v2, v3 = U1(b, p)  # one",
        "    pass",
        "    p += 7",
        "    pass",
        "    v4 = b[p]",
        "    p += 1",
    ]


def test_what_is_written_waits_with_its_checks() -> None:
    source = GeneratedSource()
    out = WritingFunction(source, "f")
    one, two = out.held("m.one"), out.held("m.two")
    assert out.held(one) == one
    out.fixed("i", one, "int")
    out.fixed("h", two, "int")
    out.fixed("x", "")
    with out.block("if m:"):
        out.fixed("B", "3")
    assert out.lines == [
        "    v1 = m.one",
        "    v2 = m.two",
        "    if m:",
        "        if +v1 is not v1 or +v2 is not v2: ints(v1, v2)",
        "        o.append(P1(v1, v2, 3))",
    ]


def test_zeroes_alone_are_a_literal_and_a_byte_is_from_a_table() -> None:
    out = WritingFunction(GeneratedSource(), "f")
    out.fixed("x", "")
    out.fixed("x", "")
    assert out.pack_pending() == r"b'\x00\x00'"
    out.forget()
    out.fixed("B", "n + 1")
    assert out.pack_pending() == "BYTE[n + 1]"
    assert out.pack_pending(("x", "")) != ""
