"""The consumer protocol, and envelopes (KIP-590): messages inside requests and responses.

The consumer protocol is what members of a group put into JoinGroup and SyncGroup: ConsumerProtocolSubscription,
ConsumerProtocolAssignment, and in them the user data of Kafka's sticky assignors.

An envelope contains a request that a broker forwards to the controller, with the client's principal and address: a
complete request, header and body, without the size that precedes it on a connection; the response contains a complete
response. The principal is an int16 version and DefaultPrincipal, unless the cluster has a custom principal builder.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import messages
from ..errors import DecodeError
from ..protocol import Frame, FrameDecoder, Request, Response, Token, Undecodable, encode_request, encode_response
from ..wire import INT32, Node, Reader, Writer
from .topic_records import Embedded, codec_for, read_newest, versions_of, write_newest

SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"
Partition = tuple[str, int]


def decode_subscription(data: bytes) -> Embedded:
    """Decode a member's subscription.

    Args:
        data: `metadata` of a protocol in JoinGroupRequest, or of a member in JoinGroupResponse.

    Returns:
        An `Embedded` whose message is a `ConsumerProtocolSubscription`. A version above 3 is read as 3, and the bytes
        after the message are in `rest`, as in Kafka's own reader.

    Raises:
        DecodeError: the version is negative, or the bytes are not a subscription.

    >>> found = decode_subscription(bytes.fromhex("0001 00000001 000161 ffffffff 00000000"))
    >>> found.version, found.message.topics, found.message.user_data
    (1, ('a',), None)
    """
    return read_newest(data, SUBSCRIPTION)


def decode_assignment(data: bytes) -> Embedded:
    """Decode a member's assignment; for arguments, result and errors see `decode_subscription`.

    >>> found = decode_assignment(bytes.fromhex("0000 00000001 000161 00000001 00000002 ffffffff"))
    >>> [(topic.topic, topic.partitions) for topic in found.message.assigned_partitions]
    [('a', (2,))]
    """
    return read_newest(data, ASSIGNMENT)


def encode_subscription(subscription: Any, version: int | None = None) -> bytes:
    """Encode a subscription.

    Args:
        subscription: a `ConsumerProtocolSubscription`, or a decoded `Embedded`, which is encoded to the same bytes.
        version: the version of the message; None for the highest. A version above 3 is written as 3, as Kafka does.

    Raises:
        EncodeError: the version is negative, or the message does not fit.

    >>> encode_subscription(subscription_of(["a"], rack="r1")).hex(" ", -4)
    '00030000 00010001 61ffffff ff000000 00ffffff ff000272 31'
    """
    return _encode(subscription, SUBSCRIPTION, version)


def encode_assignment(assignment: Any, version: int | None = None) -> bytes:
    """Encode an assignment; for arguments and errors see `encode_subscription`.

    >>> encode_assignment(assignment_of([("a", 2)]), 0).hex(" ", -4)
    '00000000 00010001 61000000 01000000 02ffffff ff'
    """
    return _encode(assignment, ASSIGNMENT, version)


def subscription_of(
    topics: Iterable[str],
    *,
    owned: Iterable[Partition] = (),
    generation: int = -1,
    rack: str | None = None,
    user_data: bytes | None = None,
) -> Any:
    """Create a subscription as Kafka's consumer does: topics and owned partitions sorted.

    >>> subscription_of(["b", "a"]).topics
    ('a', 'b')
    """
    cls = messages.ConsumerProtocolSubscription
    ordered = sorted(owned, key=lambda partition: (_java_order(partition[0]), partition[1]))
    return cls(
        topics=tuple(sorted(topics, key=_java_order)),
        user_data=user_data,
        owned_partitions=_grouped(ordered, cls.TopicPartition),
        generation_id=generation,
        rack_id=rack,
    )


def assignment_of(partitions: Iterable[Partition], user_data: bytes | None = None) -> Any:
    """Create an assignment as Kafka's consumer does: in the order given, topics in the order of their first partition.

    >>> [topic.partitions for topic in assignment_of([("a", 1), ("b", 0), ("a", 0)]).assigned_partitions]
    [(1, 0), (0,)]
    """
    cls = messages.ConsumerProtocolAssignment
    return cls(assigned_partitions=_grouped(partitions, cls.TopicPartition), user_data=user_data)


def _grouped(partitions: Iterable[Partition], make: Any) -> tuple[Any, ...]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return tuple(make(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic.items())


def _encode(value: Any, name: str, version: int | None) -> bytes:
    if isinstance(value, Embedded):
        return write_newest(value)
    highest = versions_of(name).last
    wanted = highest if version is None else min(version, highest)
    codec_for(name, wanted)  # a negative one is not there
    return write_newest(Embedded(name, wanted, value))


def _java_order(text: str) -> bytes:
    """Return the sort key of a string in Java: UTF-16 units, whose order differs from Python's above U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")


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
    writer.child("owned", _owned(), value.owned)
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
    owned = reader.child("owned", _owned())
    generation = reader.child("generation", INT32) if with_generation else None
    return StickyUserData(owned, generation, reader.read())


def _owned() -> Node:
    """Return the first array of an assignment: owned partitions by topic have the same layout."""
    node: Node = codec_for(messages.ConsumerProtocolAssignment.__name__, 0).schema.fields[0].subcon
    return node


PRINCIPAL = "DefaultPrincipal"
SIZE = 4  # bytes of the size that is left out


@dataclass(frozen=True, slots=True)
class Enveloped:
    """The content of an envelope.

    Attributes:
        request: the request, with header, codec and message.
        principal: the client's principal, with `DefaultPrincipal` as message; None if there is none. A principal in
            another format is kept as bytes in `rest`.
        client_address: the client's address in 4 or 16 bytes.
    """

    request: Request
    principal: Embedded | None
    client_address: bytes

    @property
    def client_host(self) -> str:
        """The client's address as text, or as hex if it is invalid."""
        if len(self.client_address) in (4, 16):
            return str(ipaddress.ip_address(self.client_address))
        return self.client_address.hex()


def decode_enveloped_request(envelope: Any) -> Enveloped:
    """Open an envelope.

    Args:
        envelope: a decoded `EnvelopeRequest`.

    Raises:
        DecodeError: the content is not a request, or an unknown one; offsets are counted as if a size field preceded
            it.

    >>> inner = bytes.fromhex("0003 0001 00000007 ffff ffffffff")
    >>> envelope = messages.EnvelopeRequest(request_data=inner, client_host_address=bytes([127, 0, 0, 1]))
    >>> found = decode_enveloped_request(envelope)
    >>> found.request.codec.name, found.request.correlation_id, found.request.message.topics, found.client_host
    ('MetadataRequest', 7, None, '127.0.0.1')
    """
    request = _open(envelope.request_data)
    assert isinstance(request, Request)
    return Enveloped(request, _principal(envelope.request_principal), envelope.client_host_address)


def decode_enveloped_response(envelope: Any, request: Request) -> Response | None:
    """Open the response to an envelope.

    Args:
        envelope: a decoded `EnvelopeResponse`.
        request: the request that was inside the envelope.

    Returns:
        The response; None if the envelope itself failed (`error_code` is the reason).

    Raises:
        DecodeError: the content is not a response to that request.
    """
    if envelope.response_data is None:
        return None
    response = _open(envelope.response_data, message=f"{request.api_name}Response", version=request.api_version)
    assert isinstance(response, Response)
    return response


def encode_enveloped_request(content: Enveloped) -> Any:
    """Put a request into an envelope: the opposite of `decode_enveloped_request`. Raises EncodeError."""
    request = content.request
    frame = encode_request(
        request.message,
        request.api_version,
        correlation_id=request.header.correlation_id,
        client_id=request.header.client_id,
        header_tags=request.header.unknown_tags,
    )
    principal = None if content.principal is None else write_newest(content.principal)
    return messages.EnvelopeRequest(
        request_data=frame[SIZE:], request_principal=principal, client_host_address=content.client_address
    )


def encode_enveloped_response(response: Response | None, error_code: int = 0) -> Any:
    """Wrap a response as the response to an envelope, or an error code if there is none. Raises EncodeError."""
    data = None
    if response is not None:
        header = response.header
        tags = header.unknown_tags if header else None
        frame = encode_response(
            response.message, response.codec.version, correlation_id=response.correlation_id or 0, header_tags=tags
        )
        data = frame[SIZE:]
    return messages.EnvelopeResponse(response_data=data, error_code=error_code)


def _open(data: bytes, **what: Any) -> Request | Response:
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, **what)
    result = FrameDecoder(salvage=False).decode(frame)
    if isinstance(result, Undecodable):
        raise result.error
    assert not isinstance(result, Token)  # which follows a SaslHandshake
    return result


def principal_of(envelope: Any) -> Embedded | None:
    """Return the principal of a decoded `EnvelopeRequest`, as in `Enveloped.principal`."""
    return _principal(envelope.request_principal)


def _principal(data: bytes | None) -> Embedded | None:
    if data is None:
        return None
    try:
        return read_newest(data, PRINCIPAL)
    except DecodeError:
        return Embedded(None, None, None, data)  # from a custom principal builder
