"""KIP-879: replica assignors by name, and those of one's own, as a broker's setting names them.

Knows the placements of this wing; knows no messages. An assignor is a function of brokers, number of partitions,
replication factor and a source of chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from ..refusals import UnknownAssignor
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


def multi_level(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place over racks of many levels (KIP-879), with leaders spread too: rings start by chance and are turned."""
    return assign_multi_level(brokers, num_partitions, replication_factor, rng=rng, rings=Rings.TURNED)


def striped(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> Assignment:
    """Place as a KRaft controller does."""
    return dict(enumerate(place_striped(brokers, num_partitions, replication_factor, rng)))


ASSIGNORS: Mapping[str, ReplicaAssignor] = {
    "multi-level": multi_level,
    "rack-aware": rack_aware,
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
    except (LookupError, ImportError, AttributeError, ValueError, TypeError) as error:
        raise UnknownAssignor("unknown_assignor", name=name, problem=str(error), known=", ".join(assignors)) from None
    return found
