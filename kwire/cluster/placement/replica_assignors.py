"""KIP-879: built-in replica assignors, and those that users name as MODULE:FUNCTION.

They are three different algorithms, of which none is a special case of another:

- AdminUtils (KIP-36) walks one list that alternates racks, and places followers one broker further away each time all
  brokers have led.
- StripedReplicaPlacer (KRaft) shuffles racks and brokers each time all brokers have led, and uses fenced brokers last.
- A ring (KIP-879) advances by the replicas that pass its node, wherever the partition's leader is.

Even with one level, whatever the start indexes and random numbers, they give no common answer for four or more brokers,
two or more replicas, and more partitions than brokers. The planner (`cluster.plan`) is no assignor: it starts from
existing replicas and looks for the fewest moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from ...errors import excerpt
from ...errors.refused import Refused, ReplicaAssignorFailed, UnknownAssignor
from ..java.random import Rng
from ..state import Broker
from .multi_level import Rings, assign_multi_level
from .rack_aware import Assignment, RackAwareMode, assign_replicas, broker_metadatas
from .striped import place_striped


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
    """Place replicas as a KRaft controller does (StripedReplicaPlacer)."""
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
        assignor: ReplicaAssignor = getattr(import_module(module), attribute)
    except Exception as error:  # a user's module may raise any exception while it is imported
        problem = str(error) or type(error).__name__
        raise UnknownAssignor("unknown_assignor", name=name, problem=problem, known=", ".join(assignors)) from None
    return assignor


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
    kwire.cluster.placement.replica_assignors:<lambda> returned partitions [1], not 0 to 0;
    a mapping of each partition to the ids of different brokers is needed, as many as the replication factor
    """
    name = f"{getattr(assignor, '__module__', '')}:{getattr(assignor, '__qualname__', type(assignor).__qualname__)}"
    try:
        returned = assignor(brokers, num_partitions, replication_factor, rng)
        assignment = {partition: list(replicas) for partition, replicas in returned.items()}
    except Refused:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {excerpt(str(error))}"
        raise ReplicaAssignorFailed("assignor_raised", name=name, problem=problem) from error
    problem = _problem_of(assignment, {broker.node_id for broker in brokers}, num_partitions, replication_factor)
    if problem:
        raise ReplicaAssignorFailed("assignor_returned", name=name, problem=problem)
    return assignment


def _problem_of(assignment: Assignment, known: set[int], num_partitions: int, replication_factor: int) -> str:
    """Return the problem with an assignment; empty if it is valid."""
    if assignment.keys() != set(range(num_partitions)):
        return f"partitions {excerpt(list(assignment))}, not 0 to {num_partitions - 1}"
    for partition, replicas in assignment.items():
        if not all(type(node_id) is int and node_id in known for node_id in replicas):
            return f"partition {partition} on brokers {excerpt(replicas)}, which are not all among those to place on"
        if len(set(replicas)) != len(replicas):
            return f"partition {partition} on brokers {excerpt(replicas)}, one of them twice"
        if len(replicas) != replication_factor:
            return f"partition {partition} with {len(replicas)} replicas, not {replication_factor}"
    return ""
