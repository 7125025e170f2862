"""Record batches of magic 2, and the message sets of magic 0 and 1: bytes to batches to records, and back.

Knows compression and checksums; knows nothing of what keys and values mean (`kwire.embedded` does, for Kafka's own
logs and control records), nothing of topics, frames and files.
"""

from .batches import RecordBatch
from .buffers import LIMIT
from .building import build_batch
from .parsing import Batches, parse_records
from .reading import Records
from .values import Record, RecordHeader, UndecodableRecords

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
