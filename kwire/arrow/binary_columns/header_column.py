"""The headers of frames in a column of binary as structs (`kwire_header`)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...protocol import Connection
from ...protocol.headers.apis import Apis

TYPE = pa.struct(
    [
        ("length", pa.int32()),
        ("api_key", pa.int16()),
        ("api_name", pa.string()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
    ]
)


def header_column(cells: Any, apis: Apis, is_request: bool) -> Any:
    """Return the headers of frames as structs.

    Args:
        cells: an array of binary, each a frame with its size field.
        apis: the apis to use.
        is_request: whether the frames are requests; headers of responses have only the correlation id.

    Returns:
        An array of structs; null for an incomplete frame. Fields of an unknown api are null.
    """
    connection = Connection(apis=apis)
    return pa.array([_header(cell, connection, is_request) for cell in cells.to_pylist()], TYPE)


def _header(data: bytes | None, connection: Connection, is_request: bool) -> dict[str, Any] | None:
    if data is None or len(data) < (12 if is_request else 8) or int.from_bytes(data[:4], "big") != len(data) - 4:
        return None
    if not is_request:
        return {"length": len(data), "correlation_id": int.from_bytes(data[4:8], "big", signed=True)}
    request = connection.read_request(data)
    api = connection.apis.get(int.from_bytes(data[4:8], "big", signed=True))
    return {
        "length": len(data),
        "api_key": int.from_bytes(data[4:6], "big", signed=True),
        "api_name": api.name if api else None,
        "api_version": int.from_bytes(data[6:8], "big", signed=True),
        "correlation_id": int.from_bytes(data[8:12], "big", signed=True),
        "client_id": request.client_id if request else None,
    }
