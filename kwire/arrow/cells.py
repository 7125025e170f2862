"""A column of bytes becomes a column of structs: what `from_kwire` does to each batch.

Every value comes out of one cell and none of another, so that a bad one spoils no other. Knows columns; knows no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DecodeError
from ..spec import MessageSpec
from ..spec.catalog import Catalog, catalog_for
from .building import CORRUPT, ERROR_NAME, TYPES, corrupt_column, error_column
from .errors import BadOption, MalformedFrame
from .faults import Fault, fault_of
from .fronts import Front
from .options import FAILFAST
from .pairing import Row
from .structs import Structs

AT_ONCE = 2 << 20  # bytes of cells that are made into one array


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What a column of bytes holds, and what is to be made of it.

    Attributes:
        name: of the message: `MetadataResponse`, `OffsetCommitValue`; or of an api, with a `direction`.
        direction: `request` or `response`, where `name` is an api.
        framed: whether size and header are in front.
        fields: those that are wanted, what is in a struct by a dot; None: all.
        mode: `PERMISSIVE`, where a bad cell is null, or `FAILFAST`, where it raises.
        include_errors: whether the structs also have the columns `_corrupt_record` and `_error`.
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
        """Return the spec of the message; raises UnknownMessage, and BadOption where a direction is needed."""
        specs = [self.catalog.spec(name) for name in self.catalog.named(self.name)]
        if len(specs) == 1:
            return specs[0]
        if self.direction not in ("request", "response"):
            raise BadOption("direction", self.direction, f"{self.name} is an api: request or response is needed")
        return next(spec for spec in specs if spec.type == self.direction)


class CellReader:
    """Reads the cells of a column.

    Args:
        cells: what they are.

    Attributes:
        type: of what is made of them.
        tells: whether they say their version themselves.

    Raises:
        UnknownMessage, BadOption: there is no such message or field.
    """

    def __init__(self, cells: Cells) -> None:
        spec = cells.spec()
        self.mode: str = cells.mode
        self.include_errors: bool = cells.include_errors
        self._front = Front(spec, cells.catalog, cells.framed)
        self._structs = Structs(spec.name, cells.fields, cells.catalog)
        self.tells: bool = self._front.tells
        self.type: Any = self._structs.type
        if cells.include_errors:
            self.type = pa.struct([*self.type, (CORRUPT, TYPES[CORRUPT]), (ERROR_NAME, TYPES[ERROR_NAME])])

    def read(self, cells: Any, versions: Any) -> Iterator[Any]:
        """Read a column.

        Args:
            cells: an array of binary.
            versions: of the messages: a number, an array of numbers, or None where cells say it.

        Yields:
            Arrays of structs, together as long as the column; null for null, for another message of the same log, and
            for what cannot be read.

        Raises:
            MalformedFrame: in the mode FAILFAST, for what cannot be read.
        """
        for start, stop in portions(cells):
            some = versions.slice(start, stop - start).to_pylist() if isinstance(versions, pa.Array) else None
            numbers = some if some is not None else [versions] * (stop - start)
            yield self._read(cells.slice(start, stop - start).to_pylist(), numbers, versions is not None, start)

    def _read(self, cells: list[bytes | None], versions: list[int | None], given: bool, start: int) -> Any:
        rows, faults = list[Row](), dict[int, Fault]()
        for index, (cell, version) in enumerate(zip(cells, versions, strict=True)):
            try:
                missing = cell is None or (given and version is None)
                found = None if missing or cell is None else self._front.read(cell, version)
            except DecodeError as error:
                found, faults[index] = None, fault_of(error) or Fault("BAD_FIELD", str(error), None, None)
            api, data = found or (None, cell or b"")
            rows.append((0, data, None, None, self._front.asked, api, None, None, None))
        structs = self._structs.column(rows, faults)
        if self.mode == FAILFAST and faults:
            index = min(faults)
            api = rows[index][5]
            version = api.version if api else versions[index]
            raise MalformedFrame(f"row {start + index}", 0, self._front.spec.name, version, faults[index].reason)
        return self._with_errors(structs, cells, faults) if self.include_errors else structs

    def _with_errors(self, structs: Any, cells: list[bytes | None], faults: dict[int, Fault]) -> Any:
        empty = pa.array([cell is None for cell in cells])
        arrays = [*structs.flatten(), corrupt_column(cells, faults), error_column(len(cells), faults)]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=empty)


@lru_cache(maxsize=16)
def cell_reader(cells: Cells) -> CellReader:
    """Return the reader of such cells, one for all batches of a process."""
    return CellReader(cells)


def portions(cells: Any) -> Iterator[tuple[int, int]]:
    """Yield from where to where cells are read at once.

    >>> list(portions(pa.array([b"a" * AT_ONCE, b"b", None, b"c"])))
    [(0, 1), (1, 4)]
    """
    lengths = pc.binary_length(cells).fill_null(0).to_numpy()
    offsets, start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), 0
    while start < len(cells):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + AT_ONCE, "right")) - 1)
        yield start, stop
        start = stop
