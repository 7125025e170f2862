"""What kwire is measured against, in Python: how each decodes and encodes a message at a version.

A peer that is not installed, or does not have the message, is None. Each is asked to read bytes in memory into its
whole tree of objects, and to write that tree to bytes. What it makes of them: kio frozen dataclasses and tuples, enums
and times; kafka-python objects and lists; aiokafka lists of tuples, the message alone an object; construct dicts.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple

import construct
import msgspec

import kwire
from benchmarks.codec.comparable_values import alike, leaves, our_leaves
from benchmarks.codec.peer_schemas import array_like, as_array_like, construct_of
from benchmarks.lib.bodies import Body
from kwire.codecs.fast_path import choose_fast_path
from kwire.codecs.native import ENGINE


class Peer(NamedTuple):
    """How one implementation reads and writes the bodies of one message; both functions are called with arguments.

    Attributes:
        decode, inputs: a function, and its arguments for each body.
        encode, messages: the same for what was decoded.
        json: writes JSON text; of bodies, of `messages` where it cannot read.
        first_use: makes what decodes and encodes a message, and does both once, as if for the first time.
        agrees: says whether a message of theirs holds the values of one of ours (first argument).
    """

    decode: Callable[..., Any]
    inputs: list[tuple[Any, ...]]
    encode: Callable[..., bytes]
    messages: list[tuple[Any, ...]]
    agrees: Callable[[Any, Any], bool] = lambda ours, theirs: True
    json: Callable[..., Any] | None = None
    first_use: Callable[[], Any] | None = None


def reading(body: Body, decode: Callable[..., Any], encode: Callable[..., bytes], agrees: Any = None) -> Peer:
    """Return a peer whose functions take bytes and a message alone."""
    messages = [(decode(data),) for data in body.datas]
    peer = Peer(decode, [(data,) for data in body.datas], encode, messages)
    return peer if agrees is None else peer._replace(agrees=agrees)


def schema_of(body: Body) -> Any:
    return kwire.codec(body.message, body.version).schema


def ours(body: Body) -> Peer:
    codec = kwire.codec(body.message, body.version)
    peer = reading(body, codec.decode, codec.encode)
    return peer._replace(json=codec.json_text, first_use=partial(use_once, body, ENGINE))


def generated(body: Body) -> Peer:
    """The fallback, where the native engine was not built."""
    path = choose_fast_path(schema_of(body), body.label, "python")
    peer = reading(body, path.decode, path.encode)
    return peer._replace(json=path.json, first_use=partial(use_once, body, "python"))


def use_once(body: Body, engine: str) -> None:
    """Make a fast path out of the tree, and decode and encode a body."""
    path = choose_fast_path(schema_of(body), body.label, engine)
    path.encode(path.decode(body.data))


def reference(body: Body) -> Peer:
    """Our own tree, interpreted: the path that explains."""
    schema = schema_of(body)
    return reading(body, schema.parse, schema.build)


def kio(body: Body) -> Peer | None:
    found = kio_of(body.message, body.version)
    if found is None:
        return None
    read, write = found

    def encode(message: Any) -> bytes:
        stream = io.BytesIO()
        write(stream, message)
        return stream.getvalue()

    def agrees(ours: Any, theirs: Any) -> bool:
        return Counter(leaves(theirs)) == Counter(our_leaves(schema_of(body), ours))

    messages = [(read(data, 0)[0],) for data in body.datas]
    return Peer(read, [(data, 0) for data in body.datas], encode, messages, agrees)


def kio_of(name: str, version: int) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Return kio's reader and writer of a message at a version."""
    kind = "request" if name.endswith("Request") else "response"
    api = re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix(kind.capitalize())).lower()
    try:
        serial = importlib.import_module("kio.serial")
        entity = getattr(importlib.import_module(f"kio.schema.{api}.v{version}.{kind}"), name)
    except ImportError:
        return None
    return serial.entity_reader(entity), serial.entity_writer(entity)


@cache
def classes_in(package: str) -> dict[str, Any]:
    """Return the classes of all modules of a package by their names; none if it is not installed."""
    try:
        path = importlib.import_module(package).__path__
    except ImportError:
        return {}
    names = [module.name for module in pkgutil.walk_packages(path, f"{package}.")]
    modules = [importlib.import_module(name) for name in names if not re.search(r"\.old|generate|__main__", name)]
    return {name: found for module in modules for name, found in vars(module).items() if isinstance(found, type)}


def kafka_python(body: Body) -> Peer | None:
    cls = classes_in("kafka.protocol").get(body.message)
    if cls is None or not cls.min_version <= body.version <= cls.max_version:
        return None
    peer = reading(
        body,
        partial(cls.decode, version=body.version, header=False),
        partial(cls.encode, version=body.version, header=False),
        partial(alike, schema_of(body)),
    )
    for (message,) in peer.messages:
        message._header = None
    return peer


def aiokafka(body: Body) -> Peer | None:
    """It has no flexible versions, and names a few messages and most fields its own way: values are compared alone."""
    cls = classes_in("aiokafka.protocol").get(f"{body.message}_v{body.version}")
    if cls is None:
        return None

    def agrees(ours: Any, theirs: Any) -> bool:
        return Counter(leaves(list(vars(theirs).values()))) == Counter(our_leaves(schema_of(body), ours))

    return reading(body, cls.decode, cls.encode, agrees)


def plain_construct(body: Body) -> Peer | None:
    """Construct's own classes, not ours."""
    tree = construct_of(schema_of(body))
    try:
        peer = reading(body, tree.parse, tree.build)
        same = all(tree.build(*message) == data for message, data in zip(peer.messages, body.datas, strict=True))
    except construct.ConstructError:
        return None
    return peer if same else None


def msgpack(body: Body) -> Peer:
    """The ceiling: as many values of the same types, in a format that a C library reads into the same classes."""
    codec = kwire.codec(body.message, body.version)
    messages = [as_array_like(codec.schema, codec.decode(data)) for data in body.datas]
    decoder, encode = msgspec.msgpack.Decoder(array_like(codec.schema)), msgspec.msgpack.Encoder().encode
    datas = [encode(message) for message in messages]
    assert [decoder.decode(data) for data in datas] == messages
    return Peer(decoder.decode, tuples(datas), encode, tuples(messages))


def msgspec_json(body: Body) -> Peer:
    """The ceiling of JSON: the text of messages that are ready, by a C library."""
    peer = ours(body)
    return peer._replace(json=msgspec.json.Encoder().encode, first_use=None)


def tuples(values: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(value,) for value in values]


PEERS: dict[str, Callable[[Body], Peer | None]] = {
    "kwire": ours,
    "kio": kio,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "msgpack": msgpack,
    "msgspec.json": msgspec_json,
    "construct": plain_construct,
    "reference": reference,
    "python": generated,
}
