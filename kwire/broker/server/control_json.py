"""Values of control operations as JSON. Bytes are text if they are UTF-8, and `{"base64": "..."}` otherwise; both forms
are accepted.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from ...codecs.records import Record, RecordHeader


def to_json(value: Any) -> Any:
    """Return a value as what the json module writes."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Record):
        fields = ("offset", "timestamp", "key", "value", "headers")
        return {name: getattr(value, name) for name in fields}
    from ...render.json_objects.frame_json import envelope  # here: serve starts sooner

    return envelope(value)


def read_bytes(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keys, values and headers of records to bytes."""
    if operation != "produce" or not isinstance(rows := arguments.get("records"), list):
        return dict(arguments)
    return {**arguments, "records": [_record(row) for row in rows]}


def _record(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError('a record is an object, such as {"key": "k", "value": "v"}')
    headers = [(name, parse_bytes(value)) for name, value in row.get("headers") or ()]
    return {**row, "key": parse_bytes(row.get("key")), "value": parse_bytes(row.get("value")), "headers": headers}


def parse_bytes(value: Any) -> bytes | None:
    """Return the bytes that a JSON value stands for."""
    if isinstance(value, dict):
        return base64.b64decode(value.get("base64", ""), validate=True)
    return value.encode() if isinstance(value, str) else value


def parse_record(row: dict[str, Any]) -> Record:
    """Return the record that a JSON object stands for."""
    headers = tuple(RecordHeader(name, parse_bytes(value)) for name, value in row["headers"])
    return Record(row["offset"], row["timestamp"], parse_bytes(row["key"]), parse_bytes(row["value"]), headers)
