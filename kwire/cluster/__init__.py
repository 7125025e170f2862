"""Algorithms on whole clusters: a model of current and past state, placement, assignors, the ZooKeeper-era controller.

`events`, `metadata_log` and `znode_events` convert messages, records and znodes to events; `cluster_model` derives the
current state and the tables of the history. Bytes, frames and files are read elsewhere.
"""

from .cluster_model import ClusterModel, history_of, model_of
from .events import MESSAGES, Authority, Observation, learn, observed
from .history_tables import ROWS, Tables
from .metadata_log import LoggedRecord
from .multi_level_placement import (
    RackTree,
    Rings,
    assign_multi_level,
    increase_replication_factor,
    is_even,
    losses_of,
    place_striped,
    rack_path,
    spread_of,
)
from .rack_aware_placement import (
    RackAwareMode,
    add_partitions,
    assign_replicas,
    broker_metadatas,
    generate_assignment,
    rack_alternated_broker_list,
    reassignment_json,
)
from .replica_assignors import assignor_for
from .replica_plan import Goals, ReplicaPlan, plan_replicas
from .state import Broker, ClusterState, LogDir, Partition, Settings

__all__ = [
    "MESSAGES",
    "ROWS",
    "Authority",
    "Broker",
    "ClusterModel",
    "ClusterState",
    "Goals",
    "LogDir",
    "LoggedRecord",
    "Observation",
    "Partition",
    "RackAwareMode",
    "RackTree",
    "ReplicaPlan",
    "Rings",
    "Settings",
    "Tables",
    "add_partitions",
    "assign_multi_level",
    "assign_replicas",
    "assignor_for",
    "broker_metadatas",
    "generate_assignment",
    "history_of",
    "increase_replication_factor",
    "is_even",
    "learn",
    "losses_of",
    "model_of",
    "observed",
    "place_striped",
    "plan_replicas",
    "rack_alternated_broker_list",
    "rack_path",
    "reassignment_json",
    "spread_of",
]
