"""All executions at once: the native engine and generated Python are compared, in every test, with the reference path.

So each suite runs over all of them: a fast path must accept what the reference accepts without fault or note, give the
same value and end at the same place, and refuse all else. A difference ends the test, whatever catches errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kwire.codecs import message_codec, native
from kwire.codecs.fallback.generated_helpers import refuse
from kwire.codecs.fallback.generated_python import Generated
from kwire.codecs.fast_path import REFUSALS_OF, FastPath, NoFastPath, choose_fast_path
from kwire.codecs.json_writer import to_json
from kwire.codecs.native import ENGINES, Declined
from kwire.codecs.wire import Array, Reader, Struct, Writer
from kwire.errors import DecodeError, EncodeError

FAST = [engine for engine in ENGINES if engine != "reference" and (engine != "native" or native.AVAILABLE)]


class Disagreement(BaseException):
    """The executions differ. No `except Exception` must catch it."""


def reference_decoding(schema: Struct, data: bytes, start: int) -> tuple[Any, int] | None:
    """Decode by the reference path; None for what it refuses or notes a fault of."""
    reader = Reader(data, start)
    try:
        message = schema._parse(reader, None, "")
    except DecodeError:
        return None
    return None if reader.faults else (message, reader.pos)


def refusals_of(path: FastPath) -> tuple[type[Exception], ...]:
    """Return the exceptions with which a fast path refuses; any other is a failure."""
    return REFUSALS_OF["python" if isinstance(path, Generated) else "native"]


def fast_decoding(path: FastPath, data: bytes, start: int) -> tuple[Any, int] | None:
    """Decode by a fast path; None for what it refuses."""
    try:
        return path.decode_from(data, start)
    except refusals_of(path):
        return None
    except Exception as error:
        raise Disagreement(f"{type(path).__name__} failed: {error!r}: {data[start:].hex()}") from error


def reference_encoding(schema: Struct, message: Any) -> bytes | None:
    """Encode by the reference path; None for what it refuses."""
    writer = Writer()
    try:
        schema._build(message, writer, None, "")
    except EncodeError:
        return None
    return bytes(writer.out)


def fast_encoding(path: FastPath, message: Any) -> bytes | None:
    """Encode by a fast path; None for what it refuses."""
    try:
        return path.encode(message)
    except refusals_of(path):
        return None
    except Exception as error:
        raise Disagreement(f"{type(path).__name__} failed: {error!r}: {message!r}") from error


def is_left_out(path: FastPath, schema: Struct) -> bool:
    """Whether a fast path leaves a tree to the reference, as is right for nodes of users' own alone."""
    left_out = isinstance(path, NoFastPath) or (isinstance(path, Generated) and refuse in (path._decoder, path.encode))
    if left_out and all(type(node).__module__.startswith("kwire.codecs.wire.") for node in nodes_in(schema)):
        raise Disagreement(f"{type(path).__name__} does not know a tree of kwire's own nodes")
    return left_out


def nodes_in(node: Any) -> Iterator[Any]:
    """Yield a node and all below it."""
    yield node
    below = [node.element] if isinstance(node, Array) else [getattr(node, "subcon", None)]
    if isinstance(node, Struct):
        below = [field.subcon for field in (*node.fields, *(node.tagged.fields.values() if node.tagged else ()))]
    for one in below:
        if one is not None:
            yield from nodes_in(one)


class AgreeingPath:
    """A fast path that compares all fast paths with the reference, each time."""

    def __init__(self, schema: Struct, title: str) -> None:
        self.schema, self.title = schema, title
        paths = {engine: choose_fast_path(schema, title, engine) for engine in FAST}
        self.paths = {engine: path for engine, path in paths.items() if not is_left_out(path, schema)}

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode by all."""
        wanted = reference_decoding(self.schema, data, start)
        for engine, path in self.paths.items():
            found = fast_decoding(path, data, start)
            if repr(found) != repr(wanted):
                raise Disagreement(f"{self.title}: {data[start:].hex()}: {engine} {found}, reference {wanted}")
        if wanted is None:
            raise Declined
        return wanted

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends where the bytes do."""
        message, stop = self.decode_from(data, 0)
        if stop != len(data):
            raise Declined
        return message

    def encode(self, message: Any) -> bytes:
        """Encode by all."""
        wanted = reference_encoding(self.schema, message)
        for engine, path in self.paths.items():
            found = fast_encoding(path, message)
            # A path may leave what is unusual, such as a sequence that is no tuple, to the reference.
            if found != wanted and found is not None:
                raise Disagreement(f"{self.title}: {message}: {engine} {found!r}, reference {wanted!r}")
        if wanted is None:
            raise Declined
        return wanted

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Write JSON text by all."""
        message, stop = self.decode_from(data, start)
        if stop != len(data):
            raise Declined
        wanted = msgspec.json.encode(to_json(self.schema, message))
        for engine, path in self.paths.items():
            if path.json(data, start) != wanted:
                raise Disagreement(f"{self.title}: {data[start:].hex()}: {engine} {path.json(data, start)!r}")
        return wanted


def let_executions_agree(patch: Any) -> None:
    """Let every codec of this process compare its executions from now on."""
    patch.setattr(message_codec, "choose_fast_path", AgreeingPath)
