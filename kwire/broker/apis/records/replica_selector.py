"""The replica from which a consumer should fetch: one in its rack (KIP-392), as by Kafka's RackAwareReplicaSelector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica that may serve a consumer, as the leader sees it."""

    node_id: int
    rack: str | None
    log_end_offset: int
    ms_since_caught_up: int


def select_replica(leader: ReplicaView, replicas: Iterable[ReplicaView], client_rack: str | None) -> ReplicaView:
    """Return the replica from which a consumer should fetch.

    Args:
        leader: the leader of the partition.
        replicas: all replicas that may serve the consumer, including the leader.
        client_rack: the consumer's `client.rack`; None or empty if it is not set.

    Returns:
        The leader, if the client has no rack, or the leader or no replica is in that rack. Otherwise the replica in the
        rack with the highest log end offset, then the one that was in sync last, then the one with the highest id.

    >>> leader, near = ReplicaView(1, "a", 7, 0), ReplicaView(2, "b", 5, 40)
    >>> [select_replica(leader, [leader, near], rack).node_id for rack in ("a", "b", "c", None)]
    [1, 2, 1, 1]
    """
    if not client_rack or leader.rack == client_rack:
        return leader
    near = (replica for replica in replicas if replica.rack == client_rack)
    return max(
        near,
        key=lambda candidate: (candidate.log_end_offset, -candidate.ms_since_caught_up, candidate.node_id),
        default=leader,
    )
