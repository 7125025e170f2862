"""A bound on what all connections of a process hold together in frames that have begun. Sans-IO."""

from __future__ import annotations

MOST_WAITING = 128 << 20  # bytes of all frames that have begun and not ended
ALWAYS = 1 << 16  # bytes that a connection may hold whatever the others do


class FrameMemory:
    """The bytes that connections hold in frames that are not passed on yet.

    Args:
        most: bytes of all of them together.

    Attributes:
        held: bytes now.

    >>> memory = FrameMemory(most=1 << 20)
    >>> one, other, small = memory.share(), memory.share(), memory.share()
    >>> one.hold(900_000), other.hold(200_000), small.hold(1000)
    (True, False, True)
    >>> one.hold(0), other.hold(200_000), memory.held
    (True, True, 201000)
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.most, self.held = most, 0

    def share(self) -> Share:
        """Return the share of one connection, which holds nothing yet."""
        return Share(self)


class Share:
    """What one connection holds of the memory of all; `held` is in bytes."""

    def __init__(self, memory: FrameMemory) -> None:
        self.memory, self.held = memory, 0

    def hold(self, size: int) -> bool:
        """Hold so many bytes from now on.

        Args:
            size: of all that the connection holds; 0 once it is closed.

        Returns:
            Whether it may go on. If not, the bound is passed and this is one of those who have more than `ALWAYS`:
            the connection is to be closed.
        """
        self.memory.held += size - self.held
        self.held = size
        return self.memory.held <= self.memory.most or size <= ALWAYS
