"""The differences of the traffic of two captures as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ...statistics.comparison import Difference
from ..table import TableColumn, TableView


def comparison_table(differences: Sequence[Difference]) -> TableView[Difference]:
    """Return the table of differences.

    >>> table = comparison_table([Difference("version", "app Fetch", "11", "17")])
    >>> print(*table.lines(), sep="\\n")
    what     of         before  after
    version  app Fetch  11      17
    """
    columns: list[TableColumn[Difference]] = [
        TableColumn("kind", lambda row: row.kind, "what"),
        TableColumn("subject", lambda row: row.subject, "of"),
        TableColumn("before", lambda row: row.before),
        TableColumn("after", lambda row: row.after),
        TableColumn("isWorse", lambda row: row.is_worse, "verdict", lambda is_worse: "worse" if is_worse else ""),
    ]
    titles = ["what", "of", "before", "after"]
    if any(row.is_worse for row in differences):
        titles.append("verdict")
    return TableView(columns, differences, titles)
