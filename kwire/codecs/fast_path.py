"""The fast path of a message at one version, native or generated; the reference path raises the errors for bytes that
it refuses.

The generator is imported where generated source runs: a third of the start-up of a command.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from .. import native
from ..native import ENGINE
from ..native.table import NoTable, node_table
from ..wire import Array, Struct
from ..wire.streams import Elements

if ENGINE == "python":  # not on first use, which is under a lock
    from . import generated  # noqa: F401


def refuse(*_: Any) -> Any:
    """Raise `Refused`."""
    raise NotImplementedError


class FastPath(Protocol):
    """Decodes and encodes one message at one version. For everything that it does not accept it raises an exception of
    any type, without details."""

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends with the bytes."""

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body at a position; return the message and the position after it."""

    def encode(self, message: Any) -> bytes:
        """Encode a message."""

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that starts at a position and ends with the bytes."""


class NoFastPath:
    """A fast path that refuses everything."""

    decode = decode_from = encode = json = staticmethod(refuse)


def fast_path(schema: Struct, title: str, engine: str = ENGINE) -> FastPath:
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
        from .generated import Generated

        return Generated(schema, title)
    return NoFastPath()


def read_elements(array: Array, title: str, engine: str = ENGINE) -> Elements:
    """Return a function that decodes a number of an array's elements at a position."""
    try:
        if engine == "native":
            return native.NodeTable(*node_table(array.element)).decode_many
        if engine == "python":
            from .generated import elements_of

            return elements_of(array, title) or refuse
    except NoTable:  # a node class from outside kwire
        pass
    return refuse


@lru_cache(maxsize=1024)
def table_of(codec: Any) -> native.NodeTable | None:
    """Return the native engine's table of a codec's bodies; None where another engine reads them."""
    if ENGINE != "native":
        return None
    if type(codec._fast) is native.NodeTable:
        return codec._fast
    try:
        return native.NodeTable(*node_table(codec.schema))
    except NoTable:
        return None


class ElementReaders(dict[Array, Elements]):
    """Functions that decode elements of arrays, created when the body of a large array has been refused
    (`Reader.ahead`)."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __missing__(self, array: Array) -> Elements:
        """Create the function for an array."""
        read = self[array] = read_elements(array, self.title)
        return read
