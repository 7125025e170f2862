"""An administrator's request that Kafka does not have yet: CreateReplicaAssignment (KIP-879)."""

from __future__ import annotations

from collections.abc import Sequence

from ..cluster.placement.create_replica_assignment import DEFAULT_TIMEOUT_MS
from ..cluster.placement.create_replica_assignment import create_replica_assignment as asking
from ..cluster.placement.rack_aware import Assignment
from ..codecs.message_codec import codec_in
from ..schema.catalog import catalog_for
from .address import Address
from .address import address as read_address
from .connection import BrokerConnection
from .security import PLAINTEXT, Security


class Admin:
    """Sends an administrator's requests to one broker.

    Args:
        address: the broker's address: an `Address`, or text such as `localhost:9092`.
        timeout: seconds for the connection, and again for each request with its response.
        security: TLS and SASL; by default neither.

    Raises:
        CallError: the text is not an address, nothing listens there, the broker does not respond in time, or TLS or
            SASL fails.

    >>> Admin("localhost:9092:1")
    Traceback (most recent call last):
        ...
    kwire.errors.CallError: localhost:9092:1: this is not an address
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
        """Return where the cluster would place replicas (KIP-879); nothing is created.

        Args:
            num_partitions: the number of partitions; they are numbered from 0.
            replication_factor: the number of replicas of each partition.
            node_ids: ids of the brokers to choose from; empty means all live brokers.
            force_simple_assignment: whether to ignore the broker's assignor and racks.
            timeout_ms: milliseconds after which the broker gives up.

        Returns:
            The broker ids of each partition, the preferred leader first.

        Raises:
            ReplicaAssignmentRefused: the broker refused, with an empty array; the text names the possible causes.
            CallError: the connection broke, no response arrived in time, or the broker does not support this draft.
        """
        call = asking(num_partitions, replication_factor, node_ids, force_simple_assignment, timeout_ms)
        answer = self._broker.ask(codec_in(self._broker.catalog, "CreateReplicaAssignmentRequest", 0), call.request)
        assert answer is not None
        return call.assignment(answer.message)
