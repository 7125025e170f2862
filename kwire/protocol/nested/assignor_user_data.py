"""The user data of the sticky and the cooperative sticky assignor in subscriptions."""

from __future__ import annotations

from typing import Any

import msgspec

from ... import messages
from ...codecs.wire import INT32, Node, Reader, Writer
from ...errors import DecodeError
from ...runtime.former_dataclasses import was_dataclass
from .versioned_message import codec_for


@was_dataclass
class StickyUserData(msgspec.Struct, frozen=True):
    """`owned` holds `ConsumerProtocolAssignment.TopicPartition`s; `generation` is None in version 0."""

    owned: tuple[Any, ...] = ()
    generation: int | None = None
    rest: bytes = b""


@was_dataclass
class CooperativeUserData(msgspec.Struct, frozen=True):
    """`generation` is -1 before the first rebalance."""

    generation: int = -1
    rest: bytes = b""


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Decode the user data of the sticky assignor.

    Args:
        data: `user_data` of a subscription.

    Raises:
        DecodeError: the bytes are neither version 1 nor 0. Kafka's leader then assumes no owned partitions and
            generation -1.

    >>> found = decode_sticky_user_data(bytes.fromhex("00000001 000161 00000001 00000002 00000009"))
    >>> found.owned[0].topic, found.owned[0].partitions, found.generation
    ('a', (2,), 9)
    """
    try:
        return _read_sticky(data, with_generation=True)
    except DecodeError:
        return _read_sticky(data, with_generation=False)


def encode_sticky_user_data(value: StickyUserData) -> bytes:
    """Encode the user data of the sticky assignor: version 0 if there is no generation. Raises EncodeError.

    >>> encode_sticky_user_data(StickyUserData((), 5)).hex()
    '0000000000000005'
    """
    writer = Writer()
    writer.child("owned", _list_owned(), value.owned)
    if value.generation is not None:
        writer.child("generation", INT32, value.generation)
    return bytes(writer.out) + value.rest


def decode_cooperative_user_data(data: bytes) -> CooperativeUserData:
    """Decode the user data of the cooperative sticky assignor. Raises DecodeError for fewer than four bytes.

    >>> decode_cooperative_user_data(bytes.fromhex("00000007"))
    CooperativeUserData(generation=7, rest=b'')
    """
    reader = Reader(bytes(data))
    generation = reader.child("generation", INT32)
    return CooperativeUserData(generation, reader.read())


def encode_cooperative_user_data(value: CooperativeUserData) -> bytes:
    """Encode the user data of the cooperative sticky assignor. Raises EncodeError.

    >>> encode_cooperative_user_data(CooperativeUserData(7)).hex()
    '00000007'
    """
    writer = Writer()
    writer.child("generation", INT32, value.generation)
    return bytes(writer.out) + value.rest


def _read_sticky(data: bytes, *, with_generation: bool) -> StickyUserData:
    reader = Reader(bytes(data))
    owned = reader.child("owned", _list_owned())
    generation = reader.child("generation", INT32) if with_generation else None
    return StickyUserData(owned, generation, reader.read())


def _list_owned() -> Node:
    """Return the first array of an assignment: owned partitions by topic have the same layout."""
    node: Node = codec_for(messages.ConsumerProtocolAssignment.__name__, 0).tree.fields[0].subcon
    return node
