"""The shapes that the elements of one array have had: the counts in an element, in their order.

For a shape that is seen often there is a loop made for it. Loops are few, and what is remembered is bounded: bytes and
messages may be hostile, and each may bring another shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..wire import Struct
from .parts import Part

FEW = 3  # elements that are not worth looking for a shape
MOST_SHAPES = 16  # of one array, with a loop
OFTEN = 512  # elements that were to be read or written where the shape was seen; a loop takes as long to make
Shape = tuple[int, ...]


class Shapes(ABC):
    """The shapes of one array, in all messages of a codec.

    Args:
        node: the elements' struct.
        parts: its fields.
        title: what tracebacks call the loops.
    """

    def __init__(self, node: Struct, parts: dict[str, Part], title: str) -> None:
        self.node, self.parts, self.title = node, parts, title
        self._seen: dict[Shape, int] = {}
        self._loops: dict[Shape, Any] = {}

    def loop_for(self, shape: Shape, left: int) -> Any:
        """Return the loop for a shape that `left` elements may have; None if it has none, or none yet."""
        loop = self._loops.get(shape)
        if loop is not None or len(self._loops) >= MOST_SHAPES:
            return loop
        if len(self._seen) >= 4 * MOST_SHAPES:
            self._seen.clear()
        self._seen[shape] = self._seen.get(shape, 0) + left
        if self._seen[shape] < OFTEN:
            return None
        loop = self._loops[shape] = self.make(shape, f"{self.title}, shape {'-'.join(map(str, shape))}")
        return loop

    @abstractmethod
    def make(self, shape: Shape, title: str) -> Any:
        """Make the loop for a shape."""
