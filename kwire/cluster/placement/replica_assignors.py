"""KIP-879: built-in and user-defined replica assignors, and the CreateReplicaAssignment api, version 0. Sans-IO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from ... import messages
from ...errors import excerpt
from ...errors.refused import (
    BrokerNotAvailable,
    InvalidPartitions,
    Refused,
    ReplicaAssignmentRefused,
    ReplicaAssignorFailed,
    UnknownAssignor,
)
from ..java.hash_order import Rng
from ..state import Broker
from .multi_level import Rings, assign_multi_level, place_striped
from .rack_aware import Assignment, RackAwareMode, assign_replicas, broker_metadatas, check_counts


class ReplicaAssignor(Protocol):
    """A function that places the replicas of a new topic's partitions; it raises `Refused` if that is impossible."""

    def __call__(
        self, brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng, /
    ) -> Mapping[int, Sequence[int]]:
        """Return for each partition, numbered from 0, the ids of its brokers; the preferred leader is first."""


def simple(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place replicas as Kafka does without racks, for `--disable-rack-awareness` and `forceSimpleAssignment`."""
    bare = broker_metadatas(brokers, RackAwareMode.DISABLED)
    return assign_replicas(bare, num_partitions, replication_factor, rng=rng)


def rack_aware(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place replicas over flat racks (KIP-36); without racks, the result is that of `simple`."""
    return assign_replicas(broker_metadatas(brokers), num_partitions, replication_factor, rng=rng)


def rack_aware_safe(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place replicas over flat racks; ignore racks if only some brokers have one.

    Kafka does this for topics that brokers create automatically (`RackAwareMode.Safe` of KIP-36).
    """
    usable = broker_metadatas(brokers, RackAwareMode.SAFE)
    return assign_replicas(usable, num_partitions, replication_factor, rng=rng)


def multi_level(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place replicas over racks of several levels (KIP-879). Rings start at random and rotate, to spread leaders
    too.
    """
    return assign_multi_level(brokers, num_partitions, replication_factor, rng=rng, rings=Rings.TURNED)


def striped(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place replicas as a KRaft controller does."""
    return dict(enumerate(place_striped(brokers, num_partitions, replication_factor, rng)))


ASSIGNORS: Mapping[str, ReplicaAssignor] = {
    "multi-level": multi_level,
    "rack-aware": rack_aware,
    "rack-aware-safe": rack_aware_safe,
    "simple": simple,
    "striped": striped,
}


def assignor_for(name: str, assignors: Mapping[str, ReplicaAssignor] = ASSIGNORS) -> ReplicaAssignor:
    """Return the assignor that a broker's setting names.

    Args:
        name: a key of `assignors`, or `MODULE:FUNCTION`, a function that is imported. It must come from the user who
            runs the program, never from a message.
        assignors: functions by name.

    Raises:
        UnknownAssignor: no assignor has this name, or it cannot be imported.

    >>> assignor_for("simple") is assignor_for("kwire.cluster.placement.replica_assignors:simple")
    True
    """
    if name in assignors:
        return assignors[name]
    module, _, attribute = name.partition(":")
    try:
        if not attribute:
            raise LookupError("it has no such name")
        found: ReplicaAssignor = getattr(import_module(module), attribute)
    except Exception as error:  # a user's module may raise any exception while it is imported
        problem = str(error) or type(error).__name__
        raise UnknownAssignor("unknown_assignor", name=name, problem=problem, known=", ".join(assignors)) from None
    return found


def run_assignor(
    assignor: ReplicaAssignor, brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng
) -> Assignment:
    """Place replicas with an assignor, and validate the result of a user-defined one.

    Raises:
        ReplicaAssignorFailed: the assignor raised an exception other than a refusal, or returned an invalid assignment.
        Refused: the assignor refused the request.

    >>> from random import Random
    >>> run_assignor(simple, [Broker(1)], 2, 1, Random(0))
    {0: [1], 1: [1]}
    >>> run_assignor(lambda *arguments: {1: [1]}, [Broker(1)], 1, 1, Random(0))
    Traceback (most recent call last):
        ...
    kwire.errors.refused.ReplicaAssignorFailed: the replica assignor
    kwire.cluster.placement.replica_assignors:<lambda> returned partitions [1], not 0 to 0; a mapping of each partition to the ids of different brokers is needed, as many as the
    replication factor
    """
    name = f"{getattr(assignor, '__module__', '')}:{getattr(assignor, '__qualname__', type(assignor).__qualname__)}"
    try:
        returned = assignor(brokers, num_partitions, replication_factor, rng)
        found = {partition: list(replicas) for partition, replicas in returned.items()}
    except Refused:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {excerpt(str(error))}"
        raise ReplicaAssignorFailed("assignor_raised", name=name, problem=problem) from error
    problem = _problem_of(found, {broker.node_id for broker in brokers}, num_partitions, replication_factor)
    if problem:
        raise ReplicaAssignorFailed("assignor_returned", name=name, problem=problem)
    return found


def _problem_of(found: Assignment, known: set[int], num_partitions: int, replication_factor: int) -> str:
    """Return the problem with an assignment; empty if it is valid."""
    if found.keys() != set(range(num_partitions)):
        return f"partitions {excerpt(list(found))}, not 0 to {num_partitions - 1}"
    for partition, replicas in found.items():
        if not all(type(node_id) is int and node_id in known for node_id in replicas):
            return f"partition {partition} on brokers {excerpt(replicas)}, which are not all among those to place on"
        if len(set(replicas)) != len(replicas):
            return f"partition {partition} on brokers {excerpt(replicas)}, one of them twice"
        if len(replicas) != replication_factor:
            return f"partition {partition} with {len(replicas)} replicas, not {replication_factor}"
    return ""


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
    place = simple if force_simple_assignment else assignor
    return run_assignor(place, chosen, num_partitions, replication_factor, rng)


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
        ids = [one.partition_id for one in response.replica_assignment]
        if not ids:
            raise ReplicaAssignmentRefused("empty_assignment", on=self._on(), **self._figures())
        if sorted(ids) != list(range(len(ids))) or len(ids) != wanted:
            raise ReplicaAssignmentRefused("wrong_partition_ids", found=sorted(ids), last=wanted - 1, **self._figures())
        return {one.partition_id: list(one.replicas) for one in response.replica_assignment}

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
