"""Where the elements of an array begin, in all rows of it: found by guessing, side by side, or one after the other.

Many arrays go side by side: first as if all elements of an array had the size of its first, and where that was wrong an
element of each at a time. Few go one after the other: a run of one shape at once, others by patterns, odd ones by
straight lines. All ways find the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import accumulate, chain, repeat
from struct import error
from typing import Any

import numpy as np

from ..compiler.support import Refused
from .patterns import MOST, Patterns, Shape, form_of
from .rows import Buffer, Even, Origin, Rows
from .scanning import Scan, scan_of

MANY = 128  # arrays that are worth going side by side, on average
FEW = 3  # elements that are not worth a pattern
PATIENCE = 1 << 16  # elements that go by straight lines at most; when a pattern fails, the rest of a body is copied
LONG = 64  # elements that are worth looking for a run
SAMPLE = 256  # elements that are looked at before all are
OFTEN = 500  # elements that go by straight lines before patterns are compiled
WRONG = (Refused, IndexError, ValueError, error)
ignore = callable  # takes anything, keeps nothing


class Arrays(dict[int, "Array"]):
    """What is known of the arrays of a tree; `pass_over` moves rows behind one node, and `title` is for tracebacks."""

    def __init__(self, title: str, pass_over: Callable[[Any, Rows], None]) -> None:
        super().__init__()
        self.title, self.pass_over = title, pass_over

    def of(self, node: Any) -> Array:
        """Return what is known of an array."""
        if id(node) not in self:
            self[id(node)] = Array(node, self)
        return self[id(node)]

    def begin(self) -> None:
        """Forget what was found in other bytes."""
        for array in self.values():
            array.runs.clear()


class Array:
    """What is known of one array in the tree.

    Attributes:
        shape: what elements in a run had last.
        seen: how many elements went one after the other.
        rest: how many of them go by straight lines before patterns are tried again; `pause` at first.
        runs: the shapes that were found in these bytes, by where elements begin and how many there are.
    """

    def __init__(self, node: Any, arrays: Arrays) -> None:
        self.element, self.arrays = node.element, arrays
        self.least = max(node.element.least, 1)
        form = form_of(node.element)
        self.patterns = None if form is None else Patterns(node.element, form)
        self.seen = self.rest = 0
        self.pause = 1
        self.shape: Shape | None = None
        self.runs: dict[tuple[int, int], Shape | None] = {}

    @cached_property
    def scan(self) -> Scan:
        """What goes over elements by straight lines."""
        return scan_of(self.element, self.arrays.title, lambda node: self.arrays.of(node).over)

    def over(self, b: bytes, p: int, n: int, end: int) -> int:
        """Go over `n` elements from `p` on; return where they end."""
        if n * self.least > end - p:
            raise Refused
        if shape := self._run(b, p, n):
            return p + n * shape.size
        patterns = self._patterns(n)
        if patterns and patterns.is_flat and n <= MOST and (stop := patterns.many(b, p, n)):
            return stop
        return self._begins(b, p, n, end)[1]

    def _begins(self, b: bytes, p: int, n: int, end: int) -> tuple[list[int], int]:
        """Return where `n` elements from `p` on begin, and where they end."""
        begins: list[int] = []
        patterns = self._patterns(n)
        while n:
            if patterns and self.rest <= 0 and n > FEW:
                sizes = patterns.sizes(b, p, n, end)
                begins += accumulate(sizes, initial=p)
                n, p = n - len(sizes), begins.pop()
                self.pause = min(2 * self.pause, PATIENCE) if n else 1
                self.rest = self.pause if n else 0
            few = min(n, max(self.rest, 1)) if patterns else n
            p = self.scan(b, p, few, end, begins.append)
            self.rest -= few
            n -= few
        return begins, p

    def _patterns(self, n: int) -> Patterns | None:
        """Return the patterns, if they are worth being compiled."""
        self.seen += n
        return self.patterns if self.seen > OFTEN else None

    def _run(self, b: bytes, p: int, n: int) -> Shape | None:
        """Return the shape of `n` elements from `p` on if they have one; None: they have not, or are few."""
        if n < LONG or not self.patterns or not self.patterns.is_flat:
            return None
        if (p, n) not in self.runs:
            shape = self.shape if self.shape and is_run(b, p, n, self.shape) else None
            if shape is None:
                self.shape = self.patterns.shape(b, p)
                shape = self.shape if self.shape and is_run(b, p, n, self.shape) else None
            self.runs[p, n] = shape
        return self.runs[p, n]

    def pass_over(self, rows: Rows, counts: Any) -> None:
        """Move rows behind their elements, of which each has so many."""
        self._bound(rows, counts)
        if is_wide(counts):
            self._side_by_side(rows, counts)
        else:
            one_by_one(rows, counts, self.over)

    def find(self, rows: Rows, counts: Any) -> Rows | Even:
        """Move rows behind their elements, and return those. The counts of rows that are wrong become 0."""
        origin = rows.origin
        self._bound(rows, counts)

        def body_of(which: Any) -> Any:
            return origin(np.searchsorted(np.cumsum(counts), which, "right"))

        if is_wide(counts):
            even = self._even(rows, counts, body_of)
            return even or Rows(rows.buffer, self._side_by_side(rows, counts), None, body_of)
        found: list[Any] = []
        shapes: list[Shape | None] = []
        one_by_one(rows, counts, partial(self._found, found, shapes))
        if len(set(shapes)) == 1 and shapes[0]:
            view = memoryview(rows.buffer.data)  # slices of it are no copies
            data = b"".join([view[run.start : run.stop] for run in found])
            return Even(rows.buffer, data, shapes[0].size, body_of)
        return Rows(rows.buffer, np.fromiter(chain.from_iterable(found), np.int64), None, body_of)

    def _bound(self, rows: Rows, counts: Any) -> None:
        """Put rows where nothing is that claim more elements than there may be."""
        if rows.ends is not None and (wrong := counts * self.least > rows.ends - rows.at).any():
            rows.put(wrong, rows.buffer.nowhere)
            counts[wrong] = 0

    def _found(self, found: list[Any], shapes: list[Any], b: bytes, p: int, n: int, end: int) -> int:
        """Find the elements of one row; return where they end."""
        shape = self._run(b, p, n)
        stop = p + n * shape.size if shape else 0
        begins = range(p, stop, shape.size) if shape else []
        if not shape:
            begins, stop = self._begins(b, p, n, end)
        if stop > end:
            raise Refused
        found.append(begins)
        shapes.append(shape)
        return stop

    def _even(self, rows: Rows, counts: Any, origin: Origin) -> Even | None:
        """Move rows behind their elements if all have one shape, and return those."""
        buffer, parents = rows.buffer, np.nonzero(counts)[0]
        many, begins = counts[parents], rows.at[parents]
        flat = self.patterns if self.patterns and self.patterns.is_flat else None
        shape = flat.shape(buffer.data, int(begins[0])) if flat else None
        if shape is None:
            return None
        size = shape.size
        after = begins + many * size
        if (after > (buffer.size if rows.ends is None else rows.ends[parents])).any():
            return None
        starts = np.repeat(begins - size * (np.cumsum(many) - many), many) + np.arange(many.sum()) * size
        for some in (starts[:SAMPLE], starts):
            data = buffer.view(f"V{size}")[some].view("u1")
            if any((data[place::size] != byte).any() for place, byte in shape.bytes):
                return None
        rows.put(parents, after)
        return Even(buffer, data, size, origin)

    def _side_by_side(self, rows: Rows, counts: Any) -> Any:
        """Move rows behind their elements; return where these begin."""
        parents = np.nonzero(counts)[0]
        many, begins = counts[parents], rows.at[parents]
        ends = None if rows.ends is None else rows.ends[parents]
        after = self._behind(rows.buffer, begins, ends)
        offsets = np.cumsum(many) - many
        starts, live = self._guessed(rows.buffer, begins, after - begins, many)
        after = np.where(live, after, begins + (after - begins) * many)
        live = np.nonzero(live)[0]
        at, done = begins[live], 0
        while len(live):
            starts[offsets[live] + done] = at
            at = after[live] = self._behind(rows.buffer, at, None if ends is None else ends[live])
            done += 1
            more = (many[live] > done) & (at <= rows.buffer.size)
            if not more.all():
                live, at = live[more], at[more]
        wrong = after > (rows.buffer.size if ends is None else ends)
        if wrong.any():
            starts = starts[~np.repeat(wrong, many)]
            after[wrong], counts[parents[wrong]] = rows.buffer.nowhere, 0
        rows.put(parents, after)
        return starts

    def _guessed(self, buffer: Buffer, begins: Any, sizes: Any, counts: Any) -> tuple[Any, Any]:
        """Return where elements begin if all of a row have one size, and the rows of which that is not true."""
        offsets = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(offsets, counts)
        if within.max(initial=0) == 0:
            return begins, np.zeros(len(counts), bool)
        if not self.patterns or not self.patterns.is_flat:
            return np.empty(len(within), np.int64), np.ones(len(counts), bool)
        each = np.repeat(sizes, counts)
        starts = np.minimum(np.repeat(begins, counts) + within * each, buffer.nowhere)
        wrong = self._behind(buffer, starts, None, is_guess=True) != starts + each
        return starts, np.logical_or.reduceat(wrong, offsets)

    def _behind(self, buffer: Buffer, begins: Any, ends: Any, *, is_guess: bool = False) -> Any:
        """Return where elements end that begin here."""
        rows = Rows(buffer, begins, ends, nobody, is_guess=is_guess)
        self.arrays.pass_over(self.element, rows)
        return rows.at


def one_by_one(rows: Rows, counts: Any, each: Callable[[bytes, int, int, int], int]) -> None:
    """Move rows behind their elements, by what goes over those of one row."""
    parents, buffer = np.nonzero(counts)[0], rows.buffer
    ends = repeat(buffer.size) if rows.ends is None else rows.ends[parents].tolist()
    after: list[int] = []
    for at, count, end in zip(rows.at[parents].tolist(), counts[parents].tolist(), ends, strict=False):
        try:
            after.append(each(buffer.data, at, count, end))
        except WRONG:
            after.append(buffer.nowhere)
    behind = np.array(after, np.int64)
    counts[parents[behind > buffer.size]] = 0
    rows.put(parents, np.minimum(behind, buffer.nowhere))


def is_wide(counts: Any) -> bool:
    """Say whether arrays of these lengths are many and alike."""
    most = int(counts.max(initial=0))
    return most > 0 and int(counts.sum()) >= MANY * most


def is_run(b: bytes, p: int, n: int, shape: Shape) -> bool:
    """Say whether `n` elements from `p` on have a shape."""
    end = p + n * shape.size
    return all(b[p + place : end : shape.size] == bytes([byte]) * n for place, byte in shape.bytes)


def nobody(rows: Any) -> Any:
    """Return no bodies: of rows whose contents are not looked at."""
    return rows[:0]
