"""Random values, grown from the tree: as `strategies`, but a hundred times as fast, for live comparisons."""

from __future__ import annotations

from functools import singledispatch
from random import Random
from typing import Any

from kwire.codecs import wire

WORDS = ("", "a", "orders", "x" * 126, "x" * 127, "x" * 128, "\0", '\n\t"\\', "é", "漢字", "😀", "\u2028", "\U0010ffff")


@singledispatch
def draw(node: Any, rng: Random) -> Any:
    """Return a random value that a node can carry."""
    raise TypeError(f"no random value is written for {type(node).__name__}")


@draw.register
def _(node: wire.Integer, rng: Random) -> int:
    return (
        rng.choice((0, 1, -1, node.low, node.high, rng.randint(node.low, node.high)))
        if node.low
        else _natural(node, rng)
    )


def _natural(node: wire.Integer, rng: Random) -> int:
    return rng.choice((0, 1, node.high, rng.randint(0, node.high)))


@draw.register
def _(node: wire.Float64, rng: Random) -> float:
    return rng.choice((0.0, 1.5, -1e300, rng.uniform(-1e6, 1e6)))


@draw.register
def _(node: wire.Boolean, rng: Random) -> bool:
    return rng.random() < 0.5


@draw.register
def _(node: wire.Uuid, rng: Random) -> bytes:
    return rng.choice((bytes(16), rng.randbytes(16)))


@draw.register
def _(node: wire.String, rng: Random) -> str | None:
    return None if node.nullable and rng.random() < 0.2 else rng.choice(WORDS) + rng.choice(WORDS)


@draw.register
def _(node: wire.Bytes, rng: Random) -> bytes | None:
    return None if node.nullable and rng.random() < 0.2 else rng.randbytes(rng.choice((0, 1, 9, 127, 128)))


@draw.register
def _(node: wire.Array, rng: Random) -> tuple[Any, ...] | None:
    if node.nullable and rng.random() < 0.2:
        return None
    return tuple(draw(node.element, rng) for _ in range(rng.choice((0, 1, 1, 2, 3))))


@draw.register
def _(node: wire.NullableStruct, rng: Random) -> Any:
    return None if rng.random() < 0.2 else draw(node.subcon, rng)


@draw.register
def _(node: wire.Struct, rng: Random) -> Any:
    values = {str(field.name): draw(field.subcon, rng) for field in node.fields}
    if node.tagged is not None:
        tagged = node.tagged.fields
        values |= {str(field.name): draw(field.subcon, rng) for field in tagged.values() if rng.random() < 0.5}
        taken = tagged.keys() | node.tagged.foreign
        if rng.random() < 0.1:
            tags = sorted({rng.choice((1, 7, 127, 128, 16384, 2**31 - 2)) for _ in range(3)} - taken)
            values["unknown_tags"] = wire.join_tags((tag, rng.randbytes(rng.randrange(4))) for tag in tags)
    return node.message_class(**values)


# Varints at and beyond the limits of 16, 31 and 32 bits, and longer than needed; integers at their limits; the quiet
# and a signaling NaN; text that is not UTF-8; a tag, its size and its value.
SPECIAL = tuple(
    bytes.fromhex(text)
    for text in (
        *("ffffffff0f", "ffffffff07", "8080808008", "8080808010", "808080807f", "ffffffffff01", "ff01", "ff7f", "8000"),
        *("7fff", "ffff", "8000", "fffe", "7fffffff", "ffffffff", "80000000", "fffffffe", "00ffffff", "0000ffff"),
        *("7ff8000000000000", "7ff0000000000001", "fff0000000000000", "ffffffffffffffff", "8000000000000000"),
        *("c080", "e08080", "eda080", "edbfbf", "eda0bdedb880", "f0808080", "f4908080", "f8888080", "c3", "e282", "fe"),
        *("0001", "0000", "01", "02", "0100", "0101", "010001"),
    )
)


def damaged(raw: bytes, rng: Random) -> bytes:
    """Change a few bytes, in ways that hit lengths, varints, tags and text."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        raw = _changed(raw, rng)
    return raw


def _changed(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    former = data[place] if place < len(data) else 0
    before, after = data[:place], data[place + 1 :]
    special = rng.choice((b"\x80", b"\xff", b"\0", rng.randbytes(2), *[rng.choice(SPECIAL) for _ in range(4)]))
    changes = (
        lambda: before + special + data[place:],
        lambda: before + special + data[place + len(special) :],
        lambda: before,
        lambda: before + data[place + rng.choice((1, 1, 2, 8)) :],
        lambda: before + data[place : place + rng.randrange(1, 20)] + data[place:],  # a tag may come twice
        lambda: before + bytes([rng.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF))]) + after,
        lambda: before + bytes([former ^ 1 << rng.randrange(8)]) + after,
        lambda: before + bytes([former + rng.choice((-1, 1)) & 0xFF]) + after,
        lambda: before + bytes([len(data) - place + rng.randrange(-2, 3) & 0xFF]) + after,  # ends where the bytes do
        lambda: data + rng.randbytes(rng.randrange(1, 5)),
    )
    return rng.choice(changes)()
