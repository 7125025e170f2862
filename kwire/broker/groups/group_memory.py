"""The memory that groups use, and its limit."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_SIZE = 512  # estimated bytes of a group, member or commit, without its fields of variable size
PROTOCOL_SIZE = 128  # estimated bytes of a member's protocol, without its name and metadata
Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class GroupMemory:
    """The memory that groups use, in bytes, and its limit.

    >>> held = GroupMemory(most=100)
    >>> held.take(90)
    >>> held.has_room(10), held.has_room(11)
    (True, False)
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """Count bytes as used; a negative size releases them."""
        self.size += size

    def has_room(self, size: int) -> bool:
        """Return whether `size` more bytes can be used."""
        return self.size + size <= self.most


def size_of(protocols: Protocols) -> int:
    """Return the size of a member's protocols in bytes."""
    return sum(PROTOCOL_SIZE + len(name) + len(data) for name, data in protocols)
