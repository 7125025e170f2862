"""Turns a construct tree into straight-line Python that reads and writes it fast.

The source knows how to succeed, and not how to explain: where it raises, the codec goes the reference path.
It takes exactly the bytes that the reference path reads without fault or note: those that are written the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire import Array, Struct
from ..wire.streams import Elements
from . import arrays, numbers, structs, tags, text  # noqa: F401 (they register their emitters)
from .alike import by_length
from .memo import Memo, remembering
from .runs import Reads, Writes
from .source import NoEmitter, Source
from .support import CONSTANTS, Refused, refuse
from .walk import read, write

__all__ = [
    "Decoder",
    "ElementReaders",
    "Encoder",
    "Memo",
    "NoEmitter",
    "Refused",
    "compile_decoder",
    "compile_encoder",
    "decoder_source",
    "encoder_source",
    "refuse",
]

Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


def decoder_source(schema: Struct, title: str = "schema", memo: Memo | None = None) -> Source:
    """Write the source of a tree's decoder."""
    source = Source(f"{title}: decode", **CONSTANTS)
    source.memo = memo
    out = Reads(source, source.fresh("decode"))
    message = read(schema, out)
    out.line(f"return {message}, p")
    return source


def compile_decoder(schema: Struct, title: str, memo: Memo | None = None) -> Decoder:
    """Compile the decoder of a tree.

    Args:
        schema: the tree.
        title: what tracebacks call the source.
        memo: what is to hold messages and elements that were decoded, if anything.

    Returns:
        A function of bytes and a position, which gives the message and the position behind it. That may lie
        behind the end: then the bytes were cut short. What it raises says no more than that it refuses.

    Raises:
        NoEmitter: there is a node that the compiler does not know.
    """
    decoder = by_length(schema, decoder_source(schema, title, memo).run()["decode"], title)
    return decoder if memo is None else remembering(decoder, memo)


class ElementReaders(dict[Array, Elements]):
    """By array, what reads some of its elements: made when bytes with many of them are refused, as `Reader.ahead`."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __missing__(self, array: Array) -> Elements:
        """Compile what reads so many elements of an array."""
        source = Source(f"{self.title}: elements", **CONSTANTS)
        try:
            name = arrays.read_counted(array, source)
            read: Elements = source.run()[name]
        except NoEmitter:  # a node of somebody's own
            read = refuse
        self[array] = read
        return read


def encoder_source(schema: Struct, title: str = "schema") -> Source:
    """Write the source of a tree's encoder."""
    source = Source(f"{title}: encode", **CONSTANTS)
    out = Writes(source, source.fresh("encode"), "m")
    out.line("o = []")
    write(schema, out, "m")
    out.finish()
    out.line("return b''.join(o)")
    return source


def compile_encoder(schema: Struct, title: str) -> Encoder:
    """Compile the encoder of a tree: a function of a message, which gives its bytes. As `compile_decoder`."""
    encoder: Encoder = encoder_source(schema, title).run()["encode"]
    return encoder
