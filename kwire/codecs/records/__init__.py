"""Parses and builds record batches of magic 2, and message sets of magic 0 and 1.

Keys and values are bytes here; `kwire.protocol.nested` decodes the keys and values of Kafka's internal topics and
control records.
"""

from ..compression.compression_types import LIMIT
from .batch_builder import build_batch
from .batch_parser import Batches, parse_records
from .record import Record, RecordHeader, UndecodableRecords
from .record_batch import RecordBatch
from .record_iterator import RecordIterator

__all__ = [
    "LIMIT",
    "Batches",
    "Record",
    "RecordBatch",
    "RecordHeader",
    "RecordIterator",
    "UndecodableRecords",
    "build_batch",
    "parse_records",
]
