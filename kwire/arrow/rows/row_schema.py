"""The columns of rows in Arrow and Spark: names, types and comments; those that options or a schema select."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...errors import UnknownMessage
from ..read_options import NONE, PERMISSIVE, BadOption, Options

CONNECTION = pa.struct(
    [
        ("src", pa.string()),
        ("src_port", pa.int32()),
        ("dst", pa.string()),
        ("dst_port", pa.int32()),
        ("began", pa.timestamp("us", "UTC")),
    ]
)
ERROR = pa.struct([("code", pa.string()), ("reason", pa.string()), ("field", pa.string()), ("position", pa.int64())])
# Names and types as in Spark's file sources.
FILE = pa.struct(
    [
        ("file_path", pa.string()),
        ("file_name", pa.string()),
        ("file_size", pa.int64()),
        ("file_modification_time", pa.timestamp("us", "UTC")),
    ]
)
# Columns in order; the type of `message` depends on `body`.
TYPES: dict[str, Any] = {
    "path": pa.string(),
    "offset": pa.int64(),
    "length": pa.int32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "connection": CONNECTION,
    "direction": pa.string(),
    "api_key": pa.int16(),
    "api_name": pa.string(),
    "api_version": pa.int16(),
    "correlation_id": pa.int32(),
    "client_id": pa.string(),
    "message": None,
    "_corrupt_record": pa.binary(),
    "_error": ERROR,
    "_metadata": FILE,
}
COMMENTS = {
    "path": "the file in which the frame ends",
    "offset": "of a capture: bytes of the stream before the frame; of other files: the place in the file",
    "length": "bytes of the frame, with its length prefix",
    "timestamp": "when the frame's last byte was captured",
    "connection": "addresses of the client and the broker, and when the connection began",
    "direction": "request or response",
    "api_key": "the api's number in the protocol",
    "api_name": "the api, such as Fetch; null if it is not known",
    "api_version": "the version of the request",
    "correlation_id": "pairs a response with its request",
    "client_id": "what the client calls itself",
    "message": "the decoded body",
    "_corrupt_record": "the bytes of what could not be decoded",
    "_error": "why a frame could not be decoded",
    "_metadata": "the file in which the frame ends, as it was when it was read",
}  # comments of table columns
MESSAGE, CORRUPT, ERROR_NAME, METADATA = "message", "_corrupt_record", "_error", "_metadata"
CORRUPT_HINT = "add it, or choose mode=DROPMALFORMED (leave such frames out) or mode=FAILFAST"


def columns_for(options: Options, schema: Any = None) -> list[str]:
    """Return the names of the selected columns, in order."""
    corrupt = options.column_name_of_corrupt_record
    known = [corrupt if name == CORRUPT else name for name in TYPES if options.body != NONE or name != MESSAGE]
    if schema is not None:
        names = list(schema.names)
        if options.mode == PERMISSIVE and corrupt not in names:
            raise BadOption(
                "schema", None, f"in PERMISSIVE, the schema needs the column {corrupt} BINARY", CORRUPT_HINT
            )
    else:
        names = list(options.columns) or [name for name in known if name != METADATA]
        if options.metadata and METADATA not in names:
            names.append(METADATA)
        if options.mode == PERMISSIVE:
            names += [name for name in (corrupt, ERROR_NAME) if name not in names]
    for name in names:
        if name not in known or names.count(name) > 1:
            raise UnknownMessage("column", name, known)
        if schema is not None and name != MESSAGE:
            _check(name, TYPES[CORRUPT if name == corrupt else name], schema.field(name))
    return names


def _check(name: str, type_: Any, field: Any) -> None:
    if field.type != type_:
        raise BadOption("schema", None, f"the column {name} is {type_}, not {field.type}")
