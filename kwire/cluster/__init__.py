"""Models and algorithms for whole clusters: state and history, placement, assignors, the ZooKeeper-era controller.

`events`, `metadata_log` and `znode_events` convert messages, records and znodes to events; `cluster_model` derives the
current state and the tables of the history. Other packages read bytes, frames and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        rack_alternated_broker_list,
    )
    from .reassignment_plan import Goals, ReplicaPlan, generate_assignment, plan_replicas, reassignment_json
    from .replica_assignors import assignor_for
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
_MODULES = {
    "Authority": "events",
    "Broker": "state",
    "ClusterModel": "cluster_model",
    "ClusterState": "state",
    "Goals": "reassignment_plan",
    "LogDir": "state",
    "LoggedRecord": "metadata_log",
    "MESSAGES": "events",
    "Observation": "events",
    "Partition": "state",
    "ROWS": "history_tables",
    "RackAwareMode": "rack_aware_placement",
    "RackTree": "multi_level_placement",
    "ReplicaPlan": "reassignment_plan",
    "Rings": "multi_level_placement",
    "Settings": "state",
    "Tables": "history_tables",
    "add_partitions": "rack_aware_placement",
    "assign_multi_level": "multi_level_placement",
    "assign_replicas": "rack_aware_placement",
    "assignor_for": "replica_assignors",
    "broker_metadatas": "rack_aware_placement",
    "generate_assignment": "reassignment_plan",
    "history_of": "cluster_model",
    "increase_replication_factor": "multi_level_placement",
    "is_even": "multi_level_placement",
    "learn": "events",
    "losses_of": "multi_level_placement",
    "model_of": "cluster_model",
    "observed": "events",
    "place_striped": "multi_level_placement",
    "plan_replicas": "reassignment_plan",
    "rack_alternated_broker_list": "rack_aware_placement",
    "rack_path": "multi_level_placement",
    "reassignment_json": "reassignment_plan",
    "spread_of": "multi_level_placement",
}

if not TYPE_CHECKING:  # a type checker that reads this function would accept any name

    def __getattr__(name: str) -> Any:
        """Import a module when one of its names is first used: `kwire serve`, which needs few, starts 30 ms sooner."""
        from importlib import import_module

        if name not in _MODULES:
            raise AttributeError(f"module 'kwire.cluster' has no attribute {name!r}")
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
