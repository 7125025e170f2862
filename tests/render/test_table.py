"""Tables are as wide as their values, and nothing raw is in them."""

from __future__ import annotations

from kwire.render.colours import Style
from kwire.render.table import table


def test_columns_are_as_wide_as_they_need() -> None:
    assert list(table(["a", "b"], [["long value", "1"], ["x", "1000"]], right=1)) == [
        "a              b",
        "long value     1",
        "x           1000",
    ]


def test_a_value_cannot_break_the_table() -> None:
    assert list(table(["a"], [["x\ny\t\x1b"]])) == ["a", "x y \\u001b"]


def test_the_head_is_coloured() -> None:
    assert list(table(["a"], [], Style(colour=True))) == ["\x1b[1ma\x1b[0m"]
