"""A queue of members that can also be searched by rack."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping


class WaitingMembers:
    """A queue of member ids that can also be searched by rack.

    Args:
        members: the initial members, in order.
        racks: member id -> rack.

    >>> waiting = WaitingMembers(["c1", "c2", "c3"], {"c1": "a", "c2": "b", "c3": "a"})
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
        """Append a member."""
        self._places[member_id] = position = len(self._names)
        self._names.append(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            self._by_rack.setdefault(rack, []).append(position)

    def remove(self, member_id: str) -> None:
        """Remove a member. It can still be passed as `after` to `next_in`."""
        self._former[member_id] = position = self._places.pop(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            positions = self._by_rack[rack]
            del positions[bisect_left(positions, position)]

    def pop(self) -> str:
        """Remove and return the first member."""
        while self._places.get(self._names[self._first]) != self._first:
            self._first += 1
        member_id = self._names[self._first]
        self.remove(member_id)
        return member_id

    def clear(self) -> None:
        """Remove all members."""
        for member_id in list(self._places):
            self.remove(member_id)

    def next_in(self, racks: Iterable[str], after: str | None = None) -> str | None:
        """Return the next member in one of these racks after a given member, cyclically; None if there is none."""
        start = -1 if after is None else self._places.get(after, self._former.get(after, -1))
        best = None
        for rack in racks:
            positions = self._by_rack.get(rack)
            if positions:
                index = bisect_right(positions, start)
                # positions up to `start` come after all others
                candidate = positions[index] if index < len(positions) else positions[0] + len(self._names)
                if best is None or candidate < best:
                    best = candidate
        return None if best is None else self._names[best % len(self._names)]
