"""Modules under the names that they had, so that pickles of earlier versions and documented imports go on working.

A pickle names the module of each class and function in it, and modules move. Python asks for a module of kwire here if
there is none of that name. Code does not use these names. A move of what can be pickled or what an example of the
documentation imported adds a line.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# A former module, without `kwire.`, and the modules that have its names now.
MODULES: dict[str, tuple[str, ...]] = {
    "arrow.cluster_tables": ("kwire.arrow.clusters.history_tables", "kwire.cluster.cluster_identity"),
    "arrow.frame_rows": ("kwire.arrow.rows.row_faults", "kwire.arrow.raw_frames", "kwire.arrow.rows.frame_rows"),
    "arrow.growing_files_and_streams": (
        "kwire.arrow.streams.file_positions",
        "kwire.arrow.streams.growing_files",
        "kwire.arrow.streams.connection_stream",
        "kwire.arrow.streams.raw_frame_stream",
    ),
    "arrow.read_options_and_splits": ("kwire.arrow.read_options", "kwire.arrow.find_files", "kwire.arrow.input_splits"),
    "broker.apis.produce_and_fetch": (
        "kwire.broker.apis.records.produce",
        "kwire.broker.apis.records.fetch",
        "kwire.broker.apis.records.replica_selector",
    ),
    "cluster.captured_groups": ("kwire.cluster.consumer_groups.group", "kwire.cluster.consumer_groups.tracker"),
    "cluster.cluster_model": ("kwire.cluster.model", "kwire.cluster.source_counts"),
    "cluster.events": (
        "kwire.cluster.events.event",
        "kwire.cluster.events.authority",
        "kwire.cluster.events.observation",
        "kwire.cluster.events.listed_brokers",
    ),
    "cluster.history.timeline": ("kwire.cluster.history.partition_timeline",),
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
    "cluster.replica_assignors": ("kwire.cluster.placement.replica_assignors",),
    "cluster.timeline": ("kwire.cluster.history.partition_timeline", "kwire.cluster.history.broker_lives"),
    "cluster.zk_controller": ("kwire.cluster.kip112",),
    "cluster.zk_controller.scenarios": ("kwire.cluster.kip112.scenarios",),
    "cluster.znode_events": ("kwire.cluster.events.znodes",),
    "codecs": (
        "kwire.codecs.message_codec",
        "kwire.codecs.tracing",
        "kwire.codecs.columns.read_columns",
        "kwire.codecs.fast_path",
    ),
    "codecs.column_reader": ("kwire.codecs.columns.column_reader", "kwire.codecs.columns.buffer_collector"),
    "display_filter": (
        "kwire.query.filter_error",
        "kwire.query.tokens",
        "kwire.query.frame_properties",
        "kwire.query.field_path",
        "kwire.query.filter_parser",
        "kwire.query.display_filter",
    ),
    "errors": (
        "kwire.errors.base",
        "kwire.errors.spec_errors",
        "kwire.errors.input_errors",
        "kwire.errors.encode_errors",
        "kwire.errors.decode_errors",
        "kwire.errors.frame_errors",
        "kwire.errors.record_errors",
        "kwire.errors.tolerated_faults",
    ),
    "input": (
        "kwire.capture.open_dump",
        "kwire.capture.open_log",
        "kwire.capture.open_capture",
        "kwire.capture.open_file",
        "kwire.capture.raw_frames",
        "kwire.capture.dump",
    ),
    "internal": ("kwire.protocol.nested",),
    "internal.topic_records": (
        "kwire.protocol.nested.versioned_message",
        "kwire.protocol.nested.topic_record_types",
        "kwire.protocol.nested.coordinator_records",
        "kwire.protocol.nested.metadata_log_records",
        "kwire.protocol.nested.control_records",
    ),
    "logs": ("kwire.capture.logs",),
    "logs.disk_files": (
        "kwire.capture.logs.disk_entry",
        "kwire.capture.logs.index_files",
        "kwire.capture.logs.checkpoint_files",
        "kwire.capture.logs.disk_files",
    ),
    "logs.segment_reader": (
        "kwire.capture.logs.log_topic",
        "kwire.capture.logs.log_batch",
        "kwire.capture.logs.segment_reader",
        "kwire.capture.logs.log_reader",
    ),
    "messages.classes": ("kwire.schema.message_classes",),
    "native": ("kwire.codecs.native.engine_choice", "kwire.codecs.native.python_state", "kwire.codecs.native"),
    "net.admin": (
        "kwire.client.create_replica_assignment",
        "kwire.client.live_cluster",
        "kwire.client.apply_plan",
        "kwire.client.read_cluster",
    ),
    "net.client": ("kwire.client.connection", "kwire.client.address", "kwire.client.security"),
    "net.server": ("kwire.broker.server.socket_server", "kwire.broker.server.connection"),
    "protocol.connection": ("kwire.protocol.connections.connection", "kwire.protocol.connections.connection_state"),
    "protocol.framing": (
        "kwire.protocol.frames.stream_faults",
        "kwire.protocol.frames.frame",
        "kwire.protocol.frames.frame_reader",
        "kwire.protocol.frames.captured_frame",
        "kwire.protocol.frames.frame_joiner",
    ),
    "records": ("kwire.codecs.records",),
    "records.batch": (
        "kwire.codecs.records.record_batch",
        "kwire.codecs.records.batch_parser",
        "kwire.codecs.records.batch_builder",
    ),
    "records.record_layouts_and_checksums": (
        "kwire.codecs.records.record",
        "kwire.codecs.records.batch_header",
        "kwire.codecs.records.record_layouts",
        "kwire.codecs.records.located_reader",
        "kwire.codecs.records.batch_walk",
    ),
    "redaction": ("kwire.redact",),
    "spec": ("kwire.schema.spec_reader", "kwire.schema.message_spec", "kwire.schema.catalog"),
    "spec.catalog": ("kwire.schema.catalog", "kwire.schema.spec_layers"),
    "spec.model": ("kwire.schema.message_spec", "kwire.schema.version_ranges"),
    "spec.releases": ("kwire.schema.releases",),
    "testing.backends": ("kwire.testing.cluster_options", "kwire.testing.in_thread", "kwire.testing.as_process"),
    "wire": ("kwire.codecs.wire",),
    "zookeeper.znodes": ("kwire.zookeeper",),
}
# Names of these modules that are called otherwise now.
NAMES = {
    "arrow.cluster_tables._Rows": "_MessagesOfRows",
    "arrow.frame_rows.Fault": "RowFault",
    "arrow.frame_rows.State": "RawFrameState",
    "arrow.frame_rows.Walker": "RawFrameWalker",
    "arrow.growing_files_and_streams.Growing": "GrowingFiles",
    "arrow.growing_files_and_streams.Kept": "StoredConnection",
    "arrow.growing_files_and_streams.Place": "FilePosition",
    "arrow.growing_files_and_streams.Tail": "StoredTail",
    "arrow.read_options_and_splits.File": "InputFile",
    "arrow.read_options_and_splits.Unit": "InputSplit",
    "codecs.column_reader._Column": "_RawColumn",
    "codecs.column_reader._Layout": "_ColumnLayout",
    "codecs.column_reader._Level": "_RowCounts",
    "display_filter.Token": "FilterToken",
    "display_filter._Parser": "FilterParser",
    "logs.disk_files._Checkpoint": "CheckpointReader",
    "logs.disk_files._Fixed": "IndexReader",
    "logs.segment_reader.Log": "LogReader",
    "logs.segment_reader.Meaning": "DecodedRecord",
    "logs.segment_reader.Topic": "LogTopic",
    "records.batch.Plan": "BatchPlan",
    "records.record_layouts_and_checksums.PlacedReader": "LocatedReader",
    "records.record_layouts_and_checksums.Walk": "BatchWalk",
    "testing.backends.Plan": "ClusterOptions",
    "testing.backends.Running": "RunningCluster",
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
