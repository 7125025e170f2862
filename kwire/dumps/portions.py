"""A cursor over bytes that come in portions: what a reader of containers needs, with memory for one record.

Knows offsets; knows no container.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

PORTION = 1 << 18  # bytes that are read at once


class Cursor:
    """Bytes that come in portions, looked at record by record.

    `data[pos]` is the next byte; `offset` is its place in the whole input. A reader in a hurry works on `data`
    and moves `pos` itself. When the input has ended and grows again, `portions` are replaced by those that came.

    >>> cursor = Cursor(iter([b"ab", b"cdef"]))
    >>> cursor.fill(3), cursor.take(3), cursor.offset, cursor.fill(4)
    (True, b'abc', 3, False)
    """

    def __init__(self, portions: Iterator[bytes], passed: int = 0) -> None:
        self.portions = portions
        self._passed = passed  # bytes before data[0]
        self.data: bytes = b""
        self.pos: int = 0

    @property
    def offset(self) -> int:
        """Where the next byte lies in the input."""
        return self._passed + self.pos

    @property
    def left(self) -> int:
        """How many bytes are there; after a `fill` that failed, all that the input has left."""
        return len(self.data) - self.pos

    def fill(self, need: int) -> bool:
        """Have the next `need` bytes in `data`; False if the input ends before."""
        have = self.left
        if have >= need:
            return True
        parts = [self.data[self.pos :]]
        for portion in self.portions:
            parts.append(portion)
            have += len(portion)
            if have >= need:
                break
        self._passed += self.pos
        self.data, self.pos = b"".join(parts), 0
        return have >= need

    def take(self, count: int) -> bytes:
        """Take the next bytes, which `fill` has made sure of."""
        taken = self.data[self.pos : self.pos + count]
        self.pos += count
        return taken

    def skip(self, count: int) -> bool:
        """Pass over bytes without keeping them; False if the input ends before."""
        while count > self.left:
            count -= self.left
            self._passed += len(self.data)
            self.data, self.pos = next(self.portions, b""), 0
            if not self.data:
                return False
        self.pos += count
        return True


def portions_of(stream: BinaryIO, left: int | None = None) -> Iterator[bytes]:
    """Yield so many bytes from where a file stands, or all that follow."""
    while portion := stream.read(PORTION if left is None else min(PORTION, left)):
        yield portion
        left = None if left is None else left - len(portion)
