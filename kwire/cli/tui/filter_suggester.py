"""Completes the last word of a filter in `kwire browse`: names of fields, properties and apis."""

from __future__ import annotations

import re
from asyncio import to_thread
from bisect import bisect_left

from textual.suggester import Suggester

from ...query.known_fields import names_in_filters
from ...schema.catalog import Catalog

_LAST_WORD = re.compile(r"[A-Za-z_]\w*\Z")


class FilterSuggester(Suggester):
    """Suggests the first name that begins with the last word.

    Args:
        catalog: the specs; they are read when the first name is asked for.
    """

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(use_cache=True, case_sensitive=True)
        self._catalog = catalog
        self._names: list[str] = []

    async def get_suggestion(self, value: str) -> str | None:
        """Return the text with its last word completed; None if no name begins with it."""
        word = _LAST_WORD.search(value)
        if word is None:
            return None
        self._names = self._names or await to_thread(self._all_names)
        first = bisect_left(self._names, word[0])
        name = self._names[first] if first < len(self._names) else ""
        return value + name[len(word[0]) :] if name.startswith(word[0]) and name != word[0] else None

    def _all_names(self) -> list[str]:
        apis = {
            self._catalog.spec(name).api_name for name, (form, _) in self._catalog.heads().items() if form == "request"
        }
        return sorted({*names_in_filters(self._catalog), *filter(None, apis)})
