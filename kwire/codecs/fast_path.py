"""The fast path of a message at one version, native or generated; what it refuses, the reference path explains.

Which one runs is `ENGINE`: `native`, the compiled interpreter; `python`, source generated for each message, where that
was not built; `reference`, none. The environment variable `KWIRE_ENGINE` chooses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import msgspec

from .. import native
from ..caches import once_attribute
from ..errors import KwireError
from ..wire import Array, Struct
from ..wire.streams import Elements
from .generated import NoEmitter, Refused, compile_decoder, compile_elements, compile_encoder, refuse
from .json import JsonWriter, json_writer

ENGINES = ("native", "python", "reference")


class BadEngine(KwireError):
    """An unknown or unavailable engine was requested: `KWIRE_ENGINE`."""

    def __init__(self, engine: str = "", reason: str = "") -> None:
        super().__init__(engine, reason)
        self.engine: str = engine
        self.hint = reason

    def __str__(self) -> str:
        return f"there is no engine {self.engine!r}; {self.hint}"


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


def chosen_engine(wanted: str, available: bool) -> str:
    """Return the engine that runs.

    Args:
        wanted: one of `ENGINES`, or empty for the fastest.
        available: whether the native one was built.

    Raises:
        BadEngine: there is no such engine, or it was not built.
    """
    if wanted not in ("", *ENGINES):
        raise BadEngine(wanted, f"KWIRE_ENGINE is one of {', '.join(ENGINES)}")
    if wanted == "native" and not available:
        raise BadEngine(wanted, "it was not built when kwire was installed, for want of a C compiler")
    return wanted or ("native" if available else "python")


ENGINE = chosen_engine(os.environ.get("KWIRE_ENGINE", ""), native.AVAILABLE)
engine = ENGINE  # `kwire.engine`


def fast_path(schema: Struct, title: str, engine: str = ENGINE) -> FastPath:
    """Return the fast path of a tree.

    Args:
        schema: the tree.
        title: what tracebacks call generated source.
        engine: one of `ENGINES`.
    """
    if engine == "native":
        try:
            return native.NodeTable(*native.node_table(schema))
        except native.NoTable:  # a node of somebody's own: the reference path alone knows it
            pass
    return Generated(schema, title) if engine == "python" else NoFastPath()


def read_elements(array: Array, title: str, engine: str = ENGINE) -> Elements:
    """Return the fast path of an array's elements: it reads so many of them from a position on."""
    try:
        if engine == "native":
            return native.NodeTable(*native.node_table(array.element)).decode_many
        if engine == "python":
            return compile_elements(array, title)
    except (NoEmitter, native.NoTable):  # a node of somebody's own
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


class NoFastPath:
    """Accepts nothing."""

    def decode(self, data: bytes) -> NoReturn:
        """Refuse."""
        raise Refused

    def decode_from(self, data: bytes, start: int) -> NoReturn:
        """Refuse."""
        raise Refused

    def encode(self, message: Any) -> NoReturn:
        """Refuse."""
        raise Refused

    def json(self, data: bytes, start: int = 0) -> NoReturn:
        """Refuse."""
        raise Refused


class Generated:
    """Python source that is written for a tree, and compiled on first use."""

    def __init__(self, schema: Struct, title: str) -> None:
        self.schema: Struct = schema
        self.title: str = title

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends where the bytes do."""
        message, stop = self._decoder(data, 0)
        if stop != len(data):
            raise Refused
        return message

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body that begins at a position; return it, and the position behind it."""
        message, stop = self._decoder(data, start)
        if stop > len(data):
            raise Refused
        return message, stop

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that begins at a position and ends where the bytes do."""
        message, stop = self.decode_from(data, start)
        if stop != len(data):
            raise Refused
        return msgspec.json.encode(self._json_writer(message))

    @once_attribute
    def _decoder(self) -> Callable[[bytes, int], tuple[Any, int]]:
        try:
            return compile_decoder(self.schema, self.title)
        except NoEmitter:  # a node of somebody's own: the reference path alone knows it
            return refuse

    @once_attribute
    def encode(self) -> Callable[[Any], bytes]:
        """Encode a message."""
        try:
            return compile_encoder(self.schema, self.title)
        except NoEmitter:
            return refuse

    @once_attribute
    def _json_writer(self) -> JsonWriter:
        writer = json_writer(self.schema)
        assert writer is not None
        return writer
