"""The bytes of all groups."""

from __future__ import annotations

from kwire.broker.groups.group import Held


def test_room() -> None:
    held = Held(most=10)
    held.take(7)
    assert (held.has_room(3), held.has_room(4)) == (True, False)
    held.take(-2)
    assert (held.size, held.has_room(4)) == (5, True)
