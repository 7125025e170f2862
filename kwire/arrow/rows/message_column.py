"""The column `message`: bodies as bytes, as JSON, or as structs with the fields of all versions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from ...codecs.columns.column import conform_array
from ...codecs.columns.column_reader import Columns
from ...codecs.columns.read_columns import arrow_schema
from ...errors import DecodeError, EncodeError
from ...protocol.headers.apis import Api
from ...redact.masking import mask
from ...schema.catalog import Catalog
from .frame_body import body_start, leave_unmasked, read_carefully
from .frame_rows import Row
from .masked_rows import mask_and_fill, may_hold_secrets
from .row_faults import RowFault, fault_of

BODY = "body_index"
LONG = 4  # average length above which runs are concatenated
NOWHERE = -2  # not adjacent to any position
WHOLE = 1 << 30  # rows or bytes: no limit, since the input is small enough for one batch
Groups = dict[int, tuple[list[int], list[bytes]]]  # version -> the rows, and the body of each row


class Bodies(ABC):
    """Builds the column `message` from rows.

    Attributes:
        type: the type of the column.
    """

    type: Any

    @abstractmethod
    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return the column as an Arrow array.

        Args:
            rows: the rows of one batch.
            faults: receives the errors of bodies, by row index.
        """


class RawBodies(Bodies):
    """Complete frames with size and header, not decoded.

    Args:
        mask_frame: returns the bytes of a row without its secrets; None to leave them as they are.
    """

    type: Any = pa.binary()

    def __init__(self, mask_frame: Callable[[Row], bytes] | None = None) -> None:
        self._mask_frame = mask_frame

    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return all frames, and null for fragments."""
        whole = self._mask_frame or attrgetter("data")
        return pa.array([whole(row) if row.fault is None else None for row in rows], self.type)


class JsonBodies(Bodies):
    """Bodies in Kafka's JSON form, as text.

    Args:
        are_masked: whether secrets are masked, as in the output of `kwire decode --jsonl`.
    """

    type: Any = pa.string()

    def __init__(self, *, are_masked: bool = False) -> None:
        self._are_masked = are_masked
        self._masker = mask if are_masked else leave_unmasked

    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return the JSON texts."""
        texts: list[str | None] = []
        for index, row in enumerate(rows):
            data, is_request, api = row.data, row.is_request, row.api
            codec = api.codec(is_request) if api is not None and row.fault is None else None
            if codec is None or api is None:
                texts.append(None)
                continue
            is_quick = not (self._are_masked and may_hold_secrets(codec, data))
            start = body_start(data, api, is_request) if is_quick else -1
            text = codec.json_text(data, start) if start >= 0 else None
            texts.append(self._carefully(data, api, is_request, index, faults) if text is None else text)
        return pa.array(texts, self.type)

    def _carefully(
        self, data: bytes, api: Api, is_request: bool | None, index: int, faults: dict[int, RowFault]
    ) -> str | None:
        codec, message, fault = read_carefully(data, api, is_request, self._masker)
        if fault is not None:
            faults[index] = fault
        return None if codec is None else msgspec.json.encode(codec.jsonable(message)).decode()


class _Quick(Columns):
    """Columns whose errors have no details, because the reference path decodes invalid bodies again."""

    def explain(self, body: bytes) -> DecodeError:
        """Return an error without details."""
        return DecodeError()


class StructBodies(Bodies):
    """Bodies of one message as structs.

    Args:
        name: the name of the message.
        fields: the fields to include, in this order, with dots for fields of structs; None means all.
        catalog: the specs.
        are_masked: whether a text with its size stands for each secret.

    Attributes:
        type: the type of the column. Fields that do not exist in a version are null.
    """

    def __init__(self, name: str, fields: Sequence[str] | None, catalog: Catalog, *, are_masked: bool = False) -> None:
        self._are_masked = are_masked
        self._masker = mask_and_fill if are_masked else leave_unmasked
        self.name: str = name
        self.catalog: Catalog = catalog
        schema = arrow_schema(name, columns=fields, catalog=catalog)
        self.type: Any = pa.struct([field for field in schema if field.name != BODY])
        self._fields = [*(fields if fields is not None else self.type.names), BODY]
        self._columns: dict[int, Columns] = {}

    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return structs, null for other messages."""
        groups, careful = self._groups(rows)
        pieces = []
        for version, (indices, bodies) in groups.items():
            for piece, places, errors in self._read(version, indices, bodies):
                pieces.append((piece, places))
                careful += [index for index, _ in errors]
        again: Groups = {}
        for index in careful:
            self._carefully(rows[index], index, again, faults)
        for version, (indices, bodies) in again.items():
            for piece, places, errors in self._read(version, indices, bodies):
                pieces.append((piece, places))
                for index, error in errors:
                    faults.setdefault(index, fault_of(error) or RowFault("BAD_FIELD", str(error), None, None))
        return put_in_order(pieces, len(rows), self.type)

    def _groups(self, rows: Sequence[Row]) -> tuple[Groups, list[int]]:
        """Return the bodies by version, and the rows whose body position only the reference path can determine."""
        groups: Groups = {}
        careful = []
        for index, row in enumerate(rows):
            data, is_request, api = row.data, row.is_request, row.api
            codec = api.codec(is_request) if api is not None and row.fault is None else None
            if api is None or codec is None or codec.name != self.name:
                continue
            is_quick = not (self._are_masked and may_hold_secrets(codec, data))
            start = body_start(data, api, is_request) if is_quick else -1
            if start < 0:
                careful.append(index)
                continue
            indices, bodies = groups.get(codec.version) or groups.setdefault(codec.version, ([], []))
            indices.append(index)
            bodies.append(data[start:])
        return groups, careful

    def _carefully(self, row: Row, index: int, groups: Groups, faults: dict[int, RowFault]) -> None:
        """Decode a frame on the reference path; encode the decoded part again for its group."""
        assert row.api is not None
        codec, message, fault = read_carefully(row.data, row.api, row.is_request, self._masker)
        if fault is not None:
            faults[index] = fault
        if codec is None:
            return
        try:
            body = codec.encode(message)
        except EncodeError:  # for example, replacing invalid UTF-8 has made a text too long
            return
        indices, bodies = groups.setdefault(codec.version, ([], []))
        indices.append(index)
        bodies.append(body)

    def _read(
        self, version: int, indices: Sequence[int], bodies: Sequence[bytes | None]
    ) -> Iterator[tuple[Any, list[int], list[tuple[int, DecodeError]]]]:
        columns = self._columns.get(version)
        if columns is None:
            spec = self.catalog.spec(self.name, version)
            columns = _Quick(spec, version, "", self._fields, union=True, max_rows=WHOLE, max_bytes=WHOLE)
            self._columns[version] = columns
        for batch, errors in columns.read(bodies):
            structs = pa.Array.from_buffers(self.type, batch.num_rows, [None], children=batch.columns[:-1])
            places = [indices[index] for index in batch.column(batch.num_columns - 1).to_pylist()]
            yield structs, places, [(indices[error.body_index], error.error) for error in errors]


class RequestOrResponseBodies(Bodies):
    """Bodies of an api as a struct with two fields, the request and the response; one of them is null.

    Args:
        parts: the builders of the two structs.
    """

    def __init__(self, parts: Mapping[str, StructBodies]) -> None:
        self.parts = parts
        self.type: Any = pa.struct([(name, structs.type) for name, structs in parts.items()])

    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return structs; null if both fields are null."""
        arrays = [structs.column(rows, faults) for structs in self.parts.values()]
        there = np.zeros(len(rows), bool)
        for array in arrays:
            there |= array.is_valid().to_numpy(zero_copy_only=False)
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=pa.array(~there))


class ProjectedBodies(Bodies):
    """Structs with the fields and field order of a user's schema.

    Args:
        bodies: the builder of structs with these fields, in any order.
        type_: the target type.
    """

    def __init__(self, bodies: Bodies, type_: Any) -> None:
        self.bodies: Bodies = bodies
        self.type = type_

    def column(self, rows: Sequence[Row], faults: dict[int, RowFault]) -> Any:
        """Return structs of this type."""
        return conform_array(self.bodies.column(rows, faults), self.type)


def put_in_order(columns: Sequence[tuple[Any, list[int]]], count: int, type_: Any) -> Any:
    """Concatenate arrays whose values have positions in the result; positions without a value are null."""
    if len(columns) == 1 and columns[0][1] == list(range(count)):
        return columns[0][0]
    if not columns:
        return pa.nulls(count, type_)
    places = np.array([index for _, some in columns for index in some], np.int64)
    order = np.full(count, NOWHERE)
    order[places] = np.arange(len(places))
    values = pa.concat_arrays([array for array, _ in columns])
    # The ends of runs. Concatenating long runs is faster than taking single values.
    bounds = np.flatnonzero(np.diff(order, prepend=2 * NOWHERE) != (order >= 0))
    if len(bounds) * LONG > count:
        return values.take(pa.array(order, mask=order < 0))
    pieces = [
        pa.nulls(stop - start, type_) if order[start] < 0 else values.slice(order[start], stop - start)
        for start, stop in pairwise([*bounds.tolist(), count])
    ]
    return pa.concat_arrays(pieces)
