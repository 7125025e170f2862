"""Models and algorithms for whole clusters: state and history, placement, assignors, the ZooKeeper-era controller.

`events` converts messages, records of the metadata log and znodes to events; `model` derives the
current state and the tables of the history. Other packages read bytes, frames and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events.event import MESSAGES, Authority, Observation, learn, observed
    from .events.metadata_log import LoggedRecord
    from .history.tables import ROWS, Tables
    from .model import ClusterModel, history_of, model_of
    from .placement.multi_level import (
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
    from .placement.rack_aware import (
        RackAwareMode,
        add_partitions,
        assign_replicas,
        broker_metadatas,
        rack_alternated_broker_list,
    )
    from .placement.replica_assignors import assignor_for
    from .plan.replica_plan import Goals, ReplicaPlan, generate_assignment, plan_replicas, reassignment_json
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
    "Authority": "events.event",
    "Broker": "state",
    "ClusterModel": "model",
    "ClusterState": "state",
    "Goals": "plan.replica_plan",
    "LogDir": "state",
    "LoggedRecord": "events.metadata_log",
    "MESSAGES": "events.event",
    "Observation": "events.event",
    "Partition": "state",
    "ROWS": "history.tables",
    "RackAwareMode": "placement.rack_aware",
    "RackTree": "placement.multi_level",
    "ReplicaPlan": "plan.replica_plan",
    "Rings": "placement.multi_level",
    "Settings": "state",
    "Tables": "history.tables",
    "add_partitions": "placement.rack_aware",
    "assign_multi_level": "placement.multi_level",
    "assign_replicas": "placement.rack_aware",
    "assignor_for": "placement.replica_assignors",
    "broker_metadatas": "placement.rack_aware",
    "generate_assignment": "plan.replica_plan",
    "history_of": "model",
    "increase_replication_factor": "placement.multi_level",
    "is_even": "placement.multi_level",
    "learn": "events.event",
    "losses_of": "placement.multi_level",
    "model_of": "model",
    "observed": "events.event",
    "place_striped": "placement.multi_level",
    "plan_replicas": "plan.replica_plan",
    "rack_alternated_broker_list": "placement.rack_aware",
    "rack_path": "placement.multi_level",
    "reassignment_json": "plan.replica_plan",
    "spread_of": "placement.multi_level",
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
