"""Addresses of brokers in responses, replaced; and everything else as it came."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.client.address import Address
from kwire.client.proxy_addresses import addresses, rewrite_addresses
from kwire.protocol import Frame, FrameDecoder, Response

M = kwire.messages
HERE = Address("127.0.0.1", 29092)


def response(message: Any, version: int, tail: bytes = b"") -> Response:
    data = kwire.encode_response(message, version, correlation_id=7) + tail
    data = (len(data) - 4).to_bytes(4, "big") + data[4:]
    result = FrameDecoder(answers=kwire.codec(type(message).__name__, version)).decode(Frame(data))
    assert isinstance(result, Response)
    return result


def decoded(data: bytes, like: Response) -> Any:
    return FrameDecoder(answers=like.codec).decode(Frame(data)).message  # type: ignore[union-attr]


BROKERS: list[dict[str, Any]] = [
    {"node_id": 1, "host": "b1", "port": 9092, "rack": "r1"},
    {"node_id": 2, "host": "b2", "port": 9093, "rack": None},
]
ENDPOINTS = [M.FetchResponse.NodeEndpoint(**broker) for broker in BROKERS]
CASES = [
    (M.MetadataResponse(brokers=[M.MetadataResponse.MetadataResponseBroker(**broker) for broker in BROKERS]), 12),
    (M.FetchResponse(node_endpoints=ENDPOINTS), 16),
    (M.ProduceResponse(node_endpoints=[M.ProduceResponse.NodeEndpoint(**broker) for broker in BROKERS]), 10),
    (
        M.FindCoordinatorResponse(
            coordinators=[M.FindCoordinatorResponse.Coordinator(node_id=1, host="b1", port=9092)]
        ),
        4,
    ),
    (M.FindCoordinatorResponse(node_id=1, host="b1", port=9092), 3),
    (
        M.DescribeClusterResponse(
            brokers=[M.DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host="b1", port=9092)]
        ),
        0,
    ),
]


@pytest.mark.parametrize(("message", "version"), CASES, ids=[type(message).__name__ for message, _ in CASES])
def test_every_address_is_replaced_and_nothing_else(message: Any, version: int) -> None:
    result = response(message, version)
    found = addresses(result.message)
    assert found[0] == ("b1", 9092)
    ports = {broker: Address("here", 1000 + number) for number, broker in enumerate(found)}
    changed = decoded(rewrite_addresses(result, ports.__getitem__), result)
    assert addresses(changed) == list(ports.values())
    back = dict(zip(ports.values(), ports, strict=True))
    again = response(changed, version)
    assert rewrite_addresses(again, back.__getitem__) == result.frame.data


def test_no_coordinator_is_left_as_it_is() -> None:
    result = response(M.FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1), 2)
    assert addresses(result.message) == []
    assert rewrite_addresses(result, lambda broker: HERE) is result.frame.data


def test_endpoints_that_are_no_brokers_stay() -> None:
    endpoint = M.StreamsGroupHeartbeatResponse.EndpointToPartitions(
        user_endpoint=M.StreamsGroupHeartbeatResponse.Endpoint(host="app", port=1)
    )
    assert addresses(M.StreamsGroupHeartbeatResponse(partitions_by_user_endpoint=[endpoint])) == []


def test_what_would_lose_bytes_stays() -> None:
    result = response(CASES[0][0], 12, tail=b"\0")
    assert rewrite_addresses(result, lambda broker: HERE) is result.frame.data
    good = response(CASES[4][0], 2)
    assert rewrite_addresses(good, lambda broker: Address("x" * 40_000, 1)) is good.frame.data
