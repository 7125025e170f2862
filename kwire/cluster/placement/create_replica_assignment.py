"""KIP-879: the CreateReplicaAssignment api, version 0, for clients and brokers. Sans-IO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import messages
from ...errors.refused import BrokerNotAvailable, InvalidPartitions, Refused, ReplicaAssignmentRefused
from ..java.random import Rng
from ..state import Broker
from .rack_aware import Assignment, check_counts
from .replica_assignors import ReplicaAssignor, multi_level, run_assignor, simple

MOST_REPLICAS = 1_000_000  # per response, about 4 MiB; a request of 20 bytes could request any number
DEFAULT_TIMEOUT_MS = 60_000
_NO_PARTITIONS: tuple[()] = ()


def place_replicas(
    brokers: Sequence[Broker],
    num_partitions: int,
    replication_factor: int,
    rng: Rng,
    *,
    node_ids: Sequence[int] = (),
    force_simple_assignment: bool = False,
    assignor: ReplicaAssignor = multi_level,
    most_replicas: int = MOST_REPLICAS,
) -> Assignment:
    """Place replicas as the CreateReplicaAssignment api does; if that is impossible, raise the exact reason.

    Args:
        brokers: all brokers; fenced ones are not used.
        num_partitions, replication_factor: the number of partitions, and the number of replicas of each.
        rng: the source of random numbers for the assignor.
        node_ids: ids of the brokers to choose from; empty means all that are not fenced.
        force_simple_assignment: ignore the assignor and all racks.
        assignor: the assignor that places the replicas; see `assignor_for`.
        most_replicas: the largest number of replicas per call.

    Returns:
        For each partition, numbered from 0, the ids of its brokers; the preferred leader is first.

    Raises:
        Refused: the assignor refused the request; BrokerNotAvailable: a listed broker is unknown or fenced.
        InvalidPartitions, InvalidReplicationFactor: the number is too small or too large, or there are too few brokers.
    """
    live = {broker.node_id: broker for broker in brokers if not broker.fenced}
    if unknown := sorted(set(node_ids) - set(live)):
        raise BrokerNotAvailable("unknown_broker", unknown=unknown)
    named = set(node_ids or live)
    chosen = [broker for node_id, broker in live.items() if node_id in named]
    check_counts(num_partitions, replication_factor, len(chosen))
    if num_partitions * replication_factor > most_replicas:
        figures = {"num_partitions": num_partitions, "replication_factor": replication_factor, "most": most_replicas}
        raise InvalidPartitions("too_many_replicas", **figures)
    chosen_assignor = simple if force_simple_assignment else assignor
    return run_assignor(chosen_assignor, chosen, num_partitions, replication_factor, rng)


def answer_create_replica_assignment(
    request: Any,
    brokers: Sequence[Broker],
    rng: Rng,
    assignor: ReplicaAssignor = multi_level,
    most_replicas: int = MOST_REPLICAS,
) -> Any:
    """Return the response to a CreateReplicaAssignmentRequest.

    A refusal is an empty array, as is `refusal()` after a timeout.

    Returns:
        A CreateReplicaAssignmentResponse of the profile KIP-879.

    >>> call = create_replica_assignment(2, 2)
    >>> brokers = [Broker(id, rack=f"/DC{id}") for id in range(2)]
    >>> from random import Random
    >>> call.assignment(answer_create_replica_assignment(call.request, brokers, Random(1)))
    {0: [0, 1], 1: [1, 0]}
    """
    try:
        assignment = place_replicas(
            brokers,
            request.num_partitions,
            request.replication_factor,
            rng,
            node_ids=request.node_id,
            force_simple_assignment=request.force_simple_assignment,
            assignor=assignor,
            most_replicas=most_replicas,
        )
    except Refused:
        return refusal()
    response = _classes().CreateReplicaAssignmentResponse
    rows = (response.ReplicaAssignment(partition_id=id, replicas=tuple(ids)) for id, ids in sorted(assignment.items()))
    return response(replica_assignment=tuple(rows))


def refusal() -> Any:
    """Return the response that refuses a request."""
    return _classes().CreateReplicaAssignmentResponse(replica_assignment=_NO_PARTITIONS)


@dataclass(frozen=True, slots=True)
class CreateReplicaAssignment:
    """A call of a client: `request` is the request to send, `assignment` decodes the response."""

    request: Any

    def assignment(self, response: Any) -> Assignment:
        """Return for each partition the ids of its brokers.

        Raises:
            ReplicaAssignmentRefused: the array is empty, or the partitions are not 0 to n - 1. The text lists the
                possible causes, because KIP-879 has no error code.
        """
        wanted = self.request.num_partitions
        ids = [row.partition_id for row in response.replica_assignment]
        if not ids:
            raise ReplicaAssignmentRefused("empty_assignment", on=self._on(), **self._figures())
        if sorted(ids) != list(range(len(ids))) or len(ids) != wanted:
            raise ReplicaAssignmentRefused("wrong_partition_ids", found=sorted(ids), last=wanted - 1, **self._figures())
        return {row.partition_id: list(row.replicas) for row in response.replica_assignment}

    def _on(self) -> str:
        return f"brokers {list(self.request.node_id)}" if self.request.node_id else "all live brokers"

    def _figures(self) -> dict[str, Any]:
        return {
            "num_partitions": self.request.num_partitions,
            "replication_factor": self.request.replication_factor,
            "timeout_ms": self.request.timeout_ms,
        }


def create_replica_assignment(
    num_partitions: int,
    replication_factor: int,
    node_ids: Sequence[int] = (),
    force_simple_assignment: bool = False,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> CreateReplicaAssignment:
    """Create a request for an assignment (KIP-879, Admin API); the broker creates nothing.

    Args:
        num_partitions: the number of partitions; they are numbered from 0.
        replication_factor: the number of replicas of each partition.
        node_ids: ids of the brokers to choose from; empty means all live brokers.
        force_simple_assignment: whether to ignore the broker's assignor and racks.
        timeout_ms: milliseconds after which the broker gives up.

    >>> call = create_replica_assignment(3, 2, node_ids=[1, 2])
    >>> call.request.num_partitions, call.request.node_id
    (3, (1, 2))
    """
    request = _classes().CreateReplicaAssignmentRequest(
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        force_simple_assignment=force_simple_assignment,
        node_id=tuple(node_ids),
        timeout_ms=timeout_ms,
    )
    return CreateReplicaAssignment(request)


def _classes() -> Any:
    return getattr(messages, "KIP-879")
