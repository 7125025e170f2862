"""Chooses the fast path of a message: the native engine, generated Python, or none.

The generator is imported only where generated source runs: importing it takes a third of the start-up of a command.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from ..errors import KwireError
from . import native
from .native import ENGINE, Declined
from .native.node_table import NoTable, node_table
from .wire import Array, Struct
from .wire.reader import Elements

# With these exceptions a fast path leaves bytes or a value to the reference path. Any other, such as MemoryError, is a
# failure that the caller must see. Generated source checks little itself: its slices and structs raise for bad input.
REFUSALS_OF: dict[str, tuple[type[Exception], ...]] = {
    "native": (Declined, UnicodeError),
    "python": (Declined, KwireError, struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError),
    "reference": (Declined,),
}
REFUSALS = REFUSALS_OF[ENGINE]


if ENGINE == "python":  # now rather than on first use, which is under a lock
    from .fallback import generated_python  # noqa: F401


def refuse(*_: Any) -> Any:
    """Raise `Declined`."""
    raise Declined


class FastPath(Protocol):
    """Decodes and encodes one message at one version.

    If it does not accept its input, it raises one of `REFUSALS`, without details.
    """

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends with the bytes."""

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body at a position; return the message and the position after it."""

    def encode(self, message: Any) -> bytes:
        """Encode a message."""

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that starts at a position and ends with the bytes."""


class NoFastPath:
    """A fast path that refuses all input."""

    decode: Any = staticmethod(refuse)
    decode_from: Any = decode
    encode: Any = decode
    json: Any = decode


def choose_fast_path(schema: Struct, title: str, engine: str = ENGINE) -> FastPath:
    """Return the fast path of a schema tree.

    Args:
        schema: the tree.
        title: the name of generated source in tracebacks.
        engine: one of `ENGINES`.
    """
    if engine == "native":
        try:
            return native.NodeTable(*node_table(schema))
        except NoTable:  # a node class from outside kwire: only the reference path supports it
            pass
    if engine == "python":
        from .fallback.generated_python import Generated

        return Generated(schema, title)
    return NoFastPath()


def read_elements(
    array: Array, title: str, engine: str = ENGINE
) -> Callable[[bytes, int, int], tuple[Sequence[Any], int]]:
    """Return a function that decodes a number of an array's elements at a position."""
    try:
        if engine == "native":
            return native.NodeTable(*node_table(array.element)).decode_many
        if engine == "python":
            from .fallback.generated_python import elements_of

            return elements_of(array, title) or refuse
    except NoTable:  # a node class from outside kwire
        pass
    return refuse


@lru_cache(maxsize=1024)
def table_of(codec: Any) -> native.NodeTable | None:
    """Return the native engine's table for a codec's bodies; None if another engine reads them."""
    if ENGINE != "native":
        return None
    if type(codec._fast) is native.NodeTable:
        return codec._fast
    try:
        return native.NodeTable(*node_table(codec.tree))
    except NoTable:
        return None


class ElementReaders(dict[Array, Elements]):
    """Functions that decode elements of arrays, by array; they return None for bytes that they refuse.

    They are created when the body of a large array has been refused (`Reader.ahead`).
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __missing__(self, array: Array) -> Elements:
        """Create the function for an array."""
        read = read_elements(array, self.title)

        def read_accepted(data: bytes, start: int, count: int) -> tuple[Sequence[Any], int] | None:
            try:
                return read(data, start, count)
            except REFUSALS:
                return None

        self[array] = read_accepted
        return read_accepted
