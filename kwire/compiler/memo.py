"""What a decoder has decoded, by its bytes: messages, and elements of their outermost arrays.

An element says itself where it ends: bytes that equal those of one that was decoded are that one, and nothing in them
has to be looked at. Messages never change, so they may be shared. What is held is bounded, and where bytes do not come
again the memo is switched off for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire import Struct
from .parts import part_of
from .support import Refused

MOST_BYTES = 4 << 20  # of elements and messages that are held; what they decode to takes up to forty times as much
LONGEST = 1 << 18  # bytes of an entry
EACH = 64  # what an entry counts beyond its bytes
WINDOW = 192  # lookups after which it is asked whether they help
REST = 64  # lookups left out where they do not help, at first; then ever more
MOST_REST = 512
UNKNOWN: tuple[Any, None] = ((), None)  # no bytes begin with one of none
Element = Callable[[bytes, int], tuple[Any, int]]


class Memo:
    """What is held, of all arrays of one decoder."""

    def __init__(self) -> None:
        self.size = 0
        self.tables: list[dict[bytes, Any]] = []

    def table(self) -> dict[bytes, Any]:
        """Return a dictionary that is emptied with the others when all hold too much."""
        self.tables.append({})
        return self.tables[-1]

    def grow(self, size: int) -> None:
        """Count an entry of so many bytes; empty everything if it is too much."""
        self.size += size + EACH
        if self.size > MOST_BYTES:
            for table in self.tables:
                table.clear()
            self.size = size + EACH


def remembering(decode: Element, memo: Memo) -> Element:
    """Return a decoder that knows the messages that it has decoded, where these go to the end of the bytes."""
    known, use = memo.table(), Usefulness(16, REST)

    def decode_or_recall(b: bytes, p: int) -> tuple[Any, int]:
        if not use.on(1):
            return decode(b, p)
        use.looked += 1
        raw = b[p:]
        message = known.get(raw)
        if message is not None:
            use.hits += 1
            return message, len(b)
        message, stop = decode(b, p)
        if stop == len(b) and len(raw) <= LONGEST:
            memo.grow(len(raw))
            known[raw] = message
        return message, stop

    return decode_or_recall


class Usefulness:
    """Counts hits, and says when not to look: where not one in `worth` lookups is a hit; for `most` at a time."""

    def __init__(self, worth: int, most: int = MOST_REST) -> None:
        self.looked = self.hits = self.left_out = 0
        self.worth, self.rest, self.most = worth, REST, most

    def on(self, count: int) -> bool:
        """Say whether to look for `count` things."""
        if self.left_out:
            self.left_out = max(self.left_out - count, 0)
            return False
        if self.looked >= WINDOW:
            if self.hits * self.worth < self.looked:
                self.left_out, self.rest = self.rest, min(2 * self.rest, self.most)
            else:
                self.rest = REST
            self.looked = self.hits = 0
        return not self.left_out


class Elements:
    """The elements of one array that were decoded, the last of each opening.

    Args:
        memo: what counts them.
        node: their struct.
    """

    def __init__(self, memo: Memo, node: Struct) -> None:
        self.memo, self.known, self.use = memo, memo.table(), Usefulness(2)
        self.fixed, self.counted = opening(node)

    def read(self, b: bytes, p: int, n: int, a: list[Any], element: Element) -> int:
        """Read `n` elements from `p`, append them to `a`, and return the position behind them."""
        known, fixed, counted, missed = self.known, self.fixed, self.counted, 0
        for _ in range(n):
            head = b[p : p + fixed + b[p + counted]] if counted else b[p : p + fixed]
            raw, value = known.get(head, UNKNOWN)
            if b.startswith(raw, p):
                p += len(raw)
            else:
                start = p
                value, p = element(b, p)
                if p > len(b):
                    raise Refused
                missed += 1
                if p - start <= LONGEST:
                    self.memo.grow(p - start)
                    known[head] = (b[start:p], value)
            a.append(value)
        self.use.looked += n
        self.use.hits += n - missed
        return p


def opening(node: Struct) -> tuple[int, int]:
    """Say which first bytes of an element tell it from others.

    They go to the end of its first text, which names it, and four bytes on, which may number it; or are sixteen.

    Returns:
        How many there are, without the text, and at which of them its length stands; 0 if there is none.
    """
    size = 0
    for field in node.fields:
        part = part_of(field.subcon)
        if part is None:
            break
        if part.length:
            size += {"B": 1, "h": 2, "i": 4}[part.length]
            return size + 4, size - 1
        size += part.size
    return max(size, 16), 0
