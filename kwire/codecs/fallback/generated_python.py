"""Compiles a construct tree to straight-line Python code that decodes and encodes it fast.

The code handles only valid input: if it raises one of `REFUSALS`, the codec uses the reference path for the error. It
accepts exactly the bytes that the reference path decodes without faults or notes: those that encode to themselves.
The modules `emit_*` have an emitter per node class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...runtime.caches import once_attribute
from ..json_writer import JsonWriter, json_writer
from ..native import Declined
from ..wire import Array, Struct
from . import emit_arrays, emit_numbers, emit_strings, emit_structs  # noqa: F401 (register their emitters)
from .emit_arrays import read_counted
from .generated_helpers import CONSTANTS, refuse
from .reading_functions import ReadingFunction, read_node
from .source_builder import GeneratedSource, NoEmitter
from .writing_functions import WritingFunction, write_node

Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


def decoder_source(schema: Struct, title: str = "schema") -> GeneratedSource:
    """Generate the source of a tree's decoder."""
    source = GeneratedSource(f"{title}: decode", **CONSTANTS)
    out = ReadingFunction(source, source.fresh("decode"))
    message = read_node(schema, out)
    out.line(f"return {message}, p")
    return source


def compile_decoder(schema: Struct, title: str) -> Decoder:
    """Compile the decoder of a tree.

    Args:
        schema: the tree.
        title: the name of the source in tracebacks.

    Returns:
        A function of bytes and a position that returns the message and the position after it. A position after the end
        of the bytes means that they are truncated. Exceptions have no details.

    Raises:
        NoEmitter: there is a node that the compiler does not support.
    """
    decoder: Decoder = decoder_source(schema, title).run()["decode"]
    return decoder


def elements_of(array: Array, title: str) -> Callable[[bytes, int, int], tuple[Sequence[Any], int]] | None:
    """Compile the function that reads elements of an array, for `Reader.ahead`; None if there is no emitter."""
    source = GeneratedSource(f"{title}: elements", **CONSTANTS)
    try:
        name = read_counted(array, source)
    except NoEmitter:
        return None
    elements: Callable[[bytes, int, int], tuple[Sequence[Any], int]] = source.run()[name]
    return elements


def encoder_source(schema: Struct, title: str = "schema") -> GeneratedSource:
    """Generate the source of a tree's encoder."""
    source = GeneratedSource(f"{title}: encode", **CONSTANTS)
    out = WritingFunction(source, source.fresh("encode"), "m")
    out.line("o = []")
    write_node(schema, out, "m")
    out.finish()
    out.line("return b''.join(o)")
    return source


def compile_encoder(schema: Struct, title: str) -> Encoder:
    """Compile the encoder of a tree: a function of a message that returns its bytes. See `compile_decoder`."""
    encoder: Encoder = encoder_source(schema, title).run()["encode"]
    return encoder


class Generated:
    """Python source generated for a schema tree, compiled on first use."""

    def __init__(self, schema: Struct, title: str) -> None:
        self.schema: Struct = schema
        self.title: str = title

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends with the bytes."""
        message, stop = self._decoder(data, 0)
        if stop != len(data):
            raise Declined
        return message

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body at a position; return the message and the position after it."""
        message, stop = self._decoder(data, start)
        if stop > len(data):
            raise Declined
        return message, stop

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that starts at a position and ends with the bytes."""
        message, stop = self.decode_from(data, start)
        if stop != len(data):
            raise Declined
        return msgspec.json.encode(self._json_writer(message))

    @once_attribute
    def _decoder(self) -> Callable[[bytes, int], tuple[Any, int]]:
        try:
            return compile_decoder(self.schema, self.title)
        except NoEmitter:  # a node class from outside kwire: only the reference path supports it
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
