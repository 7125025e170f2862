"""Reads many bodies into record batches of bounded size, and reports undecodable bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import pyarrow as pa

from ...errors import BadBoolean, BadText, DecodeError, DefaultTag, NoColumns
from ...schema.message_spec import MessageSpec
from ..fast_path import REFUSALS, choose_fast_path
from ..native import ENGINE
from ..native.node_table import NoTable
from ..schema_tree import grow_tree
from ..wire import Reader
from .arrow_types import Wanted
from .buffer_collector import BufferCollector
from .column_plan import ColumnPlan, trees_of
from .object_collector import Collector, ObjectCollector
from .record_batches import build_batches, halve_batch

MOST_BODIES = 1 << 14  # bodies per conversion
MOST_BATCH = 2**30  # bytes
ARENA = 16 << 20  # bytes
ENOUGH = 2 << 20  # bytes of bodies per conversion; more would exceed the cache of the processor
_UNFIT: tuple[type[Exception], ...] = (OverflowError, *REFUSALS)
_CONTENTS = (BadText, BadBoolean)  # faults inside a value, which are not found if the value is skipped


class BadBody(NamedTuple):
    """An undecodable body: its index, from 0, and the error."""

    body_index: int
    error: DecodeError


class ColumnBatch(NamedTuple):
    """A `pyarrow.RecordBatch`, and the undecodable bodies."""

    rows: Any
    errors: tuple[BadBody, ...]


class Columns:
    """Reads bodies of one message at one version into columns; created by `kwire.columns`.

    A row is an element of the array at `path`. Its fields are columns with their names. Fields of enclosing levels are
    repeated, prefixed with the name of their array or struct: `topics_name`, or `message_cluster_id` for the message
    itself. `body_index` is the index of the body, from 0. Arrays become lists, structs in them structs, and uuids 16
    bytes of binary; unknown tagged fields are binary in `unknown_tags`, unchanged.

    By default, all columns are included except arrays of enclosing levels. Other fields are skipped by their lengths.
    Batches are built from up to 2 MiB of bodies, so reading is fast for many bodies per call.

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
        self.name: str = spec.name
        self.version: int = version
        options = {"union": union, "dictionary": dictionary, "max_rows": max_rows, "max_bytes": max_bytes}
        self._made_by = partial(Columns, **options), (spec, version, path, columns)  # type: ignore[arg-type]
        self._tree = grow_tree(spec, version)
        self._plan = ColumnPlan(trees_of(spec) if union else [self._tree], path, columns, dictionary=dictionary)
        self.schema: Any = self._plan.schema
        self._max_rows = max(max_rows, 1)
        self._max_bytes = min(max(max_bytes, 1), MOST_BATCH)
        self._title = f"{self.name} v{self.version}: columns"
        self._idle: list[Collector] = []
        bytearray(ARENA)  # freeing a large block makes glibc keep the memory of later batches,
        # which would otherwise be returned and mapped again each time: three quarters of the time

    def __repr__(self) -> str:
        return f"<kwire columns of {self.name} v{self.version}: {', '.join(self.schema.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_by

    def read(self, bodies: Iterable[Any]) -> Iterator[ColumnBatch]:
        """Read bodies.

        Args:
            bodies: the bytes of each body, without size and header; or a pyarrow array of binary. None is skipped.

        Yields:
            Batches, with rows in the order of the bodies, each with the undecodable bodies before its end. An
            undecodable body gives no rows and does not affect others.
        """
        try:
            collector = self._idle.pop()  # another thread may read at the same time
        except IndexError:
            collector = self._collector()
        try:
            yield from self._read(collector, bodies)
        finally:
            self._idle.append(collector)

    def _collector(self) -> Collector:
        if ENGINE == "native":
            try:
                return BufferCollector(self._tree, self._plan)
            except NoTable:  # a node class from outside kwire
                pass
        return ObjectCollector(self._tree, self._plan, choose_fast_path(self._tree, self._title).decode)

    def _read(self, collector: Collector, bodies: Iterable[Any]) -> Iterator[ColumnBatch]:
        enough = min(self._max_bytes, ENOUGH)
        if is_small(bodies, enough):  # the loop below would take two fifths of the time for Heartbeat bodies
            if bodies:
                yield from self._batches(collector, bodies, list(range(len(bodies))))
            return
        some: list[bytes] = []
        numbers: list[int] = []
        size = 0
        for number, body in enumerate(bodies):
            data = body if type(body) is bytes else as_bytes(body)
            if data is None:
                continue
            if size and len(data) >= enough:  # a body that fills Arrow's offsets becomes a batch of its own
                yield from self._batches(collector, some, numbers)
                some = []
                numbers = []
                size = 0
            some.append(data)
            numbers.append(number)
            size += len(data)
            if size >= enough or len(some) == MOST_BODIES:
                yield from self._batches(collector, some, numbers)
                some = []
                numbers = []
                size = 0
        if some:
            yield from self._batches(collector, some, numbers)

    def _add(self, collector: Collector, bodies: list[bytes], numbers: list[int]) -> list[BadBody]:
        """Add the rows of bodies; return the undecodable bodies."""
        bad: list[BadBody] = []
        index = collector.add_bodies(bodies, numbers, 0)
        while index < len(bodies):
            message = self._read_salvaged(bodies[index])
            try:
                if message is not None:
                    collector.add_message(message, numbers[index])
            except _UNFIT:  # more values than an array can hold; text that is not UTF-8
                message = None
            if message is None:
                bad.append(BadBody(numbers[index], self.explain(bodies[index])))
            index = collector.add_bodies(bodies, numbers, index + 1)
        return bad

    def _read_salvaged(self, data: bytes) -> Any:
        """Return a body as the reference path decodes it; None if the selected fields cannot be decoded."""
        reader = Reader(data, salvage=True)
        try:
            message = self._tree._parse(reader, None, "")
            reader.finish()
        except DecodeError:
            return None
        harmless = all(
            type(fault) is DefaultTag or (type(fault) in _CONTENTS and not is_wanted(self._plan.wanted, fault.segments))
            for fault in reader.faults
        )
        return message if harmless else None

    def _batches(self, collector: Collector, bodies: list[bytes], numbers: list[int]) -> Iterator[ColumnBatch]:
        """Yield the columns of some bodies as batches. Errors are in the first batch."""
        try:
            errors = tuple(self._add(collector, bodies, numbers))
        finally:
            rows, columns = collector.take()  # also clears the collector for its next user
        for batch in build_batches(self._plan, rows, columns, self._max_bytes):
            for piece in self._pieces(batch):
                yield ColumnBatch(piece, errors)
                errors = ()
        if errors:
            yield ColumnBatch(pa.RecordBatch.from_pylist([], schema=self.schema), errors)

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """Split a batch into pieces within the limits."""
        for start in range(0, batch.num_rows, self._max_rows):
            yield from halve_batch(batch.slice(start, self._max_rows), self._max_bytes)

    def explain(self, body: bytes) -> DecodeError:
        """Return the error of a body from the reference path."""
        reader = Reader(body)
        reader.message = self.name
        reader.version = self.version
        try:
            self._tree._parse(reader, None, "")
            reader.finish()
            reader.refuse(NoColumns, 0, found=len(body))
        except DecodeError as error:
            return error.with_traceback(None)


def is_wanted(wanted: Wanted, segments: Sequence[str | int]) -> bool:
    """Whether a field is selected or inside a selected field."""
    for name in segments:
        if wanted is None:
            return True
        if isinstance(name, str):
            if name not in wanted:
                return False
            wanted = wanted[name]
    return True


def is_small(bodies: Iterable[Any], max_bytes: int) -> TypeGuard[list[bytes]]:
    """Whether the bodies are a list of bytes that fits in one batch."""
    return (
        type(bodies) is list
        and len(bodies) <= MOST_BODIES
        and set(map(type, bodies)) <= {bytes}
        and sum(map(len, bodies)) <= max_bytes
    )


def as_bytes(body: Any) -> bytes | None:
    """Return a body as bytes; it may be a value of a pyarrow array."""
    data = body.as_py() if hasattr(body, "as_py") else body
    return None if data is None else bytes(data)
