"""Bodies in, record batches out: reads many bodies at once, leaves out the bad ones, and keeps batches small.

What is refused goes to the reference path, which says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import DecodeError
from ..faults import NoColumns
from ..schema import grow
from ..spec import MessageSpec
from ..wire import Reader
from .arrays import halves, without
from .fields import Fields
from .levels import Assembly
from .plan import Plan, trees_of
from .rows import Buffer, Rows

MOST_BODIES = 1 << 14  # that are made into columns together
MOST_BATCH = 2**30  # bytes
ARENA = 16 << 20  # bytes
ENOUGH = 2 << 20  # bytes of bodies that are worth making columns of; what more makes falls out of the cache


class BadBody(NamedTuple):
    """A body that cannot be read: its index, from 0, and the error."""

    body_index: int
    error: DecodeError


class Batch(NamedTuple):
    """A `pyarrow.RecordBatch`, and the bodies that could not be read."""

    rows: Any
    errors: tuple[BadBody, ...]


class Columns:
    """Reads bodies of one message at one version into columns; made by `kwire.columns`.

    Attributes:
        schema: the `pyarrow.Schema` of all batches.
    """

    def __init__(
        self,
        spec: MessageSpec,
        version: int,
        path: str,
        columns: Sequence[str] | None,
        *,
        union: bool = False,
        dictionary: bool = False,
        max_rows: int = 4096,
        max_bytes: int = 8 << 20,
    ) -> None:
        self.name, self.version = spec.name, version
        options = {"union": union, "dictionary": dictionary, "max_rows": max_rows, "max_bytes": max_bytes}
        self._made_by = partial(Columns, **options), (spec, version, path, columns)  # type: ignore[arg-type]
        self._tree = grow(spec, version)
        self._plan = Plan(trees_of(spec) if union else [self._tree], path, columns, dictionary=dictionary)
        self.schema = self._plan.schema
        self._most_rows, self._most_bytes = max(max_rows, 1), min(max(max_bytes, 1), MOST_BATCH)
        self._idle: list[Fields] = []
        np.empty(ARENA, np.uint8)  # glibc keeps the memory of batches from when a large block is freed, and else gives
        # all back after each: three quarters of the time went into pages that came again

    def __repr__(self) -> str:
        return f"<kwire columns of {self.name} v{self.version}: {', '.join(self.schema.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_by

    def read(self, bodies: Iterable[Any]) -> Iterator[Batch]:
        """Read bodies.

        Args:
            bodies: the bytes of each, without frame and header; also a pyarrow array of binary. None is passed over.

        Yields:
            Batches, whose rows are in the order of the bodies; with each, the bodies before its end that are bad.
            A bad body gives no rows, and takes none from the others.
        """
        try:
            fields = self._idle.pop()  # another thread may read at the same time
        except IndexError:
            fields = Fields(f"{self.name} v{self.version}: columns")
        try:
            for some, indexes in self._portions(bodies):
                yield from self._batches(fields, some, indexes)
        finally:
            self._idle.append(fields)

    def _portions(self, bodies: Iterable[Any]) -> Iterator[tuple[list[bytes], list[int]]]:
        """Yield bodies that are read together, each with its index."""
        some: list[bytes] = []
        indexes: list[int] = []
        size, enough = 0, min(self._most_bytes, ENOUGH)
        for index, body in enumerate(bodies):
            data = body if type(body) is bytes else as_bytes(body)
            if data is None:
                continue
            if size and len(data) >= enough:  # nothing is added to what fills Arrow's offsets alone
                yield some, indexes
                some, indexes, size = [], [], 0
            some.append(data)
            indexes.append(index)
            size += len(data)
            if size >= enough or len(some) == MOST_BODIES:
                yield some, indexes
                some, indexes, size = [], [], 0
        if some:
            yield some, indexes

    def _batches(self, fields: Fields, bodies: list[bytes], indexes: list[int]) -> Iterator[Batch]:
        """Yield the columns of some bodies. Errors go with the first batch."""
        columns, bad = self._columns(fields, bodies)
        told = tuple(BadBody(indexes[place], self.explain(bodies[place])) for place in sorted(bad))
        if bad:
            columns = {name: without(column, bad) for name, column in columns.items()}
            indexes = [index for place, index in enumerate(indexes) if place not in bad]
        for batch in Assembly(self._plan, columns, indexes, self._most_bytes).batches():
            for piece in self._pieces(batch):
                yield Batch(piece, told)
                told = ()
        if told:
            yield Batch(pa.RecordBatch.from_pylist([], schema=self.schema), told)

    def _columns(self, fields: Fields, bodies: list[bytes]) -> tuple[dict[str, Any], set[int]]:
        """Return the fields of the messages, and which of the bodies are bad: what fields say of these is no good."""
        buffer = Buffer(bodies)
        sizes = np.fromiter(map(len, bodies), np.int64, len(bodies))
        ends = np.cumsum(sizes)
        rows = Rows(buffer, ends - sizes, ends, lambda which: which)
        fields.arrays.begin()
        columns = fields.members(self._tree, rows, self._plan.wanted)
        return columns, buffer.bad.union(np.nonzero(rows.at != ends)[0].tolist())

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """Cut a batch into pieces that are no larger than they may be."""
        for start in range(0, batch.num_rows, self._most_rows):
            yield from halves(batch.slice(start, self._most_rows), self._most_bytes)

    def explain(self, body: bytes) -> DecodeError:
        """Return the error of a body, by the reference path."""
        reader = Reader(body)
        reader.message, reader.version = self.name, self.version
        try:
            self._tree._parse(reader, None, "")
            reader.finish()
            reader.refuse(NoColumns, 0, found=len(body))
        except DecodeError as error:
            return error.with_traceback(None)


def as_bytes(body: Any) -> bytes | None:
    """Return a body, also one of a pyarrow array, as bytes."""
    data = body.as_py() if hasattr(body, "as_py") else body
    return None if data is None else bytes(data)
