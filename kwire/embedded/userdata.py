"""What Kafka's sticky assignors put into `user_data` of a subscription, for the leader of the next rebalance.

The sticky assignor: the partitions a member has, by topic, and from its version 1 on the generation (KIP-341).
The cooperative one: the generation alone, as the subscription itself names the partitions (KIP-429).
Neither says its version; a reader tries the newer form first, and passes over what stands behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import messages
from ..errors import DecodeError
from ..wire import INT32, Node, Reader, Writer
from .bodies import codec_for


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """`owned` holds `ConsumerProtocolAssignment.TopicPartition`s; `generation` is None in version 0."""

    owned: tuple[Any, ...] = ()
    generation: int | None = None
    rest: bytes = b""


@dataclass(frozen=True, slots=True)
class CooperativeUserData:
    """`generation` is -1 before the first rebalance."""

    generation: int = -1
    rest: bytes = b""


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Decode what the sticky assignor sent.

    Args:
        data: `user_data` of a subscription.

    Raises:
        DecodeError: neither version 1 nor 0. Kafka's leader takes such bytes as: owns nothing, generation -1.

    >>> found = decode_sticky_user_data(bytes.fromhex("00000001 000161 00000001 00000002 00000009"))
    >>> found.owned[0].topic, found.owned[0].partitions, found.generation
    ('a', (2,), 9)
    """
    try:
        return _read_sticky(data, with_generation=True)
    except DecodeError:
        return _read_sticky(data, with_generation=False)


def encode_sticky_user_data(value: StickyUserData) -> bytes:
    """Encode what the sticky assignor sends: version 0 if there is no generation. Raises EncodeError.

    >>> encode_sticky_user_data(StickyUserData((), 5)).hex()
    '0000000000000005'
    """
    writer = Writer()
    writer.child("owned", _owned(), value.owned)
    if value.generation is not None:
        writer.child("generation", INT32, value.generation)
    return bytes(writer.out) + value.rest


def decode_cooperative_user_data(data: bytes) -> CooperativeUserData:
    """Decode what the cooperative sticky assignor sent. Raises DecodeError if there are fewer than four bytes.

    >>> decode_cooperative_user_data(bytes.fromhex("00000007"))
    CooperativeUserData(generation=7, rest=b'')
    """
    reader = Reader(bytes(data))
    generation = reader.child("generation", INT32)
    return CooperativeUserData(generation, reader.read())


def encode_cooperative_user_data(value: CooperativeUserData) -> bytes:
    """Encode what the cooperative sticky assignor sends. Raises EncodeError.

    >>> encode_cooperative_user_data(CooperativeUserData(7)).hex()
    '00000007'
    """
    writer = Writer()
    writer.child("generation", INT32, value.generation)
    return bytes(writer.out) + value.rest


def _read_sticky(data: bytes, *, with_generation: bool) -> StickyUserData:
    reader = Reader(bytes(data))
    owned = reader.child("owned", _owned())
    generation = reader.child("generation", INT32) if with_generation else None
    return StickyUserData(owned, generation, reader.read())


def _owned() -> Node:
    """Return the array that an assignment begins with: partitions by topic have the same bytes here."""
    node: Node = codec_for(messages.ConsumerProtocolAssignment.__name__, 0).schema.fields[0].subcon
    return node
