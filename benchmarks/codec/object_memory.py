"""What decoded objects take.

    python -m benchmarks.codec.object_memory [--only TEXT] [--rounds N]

Every array of every message is filled with as many small elements as go into some bytes, in a few ways; of those that
take most, printed are the bytes that stay, and those at the peak, for each byte of input, and how much longer four
times the input takes.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

import kwire
from benchmarks.lib.rounds import once, ratios, spread
from kwire.codecs import wire
from kwire.schema.catalog import catalog_for

WORST = 6  # rows
PER_BYTE = 40  # bytes that may stay for each of input; at the peak a little more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="objects of messages whose names hold this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=1 << 20, help="of input, for objects")
    options = parser.parse_args()
    objects(options.only, options.rounds, options.bytes)


class Filling(NamedTuple):
    """How an element is filled: its numbers and texts, elements in its arrays, and its tags."""

    label: str
    number: int = 0
    text: str = ""
    inner: int = 0
    tags: bytes | None = None


FILLINGS = (
    Filling("empty"),
    Filling("wide texts", 100, "\u0100"),
    Filling("two letters", 20000, "ab"),
    Filling("an element inside", 100, "", 1),
    Filling("a tag", 0, "", 0, b"\x63\0"),
)


class Full(NamedTuple):
    """Legal bodies that are full of one array; the bytes that stay of their objects for each of theirs."""

    label: str
    codec: kwire.Codec
    path: tuple[str, ...]
    filling: Filling
    live: float


def objects(only: str, rounds: int, size: int) -> None:
    """Print what takes most."""
    found = sorted(all_full(only, size // 128), key=lambda one: one.live, reverse=True)
    print(f"objects, bytes for each byte of input; the worst of {len(found)} arrays and fillings, {size} bytes each")
    print(f"{'':76}{'stay':>7}{'peak':>7}{'peak over ' + str(PER_BYTE):>14}{'4x input, x time':>20}")
    for one in found[:WORST]:
        print(row(one, rounds, size))


def row(one: Full, rounds: int, size: int) -> str:
    """Measure one of the worst; return its line."""
    data, more = (full(one.codec, one.path, one.filling, times * size) for times in (1, 4))
    live, peak = taken(one.codec, data)
    over = max(peak - PER_BYTE * len(data), 0) / (1 << 20)
    times = [once(partial(one.codec.decode, body)) for _ in range(rounds) for body in (data, more)]
    growth = spread(ratios(times[1::2], times[::2]))
    return f"{one.label:76}{live / len(data):>7.1f}{peak / len(data):>7.1f}{over:>10.2f} MiB{growth:>20}"


def all_full(only: str, size: int) -> Iterator[Full]:
    """Yield every array of every message at its oldest and newest version, in all fillings."""
    for name in catalog_for().names():
        versions = catalog_for().spec(name).versions
        for version in {versions.first, versions.last} if only in name else ():
            codec = kwire.codec(name, version)
            for path in arrays_in(codec.schema):
                for filling in FILLINGS:
                    data = full(codec, path, filling, size)
                    label = f"{name} v{version} {'.'.join(path)}, {filling.label}"
                    yield Full(label, codec, path, filling, taken(codec, data)[0] / len(data))


def arrays_in(node: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the arrays in a tree."""
    for field in node.all_fields:
        if isinstance(field.subcon, wire.Array):
            yield (field.name,)
        inner = inside(field.subcon)
        if isinstance(inner, wire.Struct):
            yield from ((field.name, *path) for path in arrays_in(inner))


def inside(node: Any) -> Any:
    """Return the element of an array, the struct of one that may be null, or the node."""
    if isinstance(node, wire.Array):
        return node.element
    return node.subcon if isinstance(node, wire.NullableStruct) else node


def full(codec: kwire.Codec, path: tuple[str, ...], filling: Filling, size: int) -> bytes:
    """Return a body of so many bytes that is small but for one array."""
    one, other = (len(codec.encode(message(codec.schema, path, filling, count))) for count in (1, 2))
    return codec.encode(message(codec.schema, path, filling, max(1, size // (other - one))))


def message(node: wire.Struct, path: tuple[str, ...], filling: Filling, count: int) -> Any:
    """Return a struct that is empty but for the array of that path, or one on the way to it."""
    values = {field.name: value(field.subcon, FILLINGS[0]) for field in node.fields}
    for field in node.all_fields:
        if path[:1] == (field.name,):
            values[field.name] = along(field.subcon, path[1:], filling, count)
    return node.message_class(**values)


def along(node: Any, path: tuple[str, ...], filling: Filling, count: int) -> Any:
    if not path:
        return (value(node.element, filling),) * count
    one = message(inside(node), path, filling, count)
    return (one,) if isinstance(node, wire.Array) else one


def value(node: Any, filling: Filling) -> Any:
    """Return a small value."""
    if isinstance(node, wire.Struct):
        made = node.message_class(**{field.name: value(field.subcon, filling) for field in node.fields})
        tags = filling.tags if node.tagged is not None else None
        return msgspec.structs.replace(made, unknown_tags=tags)
    if isinstance(node, wire.Array):
        return (value(node.element, filling),) * filling.inner
    if isinstance(node, wire.NullableStruct):
        return value(node.subcon, filling) if filling.inner else None
    if isinstance(node, wire.Integer):
        return min(node.high, filling.number)
    if isinstance(node, wire.String | wire.Bytes):
        return filling.text if isinstance(node, wire.String) else filling.text.encode()
    return {wire.Uuid: bytes(16), wire.Float64: 0.0}.get(type(node), False)


def taken(codec: kwire.Codec, data: bytes) -> tuple[int, int]:
    """Return how many bytes a decoded message takes, and how many there were at the worst moment."""
    codec.decode(data)
    tracemalloc.start()
    kept = codec.decode(data)
    live, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert codec.encode(kept) == data
    return live, peak


if __name__ == "__main__":
    main()
