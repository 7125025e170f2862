"""Turns a construct tree into straight-line Python that reads and writes it fast.

The source knows how to succeed, and not how to explain: where it raises, the codec goes the reference path.
It takes exactly the bytes that the reference path reads without fault or note: those that are written the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...wire import Array, Struct
from ...wire.streams import Elements
from . import containers, scalars  # noqa: F401 (they register their emitters)
from .emitter import NoEmitter, Reads, Source, Writes, read, write
from .runtime import CONSTANTS, Refused, refuse

__all__ = [
    "Decoder",
    "Encoder",
    "NoEmitter",
    "Refused",
    "compile_decoder",
    "compile_elements",
    "compile_encoder",
    "decoder_source",
    "encoder_source",
    "refuse",
]

Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


def decoder_source(schema: Struct, title: str = "schema") -> Source:
    """Write the source of a tree's decoder."""
    source = Source(f"{title}: decode", **CONSTANTS)
    out = Reads(source, source.fresh("decode"))
    message = read(schema, out)
    out.line(f"return {message}, p")
    return source


def compile_decoder(schema: Struct, title: str) -> Decoder:
    """Compile the decoder of a tree.

    Args:
        schema: the tree.
        title: what tracebacks call the source.

    Returns:
        A function of bytes and a position, which gives the message and the position behind it. That may lie
        behind the end: then the bytes were cut short. What it raises says no more than that it refuses.

    Raises:
        NoEmitter: there is a node that the compiler does not know.
    """
    decoder: Decoder = decoder_source(schema, title).run()["decode"]
    return decoder


def compile_elements(array: Array, title: str) -> Elements:
    """Compile what reads so many elements of an array, as `Reader.ahead` wants it. Raises NoEmitter."""
    source = Source(f"{title}: elements", **CONSTANTS)
    name = containers.read_counted(array, source)
    elements: Elements = source.run()[name]
    return elements


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
