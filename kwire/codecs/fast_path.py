"""The fast path of a message at one version, native or generated; what it refuses, the reference path explains.

The generator is imported where generated source runs: a third of the start-up of a command.
"""

from __future__ import annotations

from typing import Any, Protocol

from .. import native
from ..native import ENGINE
from ..native.table import NoTable, node_table
from ..wire import Array, Struct
from ..wire.streams import Elements

if ENGINE == "python":  # not on first use, which is under a lock
    from . import generated  # noqa: F401


def refuse(*_: Any) -> Any:
    """Leave whatever it is to the reference path."""
    raise NotImplementedError


class FastPath(Protocol):
    """Decodes and encodes one message at one version. Whatever it does not accept raises an exception, of any kind and
    without words."""

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends where the bytes do."""

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body that begins at a position; return it, and the position behind it."""

    def encode(self, message: Any) -> bytes:
        """Encode a message."""

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that begins at a position and ends where the bytes do."""


class NoFastPath:
    """Accepts nothing."""

    decode = decode_from = encode = json = staticmethod(refuse)


def fast_path(schema: Struct, title: str, engine: str = ENGINE) -> FastPath:
    """Return the fast path of a tree.

    Args:
        schema: the tree.
        title: what tracebacks call generated source.
        engine: one of `ENGINES`.
    """
    if engine == "native":
        try:
            return native.NodeTable(*node_table(schema))
        except NoTable:  # a node of somebody's own: the reference path alone knows it
            pass
    if engine == "python":
        from .generated import Generated

        return Generated(schema, title)
    return NoFastPath()


def read_elements(array: Array, title: str, engine: str = ENGINE) -> Elements:
    """Return the fast path of an array's elements: it reads so many of them from a position on."""
    try:
        if engine == "native":
            return native.NodeTable(*node_table(array.element)).decode_many
        if engine == "python":
            from .generated import elements_of

            return elements_of(array, title) or refuse
    except NoTable:  # a node of somebody's own
        pass
    return refuse


class ElementReaders(dict[Array, Elements]):
    """By array, what reads some of its elements: made when bytes with many of them are refused, as `Reader.ahead`."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __missing__(self, array: Array) -> Elements:
        """Make what reads the elements of an array."""
        read = self[array] = read_elements(array, self.title)
        return read
