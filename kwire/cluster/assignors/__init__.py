"""Kafka's consumer assignors, of clients and of brokers (KIP-848): which member of a group gets which partitions, with
and without racks (KIP-881).

Pure functions on values; the results equal Kafka's, including the order of each list. Knows no bytes and no brokers.
"""

from .members import UNREADABLE, Held, Member, by_topic, member_of, topics_of
from .range_and_round_robin import assign_range, assign_round_robin
from .releases import (
    ASSIGNORS,
    Replica,
    Snapshot,
    asks_for_rebalance,
    assign,
    has_assignor,
    knows_racks,
    leader_rebalances,
    share_in_rack,
    snapshot_of,
)
from .server_side import assign_server_range, assign_uniform
from .sticky import algorithm_for, assign_cooperative, assign_sticky, cooperative_past, sticky_past

__all__ = [
    "ASSIGNORS",
    "UNREADABLE",
    "Held",
    "Member",
    "Replica",
    "Snapshot",
    "algorithm_for",
    "asks_for_rebalance",
    "assign",
    "assign_cooperative",
    "assign_range",
    "assign_round_robin",
    "assign_server_range",
    "assign_sticky",
    "assign_uniform",
    "by_topic",
    "cooperative_past",
    "has_assignor",
    "knows_racks",
    "leader_rebalances",
    "member_of",
    "share_in_rack",
    "snapshot_of",
    "sticky_past",
    "topics_of",
]
