"""The keyword arguments of a read, for type checkers: the options of `Options` in snake case and with Spark's names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict


class ReadOptions(TypedDict, total=False):
    """Options of `kwire.arrow.read`, in snake case or with the names of Spark's data source; text is parsed."""

    dump_format: str
    dumpFormat: str
    mode: str
    column_name_of_corrupt_record: str
    columnNameOfCorruptRecord: str
    body: str
    apis: str | Sequence[str]
    direction: str
    columns: str | Sequence[str]
    metadata: bool | str
    path_glob_filter: str
    pathGlobFilter: str
    recursive_file_lookup: bool | str
    recursiveFileLookup: bool | str
    modified_before: str | datetime
    modifiedBefore: str | datetime
    modified_after: str | datetime
    modifiedAfter: str | datetime
    ignore_missing_files: bool | str
    ignoreMissingFiles: bool | str
    ignore_corrupt_files: bool | str
    ignoreCorruptFiles: bool | str
    max_partition_bytes: int | str
    maxPartitionBytes: int | str
    open_cost_in_bytes: int | str
    openCostInBytes: int | str
    min_partitions: int | str
    minPartitions: int | str
    max_records_per_batch: int | str
    maxRecordsPerBatch: int | str
    max_bytes_per_batch: int | str
    maxBytesPerBatch: int | str
    max_frame_bytes: int | str
    maxFrameBytes: int | str
    max_corrupt_bytes: int | str
    maxCorruptBytes: int | str
    capture: str
    long_connections: bool | str
    longConnections: bool | str
    zookeeper: bool | str
    mask_secrets: bool | str
    maskSecrets: bool | str
    profile: str
    release: str
    pushdown: bool | str
    max_files_per_trigger: int | str
    maxFilesPerTrigger: int | str
    max_bytes_per_trigger: int | str
    maxBytesPerTrigger: int | str
    fail_on_data_loss: bool | str
    failOnDataLoss: bool | str
    tail_timeout: int | str
    tailTimeout: int | str
    late_files: int | str
    lateFiles: int | str
    max_file_age: int | str
    maxFileAge: int | str
