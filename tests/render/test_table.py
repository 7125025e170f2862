"""Tables are as wide as their values, and nothing raw is in them."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from kwire.render.colours import Style
from kwire.render.table import TableColumn, TableView, key_columns, table


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


class Usage(NamedTuple):
    key: tuple[str, str]
    seconds: float | None
    total: int


COLUMNS: list[TableColumn[Usage]] = [
    *key_columns(("client", "api"), lambda row: row.key),
    TableColumn(
        "latency/mean", lambda row: row.seconds, "mean ms", lambda seconds: f"{seconds * 1000:.1f}", right=True
    ),
    TableColumn("latency/known", lambda row: row.seconds is not None),
    TableColumn("count", lambda row: row.total, optional=True),
    TableColumn("", lambda row: f"{row.total} x", "times"),
]
ROWS = [Usage(("a,b", "Fetch"), 0.0125, 3), Usage(("c\nd", "Produce"), None, 0)]


def test_text_has_the_titles_in_their_order() -> None:
    view = TableView(COLUMNS, ROWS, ["mean ms", "client", "times"])
    assert list(view.lines()) == ["mean ms  client  times", "   12.5  a,b     3 x", "      -  c d     0 x"]


def test_json_has_every_name_and_nested_objects() -> None:
    assert TableView(COLUMNS, ROWS, ()).objects() == [
        {"client": "a,b", "api": "Fetch", "latency": {"mean": 0.0125, "known": True}, "count": 3},
        {"client": "c\nd", "api": "Produce", "latency": {"mean": None, "known": False}, "count": 0},
    ]


def test_optional_values_are_left_out_and_nothing_has_its_text() -> None:
    columns: list[TableColumn[int | None]] = [
        TableColumn("a", lambda row: row, optional=True),
        TableColumn("b", lambda row: row, nothing="none"),
    ]
    view = TableView(columns, [1, None], ["a", "b"])
    assert view.objects() == [{"a": 1, "b": 1}, {"b": None}]
    assert list(view.lines()) == ["a  b", "1  1", "-  none"]


def test_csv_is_read_back() -> None:
    text = TableView(COLUMNS, ROWS, ()).csv()
    assert list(csv.reader(io.StringIO(text))) == [
        ["client", "api", "latency/mean", "latency/known", "count"],
        ["a,b", "Fetch", "0.0125", "true", "3"],
        ["c\nd", "Produce", "", "false", "0"],
    ]


def test_a_view_without_rows_has_its_names() -> None:
    view = TableView(COLUMNS, (), ["client"])
    assert (list(view.lines()), view.objects(), view.csv()) == (
        ["client"],
        [],
        "client,api,latency/mean,latency/known,count\n",
    )
