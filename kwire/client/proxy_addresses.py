"""The addresses of brokers in responses: found, and rewritten to those of a proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import EncodeError
from ..protocol import Response
from ..protocol.frame_encoder import encode_result
from ..schema.catalog import Catalog
from .address import Address

# Where responses tell clients to connect to: arrays at the top of Metadata, DescribeCluster, FindCoordinator, and of
# whatever has NodeEndpoints (KIP-951). Endpoints of Streams applications (KIP-1071) are not brokers.
BROKERS = ("brokers", "coordinators", "node_endpoints")
Translate = Callable[[Address], Address]


def addresses(message: Any) -> list[Address]:
    """Return the addresses of brokers in a response, in their order.

    >>> from kwire import messages
    >>> addresses(messages.FindCoordinatorResponse(host="b1", port=9092))
    [Address(host='b1', port=9092)]
    """
    arrays = [getattr(message, name, None) or () for name in BROKERS]
    structs = [message, *(broker for brokers in arrays for broker in brokers)]
    return [Address(struct.host, struct.port) for struct in structs if _has_address(struct)]


def rewrite_addresses(result: Response, translate: Translate, catalog: Catalog | None = None) -> bytes:
    """Return the bytes of a response with the addresses of brokers replaced.

    Args:
        result: a decoded response.
        translate: returns the new address for an address in the response.
        catalog: the specs of the header; by default the specs of Kafka's releases.

    Returns:
        A frame: the original frame if no address has to be replaced, or if the response does not encode to its original
        bytes, so that no bytes are lost.
    """
    changes = _find_changes(result.message, translate)
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


def _find_changes(message: Any, translate: Translate) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if _has_address(message):  # FindCoordinator up to version 3
        changes.update(_move_address(message, translate))
    for name in BROKERS:
        brokers = getattr(message, name, None) or ()
        if any(_has_address(broker) for broker in brokers):
            changes[name] = tuple(
                msgspec.structs.replace(broker, **_move_address(broker, translate)) if _has_address(broker) else broker
                for broker in brokers
            )
    return changes


def _has_address(struct: Any) -> bool:
    return bool(getattr(struct, "host", "")) and getattr(struct, "port", -1) > 0  # none: "" and -1


def _move_address(struct: Any, translate: Translate) -> dict[str, Any]:
    host, port = translate(Address(struct.host, struct.port))
    return {"host": host, "port": port}
