"""The check of replicas that a client assigns to partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors.refused import InvalidReplicaAssignment
from ..node import Node


def check_assignment(
    assignment: Mapping[int, Sequence[int]],
    nodes: Mapping[int, Node],
    first: int = 0,
    replication_factor: int | None = None,
) -> None:
    """Raise an error if a client's assignment does not continue the partitions, or contains unknown brokers.

    Args:
        assignment: the broker ids of each partition.
        nodes: all brokers by id.
        first: the index of the first new partition.
        replication_factor: the required number of replicas per partition; None requires as many as the first partition
            has.
    """
    if sorted(assignment) != list(range(first, first + len(assignment))):
        raise InvalidReplicaAssignment("partitions_not_consecutive", first=first, found=sorted(assignment))
    factor = replication_factor
    for index, ids in sorted(assignment.items()):
        factor = len(ids) if factor is None else factor
        _check_replicas(index, ids, nodes)
        if len(ids) != factor:
            raise InvalidReplicaAssignment(
                "replication_factor_differs_between_partitions",
                partition=index,
                found=len(ids),
                replication_factor=factor,
            )


def _check_replicas(index: int, ids: Sequence[int], nodes: Mapping[int, Node]) -> None:
    if not ids:
        raise InvalidReplicaAssignment("empty_replica_list", partition=index)
    if len(set(ids)) < len(ids):
        raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=index, replicas=list(ids))
    if unknown := sorted(node_id for node_id in ids if node_id not in nodes):
        raise InvalidReplicaAssignment("unknown_broker", unknown=unknown)
    if not any(nodes[node_id].is_alive for node_id in ids):
        raise InvalidReplicaAssignment("no_live_replica", partition=index, replicas=list(ids))
