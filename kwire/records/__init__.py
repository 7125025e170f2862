"""Parses and builds record batches of magic 2, and message sets of magic 0 and 1.

Keys and values are bytes here; `kwire.internal` decodes the keys and values of Kafka's internal topics and control
records.
"""

from .batch import Batches, RecordBatch, Records, build_batch, parse_records
from .compression import LIMIT
from .record_layouts_and_checksums import Record, RecordHeader, UndecodableRecords

__all__ = [
    "LIMIT",
    "Batches",
    "Record",
    "RecordBatch",
    "RecordHeader",
    "Records",
    "UndecodableRecords",
    "build_batch",
    "parse_records",
]
