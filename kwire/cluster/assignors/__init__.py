"""Kafka's consumer assignors: they distribute partitions among the members of a group, with and without racks
(KIP-881).

Assignors are pure functions on values; the results equal Kafka's, including the order of each list.

Client assignors: before 3.5 (KIP-881), they ignore racks. The results of `range` and `roundrobin` without racks are the
same from 2.4 to 4.4; the sticky assignors are supported in 2.4 and from 2.8 on.

Broker assignors (KIP-848), `uniform` and `server-range`, are supported from 4.0 on. The broker's `range` is the
client's `range` without racks. Kafka orders topics by their ids, so the results equal those of 4.0 to 4.4 if ids are
given.

Only the sticky assignors and `uniform` take earlier assignments into account.
"""

from .by_name import ASSIGNORS, STICKY, assign, has_assignor, knows_racks
from .members import UNREADABLE, Member, MemberData, by_topic, member_of, topics_of
from .rack_share import share_in_rack
from .range import assign_range, assign_server_range
from .rebalance_trigger import MetadataSnapshot, ReplicaRack, asks_for_rebalance, leader_rebalances, snapshot_of
from .round_robin import assign_round_robin
from .sticky.sticky import algorithm_for, assign_cooperative, assign_sticky, cooperative_past, sticky_past
from .uniform import assign_uniform

__all__ = [
    "ASSIGNORS",
    "STICKY",
    "UNREADABLE",
    "Member",
    "MemberData",
    "MetadataSnapshot",
    "ReplicaRack",
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
