"""What kwire is measured against: for a message at a version, how each decodes, encodes and shows its values.

A peer that is not installed, or does not have the message, is None. Each is asked to read bytes in memory into its
whole tree of objects, and to write that tree to bytes.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

import construct
import msgspec
from bodies import Body

import kwire
from kwire import wire


class Peer(NamedTuple):
    """How one implementation reads and writes one message; `agrees` says whether it reads the values of ours."""

    decode: Callable[[], Any]
    encode: Callable[[], bytes]
    agrees: Callable[[Any], bool] = lambda message: True


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in a tree of objects, each as plain as it can be."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    else:
        yield plain(value)


def plain(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    return None if value == bytes(16) else value


def our_leaves(node: Any, value: Any) -> Iterator[Any]:
    """Yield the values of a message that its version has."""
    if isinstance(node, wire.Struct):
        for field in node.all_fields:
            yield from our_leaves(field.subcon, getattr(value, field.name))
    elif isinstance(node, wire.Array) and value is not None:
        for item in value:
            yield from our_leaves(node.element, item)
    elif isinstance(node, wire.NullableStruct) and value is not None:
        yield from our_leaves(node.subcon, value)
    else:
        yield plain(value)


def ours(body: Body) -> Peer:
    codec = kwire.codec(body.message, body.version)
    message = codec.decode(body.data)
    return Peer(lambda: codec.decode(body.data), lambda: codec.encode(message))


def remembering(body: Body) -> Peer:
    codec = kwire.codec(body.message, body.version).decoder(memo=True)
    return ours(body)._replace(decode=lambda: codec.decode(body.data))


def reference(body: Body) -> Peer:
    """Our own tree, interpreted: the path that explains."""
    schema = kwire.codec(body.message, body.version).schema
    message = schema.parse(body.data)
    return Peer(lambda: schema.parse(body.data), lambda: schema.build(message))


def kio(body: Body) -> Peer | None:
    kind = "request" if body.message.endswith("Request") else "response"
    api = re.sub(r"(?<!^)(?=[A-Z])", "_", body.message.removesuffix(kind.capitalize())).lower()
    try:
        serial = importlib.import_module("kio.serial")
        entity = getattr(importlib.import_module(f"kio.schema.{api}.v{body.version}.{kind}"), body.message)
    except ImportError:
        return None
    read, write = serial.entity_reader(entity), serial.entity_writer(entity)
    message = read(body.data, 0)[0]

    def encode() -> bytes:
        stream = io.BytesIO()
        write(stream, message)
        return stream.getvalue()

    schema = kwire.codec(body.message, body.version).schema
    return Peer(
        lambda: read(body.data, 0),
        encode,
        lambda ours: Counter(leaves(message)) == Counter(our_leaves(schema, ours)),
    )


@cache
def _kafka_python(name: str) -> Any:
    try:
        package = importlib.import_module("kafka.protocol")
    except ImportError:
        return None
    for module in pkgutil.walk_packages(package.__path__, "kafka.protocol."):
        if not re.search(r"\.old|generate|__main__", module.name):
            found = getattr(importlib.import_module(module.name), name, None)
            if found is not None:
                return found
    return None


def kafka_python(body: Body) -> Peer | None:
    cls = _kafka_python(body.message)
    if cls is None or not cls.min_version <= body.version <= cls.max_version:
        return None

    def decode() -> Any:
        return cls.decode(body.data, version=body.version, header=False)

    message = decode()
    message._header = None
    schema = kwire.codec(body.message, body.version).schema
    return Peer(
        decode,
        lambda: bytes(message.encode(version=body.version, header=False)),
        lambda ours: alike(schema, ours, message),
    )


def alike(node: Any, ours: Any, theirs: Any) -> bool:
    """Compare messages by the names of fields, where theirs has the name: kafka-python has given others to a few."""
    if isinstance(node, wire.Struct):
        names = [field for field in node.all_fields if hasattr(theirs, field.name)]
        return all(alike(f.subcon, getattr(ours, f.name), getattr(theirs, f.name)) for f in names)
    if isinstance(node, wire.Array) and ours is not None:
        return len(ours) == len(theirs) and all(map(alike, [node.element] * len(ours), ours, theirs))
    if isinstance(node, wire.NullableStruct) and ours is not None:
        return alike(node.subcon, ours, theirs)
    return isinstance(theirs, set) or bool(plain(ours) == plain(theirs))  # a set: of the bits in a number


def plain_construct(body: Body) -> Peer | None:
    """Construct's own classes, as one would write them down for this message: no null rule, no tagged fields."""
    tree = _construct(kwire.codec(body.message, body.version).schema)
    try:
        message = tree.parse(body.data)
        same = tree.build(message) == body.data
    except construct.ConstructError:
        return None
    return Peer(lambda: tree.parse(body.data), lambda: tree.build(message)) if same else None


def _construct(node: Any) -> Any:
    if isinstance(node, wire.Struct):
        parts = [field.name / _construct(field.subcon) for field in node.fields]
        return construct.Struct(*parts, *([construct.Const(b"\0")] if node.tagged is not None else []))
    if isinstance(node, wire.Array):
        return construct.PrefixedArray(_length(node.length), _construct(node.element))
    if isinstance(node, wire.String):
        return construct.Prefixed(_length(node.length), construct.GreedyString("utf8"))
    if isinstance(node, wire.Bytes):
        return construct.Prefixed(_length(node.length), construct.GreedyBytes)
    if isinstance(node, wire.Uuid):
        return construct.Bytes(16)
    if isinstance(node, wire.Boolean):
        return construct.Flag
    return _number(node) if isinstance(node, wire.Integer) else construct.Float64b


def _length(node: Any) -> Any:
    if node is wire.COMPACT_LENGTH:
        return construct.ExprAdapter(construct.VarInt, lambda obj, _: obj - 1, lambda obj, _: obj + 1)
    return _number(node)


def _number(node: wire.Integer) -> Any:
    return construct.FormatField(">", node.struct.format[-1:].replace("i", "l").replace("I", "L"))


def msgpack(body: Body) -> Peer:
    """The ceiling: as many values of the same types, in a format that a C library reads into the same classes."""
    codec = kwire.codec(body.message, body.version)
    cls = _array_like(codec.schema)
    message = _as(cls, codec.schema, codec.decode(body.data))
    data, decoder = msgspec.msgpack.encode(message), msgspec.msgpack.Decoder(cls)
    assert decoder.decode(data) == message
    return Peer(lambda: decoder.decode(data), lambda: msgspec.msgpack.encode(message))


def _array_like(node: Any) -> Any:
    if isinstance(node, wire.NullableStruct):
        return _array_like(node.subcon) | None
    if isinstance(node, wire.Array):
        return tuple[_array_like(node.element), ...] | None  # type: ignore[misc]
    if not isinstance(node, wire.Struct):
        kinds = {wire.String: str | None, wire.Boolean: bool, wire.Float64: float}
        return kinds.get(type(node), int if isinstance(node, wire.Integer) else bytes | None)
    if not hasattr(node, "array_like"):
        named = [(field.name, _array_like(field.subcon)) for field in node.all_fields]
        name = node.message_class.__name__
        node.array_like = msgspec.defstruct(name, named, array_like=True, frozen=True, gc=False)
    return node.array_like


def _as(cls: Any, node: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(node, wire.NullableStruct):
        return _as(cls, node.subcon, value)
    if isinstance(node, wire.Array):
        return tuple(_as(cls, node.element, item) for item in value)
    if isinstance(node, wire.Struct):
        inner = _array_like(node)
        return inner(*(_as(cls, field.subcon, getattr(value, field.name)) for field in node.all_fields))
    return value


PEERS: dict[str, Callable[[Body], Peer | None]] = {
    "kwire": ours,
    "kio": kio,
    "kafka-python": kafka_python,
    "msgpack": msgpack,
    "construct": plain_construct,
    "reference": reference,
    "memo": remembering,
}
