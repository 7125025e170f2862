"""Reads the state of a live cluster: brokers, racks, partitions, reassignments, configs and log directories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from ..cluster import ClusterModel, ClusterState, Observation
from ..codecs.message_codec import codec_in
from ..errors import CallError
from ..values import ConfigResourceType
from .address import Address
from .connection import BrokerConnection
from .deadline import Deadline

AT_ONCE = 8  # brokers that are asked at a time
PAGE = 2000  # partitions in an answer
TOPICS = 500  # in an answer with their configs
QUORUM = {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}
Members = dict[str, Any] | Callable[[int], dict[str, Any]]  # of a request as JSON, or what makes them for a version


def ask_cluster(broker: BrokerConnection) -> ClusterState:
    """Request brokers, racks and partitions from a broker; see `ask_model`."""
    return ask_model(broker).state()


def ask_model(broker: BrokerConnection) -> ClusterModel:
    """Request brokers, racks, partitions, reassignments and configs from a broker, and log directories from each one.

    Args:
        broker: a connection to any broker of the cluster.

    Raises:
        CallError: the connection breaks, the broker is too slow, or it supports no version of Metadata that kwire
            supports.
        DecodeError: a response does not decode.

    All requests together end with the connection's `deadline`, or after its `timeout`. Log directories of brokers that
    have not responded by then are left out.
    """
    deadline = broker.deadline or Deadline(broker.timeout)
    with broker.within(deadline):
        return _ask_all(broker, deadline)


def _ask_all(broker: BrokerConnection, deadline: Deadline) -> ClusterModel:
    model = ClusterModel()
    if not _ask(broker, model, "MetadataRequest", _of_all_topics):
        raise CallError(str(broker.address), "it supports no version of Metadata that kwire knows", "is it a broker?")
    _ask(broker, model, "DescribeClusterRequest", _with_fenced_brokers)
    _ask(broker, model, "ListPartitionReassignmentsRequest", {"topics": None})
    _ask(broker, model, "DescribeQuorumRequest", QUORUM)
    _ask_elr(broker, model)
    _ask_configs(broker, model)
    if broker.newest("DescribeLogDirsRequest") is not None:
        nodes = (model.state().brokers or {}).values()
        _ask_log_dirs(broker, model, [Address(node.host, node.port) for node in nodes if not node.fenced], deadline)
    return model


def _ask_elr(broker: BrokerConnection, model: ClusterModel) -> None:
    """Request the eligible leader replicas (KIP-966), page by page."""
    topics = [{"name": name} for name in sorted(model.state().topics)]
    cursor: dict[str, Any] | None = None
    while topics:
        members = {"topics": topics, "responsePartitionLimit": PAGE, "cursor": cursor}
        answer = _ask_and_take(broker, model, "DescribeTopicPartitionsRequest", members)
        following = getattr(answer, "next_cursor", None)
        if following is None:
            return
        cursor = {"topicName": following.topic_name, "partitionIndex": following.partition_index}


def _ask_configs(broker: BrokerConnection, model: ClusterModel) -> None:
    """Request the configs of all topics, in batches, and the brokers' default configs."""
    names = sorted(model.state().topics)
    resources = [(ConfigResourceType.BROKER, ""), *((ConfigResourceType.TOPIC, name) for name in names)]
    for start in range(0, len(resources), TOPICS):
        part = resources[start : start + TOPICS]
        rows = [{"resourceType": int(kind), "resourceName": name, "configurationKeys": None} for kind, name in part]
        _ask(broker, model, "DescribeConfigsRequest", {"resources": rows})


def _ask_log_dirs(
    broker: BrokerConnection, model: ClusterModel, addresses: Sequence[Address], deadline: Deadline
) -> None:
    """Request the log directories of brokers, some at a time; ignore brokers that do not respond.

    A broker can name any number of others, and a few that do not respond must not take the time of the others.
    """

    def ask(address: Address) -> Observation | None:
        with suppress(CallError, TimeoutError):
            deadline.left()  # without time, not even the files of TLS are read
            with broker.to(address, deadline) as other:
                return _observe(other, "DescribeLogDirsRequest", {"topics": None})
        return None

    with ThreadPoolExecutor(AT_ONCE, "kwire log directories") as pool:
        for seen in pool.map(ask, addresses):
            if seen is not None:
                model.take(seen)


def _of_all_topics(version: int) -> dict[str, Any]:
    creating = {"allowAutoTopicCreation": False} if version >= 4 else {}
    return {"topics": None if version >= 1 else [], **creating}


def _with_fenced_brokers(version: int) -> dict[str, Any]:
    return {"includeFencedBrokers": True} if version >= 2 else {}


def _ask(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> bool:
    """Send a request in the newest version, and apply the response to a model. Returns whether the broker responded."""
    return _ask_and_take(broker, model, name, members) is not None


def _ask_and_take(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> Any:
    """Return the response; None if the broker did not respond, or refused the request."""
    seen = _observe(broker, name, members)
    return seen.message if seen is not None and model.take(seen) else None


def _observe(broker: BrokerConnection, name: str, members: Members) -> Observation | None:
    """Send a request in the newest version; return the response, None if the broker does not know the request."""
    version = broker.newest(name)
    if version is None:
        return None
    codec = codec_in(broker.catalog, name, version)
    answer = broker.ask(codec, codec.from_json(members(version) if callable(members) else members, defaults=True))
    if answer is None:
        return None
    return Observation(answer.message, answer.codec, broker=str(broker.address), file=str(broker.address))
