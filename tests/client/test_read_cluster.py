"""A broker is asked for its cluster: in the versions it speaks, without making topics."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.client.read_cluster import ask_cluster
from kwire.errors import CallError
from kwire.protocol import Frame
from kwire.protocol.frames.frame_size import get_int32
from tests.broker.server.serving import Answer, serving

M = kwire.messages
METADATA, DESCRIBE_CLUSTER = 3, 60


def broker(spoken: dict[int, int], seen: list[Any]) -> Answer:
    """Speak apis up to some version; broker 2 is fenced, and Metadata does not list it."""

    def answer(frame: Frame) -> bytes:
        (asked,) = kwire.decode_frames([frame])
        assert isinstance(asked, kwire.Request)
        correlation, version = get_int32(frame.data, 8), asked.api_version
        if asked.api_name == "ApiVersions":
            keys = [M.ApiVersionsResponse.ApiVersion(api_key=key, max_version=last) for key, last in spoken.items()]
            return kwire.encode_response(M.ApiVersionsResponse(api_keys=keys), 3, correlation_id=correlation)
        seen.append(asked)
        made = metadata() if asked.api_name == "Metadata" else described()
        return kwire.encode_response(made, version, correlation_id=correlation)

    return answer


def metadata() -> Any:
    response = M.MetadataResponse
    one = response.MetadataResponsePartition(leader_id=1, replica_nodes=(1, 2), isr_nodes=(1,))
    topic = response.MetadataResponseTopic(name="t", partitions=(one,))
    return response(brokers=(response.MetadataResponseBroker(node_id=1, host="h", port=9),), topics=(topic,))


def described() -> Any:
    row = M.DescribeClusterResponse.DescribeClusterBroker
    rows = (row(broker_id=1, host="h", port=9, rack="a"), row(broker_id=2, host="i", port=9, rack="b", is_fenced=True))
    return M.DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=rows)


def asked_of(spoken: dict[int, int]) -> tuple[Any, list[Any]]:
    seen: list[Any] = []
    with serving(broker(spoken, seen)) as where, BrokerConnection(address(where), timeout=90) as connection:
        return ask_cluster(connection), seen


def test_both_are_asked_and_fenced_brokers_are_known() -> None:
    state, seen = asked_of({METADATA: 99, DESCRIBE_CLUSTER: 99})
    assert [(asked.api_name, asked.api_version) for asked in seen] == [("Metadata", 13), ("DescribeCluster", 2)]
    assert (seen[0].message.topics, seen[0].message.allow_auto_topic_creation) == (None, False)
    assert {one.node_id: (one.rack, one.fenced) for one in state.brokers.values()} == {1: ("a", False), 2: ("b", True)}
    assert state.partitions()[0].replicas == (1, 2)


def test_metadata_alone_has_to_do() -> None:
    state, seen = asked_of({METADATA: 1})
    assert ([asked.api_version for asked in seen], list(state.brokers)) == ([1], [1])


def test_a_broker_that_knows_no_metadata() -> None:
    with pytest.raises(CallError, match="no version of Metadata"):
        asked_of({DESCRIBE_CLUSTER: 0})
