"""Reading and writing single nodes, for the tests of the wire types."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.wire import Node, Reader, Writer
from kwire.errors import DecodeError, EncodeError


def read(node: Node, hex_text: str) -> Any:
    """Read all of some bytes strictly."""
    reader = Reader(bytes.fromhex(hex_text))
    value = reader.child("it", node)
    assert reader.finish() == b""
    assert (reader.path, reader.faults) == ([], [])
    return value


def salvage(node: Node, hex_text: str) -> tuple[Any, list[tuple[type[DecodeError], int, str, str]]]:
    """Read all of some bytes in salvage: the value, and of each fault its kind, offset, path and raw bytes."""
    reader = Reader(bytes.fromhex(hex_text), salvage=True)
    value = reader.child("it", node)
    assert (reader.pos, reader.path) == (reader.end, [])
    return value, [(type(fault), fault.offset, fault.path, fault.raw.hex()) for fault in reader.faults]


def refused(node: Node, hex_text: str, kind: type[DecodeError], *, salvage: bool = False) -> Any:
    """Read bytes that are refused; the error, whose kind is that and no kin of it."""
    reader = Reader(bytes.fromhex(hex_text), salvage=salvage)
    reader.message, reader.version = "Thing", 3
    with pytest.raises(kind) as caught:
        reader.child("it", node)
    error = caught.value
    assert type(error) is kind
    assert (error.message, error.version, error.rest) == ("Thing", 3, reader.data[error.offset :])
    return error


def written(node: Node, value: Any) -> str:
    """Write a value; its bytes in hex."""
    writer = Writer("Thing", 3)
    writer.child("it", node, value)
    assert writer.path == []
    return bytes(writer.out).hex()


def unwritable(node: Node, value: Any, kind: type[EncodeError]) -> str:
    """Write a value that cannot be written; the path and the reason of the error."""
    with pytest.raises(kind) as caught:
        Writer("Thing", 3).child("it", node, value)
    assert type(caught.value) is kind
    assert (caught.value.message, caught.value.version) == ("Thing", 3)
    return f"{caught.value.path}: {caught.value.reason}"
