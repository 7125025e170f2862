"""The live brokers that a message lists, with their racks and addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..state import Broker
from .draft_names import Body

BROKERS = 1  # KIP-919: otherwise, the endpoints of a DescribeCluster response are controllers


@dataclass(frozen=True, slots=True)
class Listed:
    """A live broker. `endpoints` are `LISTENER://host:port`, without the listener if it is unknown."""

    node_id: int
    rack: str | None
    endpoints: tuple[str, ...]
    fenced: bool = False

    @property
    def broker(self) -> Broker:
        """The broker, with its first endpoint."""
        host, port = split_address(self.endpoints[0]) if self.endpoints else ("", -1)
        return Broker(self.node_id, host, port, self.rack, self.fenced)


def listed_by_controller(body: Body) -> tuple[Listed, ...]:
    """Return the live brokers that an UpdateMetadata request lists."""
    brokers = body.message.live_brokers
    if "live_brokers.endpoints" not in body.fields:
        return tuple(Listed(broker.id, None, (address_of(broker.v0_host, broker.v0_port),)) for broker in brokers)
    return tuple(
        Listed(broker.id, broker.rack or None, tuple(_endpoint(endpoint) for endpoint in broker.endpoints))
        for broker in brokers
    )


def listed_by_view(body: Body) -> tuple[Listed, ...]:
    """Return the brokers in a Metadata or DescribeCluster response, including fenced brokers.

    Each has the endpoint of the client's listener.
    """
    brokers = getattr(body.message, "brokers", ())  # DescribeTopicPartitions lists no brokers
    if getattr(body.message, "endpoint_type", BROKERS) != BROKERS:
        return ()
    return tuple(
        Listed(
            broker.broker_id if hasattr(broker, "broker_id") else broker.node_id,
            broker.rack or None,
            (address_of(broker.host, broker.port),),
            getattr(broker, "is_fenced", False),
        )
        for broker in brokers
    )


def _endpoint(endpoint: Any) -> str:
    address = address_of(endpoint.host, endpoint.port)
    return f"{endpoint.listener}://{address}" if endpoint.listener else address


def address_of(host: str, port: int) -> str:
    """Return `host:port`, an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(endpoint: str) -> tuple[str, int]:
    """Return the host and port of an endpoint.

    >>> split_address("CLIENT://[::1]:9092"), split_address("b1:9092")
    (('::1', 9092), ('b1', 9092))
    """
    host, _, port = endpoint.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port) if re.fullmatch(r"-?\d{1,9}", port) else -1
