"""The screen of `kwire browse` with counts: those of `kwire stats --by api,client --errors`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...render.statistics.count_table import count_table
from ...statistics.traffic import Traffic
from ...statistics.users import NOTHING
from .frame_index import FrameIndex
from .list_screen import ListScreen


class CountsScreen(ListScreen[str]):
    """Counts frames by api and client. Enter closes it with a filter that chooses those of a row.

    Args:
        index: the frames.
        numbers: those that are counted.
    """

    def __init__(self, index: FrameIndex, numbers: Sequence[int]) -> None:
        super().__init__("counts by api and client (Enter: only these, Esc: back)")
        self._index, self._numbers = index, numbers
        self._keys: list[tuple[str, ...]] = []

    def make(self) -> tuple[str, list[str]]:
        """Return the titles of the table, and its rows."""
        traffic = Traffic(["api", "client"], errors=True, catalog=self._index.catalog)
        for number in self.until_closed(self._numbers):
            traffic.add(self._index.frame(number))
        table = count_table(traffic, errors=True)
        self._keys = [row.key for row in table.rows]
        titles, *lines = table.lines()
        return titles, lines

    def choice(self, line: int) -> str:
        """Return the filter of a row."""
        api, client = self._keys[line]
        return f"api == {api}" + ("" if client == NOTHING else f" and client_id == {json.dumps(client)}")
