"""The limit on the memory for unfinished frames over all connections. Sans-IO."""

from __future__ import annotations

MOST_WAITING = 128 << 20  # bytes of all frames that have begun and not ended
ALWAYS = 1 << 16  # bytes that a connection may hold whatever the others do


class FrameMemory:
    """The bytes that connections hold in frames that have not been forwarded yet.

    Args:
        limit: the limit on the bytes of all connections together.

    Attributes:
        held: the bytes held now.

    >>> memory = FrameMemory(limit=1 << 20)
    >>> first, second, small = memory.share(), memory.share(), memory.share()
    >>> first.hold(900_000), second.hold(200_000), small.hold(1000)
    (True, False, True)
    >>> first.hold(0), second.hold(200_000), memory.held
    (True, True, 201000)
    """

    def __init__(self, limit: int = MOST_WAITING) -> None:
        self.limit: int = limit
        self.held: int = 0

    def share(self) -> FrameMemoryShare:
        """Return the share of a new connection, which holds nothing yet."""
        return FrameMemoryShare(self)


class FrameMemoryShare:
    """The bytes (`held`) that one connection holds of the shared memory."""

    __slots__ = ("held", "memory")

    def __init__(self, memory: FrameMemory) -> None:
        self.memory: FrameMemory = memory
        self.held: int = 0

    def hold(self, size: int) -> bool:
        """Set the number of bytes that the connection holds.

        Args:
            size: all bytes that the connection holds; 0 once it is closed.

        Returns:
            Whether the connection may continue. False if the limit is exceeded and the connection holds more than
            `ALWAYS`;
            the caller must then close it.
        """
        self.memory.held += size - self.held
        self.held = size
        return self.memory.held <= self.memory.limit or size <= ALWAYS
