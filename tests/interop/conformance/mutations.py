"""Odd variants of a request: each field in turn empty, null, out of range, unknown; each row twice, or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

# Fields whose odd values make the broker wait, or are no part of what is asked.
KEPT = frozenset("timeout_ms max_wait_ms min_bytes unknown_tagged_fields rebalance_timeout_ms records metadata".split())
ID_SIZE = 16  # bytes of a UUID


def mutate_request(message: Any) -> Iterator[tuple[str, Any]]:
    """Yield variants of a request, each with the name of what is odd."""
    yield from _mutate_struct(message, "")


def _mutate_struct(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in value.__struct_fields__:
        if name in KEPT:
            continue
        for what, odd in _mutate_value(getattr(value, name), f"{path}{name}"):
            yield what, msgspec.structs.replace(value, **{name: odd})


def _mutate_value(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        yield from _mutate_struct(value, f"{path}.")
    elif isinstance(value, tuple):
        yield from _mutate_rows(value, path)
    else:
        for what, odd in _list_odd(value):
            yield f"{path}={what}", odd


def _list_odd(value: Any) -> list[tuple[str, Any]]:
    """Return odd values for one of these types, each with its name."""
    if isinstance(value, bool):
        return [(str(not value), not value)]
    if isinstance(value, int):
        return [(str(odd), odd) for odd in (-2, -1, 0, 1, 99) if odd != value]
    if isinstance(value, str):
        return [*((repr(odd), odd) for odd in ("", "a b", "nobody")), ("null", None)]
    if isinstance(value, bytes) and len(value) == ID_SIZE:
        return [("unknown", bytes(15) + b"\x07"), ("zero", bytes(ID_SIZE))]
    return [("'x'", "x")] if value is None else []


def _mutate_rows(rows: tuple[Any, ...], path: str) -> Iterator[tuple[str, Any]]:
    yield f"{path}=empty", ()
    yield f"{path}=null", None
    if rows:
        yield f"{path}=twice", (*rows, rows[0])
    if rows and isinstance(rows[0], msgspec.Struct):
        for what, odd in _mutate_struct(rows[0], f"{path}."):
            yield what, (odd, *rows[1:])
