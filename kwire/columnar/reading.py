"""Bodies in, record batches out: collects many bodies, takes bad ones out again, keeps batches small.

What the walk refuses goes to the reference path, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..compiler.source import Source
from ..compiler.support import CONSTANTS
from ..errors import DecodeError
from ..faults import NoColumns
from ..schema import grow
from ..spec import MessageSpec
from ..wire import Reader, Struct
from .collected import Lists, Table
from .cutting import Walk
from .levels import Assembly
from .plan import Plan, trees_of
from .walk import CONSTANTS as OURS
from .walk import fields

MOST_ITEMS = 1 << 18  # pieces that are held until they are made into columns
MOST_BODY = 2**31 - 1  # bytes; of no more can Arrow's offsets tell, nor the size of a frame
MOST_BATCH = 2**30  # bytes
ARENA = 16 << 20  # bytes
ENOUGH = 2 << 20  # bytes of bodies that are worth making columns of; what more makes falls out of the cache
ERROR_WEIGHT = 8  # what an error holds, for each byte of its body


class BadBody(NamedTuple):
    """A body that cannot be read: its index, from 0, and the error."""

    body_index: int
    error: DecodeError


class Batch(NamedTuple):
    """A `pyarrow.RecordBatch`, and the bodies that could not be read."""

    rows: Any
    errors: tuple[BadBody, ...]


class Collector:
    """The generated source of one walk, and the lists it fills. One reading uses it at a time."""

    def __init__(self, schema: Struct, plan: Plan, title: str) -> None:
        np.empty(
            ARENA, np.uint8
        )  # a large block that is freed lets glibc keep memory from then on, where it else gives
        # all back after each batch: three quarters of the time went into pages that came again
        self.lists, self.table = Lists(), Table()
        self.source = Source(f"{title}: columns", **CONSTANTS, **OURS)
        out = Walk(self.source, self.lists, self.source.fresh("message"), self.table)
        fields(schema, out, self.table, plan.wanted)
        out.finish()
        out.line("return p")
        self.message: Callable[[bytes, int], int] = self.source.run()["message"]

    def add(self, body: bytes) -> bool:
        """Collect a body; if it is refused, nothing of it stays."""
        marks = self.lists.marks()
        try:
            if self.message(body, 0) == len(body) <= MOST_BODY:
                return True
        except Exception:  # the reference path says what it is
            pass
        self.lists.undo(marks)
        return False


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
        self._tree = grow(spec, version)
        self._plan = Plan(trees_of(spec) if union else [self._tree], path, columns, dictionary=dictionary)
        self.schema = self._plan.schema
        self._most_rows, self._most_bytes = max(max_rows, 1), min(max(max_bytes, 1), MOST_BATCH)
        self._idle: list[Collector] = []

    def __repr__(self) -> str:
        return f"<kwire columns of {self.name} v{self.version}: {', '.join(self.schema.names)}>"

    def read(self, bodies: Iterable[Any]) -> Iterator[Batch]:
        """Read bodies.

        Args:
            bodies: the bytes of each, without frame and header; also a pyarrow array of binary. None is passed over.

        Yields:
            Batches, whose rows are in the order of the bodies; with each, the bodies before its end that are bad.
            A bad body gives no rows, and takes none from the others.
        """
        collector = self._idle.pop() if self._idle else Collector(self._tree, self._plan, self._title())
        try:
            yield from self._read(collector, bodies)
        finally:
            collector.lists.clear()
            self._idle.append(collector)

    def _read(self, collector: Collector, bodies: Iterable[Any]) -> Iterator[Batch]:
        good: list[int] = []
        errors: list[BadBody] = []
        size, enough = 0, min(self._most_bytes, ENOUGH)
        for index, body in enumerate(bodies):
            data = body.as_py() if hasattr(body, "as_py") else body
            if data is None:
                continue
            data = data if type(data) is bytes else bytes(data)
            if size and len(data) >= enough:  # nothing is added to what fills Arrow's offsets alone
                yield from self._batches(collector, good, errors)
                size = 0
            if collector.add(data):
                good.append(index)
                size += len(data)
            else:
                errors.append(BadBody(index, self._explain(data)))
                size += ERROR_WEIGHT * len(data)
            if size >= enough or len(errors) + collector.lists.items() >= MOST_ITEMS:
                yield from self._batches(collector, good, errors)
                size = 0
        if good or errors:
            yield from self._batches(collector, good, errors)

    def _batches(self, collector: Collector, good: list[int], errors: list[BadBody]) -> Iterator[Batch]:
        """Yield what was collected, and begin anew. Errors go with the first batch."""
        told = tuple(errors)
        for batch in Assembly(self._plan, collector.table, good, self._most_bytes).batches():
            for piece in self._pieces(batch):
                yield Batch(piece, told)
                told = ()
        if told:
            yield Batch(pa.RecordBatch.from_pylist([], schema=self.schema), told)
        good.clear()
        errors.clear()
        collector.lists.clear()

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """Cut a batch into pieces that are no larger than they may be."""
        is_light = batch.get_total_buffer_size() <= self._most_bytes
        for start in range(0, batch.num_rows, self._most_rows):
            piece = batch.slice(start, self._most_rows)
            yield from [piece] if is_light else self._halves(piece)

    def _halves(self, batch: Any) -> Iterator[Any]:
        """Halve a batch until it has no more bytes than it may, or one row."""
        if batch.num_rows <= 1 or batch.nbytes <= self._most_bytes:
            yield batch
            return
        half = batch.num_rows // 2
        yield from self._halves(batch.slice(0, half))
        yield from self._halves(batch.slice(half))

    def _explain(self, body: bytes) -> DecodeError:
        """Return the error of a body, by the reference path."""
        reader = Reader(body)
        reader.message, reader.version = self.name, self.version
        try:
            self._tree._parse(reader, None, "")
            reader.finish()
            reader.refuse(NoColumns, 0, found=len(body))
        except DecodeError as error:
            return error.with_traceback(None)

    def _title(self) -> str:
        return f"{self.name} v{self.version}"
