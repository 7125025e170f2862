"""KIP-879: replica assignors by name, and those of one's own, as a broker's setting names them.

Knows the placements of this wing; knows no messages. An assignor is a function of brokers, number of partitions,
replication factor and a source of chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from ..errors import excerpt
from ..refusals import Refused, ReplicaAssignorFailed, UnknownAssignor
from .java import Rng
from .placement import Assignment, RackAwareMode, assign_replicas, broker_metadatas
from .rings import Rings, assign_multi_level
from .state import Broker
from .striping import place_striped


class ReplicaAssignor(Protocol):
    """What places the replicas of a new topic's partitions; it raises `Refused` where it cannot."""

    def __call__(
        self, brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng, /
    ) -> Mapping[int, Sequence[int]]:
        """Return for each partition from 0 on the ids of its brokers, the preferred leader first."""


def simple(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place as Kafka does without racks: what `--disable-rack-awareness` and `forceSimpleAssignment` ask for."""
    bare = broker_metadatas(brokers, RackAwareMode.DISABLED)
    return assign_replicas(bare, num_partitions, replication_factor, rng=rng)


def rack_aware(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place over flat racks (KIP-36); without racks as `simple`."""
    return assign_replicas(broker_metadatas(brokers), num_partitions, replication_factor, rng=rng)


def rack_aware_safe(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place over flat racks, but without racks where only some brokers have one: for topics that brokers create by
    themselves (`RackAwareMode.Safe` of KIP-36)."""
    usable = broker_metadatas(brokers, RackAwareMode.SAFE)
    return assign_replicas(usable, num_partitions, replication_factor, rng=rng)


def multi_level(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place over racks of many levels (KIP-879), with leaders spread too: rings start by chance and are turned."""
    return assign_multi_level(brokers, num_partitions, replication_factor, rng=rng, rings=Rings.TURNED)


def striped(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place as a KRaft controller does."""
    return dict(enumerate(place_striped(brokers, num_partitions, replication_factor, rng)))


ASSIGNORS: Mapping[str, ReplicaAssignor] = {
    "multi-level": multi_level,
    "rack-aware": rack_aware,
    "rack-aware-safe": rack_aware_safe,
    "simple": simple,
    "striped": striped,
}


def assignor_for(name: str, assignors: Mapping[str, ReplicaAssignor] = ASSIGNORS) -> ReplicaAssignor:
    """Find an assignor by what a broker's setting says.

    Args:
        name: one of `assignors`, or `MODULE:FUNCTION` for one of the operator's own, which is imported. It must come
            from who runs the program, never from a message.
        assignors: those that have names.

    Raises:
        UnknownAssignor: there is none of that name, or it cannot be imported.

    >>> assignor_for("simple") is assignor_for("kwire.cluster.replica_assignors:simple")
    True
    """
    if name in assignors:
        return assignors[name]
    module, _, attribute = name.partition(":")
    try:
        if not attribute:
            raise LookupError("it has no such name")
        found: ReplicaAssignor = getattr(import_module(module), attribute)
    except Exception as error:  # whatever a module of somebody's own raises while it is imported
        problem = str(error) or type(error).__name__
        raise UnknownAssignor("unknown_assignor", name=name, problem=problem, known=", ".join(assignors)) from None
    return found


def run_assignor(
    assignor: ReplicaAssignor, brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng
) -> Assignment:
    """Place replicas by an assignor, and check what one of the operator's own returns.

    Raises:
        ReplicaAssignorFailed: it raised something else than a refusal, or returned no such assignment.
        Refused: by the assignor.

    >>> from random import Random
    >>> run_assignor(simple, [Broker(1)], 2, 1, Random(0))
    {0: [1], 1: [1]}
    >>> run_assignor(lambda *arguments: {1: [1]}, [Broker(1)], 1, 1, Random(0))
    Traceback (most recent call last):
        ...
    kwire.refusals.ReplicaAssignorFailed: the replica assignor kwire.cluster.replica_assignors:<lambda> returned
    partitions [1], not 0 to 0; a mapping of each partition to the ids of different brokers is needed, as many as the
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
    """Say what is wrong with an assignment; empty if nothing is."""
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
