"""Addresses of brokers inside responses, put in other words: what a proxy must change, and nothing else. Sans-IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..catalog import Catalog
from ..errors import EncodeError
from ..frames import Response
from ..frames.encoding import encode_result
from .addresses import Address

# Where responses tell clients to connect to: arrays at the top of Metadata, DescribeCluster, FindCoordinator, and of
# whatever has NodeEndpoints (KIP-951). Endpoints of Streams applications (KIP-1071) are no brokers.
BROKERS = ("brokers", "coordinators", "node_endpoints")
Translate = Callable[[Address], Address]


def addresses(message: Any) -> list[Address]:
    """Return the addresses of brokers that a response names, in their order.

    >>> from kwire import messages
    >>> addresses(messages.FindCoordinatorResponse(host="b1", port=9092))
    [Address(host='b1', port=9092)]
    """
    arrays = [getattr(message, name, None) or () for name in BROKERS]
    structs = [message, *(broker for brokers in arrays for broker in brokers)]
    return [Address(struct.host, struct.port) for struct in structs if _has_address(struct)]


def rewritten(result: Response, translate: Translate, catalog: Catalog | None = None) -> bytes:
    """Return the bytes of a response with the addresses of brokers replaced.

    Args:
        result: a decoded response.
        translate: gives the new address for one that the response has.
        catalog: the specs of the header; those of Kafka's releases unless told.

    Returns:
        A frame. It is the very one that came if there is nothing to replace, or if bytes would be lost:
        a response that does not encode to what it was stays as it is.
    """
    changes = _changes(result.message, translate)
    if not changes or result.faults or result.rest or encode_result(result, catalog) != result.frame.data:
        return result.frame.data
    replaced = Response(
        frame=result.frame,
        codec=result.codec,
        message=msgspec.structs.replace(result.message, **changes),
        header=result.header,
        correlation_id=result.correlation_id,
    )
    try:
        return encode_result(replaced, catalog)
    except EncodeError:  # a name that is too long for its field
        return result.frame.data


def _changes(message: Any, translate: Translate) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if _has_address(message):  # FindCoordinator up to version 3
        changes.update(_moved(message, translate))
    for name in BROKERS:
        brokers = getattr(message, name, None) or ()
        if any(_has_address(broker) for broker in brokers):
            changes[name] = tuple(
                msgspec.structs.replace(broker, **_moved(broker, translate)) if _has_address(broker) else broker
                for broker in brokers
            )
    return changes


def _has_address(struct: Any) -> bool:
    return bool(getattr(struct, "host", "")) and getattr(struct, "port", -1) > 0  # none: "" and -1


def _moved(struct: Any, translate: Translate) -> dict[str, Any]:
    host, port = translate(Address(struct.host, struct.port))
    return {"host": host, "port": port}
