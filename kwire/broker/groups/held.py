"""How much groups may make a broker remember, all of them together."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_SIZE = 512  # bytes that a group, a member or a commit takes besides what clients put into it


@dataclass(slots=True)
class Held:
    """Bytes that groups keep.

    >>> held = Held(most=100)
    >>> held.take(90)
    >>> held.has_room(10), held.has_room(11)
    (True, False)
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """Count bytes that are kept from now on; or, below 0, no longer."""
        self.size += size

    def has_room(self, size: int) -> bool:
        """Say whether so many more may be kept."""
        return self.size + size <= self.most
