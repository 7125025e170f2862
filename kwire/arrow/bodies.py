"""The column `message`: bodies as JSON or as they are (as structs: `structs`); what cannot be read is null and a fault.

Strict goes first; what that refuses is read again by the reference path, which keeps what Kafka tolerates. Knows rows;
knows no files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from ..codecs import Codec
from ..faults import DefaultTag
from ..frames import Frame, Undecodable
from ..frames.apis import Api
from ..frames.reading import FrameReading, may_be_downgraded
from .faults import Fault, fault_of
from .pairing import Row


class Read(NamedTuple):
    """A frame read by the reference path: the codec and message, if there is one, and what is wrong with it."""

    codec: Codec | None
    message: Any
    fault: Fault | None


def read_carefully(data: bytes, api: Api, asked: bool | None) -> Read:
    """Read one frame by the reference path; never raises for what the bytes are."""
    codec = api.codec(asked)
    assert codec is not None
    reading = FrameReading(Frame(data, bare=api.bare), api.catalog, salvage=True, trace=False)
    read = reading.body if api.bare else reading.request if asked else reading.response
    result: Any = read(codec)
    if isinstance(result, Undecodable):
        return Read(None, None, fault_of(result.error))
    faults = [fault for fault in result.faults if not isinstance(fault, DefaultTag)]
    return Read(result.codec, result.message, fault_of(faults[0]) if faults else None)


def body_start(data: bytes, api: Api, asked: bool | None) -> int:
    """Return where the body of a frame begins, -1 if only the reference path can say."""
    if api.bare:
        return 0
    if not asked:
        if api.response_header is None:
            return 4
        start = 8
        flexible = api.response_header == 1
        if may_be_downgraded(api.key, data):
            return -1
    else:
        version = api.request_header
        start = 14 + max(0, int.from_bytes(data[12:14], "big", signed=True)) if version else 12
        flexible = version == 2
    if not flexible:
        return start
    return start + 1 if data[start : start + 1] == b"\0" else -1


class Bodies(ABC):
    """What makes the column `message` out of rows.

    Attributes:
        type: of the column.
    """

    type: Any

    @abstractmethod
    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return the column, as an Arrow array.

        Args:
            rows: of one batch.
            faults: gets what is wrong with bodies, by the index of the row.
        """


class Raw(Bodies):
    """Frames as they are, with size and header; nothing is decoded."""

    type = pa.binary()

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return all frames, and null for what is none."""
        return pa.array([row[1] if row[8] is None else None for row in rows], self.type)


class Json(Bodies):
    """Kafka's JSON form of bodies, as text."""

    type = pa.string()

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return texts."""
        texts: list[str | None] = []
        for index, (_, data, _, _, asked, api, _, _, fault) in enumerate(rows):
            codec = api.codec(asked) if api is not None and fault is None else None
            if codec is None or api is None:
                texts.append(None)
                continue
            start = body_start(data, api, asked)
            text = codec.json_text(data, start) if start >= 0 else None
            texts.append(_carefully(data, api, asked, index, faults) if text is None else text)
        return pa.array(texts, self.type)


def _carefully(data: bytes, api: Api, asked: bool | None, index: int, faults: dict[int, Fault]) -> str | None:
    codec, message, fault = read_carefully(data, api, asked)
    if fault is not None:
        faults[index] = fault
    return None if codec is None else msgspec.json.encode(codec.jsonable(message)).decode()
