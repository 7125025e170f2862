"""What elements are made of that may look alike."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.compiler.parts import LONGEST, Part, part_of, parts_of
from kwire.wire import BOOLEAN, COMPACT_LENGTH, FLOAT64, INT16, INT32, INT32_LENGTH, UUID, Array, Bytes, String, Struct
from tests.compiler.codecs_of import codec_of
from tests.small_specs import field


@pytest.mark.parametrize(
    ("node", "part"),
    [
        (INT16, Part("h", 2)),
        (FLOAT64, Part("d", 8)),
        (BOOLEAN, Part("B", 1, "BOOL[{}]")),
        (UUID, Part("16s", 16)),
        (Array(INT32, COMPACT_LENGTH), Part("i", 4, "({})", "B", 1)),
        (Array(INT16, INT32_LENGTH, nullable=True), Part("h", 2, "({})", "i", 0, True)),
        (String(), Part("s", 1, "{}.decode()", "h")),
        (String(longest=LONGEST - 1), None),
        (Bytes(COMPACT_LENGTH, nullable=True), Part("s", 1, "{}", "B", 1, True)),
        (Array(BOOLEAN), None),
        (Array(Array(INT16)), None),
        (Struct(object, []), None),
    ],
)
def test_a_field_is_fixed_counted_or_neither(node: Any, part: Part | None) -> None:
    assert part_of(node) == part


def test_values_are_written_by_their_count() -> None:
    numbers, text, one = Part("i", 4, "({})", "B", 1), Part("s", 1, "{}.decode()", "B", 1), Part("q", 8)
    assert [numbers.codes(count) for count in (-1, 0, 2)] == ["", "", "2i"]
    assert [numbers.value(["x"] * max(count, 0), count) for count in (-1, 0, 1, 2)] == ["None", "()", "(x,)", "(x, x)"]
    assert [text.values(count) for count in (0, 1, 9)] == [0, 1, 1]
    assert [text.value(names, len(names)) for names in ([], ["x"])] == ["b''.decode()", "x.decode()"]
    assert (one.codes(1), one.values(1), one.value(["x"], 1)) == ("q", 1, "x")


def test_a_struct_has_parts_if_all_its_fields_have() -> None:
    codec = codec_of(field("X", "[]Part", fields=[field("N"), field("S", "string")]), field("Y"))
    assert list(parts_of(codec.schema.fields[0].subcon.element)) == ["n", "s"]
    assert parts_of(codec.schema) == {}
    assert parts_of(INT32) == {}
