"""Decodes columns of binary to structs (`from_kwire`).

The version is in a prefix of each cell or in a column. Structs have the fields of all versions, as from
`kwire.columns`. The module does not depend on Spark or files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import DecodeError
from ...schema.catalog import Catalog, catalog_for
from ...schema.message_spec import MessageSpec
from ..read_options import FAILFAST, BadOption
from ..rows.arrow_batches import corrupt_column, error_column
from ..rows.frame_rows import Row
from ..rows.message_column import JsonBodies, StructBodies
from ..rows.row_faults import MalformedFrame, RowFault, fault_of
from ..rows.row_schema import CORRUPT, ERROR_NAME, TYPES
from .cell_prefix import CellPrefix

AT_ONCE = 2 << 20  # bytes of cells per array


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Describes the content of a binary column, and how to decode it.

    Attributes:
        name: a message: `MetadataResponse`, `OffsetCommitValue`; or an api, with a `direction`.
        direction: `request` or `response`, if `name` is an api.
        framed: whether cells include size and header.
        fields: the fields to decode, with dots for fields of structs; None means all.
        mode: `PERMISSIVE`, in which an invalid cell becomes null, or `FAILFAST`, in which it raises an error.
        include_errors: whether the structs include the fields `_corrupt_record` and `_error`.
        profile, release: the specs, as for `kwire.codec`.
    """

    name: str
    direction: str | None = None
    framed: bool = False
    fields: tuple[str, ...] | None = None
    mode: str = "PERMISSIVE"
    include_errors: bool = False
    profile: str = ""
    release: str = ""

    @property
    def catalog(self) -> Catalog:
        """The specs."""
        return catalog_for(self.profile or None, self.release or None)

    def spec(self) -> MessageSpec:
        """Return the spec of the message; raises UnknownMessage, or BadOption if the direction is missing."""
        specs = [self.catalog.spec(name) for name in self.catalog.named(self.name)]
        if len(specs) == 1:
            return specs[0]
        if self.direction not in ("request", "response"):
            raise BadOption("direction", self.direction, f"{self.name} is an api: request or response is needed")
        return next(spec for spec in specs if spec.type == self.direction)


class CellReader:
    """Decodes the cells of a column.

    Args:
        cells: the description of the column.

    Attributes:
        type: the Arrow type of the result.
        tells: whether the cells contain their version.

    Raises:
        UnknownMessage, BadOption: a message or field does not exist.
    """

    def __init__(self, cells: Cells) -> None:
        spec = cells.spec()
        self.mode: str = cells.mode
        self.include_errors: bool = cells.include_errors
        self._front = CellPrefix(spec, cells.catalog, cells.framed)
        self._structs = StructBodies(spec.name, cells.fields, cells.catalog)
        self.has_version: bool = self._front.has_version
        self.type: Any = self._structs.type
        if cells.include_errors:
            self.type = pa.struct([*self.type, (CORRUPT, TYPES[CORRUPT]), (ERROR_NAME, TYPES[ERROR_NAME])])

    def read(self, cells: Any, versions: Any) -> Iterator[Any]:
        """Decode a column.

        Args:
            cells: an array of binary.
            versions: the versions of the messages: a number, an array of numbers, or None if the cells contain them.

        Yields:
            Arrays of structs, together as long as the column; null for null, for another message of the same log, and
            for an invalid cell.

        Raises:
            MalformedFrame: a cell is invalid, in the mode FAILFAST.
        """
        for start, stop in portions(cells):
            some = versions.slice(start, stop - start).to_pylist() if isinstance(versions, pa.Array) else None
            numbers = some if some is not None else [versions] * (stop - start)
            yield self._read(cells.slice(start, stop - start).to_pylist(), numbers, versions is not None, start)

    def _read(self, cells: list[bytes | None], versions: list[int | None], given: bool, start: int) -> Any:
        rows, faults = list[Row](), dict[int, RowFault]()
        for index, (cell, version) in enumerate(zip(cells, versions, strict=True)):
            try:
                missing = cell is None or (given and version is None)
                result = None if missing or cell is None else self._front.read(cell, version)
            except DecodeError as error:
                result, faults[index] = None, fault_of(error) or RowFault("BAD_FIELD", str(error), None, None)
            api, data = result or (None, cell or b"")
            rows.append(Row(0, data, is_request=self._front.asked, api=api))
        structs = self._structs.column(rows, faults)
        if self.mode == FAILFAST and faults:
            index = min(faults)
            api = rows[index].api
            version = api.version if api else versions[index]
            raise MalformedFrame(f"row {start + index}", 0, self._front.spec.name, version, faults[index].reason)
        return self._with_errors(structs, cells, faults) if self.include_errors else structs

    def _with_errors(self, structs: Any, cells: list[bytes | None], faults: dict[int, RowFault]) -> Any:
        empty = pa.array([cell is None for cell in cells])
        arrays = [*structs.flatten(), corrupt_column(cells, faults), error_column(len(cells), faults)]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=empty)


@lru_cache(maxsize=16)
def cell_reader(cells: Cells) -> CellReader:
    """Return the reader of the described cells; cached per process."""
    return CellReader(cells)


def body_text(cells: Cells, data: bytes, version: int | None) -> str | None:
    """Return one cell as JSON; None if it is invalid, or another message of the same log.

    Args:
        cells: the description of the column; only `name`, `direction`, `framed` and the specs matter.
        data: the cell.
        version: the version of the message; None if the cell contains it.

    >>> body_text(Cells(name="HeartbeatResponse"), bytes(4) + bytes([0, 7]), 1)
    '{"throttleTimeMs":0,"errorCode":7}'
    """
    prefix = _prefix(cells)
    try:
        result = prefix.read(data, version)
    except DecodeError:
        return None
    if result is None:
        return None
    api, body = result
    (text,) = JsonBodies().column([Row(0, body, is_request=prefix.asked, api=api)], {}).to_pylist()
    return None if text is None else str(text)


@lru_cache(maxsize=16)
def _prefix(cells: Cells) -> CellPrefix:
    return CellPrefix(cells.spec(), cells.catalog, cells.framed)


def portions(cells: Any) -> Iterator[tuple[int, int]]:
    """Yield the ranges of cells that are decoded together.

    >>> list(portions(pa.array([b"a" * AT_ONCE, b"b", None, b"c"])))
    [(0, 1), (1, 4)]
    """
    lengths = pc.binary_length(cells).fill_null(0).to_numpy()
    offsets, start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), 0
    while start < len(cells):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + AT_ONCE, "right")) - 1)
        yield start, stop
        start = stop
