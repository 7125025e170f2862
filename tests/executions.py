"""Both executions at once: what the codecs compile is, in every test, compared with the reference path.

So each suite runs over both: the compiled one must accept what the reference accepts without fault or note, give the
same value and end at the same place, and refuse all else. A difference ends the test, whatever catches errors.
"""

from __future__ import annotations

from typing import Any

from kwire import codecs
from kwire.compiler import Decoder, Encoder, Memo, compile_decoder, compile_encoder
from kwire.errors import DecodeError, EncodeError
from kwire.wire import Reader, Struct, Writer


class Disagreement(BaseException):
    """The executions differ. No `except Exception` must catch it."""


def reference_decoding(schema: Struct, data: bytes, start: int) -> tuple[Any, int] | None:
    """Decode by the reference path; None for what it refuses or tells a fault of."""
    reader = Reader(data, start)
    try:
        message = schema._parse(reader, None, "")
    except DecodeError:
        return None
    return None if reader.faults else (message, reader.pos)


def compiled_decoding(decoder: Decoder, data: bytes, start: int) -> tuple[Any, int] | None:
    """Decode by the compiled path; None for what it refuses."""
    try:
        message, stop = decoder(data, start)
    except Exception:
        return None
    return (message, stop) if stop <= len(data) else None


def agreeing_decoder(schema: Struct, title: str, memo: Memo | None = None) -> Decoder:
    """Compile a decoder that compares itself with the reference path, each time, and so does one with a memo."""
    decoder = compile_decoder(schema, title, memo)
    remembering = compile_decoder(schema, title, Memo())

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        wanted = reference_decoding(schema, data, start)
        for one in (decoder, remembering, remembering):
            found = compiled_decoding(one, data, start)
            if repr(found) != repr(wanted):
                raise Disagreement(f"{title}: {data[start:].hex()}: compiled {found}, reference {wanted}")
        return decoder(data, start)

    return decode


def reference_encoding(schema: Struct, message: Any) -> bytes | None:
    """Encode by the reference path; None for what it refuses."""
    writer = Writer()
    try:
        schema._build(message, writer, None, "")
    except EncodeError:
        return None
    return bytes(writer.out)


def compiled_encoding(encoder: Encoder, message: Any) -> bytes | None:
    """Encode by the compiled path; None for what it refuses."""
    try:
        return encoder(message)
    except Exception:
        return None


def agreeing_encoder(schema: Struct, title: str) -> Encoder:
    """Compile an encoder that compares itself with the reference path, each time."""
    encoder = compile_encoder(schema, title)

    def encode(message: Any) -> bytes:
        found, wanted = compiled_encoding(encoder, message), reference_encoding(schema, message)
        if found != wanted:
            raise Disagreement(f"{title}: {message}: compiled {found!r}, reference {wanted!r}")
        return encoder(message)

    return encode


def let_executions_agree(patch: Any) -> None:
    """Let every codec of this process compare its executions from now on."""
    patch.setattr(codecs, "compile_decoder", agreeing_decoder)
    patch.setattr(codecs, "compile_encoder", agreeing_encoder)
