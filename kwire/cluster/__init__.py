"""Systems of whole clusters: state, placement of replicas over racks, assignors, history, the ZooKeeper-era controller.

Knows nodes, replicas and racks; knows no bytes, frames or files. `learner` turns messages into state by their
attributes, `history` turns them into timelines.
"""

from .learner import learn
from .multi_level_placement import Rings, assign_multi_level, increase_replication_factor, place_striped
from .rack_aware_placement import (
    RackAwareMode,
    add_partitions,
    assign_replicas,
    broker_metadatas,
    generate_assignment,
    rack_alternated_broker_list,
    reassignment_json,
)
from .rack_spread import is_even, losses_of, spread_of
from .rack_tree import RackTree, rack_path
from .replica_assignors import assignor_for
from .state import Broker, ClusterState, Partition

__all__ = [
    "Broker",
    "ClusterState",
    "Partition",
    "RackAwareMode",
    "RackTree",
    "Rings",
    "add_partitions",
    "assign_multi_level",
    "assign_replicas",
    "assignor_for",
    "broker_metadatas",
    "generate_assignment",
    "increase_replication_factor",
    "is_even",
    "learn",
    "losses_of",
    "place_striped",
    "rack_alternated_broker_list",
    "rack_path",
    "reassignment_json",
    "spread_of",
]
