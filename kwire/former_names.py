"""Modules under the names that they had, so that pickles of earlier versions load.

A pickle names the module of each class and function in it, and modules move. Python asks for a module of kwire here if
there is none of that name. Code does not use these names. A move of what can be pickled adds a line.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# A former module, without `kwire.`, and the modules that have its names now.
MODULES: dict[str, tuple[str, ...]] = {
    "cluster.captured_groups": ("kwire.cluster.consumer_groups.group", "kwire.cluster.consumer_groups.tracker"),
    "cluster.cluster_model": ("kwire.cluster.model", "kwire.cluster.sources"),
    "cluster.events": (
        "kwire.cluster.events.event",
        "kwire.cluster.events.observation",
        "kwire.cluster.events.listed_brokers",
    ),
    "cluster.history_tables": ("kwire.cluster.history.rows", "kwire.cluster.consumer_groups.rows"),
    "cluster.metadata_log": ("kwire.cluster.events.metadata_log",),
    "cluster.multi_level_placement": ("kwire.cluster.placement.rack_tree", "kwire.cluster.placement.multi_level"),
    "cluster.offline_replicas": (
        "kwire.cluster.history.offline_replicas",
        "kwire.cluster.history.lost_directories",
        "kwire.cluster.history.offline_metrics",
    ),
    "cluster.rack_aware_placement": ("kwire.cluster.placement.rack_aware",),
    "cluster.reassignment_plan": ("kwire.cluster.plan.replica_plan",),
    "cluster.timeline": ("kwire.cluster.history.timeline", "kwire.cluster.history.broker_lives"),
    "cluster.znode_events": ("kwire.cluster.events.znodes",),
    "codecs": (
        "kwire.codecs.message_codec",
        "kwire.codecs.tracing",
        "kwire.codecs.columns.read_columns",
    ),
    "codecs.column_reader": ("kwire.codecs.columns.column_reader",),
    "errors": ("kwire.errors.base",),
    "internal.topic_records": (
        "kwire.protocol.nested.versioned_message",
        "kwire.protocol.nested.topic_record_types",
        "kwire.protocol.nested.coordinator_records",
        "kwire.protocol.nested.framed_records",
        "kwire.protocol.nested.control_records",
    ),
    "messages.classes": ("kwire.schema.message_classes",),
    "native": (
        "kwire.codecs.native.engine_choice",
        "kwire.codecs.native.python_state",
    ),
    "protocol.framing": (
        "kwire.protocol.frames.stream_faults",
        "kwire.protocol.frames.frame",
        "kwire.protocol.frames.frame_reader",
        "kwire.protocol.frames.captured_frame",
    ),
    "records.batch": (
        "kwire.codecs.records.record_batch",
        "kwire.codecs.records.batch_parser",
        "kwire.codecs.records.batch_builder",
    ),
    "records.record_layouts_and_checksums": (
        "kwire.codecs.records.record",
        "kwire.codecs.records.batch_header",
    ),
    "spec.catalog": (
        "kwire.schema.catalog",
        "kwire.schema.spec_layers",
    ),
    "spec.model": (
        "kwire.schema.message_spec",
        "kwire.schema.version_ranges",
    ),
    "spec.releases": ("kwire.schema.releases",),
}
# Names of these modules that are called otherwise now.
NAMES = {
    "cluster.captured_groups.ConsumerGroups": "GroupTracker",
    "cluster.captured_groups.GroupState": "CapturedGroup",
    "cluster.cluster_model._Count": "_MessageCount",
    "cluster.events.State": "ReportedState",
    "cluster.history_tables.PartitionState": "PartitionStateRow",
    "cluster.history_tables.Reassignment": "ReassignmentRow",
    "cluster.history_tables.Source": "SourceRow",
    "cluster.multi_level_placement.Node": "RackNode",
    "cluster.timeline.Entry": "TimelineEntry",
    "cluster.timeline.Timeline": "PartitionTimeline",
    "codecs.column_reader.Batch": "ColumnBatch",
    "errors._PlacedError": "FieldError",
    "records.batch.Records": "RecordIterator",
    "spec.catalog._reduced": "_reduce_spec",
    "spec.catalog._shipped_spec": "_shipped_spec",
    "spec.releases.Api": "ReleasedApi",
}


def find_spec(name: str) -> ModuleSpec | None:
    """Return the spec of a former module, or of a package of former modules; None for any other name."""
    former = name.removeprefix("kwire.")
    if any(module == former or module.startswith(f"{former}.") for module in MODULES):
        return ModuleSpec(name, FormerModule, is_package=True)  # type: ignore[arg-type]
    return None


def find_name(module: str, name: str) -> Any:
    """Return what a former module called `name`; raise AttributeError if it had no such name.

    A package that has the name of a former module asks here, too, also for its modules before they are imported.
    """
    if hasattr(sys.modules.get(module), "__path__") and util.find_spec(f"{module}.{name}") is not None:
        raise AttributeError(f"module {module!r} has not imported {name!r}")
    former = module.removeprefix("kwire.")
    name_now = NAMES.get(f"{former}.{name}", name)
    for module_now in map(import_module, MODULES.get(former, ())):
        if hasattr(module_now, name_now):
            return getattr(module_now, name_now)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


class FormerModule(ModuleType):
    """A module of `MODULES`, whose names are found when they are asked for. The class is its loader, too."""

    @classmethod
    def create_module(cls, spec: ModuleSpec) -> FormerModule:
        """Return the module; it is empty."""
        return cls(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Leave the module empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return find_name(self.__name__, name)
