"""Models and algorithms for whole clusters: state and history, placement, assignors, the ZooKeeper-era controller.

`events` converts messages, records of the metadata log and znodes to events; `model` derives the
current state and the tables of the history. Other packages read bytes, frames and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events.apply import learn
    from .events.event import Authority
    from .events.metadata_log import LoggedRecord
    from .events.observation import MESSAGES, Observation, observed
    from .history.rows import ROWS, Tables
    from .model import ClusterModel, history_of, model_of
    from .placement.multi_level import Rings, assign_multi_level, increase_replication_factor
    from .placement.rack_aware import (
        RackAwareMode,
        add_partitions,
        assign_replicas,
        broker_metadatas,
        rack_alternated_broker_list,
    )
    from .placement.rack_spread import is_even, losses_of, spread_of
    from .placement.rack_tree import RackTree, rack_path
    from .placement.replica_assignors import assignor_for
    from .placement.striped import place_striped
    from .plan.generate_assignment import generate_assignment
    from .plan.reassignment_json import reassignment_json
    from .plan.replica_plan import Goals, ReplicaPlan, plan_replicas
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
    "MESSAGES": "events.observation",
    "Observation": "events.observation",
    "Partition": "state",
    "ROWS": "history.rows",
    "RackAwareMode": "placement.rack_aware",
    "RackTree": "placement.rack_tree",
    "ReplicaPlan": "plan.replica_plan",
    "Rings": "placement.multi_level",
    "Settings": "state",
    "Tables": "history.rows",
    "add_partitions": "placement.rack_aware",
    "assign_multi_level": "placement.multi_level",
    "assign_replicas": "placement.rack_aware",
    "assignor_for": "placement.replica_assignors",
    "broker_metadatas": "placement.rack_aware",
    "generate_assignment": "plan.generate_assignment",
    "history_of": "model",
    "increase_replication_factor": "placement.multi_level",
    "is_even": "placement.rack_spread",
    "learn": "events.apply",
    "losses_of": "placement.rack_spread",
    "model_of": "model",
    "observed": "events.observation",
    "place_striped": "placement.striped",
    "plan_replicas": "plan.replica_plan",
    "rack_alternated_broker_list": "placement.rack_aware",
    "rack_path": "placement.rack_tree",
    "reassignment_json": "plan.reassignment_json",
    "spread_of": "placement.rack_spread",
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
