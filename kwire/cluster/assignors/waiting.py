"""Members that wait for partitions, in their order, found by rack without looking at all of them. Knows no shares."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping


class Waiting:
    """Members in the order in which they came.

    Args:
        members: who waits from the start.
        racks: member id -> rack.

    >>> waiting = Waiting(["c1", "c2", "c3"], {"c1": "a", "c2": "b", "c3": "a"})
    >>> waiting.next_in({"a"}, after="c1"), waiting.next_in({"a"}, after="c3"), waiting.next_in({"x"})
    ('c3', 'c1', None)
    """

    def __init__(self, members: Iterable[str], racks: Mapping[str, str]) -> None:
        self._racks = racks
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._by_rack: dict[str, list[int]] = {}
        self._former: dict[str, int] = {}
        self._first = 0
        for member_id in members:
            self.add(member_id)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def add(self, member_id: str) -> None:
        """Let a member wait behind all others."""
        self._places[member_id] = place = len(self._names)
        self._names.append(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            self._by_rack.setdefault(rack, []).append(place)

    def remove(self, member_id: str) -> None:
        """Take a member out. It can still be named as the one to go on after."""
        self._former[member_id] = place = self._places.pop(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            places = self._by_rack[rack]
            del places[bisect_left(places, place)]

    def pop(self) -> str:
        """Take the first member out."""
        while self._places.get(self._names[self._first]) != self._first:
            self._first += 1
        member_id = self._names[self._first]
        self.remove(member_id)
        return member_id

    def clear(self) -> None:
        """Take all members out."""
        for member_id in list(self._places):
            self.remove(member_id)

    def next_in(self, racks: Iterable[str], after: str | None = None) -> str | None:
        """Return the first member in one of these racks: behind another one, and round again; None if there is none."""
        start = -1 if after is None else self._places.get(after, self._former.get(after, -1))
        best = None
        for rack in racks:
            places = self._by_rack.get(rack)
            if places:
                index = bisect_right(places, start)
                # places up to `start` come after all others
                found = places[index] if index < len(places) else places[0] + len(self._names)
                if best is None or found < best:
                    best = found
        return None if best is None else self._names[best % len(self._names)]
