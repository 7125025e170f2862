"""DescribeQuorum (KIP-595), AddRaftVoter and RemoveRaftVoter (KIP-853), UnregisterBroker (KIP-500): the brokers and
voters of a served cluster cannot change.
"""

from __future__ import annotations

from typing import Any

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic_names import RESERVED
from ...request_context import RequestContext

FIRST_WITH_NODES = 2  # the first version of DescribeQuorum with the addresses of nodes (KIP-853)


def describe_quorum(request: RequestContext[messages.DescribeQuorumRequest]) -> messages.DescribeQuorumResponse:
    """Handle DescribeQuorum (KIP-595): the controller is the only voter of the metadata log."""
    response = messages.DescribeQuorumResponse
    controller = request.cluster.controller
    end = controller.journals.end
    voter = response.ReplicaState(replica_id=controller.controller_id, log_end_offset=end)
    rows = []
    for topic in request.message.topics:
        parts = []
        for part in topic.partitions:
            is_there = topic.topic_name == RESERVED and part.partition_index == 0
            fields: dict[str, Any] = {"error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            if is_there:
                fields = {"leader_id": controller.controller_id, "high_watermark": end, "current_voters": (voter,)}
            parts.append(response.PartitionData(partition_index=part.partition_index, error_message=None, **fields))
        rows.append(response.TopicData(topic_name=topic.topic_name, partitions=tuple(parts)))
    node = controller.nodes.get(controller.controller_id)
    nodes = []
    if node is not None and request.version >= FIRST_WITH_NODES:
        listener = response.Listener(name="CONTROLLER", host=node.host, port=node.port)
        nodes.append(response.Node(node_id=node.node_id, listeners=(listener,)))
    return response(error_message=None, topics=tuple(rows), nodes=tuple(nodes))


def unregister_broker(request: RequestContext[messages.UnregisterBrokerRequest]) -> messages.UnregisterBrokerResponse:
    """Handle UnregisterBroker: a running broker cannot be unregistered."""
    response = messages.UnregisterBrokerResponse
    node_id = request.message.broker_id
    if node_id not in request.cluster.controller.nodes:
        missing = f"Broker ID {node_id} is not currently registered"
        return response(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=missing)
    return response(
        error_code=ErrorCode.INVALID_REQUEST, error_message=f"Broker ID {node_id} is served; stop it instead"
    )


def add_raft_voter(request: RequestContext[messages.AddRaftVoterRequest]) -> messages.AddRaftVoterResponse:
    """Handle AddRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support adding voter because the kraft.version feature is 0"
    return messages.AddRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=fixed)


def remove_raft_voter(request: RequestContext[messages.RemoveRaftVoterRequest]) -> messages.RemoveRaftVoterResponse:
    """Handle RemoveRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support removing voter because the kraft.version feature is 0"
    return messages.RemoveRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=fixed)


APIS = {  # what each version has changed
    # 1: when voters fetched last (KIP-836)
    # 2: error messages, and the directories and addresses of voters (KIP-853)
    "DescribeQuorum": ServedApi(0, 2, describe_quorum),
    "UnregisterBroker": ServedApi(0, 0, unregister_broker),
    "AddRaftVoter": ServedApi(0, 0, add_raft_voter),
    "RemoveRaftVoter": ServedApi(0, 0, remove_raft_voter),
}
