"""Administrators' requests: CreateReplicaAssignment (KIP-879), and the cluster as Metadata and DescribeCluster
describe it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..cluster import ClusterModel, ClusterState, Observation
from ..cluster.rack_aware_placement import Assignment
from ..cluster.replica_assignors import DEFAULT_TIMEOUT_MS
from ..cluster.replica_assignors import create_replica_assignment as asking
from ..codecs import codec_in
from ..errors import CallError
from ..spec.catalog import catalog_for
from ..values import ConfigResourceType
from .client import Address, BrokerConnection
from .client import address as read_address
from .security import PLAINTEXT, Security

PAGE = 2000  # partitions in an answer
TOPICS = 500  # in an answer with their configs
Members = dict[str, Any] | Callable[[int], dict[str, Any]]  # of a request as JSON, or what makes them for a version


class Admin:
    """Asks one broker.

    Args:
        address: where it listens: an `Address`, or a text such as `localhost:9092`.
        timeout: seconds to wait for the connection, and for each portion of an answer.
        security: TLS and SASL; neither unless given.

    Raises:
        CallError: the text is no address, nothing listens there, or it does not answer in time, or TLS or SASL fail.

    >>> Admin("localhost:9092:1")
    Traceback (most recent call last):
        ...
    kwire.errors.CallError: localhost:9092:1: this is no address
    """

    def __init__(self, address: Address | str, timeout: float = 10.0, security: Security = PLAINTEXT) -> None:
        where = read_address(address) if isinstance(address, str) else address
        self._broker = BrokerConnection(where, timeout=timeout, catalog=catalog_for("KIP-879"), security=security)

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *failure: object) -> None:
        self._broker.close()

    def create_replica_assignment(
        self,
        num_partitions: int,
        replication_factor: int,
        node_ids: Sequence[int] = (),
        force_simple_assignment: bool = False,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> Assignment:
        """Ask where replicas would be placed (KIP-879); nothing is created.

        Args:
            num_partitions: how many partitions; they are numbered from 0.
            replication_factor: replicas of each.
            node_ids: ids of the brokers to choose from; empty means all live brokers.
            force_simple_assignment: without the broker's assignor, and without racks.
            timeout_ms: after which the broker gives up.

        Returns:
            For each partition the ids of its brokers, the preferred leader first.

        Raises:
            ReplicaAssignmentRefused: the broker refused, with an empty array; the text names the possible causes.
            CallError: the connection broke, or no answer came in time; or the broker does not serve this draft.
        """
        call = asking(num_partitions, replication_factor, node_ids, force_simple_assignment, timeout_ms)
        answer = self._broker.ask(codec_in(self._broker.catalog, "CreateReplicaAssignmentRequest", 0), call.request)
        assert answer is not None
        return call.assignment(answer.message)


def ask_cluster(broker: BrokerConnection) -> ClusterState:
    """Ask a broker for brokers, racks and partitions; as `ask_model`."""
    return ask_model(broker).state()


def ask_model(broker: BrokerConnection) -> ClusterModel:
    """Ask a broker for brokers, racks, partitions, reassignments and configs, each broker for its log directories.

    Args:
        broker: a connection to any broker of the cluster.

    Raises:
        CallError: it breaks off, is too slow, or speaks no Metadata that is known here.
        DecodeError: an answer does not decode.
    """
    model = ClusterModel()
    if not _ask(broker, model, "MetadataRequest", _of_all_topics):
        raise CallError(str(broker.address), "it answers no version of Metadata that is known here", "is it a broker?")
    _ask(broker, model, "DescribeClusterRequest", _with_fenced_brokers)
    _ask(broker, model, "ListPartitionReassignmentsRequest", {"topics": None})
    _ask_elr(broker, model)
    _ask_configs(broker, model)
    for node in list((model.state().brokers or {}).values()):
        if not node.fenced and broker.newest("DescribeLogDirsRequest") is not None:
            _ask_log_dirs(broker, model, Address(node.host, node.port))
    return model


def _ask_elr(broker: BrokerConnection, model: ClusterModel) -> None:
    """Ask for eligible leader replicas (KIP-966), in as many pages as it takes."""
    topics = [{"name": name} for name in sorted(model.state().topics)]
    cursor: dict[str, Any] | None = None
    while topics:
        members = {"topics": topics, "responsePartitionLimit": PAGE, "cursor": cursor}
        answer = _answer(broker, model, "DescribeTopicPartitionsRequest", members)
        following = getattr(answer, "next_cursor", None)
        if following is None:
            return
        cursor = {"topicName": following.topic_name, "partitionIndex": following.partition_index}


def _ask_configs(broker: BrokerConnection, model: ClusterModel) -> None:
    """Ask for the configs of all topics, some at a time, and for the default of all brokers."""
    names = sorted(model.state().topics)
    asked = [(ConfigResourceType.BROKER, ""), *((ConfigResourceType.TOPIC, name) for name in names)]
    for start in range(0, len(asked), TOPICS):
        part = asked[start : start + TOPICS]
        rows = [{"resourceType": int(kind), "resourceName": name, "configurationKeys": None} for kind, name in part]
        _ask(broker, model, "DescribeConfigsRequest", {"resources": rows})


def _ask_log_dirs(broker: BrokerConnection, model: ClusterModel, where: Address) -> None:
    """Ask a broker for its log directories; one that does not answer says nothing."""
    with suppress(CallError), broker.to(where) as other:
        _ask(other, model, "DescribeLogDirsRequest", {"topics": None})


def _of_all_topics(version: int) -> dict[str, Any]:
    creating = {"allowAutoTopicCreation": False} if version >= 4 else {}
    return {"topics": None if version >= 1 else [], **creating}


def _with_fenced_brokers(version: int) -> dict[str, Any]:
    return {"includeFencedBrokers": True} if version >= 2 else {}


def _ask(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> bool:
    """Ask in the newest version, and give the answer to a model. Returns whether it had an answer."""
    return _answer(broker, model, name, members) is not None


def _answer(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> Any:
    """Return the answer; None if there is none, or it is a refusal."""
    version = broker.newest(name)
    if version is None:
        return None
    codec = codec_in(broker.catalog, name, version)
    answer = broker.ask(codec, codec.from_json(members(version) if callable(members) else members, defaults=True))
    if answer is None:
        return None
    seen = Observation(answer.message, answer.codec, broker=str(broker.address), file=str(broker.address))
    return answer.message if model.take(seen) else None
